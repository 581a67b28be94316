"""Spliced deflate streams inflate to the edited content in every inflater of the field: zlib (Python), zlib-ng, isa-l, libdeflate,
miniz_oxide (Rust), Info-ZIP, Go. The streams come from six encoders, with stored, fixed and dynamic blocks; the edits lie at their
begin, at their end, at and across block borders, and anywhere. Each seed is one more corpus. Exit 77 is a skip.
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import typing
import unittest
import zipfile
import zlib

try:
    import cramjam
    import deflate
    from isal import isal_zlib
    from zlib_ng import zlib_ng
except ImportError as error:
    print(f"skipped: {error.name} is not installed")
    sys.exit(77)

GO_PROGRAM = """package main

import (
	"compress/flate"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

func main() {
	for _, path := range os.Args[1:] {
		file, err := os.Open(path)
		if err != nil {
			panic(err)
		}
		hash := crc32.NewIEEE()
		if _, err := io.Copy(hash, flate.NewReader(file)); err != nil {
			panic(path + ": " + err.Error())
		}
		fmt.Println(hash.Sum32())
		file.Close()
	}
}
"""


class Sample(typing.NamedTuple):
    name: str
    stream: bytes
    content: bytes
    borders: list[int]  # Places in the content where blocks are known to meet.


def text_of(rng: random.Random, size: int) -> bytes:
    """Words, noise and runs in turn: encoders pick other kinds of blocks for each."""
    parts, total = [], 0
    while total < size:
        words = [rng.randbytes(rng.randint(1, 9)) for _ in range(200)]
        part = rng.choice([lambda: b" ".join(rng.choices(words, k=rng.randint(1, 4000))), lambda: rng.randbytes(rng.randint(1, 70_000)),
                           lambda: bytes(rng.randint(1, 90_000)), lambda: bytes(rng.choices(b"acgt", k=rng.randint(1, 9000)))])()
        parts.append(part)
        total += len(part)
    return b"".join(parts)[:size]


def in_blocks(rng: random.Random, content: bytes, module, level: int, strategy: int, memory: int) -> tuple[bytes, list[int]]:
    """By an encoder of zlib's interface, flushed in places: Z_BLOCK ends a block on a bit, the others write an empty stored block."""
    packer = module.compressobj(level, zlib.DEFLATED, -15, memory, strategy)
    stream, borders, at = b"", [], 0
    while at < len(content):
        step = rng.choice([1, 2, 257, 258, 259, 4000, 32_767, 32_768, 32_769, 65_535, 65_536, 100_000])
        stream += packer.compress(content[at:at + step])
        at = min(at + step, len(content))
        stream += packer.flush(rng.choice([zlib.Z_BLOCK, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH, zlib.Z_PARTIAL_FLUSH]))
        borders.append(at)
    return stream + packer.flush(), borders


def samples(rng: random.Random) -> list[Sample]:
    made = []
    for size in (0, 1, 2, 300, 32_767, 32_768, 32_769, 65_535, 65_536, 200_000, 700_000):
        content = text_of(rng, size)
        for strategy, word in ((zlib.Z_DEFAULT_STRATEGY, "default"), (zlib.Z_FIXED, "fixed"), (zlib.Z_HUFFMAN_ONLY, "huffman"), (zlib.Z_RLE, "rle")):
            level, memory = rng.randint(1, 9), rng.randint(1, 9)
            stream, borders = in_blocks(rng, content, zlib, level, strategy, memory)
            made.append(Sample(f"zlib-{word}-{size}", stream, content, borders))
            packer = zlib.compressobj(level, zlib.DEFLATED, -15, memory, strategy)
            made.append(Sample(f"zlib-{word}-whole-{size}", packer.compress(content) + packer.flush(), content, []))
        stored = zlib.compressobj(0, zlib.DEFLATED, -15)
        made.append(Sample(f"stored-{size}", stored.compress(content) + stored.flush(), content, list(range(65_535, size, 65_535))))
        stream, borders = in_blocks(rng, content, zlib_ng, rng.randint(0, 9), zlib.Z_DEFAULT_STRATEGY, 8)
        made.append(Sample(f"zlib-ng-{size}", stream, content, borders))
        made.append(Sample(f"isal-{size}", isal_zlib.compress(content, rng.randint(0, 3), -15), content, []))
        made.append(Sample(f"libdeflate-{size}", bytes(deflate.deflate_compress(content, rng.randint(1, 12))), content, []))
        made.append(Sample(f"miniz-{size}", bytes(cramjam.deflate.compress(content, rng.randint(1, 9))), content, []))
    return made


def edited(rng: random.Random, sample: Sample) -> list[tuple[str, bytes, list[tuple[int, int]]]]:
    """(what, the new content, the ranges that were replaced)."""
    size, content = len(sample.content), sample.content
    plans = [("none", [], 0), ("appended", [], 1), ("much-appended", [], 40_000)]
    if size:
        plans += [("first", [(0, 1)], 0), ("last", [(size - 1, 1)], 0), ("all", [(0, size)], 0), ("both-ends", [(0, 1)] + [(size - 1, 1)] * (size > 1), 7)]
        for border in rng.sample(sample.borders, min(3, len(sample.borders))):
            begin, end = max(0, border - rng.randint(0, 3)), min(size, border + rng.randint(0, 3))
            plans.append((f"border-{border}", [(begin, end - begin)], 0))
        for _ in range(2):
            begin = rng.randrange(size)
            plans.append(("somewhere", [(begin, min(size - begin, rng.randint(1, 300)))], rng.choice([0, 0, 500])))
        ranges, at = [], rng.randrange(size)
        while at < size:
            length = min(size - at, rng.randint(0, 40))
            ranges.append((at, length))
            at += length + rng.randint(0, 20_000)
        plans.append(("many", ranges, 0))
    found = []
    for what, ranges, more in plans:
        new = bytearray(content)
        for begin, length in ranges:
            new[begin:begin + length] = rng.choice([rng.randbytes(length), b"z" * length])
        found.append((what, bytes(new) + text_of(rng, more), ranges))
    return found


def by_zlib(module):
    def inflate(stream: bytes, size: int) -> bytes:
        reader = module.decompressobj(-15)
        content = reader.decompress(stream) + reader.flush()
        if not reader.eof or reader.unused_data:
            raise ValueError("the end of the stream is not the end of its last block")
        return content
    return inflate


INFLATERS = {"zlib": by_zlib(zlib), "zlib-ng": by_zlib(zlib_ng), "isa-l": by_zlib(isal_zlib),
             "libdeflate": lambda stream, size: bytes(deflate.deflate_decompress(stream, size)) if size else b"",
             "miniz_oxide": lambda stream, size: bytes(cramjam.deflate.decompress(stream))}


class RawZip(zipfile.ZipFile):
    """Members whose stream is written as it is."""

    def add(self, name: str, stream: bytes, content: bytes) -> None:
        info = zipfile.ZipInfo(name)
        info.compress_type, info.CRC, info.file_size, info.compress_size = zipfile.ZIP_DEFLATED, zlib.crc32(content), len(content), len(stream)
        info.header_offset = self.fp.tell()
        self.fp.write(info.FileHeader() + stream)
        self.start_dir = self.fp.tell()
        self._didModify = True
        self.filelist.append(info)
        self.NameToInfo[name] = info


class DeflateSplice(unittest.TestCase):
    sample: pathlib.Path
    seeds: int

    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-peers-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    def spliced(self, seed: int) -> list[tuple[str, pathlib.Path, bytes]]:
        """(what, the new stream's file, its content)."""
        rng = random.Random(seed)
        questions, cases = [], []
        for sample in samples(rng):
            old = self.scratch / f"{sample.name}.deflate"
            old.write_bytes(sample.stream)
            self.assertEqual(by_zlib(zlib)(sample.stream, 0), sample.content, sample.name)
            for what, content, ranges in edited(rng, sample):
                number = len(cases)
                wanted, out = self.scratch / f"{number}.content", self.scratch / f"{number}.deflate"
                wanted.write_bytes(content)
                questions.append("\t".join(map(str, [old, wanted, out, rng.randint(1, 12), len(sample.content),
                                                      *[f"{begin}+{length}" for begin, length in ranges]])))
                cases.append((f"{sample.name}, {what}", out, content))
        done = subprocess.run([self.sample], input="\n".join(questions) + "\n", text=True, stdout=subprocess.PIPE, check=True)
        answers = done.stdout.splitlines()
        self.assertEqual(len(answers), len(cases))
        kept = encoded = 0
        for (what, _, content), answer in zip(cases, answers):
            with self.subTest(what):
                self.assertFalse(answer.startswith("error"), answer)
                crc, of_kept, of_encoded = map(int, answer.split())
                self.assertEqual(crc, zlib.crc32(content))
                kept, encoded = kept + of_kept, encoded + of_encoded
        print(f"seed {seed}: {len(cases)} streams, {kept} blocks kept, {encoded} encoded again")
        self.assertGreater(kept, encoded)
        self.assertGreater(encoded, len(cases) // 2)
        return cases

    def test_every_inflater(self):
        for seed in range(self.seeds):
            cases = self.spliced(seed)
            for what, path, content in cases:
                stream = path.read_bytes()
                for name, inflate in INFLATERS.items():
                    with self.subTest(f"seed {seed}, {what}, {name}"):
                        self.assertTrue(inflate(stream, len(content)) == content)
            self.by_readers_of_zips(cases)
            self.by_go(cases)

    def by_readers_of_zips(self, cases: list[tuple[str, pathlib.Path, bytes]]) -> None:
        archive = self.scratch / "all.zip"
        with RawZip(archive, "w") as target:
            for number, (_, path, content) in enumerate(cases):
                target.add(str(number), path.read_bytes(), content)
        with zipfile.ZipFile(archive) as read:
            self.assertIsNone(read.testzip())
        for command in (["unzip", "-tqq"], ["bsdtar", "-xOf"]):
            if shutil.which(command[0]) is None:
                print(f"skipped: {command[0]} is not installed")
                continue
            done = subprocess.run([*command, archive], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def by_go(self, cases: list[tuple[str, pathlib.Path, bytes]]) -> None:
        if shutil.which("go") is None:
            print("skipped: go is not installed")
            return
        program = self.scratch / "inflate.go"
        program.write_text(GO_PROGRAM)
        done = subprocess.run(["go", "run", program, *[path for _, path, _ in cases]], text=True, stdout=subprocess.PIPE, check=True)
        self.assertEqual([int(line) for line in done.stdout.split()], [zlib.crc32(content) for _, _, content in cases])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", metavar="PROGRAM", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", metavar="COUNT", type=int, default=2)
    known, rest = parser.parse_known_args()
    DeflateSplice.sample, DeflateSplice.seeds = known.sample.resolve(), known.seeds
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
