"""`ptpkg wheel TREE`: unpacked wheels and prefixes become wheels that the tools of the field take."""

import json
import pathlib
import random
import shutil
import subprocess
import tempfile
import zipfile

import harness
from wheel_maker import contents

INFO = {"METADATA": "Metadata-Version: 2.1\nName: Toy.Pack\nVersion: 1.0\nRequires-Python: >=3.9\nX-Unknown: stays\n\nA toy.\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: elsewhere\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\nBuild: 7\n",
        "RECORD": "toy/old.py,sha256=AAAA,1\n", "INSTALLER": "pip\n", "entry_points.txt": "[console_scripts]\ntoy = toy:main\n",
        "licenses/LICENSE": "do as you like\n"}
LIBRARIES = {"old": "int plain(void) { return 1; }",
             "new": "#include <dlfcn.h>\nvoid* open_it(const char* n) { return dlopen(n, RTLD_NOW); }"}  # GLIBC_2.34


class WheelTree(harness.Case):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)

    def unpacked(self, name: str = "toy_pack-1.0", **info: str) -> pathlib.Path:
        tree = self.scratch / name
        for file, text in {**INFO, **info}.items():
            place = tree / "toy_pack-1.0.dist-info" / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        (tree / "toy").mkdir()
        (tree / "toy/__init__.py").write_text("def main():\n    return 0\n" * 50)
        (tree / "toy/random.bin").write_bytes(random.Random(1).randbytes(9000))
        return tree

    def library(self, tree: pathlib.Path, name: str, *flags) -> pathlib.Path:
        place = tree / f"toy/{name}.so"
        subprocess.run([harness.tool("gcc"), "-shared", "-fPIC", "-x", "c", "-", "-o", place, *flags], input=LIBRARIES[name],
                       text=True, check=True)
        return place

    def make(self, tree: pathlib.Path, *arguments, output: str = "out", **options) -> pathlib.Path:
        done = self.ptpkg("wheel", tree, "--output", self.scratch / output, *arguments, **options)
        return pathlib.Path(done.stdout.strip())

    def check_with_installer(self, wheel: pathlib.Path) -> None:
        code = ("import sys\nfrom installer.sources import WheelFile\nwith WheelFile.open(sys.argv[1]) as wheel:\n"
                "    wheel.validate_record(validate_contents=True)\n")
        subprocess.run([harness.peers_python(), "-c", code, wheel], check=True)

    def test_an_unpacked_wheel(self):
        tree = self.unpacked()
        (tree / "toy/__pycache__").mkdir()
        (tree / "toy/__pycache__/x.pyc").write_text("left out")
        (tree / "toy/again.bin").symlink_to("random.bin")
        (tree / "toy/tool.sh").write_text("#!/bin/sh\n")
        (tree / "toy/tool.sh").chmod(0o775)
        wheel = self.make(tree)
        self.assertEqual(wheel.name, "toy_pack-1.0-7-py3-none-linux_x86_64.whl")
        found = contents(wheel)
        names = list(found)
        self.assertEqual(names[-1], "toy_pack-1.0.dist-info/RECORD")
        payload = [name for name in names if ".dist-info/" not in name]
        self.assertEqual(payload, sorted(payload))
        self.assertEqual(names[:len(payload)], payload)
        self.assertEqual(set(payload), {"toy/__init__.py", "toy/random.bin", "toy/again.bin", "toy/tool.sh"})
        self.assertEqual(found["toy/again.bin"], found["toy/random.bin"])
        self.assertNotIn("toy_pack-1.0.dist-info/INSTALLER", names)
        metadata = found["toy_pack-1.0.dist-info/METADATA"].decode()
        self.assertIn("Metadata-Version: 2.4\nName: Toy.Pack\nVersion: 1.0\nRequires-Python: >=3.9\nX-Unknown: stays\n", metadata)
        self.assertIn("License-File: LICENSE\n", metadata)
        self.assertTrue(metadata.endswith("\n\nA toy.\n"))
        with zipfile.ZipFile(wheel) as archive:
            methods = {info.filename: info.compress_type for info in archive.infolist()}
            modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
            self.assertEqual({info.date_time for info in archive.infolist()}, {(1980, 1, 1, 0, 0, 0)})
            self.assertEqual({info.flag_bits for info in archive.infolist()}, {0})
            self.assertEqual({info.extra for info in archive.infolist()}, {b""})
            self.assertEqual({info.create_system for info in archive.infolist()}, {3})
        self.assertEqual(methods["toy/random.bin"], zipfile.ZIP_STORED)
        self.assertEqual(methods["toy/__init__.py"], zipfile.ZIP_DEFLATED)
        self.assertEqual((modes["toy/tool.sh"], modes["toy/__init__.py"]), (0o100755, 0o100644))
        self.check_with_installer(wheel)
        subprocess.run([harness.peer_program("wheel"), "unpack", "--dest", self.scratch / "again", wheel], check=True,
                       stdout=subprocess.DEVNULL)
        receipt, = json.loads((self.scratch / "out/manifest.json").read_text())["artifacts"]
        self.assertRegex(receipt["deflater"], r"^libdeflate 1\.\d+")

    def test_wheel_pack_makes_the_same_content(self):
        tree = self.unpacked()
        ours = contents(self.make(tree))
        subprocess.run([harness.peer_program("wheel"), "pack", "--dest-dir", self.scratch, tree], check=True, stdout=subprocess.DEVNULL)
        theirs = contents(self.scratch / "toy_pack-1.0-7-py3-none-linux_x86_64.whl")
        for name in ("toy/__init__.py", "toy/random.bin", "toy_pack-1.0.dist-info/entry_points.txt"):
            self.assertEqual(ours[name], theirs[name])

    def test_threads_folder_and_modification_times_do_not_count(self):
        tree = self.unpacked()
        (tree / "toy/large.bin").write_bytes(random.Random(2).randbytes(6 << 20) + b"word " * (1 << 20))
        other = self.scratch / "elsewhere/another name"
        shutil.copytree(tree, other, copy_function=shutil.copy)
        first = self.make(tree, "--jobs", "1", output="one")
        second = self.make(other, "--jobs", "4", output="two", TZ="Asia/Tokyo", LC_ALL="C.UTF-8")
        self.assertEqual(first.read_bytes(), second.read_bytes())

    def test_compression(self):
        tree = self.unpacked()
        (tree / "toy/large.txt").write_text("".join(f"{n} {n * n}\n" for n in range(400_000)))
        sizes = []
        for compression in ("store", "fast", "default", "max"):
            wheel = self.make(tree, "--compression", compression, output=compression)
            sizes.append(wheel.stat().st_size)
            self.check_with_installer(wheel)
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertEqual(len(set(sizes)), 4)
        with zipfile.ZipFile(self.scratch / "store/wheels" / wheel.name) as archive:
            self.assertEqual({info.compress_type for info in archive.infolist()}, {zipfile.ZIP_STORED})

    def test_the_second_run_has_nothing_to_do_and_an_edit_is_seen(self):
        tree = self.unpacked()
        self.make(tree)
        summary = self.ptpkg_json("wheel", tree, "--output", self.scratch / "out")
        self.assertFalse(self.stage_states(summary)["repack-tree", tree.name])
        summary = self.ptpkg_json("wheel", tree, "--output", self.scratch / "out", "--compression", "fast")
        self.assertTrue(self.stage_states(summary)["repack-tree", tree.name])
        (tree / "toy/__init__.py").write_text("changed = 1\n")
        self.assertEqual(contents(self.make(tree))["toy/__init__.py"], b"changed = 1\n")
        self.assertEqual(harness.leftovers(self.scratch / "out", self.cache / "work"), [])

    def test_platforms(self):
        tree = self.unpacked()
        self.library(tree, "old")
        self.assertIn("-py3-none-manylinux_2_5_x86_64.whl", self.make(tree, "--platform", "auto", output="low").name)
        new = self.library(tree, "new")
        if b"GLIBC_2.34" not in new.read_bytes():
            harness.missing("a C library with GLIBC_2.34")
        wheel = self.make(tree, "--platform", "auto", output="auto")
        self.assertIn("-py3-none-manylinux_2_34_x86_64.whl", wheel.name)
        self.assertIn(b"Tag: py3-none-manylinux_2_34_x86_64\n", contents(wheel)["toy_pack-1.0.dist-info/WHEEL"])
        shown = subprocess.run([harness.peer_program("auditwheel"), "show", wheel], capture_output=True, text=True, check=True).stdout
        self.assertIn("manylinux_2_34_x86_64", shown)
        self.assertIn("-linux_x86_64.whl", self.make(tree, "--platform", "linux", output="linux").name)
        self.assertIn("-manylinux_2_35_x86_64.whl", self.make(tree, "--platform", "manylinux_2_35_x86_64", output="more").name)
        done = self.ptpkg("wheel", tree, "--output", self.scratch / "no", "--platform", "manylinux_2_17_x86_64", exit_code=1)
        self.assertIn("dlopen@GLIBC_2.34", done.stderr)
        self.assertIn("toy/new.so", done.stderr)
        self.assertEqual(list((self.scratch / "no/wheels").glob("*")) if (self.scratch / "no/wheels").exists() else [], [])
        done = self.ptpkg("wheel", tree, "--output", self.scratch / "no", "--platform", "manylinux_2_39_aarch64", exit_code=1)
        self.assertIn("is for x86_64", done.stderr)

    def test_what_is_no_elf_file_is_not_pure_for_that(self):
        pe = b"MZ" + bytes(58) + (64).to_bytes(4, "little") + b"PE\0\0\x64\x86"
        binaries = {"win_amd64": ("toy/fast.pyd", pe), "win_arm64": ("toy/tool", pe), "macosx_11_0_arm64": ("toy/fast.so", b"\xcf\xfa\xed\xfe rest"),
                    "macosx_11_0_universal2": ("toy/tool", b"\xca\xfe\xba\xbe\0\0\0\2 rest"), "macosx_12_0_x86_64": ("toy/lib.a", b"!<arch>\nrest")}
        for platform, (name, content) in binaries.items():
            with self.subTest(platform=platform):
                tree = self.unpacked(platform, WHEEL=INFO["WHEEL"].replace("linux_x86_64", platform))
                (tree / name).write_bytes(content)
                done = self.ptpkg("wheel", tree, "--output", self.scratch / f"out-{platform}", "--platform", "auto")
                self.assertIn(f"-py3-none-{platform}.whl", done.stdout)
                self.assertIn(f"'{name}' is not a readable ELF file", done.stderr)
                self.make(tree, "--platform", platform, output=f"asked-{platform}")
                (tree / name).write_text("no code")
                done = self.ptpkg("wheel", tree, "--output", self.scratch / "no", "--platform", platform, exit_code=1)
                self.assertIn(f"cannot use the platform tag '{platform}': no file has code for that system", done.stderr)
                self.assertEqual(list(self.scratch.glob("no/wheels/*")), [])
        tree = self.unpacked("abi", WHEEL=INFO["WHEEL"].replace("py3-none", "cp311-cp311"))
        self.assertIn("-cp311-cp311-linux_x86_64.whl", self.make(tree, "--platform", "auto", output="abi-out").name)
        (tree / "toy/A.class").write_bytes(b"\xca\xfe\xba\xbe\0\0\0\x41")  # of Java, for any machine
        (tree / "toy/mz.txt").write_bytes(b"MZ is no signature" * 10)
        (tree / "toy_pack-1.0.dist-info/WHEEL").write_text(INFO["WHEEL"])
        self.assertIn("-py3-none-any.whl", self.make(tree, "--platform", "auto", output="pure").name)

    def test_a_library_from_outside_keeps_the_wheel_at_linux(self):
        tree = self.unpacked()
        subprocess.run([harness.tool("gcc"), "-shared", "-fPIC", "-x", "c", "-", "-o", self.scratch / "libelsewhere.so", "-Wl,-soname,libelsewhere.so.1"],
                       input="int elsewhere(void) { return 1; }", text=True, check=True)
        subprocess.run([harness.tool("gcc"), "-shared", "-fPIC", "-x", "c", "-", "-o", tree / "toy/user.so",
                        f"-L{self.scratch}", "-Wl,--no-as-needed", "-lelsewhere"],
                       input="int elsewhere(void); int use(void) { return elsewhere(); }", text=True, check=True)
        for platform in ("auto", "linux"):
            done = self.ptpkg("wheel", tree, "--output", self.scratch / platform, "--platform", platform)
            self.assertIn("-linux_x86_64.whl", done.stdout)
            self.assertIn("warning: needs 'libelsewhere.so.1'", done.stderr)
            self.assertIn("elf-unresolved-needed", done.stderr)
            self.assertEqual("which public indexes reject: " in done.stderr, platform == "auto")
        (self.scratch / "libelsewhere.so.1").symlink_to("libelsewhere.so")
        self.ptpkg("repair", done.stdout.strip(), "--lib-dir", self.scratch, "--output", self.scratch / "repaired")
        refused = self.ptpkg("wheel", tree, "--output", self.scratch / "no", exit_code=1)  # the tag of WHEEL says nothing about it
        self.assertIn("libelsewhere.so.1", refused.stderr)
        self.assertEqual(list((self.scratch / "no").glob("wheels/*.whl")), [])

    def test_a_prefix(self):
        prefix = self.scratch / "prefix"
        for name in ("toyone", "toytwo"):
            project = self.scratch / name
            project.mkdir()
            (project / "pyproject.toml").write_text(
                f'[project]\nname = "{name}"\nversion = "2.0"\n[project.scripts]\n{name}-run = "{name}:main"\n'
                '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n')
            (project / f"{name}.py").write_text("def main():\n    print('it runs')\n")
            subprocess.run([harness.peers_python(), "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
                            "--no-index", "--prefix", prefix, project], check=True)
        done = self.ptpkg("wheel", prefix, "--output", self.scratch / "out", exit_code=3)
        self.assertIn("--distribution", done.stderr)
        wheel = self.make(prefix, "--distribution", "toytwo")
        self.assertEqual(wheel.name, "toytwo-2.0-py3-none-any.whl")
        self.assertEqual({name for name in contents(wheel) if ".dist-info" not in name}, {"toytwo.py"})
        self.check_with_installer(wheel)
        subprocess.run([harness.peers_python(), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target",
                        self.scratch / "target", wheel], check=True)
        program = (self.scratch / "target/bin/toytwo-run").read_text()
        self.assertIn("from toytwo import main", program)

    def test_what_it_refuses(self):
        tree = self.unpacked()
        self.assertIn("'--select'", self.ptpkg("wheel", tree, "--select", "a=b", exit_code=2).stderr)
        self.assertIn("'best'", self.ptpkg("wheel", tree, "--compression", "best", exit_code=2).stderr)
        self.assertIn("is not a platform tag", self.ptpkg("wheel", tree, "--platform", "many-linux", exit_code=2).stderr)
        self.assertIn("is the wheel of", self.ptpkg("wheel", tree, "--distribution", "other", exit_code=4).stderr)
        (tree / "other-2.0.dist-info").mkdir()
        (tree / "other-2.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 2.0\n")
        self.assertIn("several distributions", self.ptpkg("wheel", tree, exit_code=3).stderr)
        shutil.rmtree(tree / "other-2.0.dist-info")
        (tree / "toy/outside").symlink_to("/etc/passwd")
        self.assertIn("outside", self.ptpkg("wheel", tree, exit_code=3).stderr)
        (self.scratch / "empty").mkdir()
        self.assertIn("recipe.yaml", self.ptpkg("wheel", self.scratch / "empty", exit_code=4).stderr)
        self.assertEqual(list(self.scratch.rglob("*.whl")), [])


if __name__ == "__main__":
    harness.main()
