"""`ptpkg transmute` beside `cph transmute`: both unpack to the same files, in both directions."""

import hashlib
import io
import json
import os
import pathlib
import py_compile
import stat
import subprocess
import tarfile

import harness

STEM = "demo-1.0-0"
TIME = 1600000000


def member(name: str, data: bytes = b"", mode: int = 0o644, kind: bytes = tarfile.REGTYPE, link: str = "",
           time: int = TIME) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.mtime, info.linkname, info.size = kind, mode, time, link, len(data)
    return info, data


def package(path: pathlib.Path, payload: list, wrong_digest: bool = False) -> pathlib.Path:
    """A .tar.bz2 as other builders write it: own modes and times, directories and hard links."""
    contents = {info.name: data for info, data in payload}
    paths, files = [], []
    for info, data in payload:
        if info.isdir():
            continue
        folder = os.path.dirname(info.name)
        target = os.path.normpath(os.path.join(folder, info.linkname)) if info.issym() else info.linkname
        data = contents.get(target, b"") if info.linkname else data
        paths.append({"_path": info.name, "path_type": "softlink" if info.issym() else "hardlink",
                      "sha256": hashlib.sha256(data + b"!" * wrong_digest).hexdigest(), "size_in_bytes": len(data)})
        files.append(info.name + "\n")
    texts = {"info/index.json": json.dumps({"name": "demo", "version": "1.0", "build": "0", "build_number": 0, "depends": [],
                                            "subdir": "linux-64", "arch": "x86_64", "platform": "linux", "license": "MIT"}),
             "info/paths.json": json.dumps({"paths": sorted(paths, key=lambda one: one["_path"]), "paths_version": 1}),
             "info/files": "".join(sorted(files)), "info/about.json": "{}", "info/licenses/LICENSE": "free\n"}
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:bz2", format=tarfile.PAX_FORMAT) as archive:
        for info, data in [*(member(name, text.encode()) for name, text in texts.items()), *payload]:
            archive.addfile(info, io.BytesIO(data))
    return path


