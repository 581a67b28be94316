"""Slices of the torch wheel and of its largest library (520 MB), for every GPU that it has machine code of. Slow: downloads once.

What has to stay of each container is worked out here, from docs/slices.md alone; bytes are compared with those of the original, and the
names with the list of cuobjdump.
"""

import collections
import mmap
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time
import typing
import zipfile

import gpu_library
import harness
import real_wheels
from gpu_library import CUBIN, PTX

TEGRA = {32, 53, 62, 72, 87, 101, 110}
LARGEST_WHEEL = 300_000_000


class Element(typing.NamedTuple):
    kind: int
    number: int
    suffix: str
    offset: int
    size: int


def section(path: pathlib.Path, name: str) -> tuple[int, int]:
    """Offset and size, as readelf has them."""
    listed = subprocess.run(["readelf", "-SW", path], text=True, capture_output=True, check=True).stdout
    offset, size = re.search(rf"\] {re.escape(name)} +\w+ +\w+ (\w+) (\w+)", listed).groups()
    return int(offset, 16), int(size, 16)


def containers(data: mmap.mmap, begin: int, size: int) -> list[list[Element]]:
    found, at, end = [], begin, begin + size
    while at < end:
        if data[at] == 0:  # zeros lie between containers, and where others were
            following = re.compile(rb"[^\0]").search(data, at, end)
            at = following.start() if following else end
            continue
        magic, version, header, body = struct.unpack_from("<IHHQ", data, at)
        assert (magic, version, header) == (gpu_library.MAGIC, 1, 16), hex(at)
        elements, at = [], at + header
        stop = at + body
        while at < stop:
            kind, _, own, payload, *_, number, _, flags, _, _ = struct.unpack_from(gpu_library.HEADER, data, at)
            suffix = next((name for name, bit in gpu_library.SUFFIXES.items() if bit and flags & bit), "")
            elements.append(Element(kind, number, suffix, at, own + payload))
            at += own + payload
        assert at == stop
        found.append(elements)
    return found


def runs(element: Element, gpu: int) -> bool:
    if element.suffix == "a":
        return element.number == gpu
    if element.kind == PTX and element.suffix == "":
        return element.number <= gpu
    if gpu in TEGRA or element.number in TEGRA:
        return element.number == gpu
    return element.number // 10 == gpu // 10 and element.number <= gpu


def wanted(elements: list[Element], gpus: list[int]) -> list[Element]:
    kept = {element for element in elements if element.kind not in (CUBIN, PTX)}
    for gpu in gpus:
        for kind in (CUBIN, PTX):
            fit = [element for element in elements if element.kind == kind and runs(element, gpu)]
            if fit:
                kept.update(element for element in fit if element.number == max(one.number for one in fit))
                break
        else:
            return elements
    return [element for element in elements if element in kept]


class TorchSlices(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        harness.peers_python()
        self.wheel = real_wheels.real_wheel("torch")

    def opened(self, path: pathlib.Path) -> mmap.mmap:
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.addCleanup(data.close)
        return data

    def test_every_container_of_every_gpu_in_both_forms(self):
        cuobjdump = next(harness.peers_python().parent.parent.glob("lib/python3.*/site-packages/nvidia/cu13/bin/cuobjdump"), None)
        if cuobjdump is None:
            harness.missing("peer 'cuobjdump'")
        library = self.scratch / "libtorch_cuda.so"
        with zipfile.ZipFile(self.wheel) as archive, open(library, "wb") as out, archive.open("torch/lib/libtorch_cuda.so") as member:
            shutil.copyfileobj(member, out, 1 << 20)
        data = self.opened(library)
        before = containers(data, *section(library, ".nv_fatbin"))
        self.assertGreater(len(before), 400)
        numbers = sorted({element.number for elements in before for element in elements if element.kind == CUBIN})
        self.assertGreater(len(numbers), 5)
        gpus = [[number] for number in numbers] + [[80, 90], [75, 120]]
        for chosen in gpus:
            names = "+".join(f"{number // 10}.{number % 10}" for number in chosen)
            for form in ([], ["--compact"]):
                with self.subTest(names, form=form):
                    output = self.scratch / "out"
                    shutil.rmtree(output, ignore_errors=True)
                    start = time.monotonic()
                    result = self.ptpkg_json("slice", library, "--gpu", names, "--output", output, *form)
                    seconds = time.monotonic() - start
                    sliced = pathlib.Path(result["slices"][0]["to"])
                    self.compare(data, before, sliced, chosen)
                    kept = collections.Counter(element.number for elements in before for element in wanted(elements, chosen)
                                               if element.kind == CUBIN)
                    listed = self.run_clean(cuobjdump, "--list-elf", sliced)
                    self.assertEqual(collections.Counter(int(number) for number in re.findall(r"\.sm_(\d+)[af]?\.\w+\s*$", listed, re.MULTILINE)),
                                     kept)
                    print(f"{names} {form}: {sliced.stat().st_size / 1e6:.1f} MB, {dict(kept)} in {seconds:.2f} s", file=sys.stderr)

    def compare(self, data: mmap.mmap, before: list[list[Element]], sliced: pathlib.Path, gpus: list[int]) -> None:
        now = self.opened(sliced)
        after = containers(now, *section(sliced, ".nv_fatbin"))
        self.assertEqual(len(after), len(before))
        for old, new in zip(before, after):
            kept = wanted(old, gpus)
            self.assertEqual([element._replace(offset=0) for element in new], [element._replace(offset=0) for element in kept])
            for one, other in zip(kept, new):
                if data[one.offset:one.offset + one.size] != now[other.offset:other.offset + other.size]:
                    self.fail(f"another {one} in {sliced}")

    def test_slices_of_the_wheel(self):
        output = self.scratch / "slices"
        start = time.monotonic()
        result = self.ptpkg_json("slice", self.wheel, "--all-archs", "--output", output)
        print(f"{len(result['slices'])} slices in {time.monotonic() - start:.1f} s", file=sys.stderr)
        self.assertGreater(len(result["slices"]), 5)
        check = ("import sys, installer.sources\n"
                 "with installer.sources.WheelFile.open(sys.argv[1]) as source: source.validate_record()")
        for item in result["slices"]:
            wheel = pathlib.Path(item["to"])
            with self.subTest(wheel.name):
                self.assertLess(wheel.stat().st_size, LARGEST_WHEEL)
                self.run_clean(harness.peers_python(), "-c", check, wheel)
                self.ptpkg("check", wheel)
                print(f"{'+'.join(item['gpus'])}: {wheel.stat().st_size / 1e6:.1f} MB", file=sys.stderr)
        self.assertEqual(harness.leftovers(self.scratch), [])


if __name__ == "__main__":
    harness.main()
