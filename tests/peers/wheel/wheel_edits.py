"""What `ptpkg repair`, `retag` and `check --fix` write is taken by every tool that reads wheels: the archive readers, `installer`,
`wheel unpack` and `pack`, `twine check --strict`, check-wheel-contents, `auditwheel show`, pip and uv. Exit 77 is a skip.
"""

import os
import pathlib
import random
import shutil
import subprocess
import sys
import zipfile
import zlib

import harness
import wheel_maker
import wheel_read
from wheel_maker import SUFFIX, TAG

DESCRIBED = "Summary: A toy.\nDescription-Content-Type: text/plain\n\nA toy with libraries.\n"  # twine --strict wants one


class WheelEdits(wheel_maker.WheelCase):
    def checked_module(self, name: str) -> pathlib.Path:
        """toy/<name>, which fails its import unless the library says 42."""
        self.library("libdeep.so.2", "int deep(void) { return 40; }")
        chain = self.library("libchain.so.1", "int deep(void); int value(void) { return deep() + 2; }", "libdeep.so.2")
        self.module(name, chain)
        (self.tree / "toy/__init__.py").write_text(f"from . import {name}\nif {name}.get() != 42:\n    raise ImportError({name}.get())\n")
        return chain

    def taken(self, wheel: pathlib.Path, platform: str) -> None:
        """By all of them, with nothing outside that the wheel was made of."""
        shutil.rmtree(self.outside)
        peers = self.scratch / "peers"
        peers.mkdir()
        wheel_read.read_containers(wheel, peers)
        wheel_read.call(wheel_read.peer("twine"), "check", "--strict", wheel)
        wheel_read.install(wheel, ["toy"], peers)
        self.assertIn(f'"{platform}"', wheel_read.call(sys.executable, "-m", "auditwheel", "show", wheel).replace("\n", " "))
        tree, = (peers / "unpacked").iterdir()
        (peers / "packed").mkdir()
        wheel_read.call(wheel_read.peer("wheel"), "pack", tree, "--dest-dir", peers / "packed")
        packed, = (peers / "packed").iterdir()
        self.assertEqual(packed.name, wheel.name)
        self.assertEqual(self.contents(packed), self.contents(wheel))

    def contents(self, wheel: pathlib.Path) -> dict[str, bytes]:
        with zipfile.ZipFile(wheel) as archive:
            found = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        record, = (name for name in found if name.endswith(".dist-info/RECORD"))
        found[record] = b"\n".join(sorted(found[record].split()))
        return found

    def test_repaired(self):
        self.checked_module("one")
        result = self.repair(self.wheel(DESCRIBED))
        self.assertRegex(result["grafted"][0]["path"], r"^toy\.libs/lib\w+-[0-9a-f]{8}\.so\.\d$")
        self.assertRegex(result["platform"], r"^manylinux_2_\d+_x86_64$")
        self.taken(pathlib.Path(result["to"]), result["platform"])

    def test_repaired_by_a_splice(self):
        """Of a large entry only the blocks that hold the edit are compressed again: the others stay as their maker left them."""
        chain = self.checked_module("one")
        rng = random.Random(3)
        words = [rng.randbytes(rng.randint(2, 9)) for _ in range(3000)]
        grown = self.scratch / "grown"
        grown.write_bytes(b" ".join(rng.choices(words, k=500_000)))
        name = f"toy/one{SUFFIX}"
        subprocess.run([harness.tool("objcopy"), "--add-section", f".grown={grown}", self.tree / name], check=True)
        fast = self.scratch / "fast" / self.wheel(DESCRIBED).name
        fast.parent.mkdir()
        with zipfile.ZipFile(self.wheel(DESCRIBED)) as old, zipfile.ZipFile(fast, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
            for info in old.infolist():
                if not info.filename.endswith("/"):
                    new.writestr(info.filename, old.read(info))
            before = new.getinfo(name)
        result = self.repair(fast, "--lib-dir", chain.parent)
        with zipfile.ZipFile(result["to"]) as archive:
            after = archive.getinfo(name)
            again = len(zlib.compress(archive.read(name), 6))
        self.assertLess(again, 0.97 * before.compress_size)
        self.assertGreater(after.compress_size, 0.99 * before.compress_size)
        self.taken(pathlib.Path(result["to"]), result["platform"])

    def test_retagged(self):
        self.checked_module("one")
        repaired = self.repair(self.wheel(DESCRIBED))
        done = self.ptpkg("retag", repaired["to"], "--platform", "manylinux_2_36_x86_64", "--build", "3", "--local", "ours.2", "--requires",
                          "absent; sys_platform == 'win32'", "--output", self.scratch / "retagged")
        wheel = pathlib.Path(done.stdout.strip())
        self.assertEqual(wheel.name, f"toy-1.0+ours.2-3-{TAG}-{TAG}-manylinux_2_36_x86_64.whl")
        self.taken(wheel, repaired["platform"])

    def test_fixed(self):
        inside = self.library("libown.so.1", "int value(void) { return 42; }")
        (self.tree / "toy/lib").mkdir()
        shutil.copy(inside, self.tree / "toy/lib")
        self.module("one", inside, options=["-Wl,-rpath,/opt/build/lib:$ORIGIN/lib::$ORIGIN/none"])
        (self.tree / "toy/__init__.py").write_text("from . import one\nassert one.get() == 42\n")
        sick = self.scratch / "sick" / f"toy-1.0-4-{TAG}-{TAG}-manylinux_2_36_x86_64.whl"
        sick.parent.mkdir()
        with zipfile.ZipFile(self.wheel(DESCRIBED)) as old, zipfile.ZipFile(sick, "w", zipfile.ZIP_DEFLATED) as new:
            for info in old.infolist():
                if not info.filename.endswith("/"):
                    new.writestr(info.filename, old.read(info) + (b"# later\n" if info.filename == "toy/__init__.py" else b""))
        with self.assertRaises(wheel_read.Rejected):
            wheel_read.call(wheel_read.peer("wheel"), "unpack", "--dest", self.scratch / "never", sick)
        outcome, = self.ptpkg_json("check", sick, "--profile", "pytorch-index", "--fix", "--output", self.scratch / "mended")
        self.assertLessEqual({"wheel-record-digest", "wheel-tag-mismatch", "wheel-build-mismatch", "elf-search-path-absolute"},
                             {finding["id"] for finding in outcome["fixed"]})
        shown = wheel_read.call(sys.executable, "-m", "auditwheel", "show", outcome["written"])
        floor = next(word.strip('".') for word in shown.split() if word.startswith('"manylinux_2_'))
        self.taken(pathlib.Path(outcome["written"]), floor)


if __name__ == "__main__":
    absent = wheel_read.missing_peers()
    if not (pathlib.Path(sys.prefix) / "bin/auditwheel").exists():
        absent.append("auditwheel")
    if absent:
        print(f"skipped: {', '.join(absent)} is not installed")
        sys.exit(wheel_read.SKIPPED)
    os.environ.setdefault("PTPKG_PEERS", sys.prefix)
    harness.main()