def tree(folder: pathlib.Path) -> dict[str, tuple]:
    """Every file below: kind, mode, time in seconds, content or target."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        name = str(path.relative_to(folder))
        if stat.S_ISLNK(status.st_mode):
            found[name] = ("link", os.readlink(path))
        elif stat.S_ISREG(status.st_mode):
            found[name] = ("file", stat.S_IMODE(status.st_mode), int(status.st_mtime), harness.sha256(path))
    return found


class Transmute(harness.Case):
    def payload(self) -> list:
        source = self.scratch / "mod.py"
        source.write_text("ANSWER = 42\n")
        os.utime(source, (TIME, TIME))
        compiled = pathlib.Path(py_compile.compile(str(source), cfile=str(self.scratch / "mod.pyc"), dfile="mod.py",
                                                   invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP))
        site = "lib/python3.11/site-packages"
        return [member("bin", kind=tarfile.DIRTYPE, mode=0o755), member("bin/tool", b"#!/bin/sh\necho tool\n", 0o775),
                member("bin/same", kind=tarfile.LNKTYPE, link="bin/tool", mode=0o775),
                member(f"{site}/mod.py", source.read_bytes(), 0o664),
                member(f"{site}/__pycache__/mod.cpython-311.pyc", compiled.read_bytes(), 0o664, time=TIME + 5),
                member("share/" + "d" * 90 + "/" + "n" * 120, b"long\n"), member("share/caf\u00e9.txt", b"text\n"),
                member("share/again", kind=tarfile.SYMTYPE, link="caf\u00e9.txt", mode=0o777),
                member("share/large", os.urandom(3 << 20))]

    def unpacked(self, artifact: pathlib.Path) -> dict[str, tuple]:
        folder = self.scratch / f"tree-of-{artifact.parent.name}-{artifact.name}"
        subprocess.run([harness.peer_program("cph"), "extract", artifact, "--dest", folder], check=True,
                       stdout=subprocess.DEVNULL)
        return tree(folder)

    def unpacked_by_rattler(self, artifact: pathlib.Path) -> dict[str, tuple]:
        folder = self.scratch / f"rattler-of-{artifact.name}"
        code = "import sys\nfrom rattler.package_streaming import extract\nextract(sys.argv[1], sys.argv[2])"
        subprocess.run([harness.peers_python(), "-c", code, artifact, folder], check=True)
        return tree(folder)

    def cph(self, artifact: pathlib.Path, extension: str) -> pathlib.Path:
        folder = self.scratch / "theirs"
        folder.mkdir(exist_ok=True)
        subprocess.run([harness.peer_program("cph"), "transmute", artifact, extension, "--out-folder", folder], check=True,
                       stdout=subprocess.DEVNULL)
        return folder / f"{STEM}{extension}"

    def transmute(self, artifact: pathlib.Path, output: str, *arguments, **extra) -> pathlib.Path:
        done = self.ptpkg("transmute", artifact, "--output", self.scratch / output, *arguments, **extra)
        return pathlib.Path(done.stdout.strip())

    def test_both_ways_as_cph(self):
        source = package(self.scratch / "in" / f"{STEM}.tar.bz2", self.payload())
        expected = self.unpacked(source)
        self.assertGreater(len(expected), 10)
        conda = self.transmute(source, "ours")
        self.assertEqual(conda, self.scratch / "ours" / f"{STEM}.conda")
        self.ptpkg("check", conda)
        self.assertEqual(self.unpacked(conda), expected)
        self.assertEqual(self.unpacked_by_rattler(conda), self.unpacked_by_rattler(source))
        self.assertEqual(self.unpacked(self.cph(source, ".conda")), expected)
        back = self.transmute(conda, "ours")
        self.ptpkg("check", back)
        self.assertEqual(self.unpacked(back), expected)
        from_theirs = self.transmute(self.scratch / "theirs" / f"{STEM}.conda", "from-theirs")
        self.ptpkg("check", from_theirs)
        self.assertEqual(self.unpacked(from_theirs), expected)
        self.assertEqual(harness.leftovers(self.scratch / "ours"), [])

    def test_same_bytes_whatever_the_run(self):
        source = package(self.scratch / "in" / f"{STEM}.tar.bz2", self.payload())
        one = self.transmute(source, "one", "--jobs", "1")
        other = self.transmute(source, "other", "--jobs", "5", SOURCE_DATE_EPOCH="1800000000", TZ="Asia/Tokyo")
        self.assertEqual(one.read_bytes(), other.read_bytes())
        self.assertEqual(self.transmute(one, "one").read_bytes(), self.transmute(other, "other", "--jobs", "3").read_bytes())

    def test_own_packages_become_their_twins(self):
        source = package(self.scratch / "in" / f"{STEM}.tar.bz2", self.payload())
        self.ptpkg("build", harness.FIXTURES / "toymagma", "--select", "toy_backend=cpu", "--output", self.scratch / "dist", "--quiet")
        twins = sorted((self.scratch / "dist/conda").glob("*/toymagma*"))
        self.assertEqual(len(twins), 2, twins)
        for one, other in (twins, reversed(twins)):
            self.assertEqual(self.transmute(one, "twin").read_bytes(), other.read_bytes())
        done = self.ptpkg("transmute", source, twins[0], "--output", self.scratch / "twin", exit_code=7)
        self.assertIn("--force", done.stderr)
        self.ptpkg("transmute", source, twins[0], "--output", self.scratch / "twin", "--force")

    def test_refusals_write_nothing(self):
        output = self.scratch / "out"
        bad = package(self.scratch / "in" / f"{STEM}.tar.bz2", self.payload(), wrong_digest=True)
        done = self.ptpkg("transmute", bad, "--output", output, exit_code=3)
        self.assertIn("conda-paths-digest", done.stderr)
        self.assertIn("ptpkg check", done.stderr)
        (self.scratch / "cut").mkdir()
        cut = self.scratch / "cut" / bad.name
        cut.write_bytes(bad.read_bytes()[:-100])
        self.ptpkg("transmute", cut, "--output", output, exit_code=3)
        self.ptpkg("transmute", self.scratch / "none.conda", "--output", output, exit_code=4)
        self.ptpkg("transmute", self.scratch / "mod.py", "--output", output, exit_code=3)
        self.assertEqual(list(output.iterdir()), [])

    def test_packages_before_a_failure_stay_and_are_named(self):
        good = package(self.scratch / "good" / f"{STEM}.tar.bz2", self.payload())
        bad = package(self.scratch / "bad" / f"{STEM}.tar.bz2", self.payload(), wrong_digest=True)
        done = json.loads(self.ptpkg("transmute", good, bad, "--json", exit_code=3).stdout)
        written = good.parent / f"{STEM}.conda"
        self.assertEqual(done["outcomes"], [{"from": str(good), "to": str(written)}])
        self.assertTrue(written.exists())
        self.assertEqual(list(bad.parent.iterdir()), [bad])


if __name__ == "__main__":
    harness.main()
