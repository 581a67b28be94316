"""Wheels that fit several Pythons become one conda package that rattler installs for each of them (CEP 20)."""

import json
import pathlib
import subprocess
import sysconfig
import unittest

import harness
import installing
import real_wheels

MODULE = """
#define Py_LIMITED_API 0x03090000
#include <Python.h>
static PyObject* answer(PyObject* self, PyObject* none) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "toyabi", "", -1, methods};
PyMODINIT_FUNC PyInit_toyabi(void) { return PyModule_Create(&module); }
"""

SUPPORT = """
schema_version: 1
package: {name: _python_abi3_support, version: "1.0"}
build: {number: 0, noarch: generic, string: "0", script: ["mkdir -p $PREFIX/share", "echo 1 > $PREFIX/share/abi3-support"]}
about: {license: MIT, summary: "What conda-forge keeps free-threaded Pythons out with; there it needs python-gil"}
extra: {ptpkg: {formats: [conda]}}
"""
SOLVE = """
import asyncio, os, sys
import rattler
async def main(channels, specs):
    records = await rattler.solve([rattler.Channel(f"file://{c}") for c in channels], [rattler.MatchSpec(s) for s in specs],
                                  platforms=["linux-64", "noarch"],
                                  virtual_packages=[rattler.GenericVirtualPackage(
                                      rattler.PackageName("__glibc"), rattler.Version("2.36"), rattler.BuildString("0"))])
    print("\\n".join(sorted(record.file_name for record in records)), flush=True)
try:
    asyncio.run(main(sys.argv[1].split(","), sys.argv[2:]))
except Exception as error:
    if type(error).__name__ != "SolverError":
        raise
    print("unsolvable", flush=True)
os._exit(0)  # its threads now and then crash the interpreter while it shuts down
"""


def conda_forge(folder: pathlib.Path) -> pathlib.Path:
    """A channel with both builds of Python 3.13, and what tells them apart, by the dependencies that conda-forge's have."""
    packages = [("_python_abi3_support", "1.0", "0", ["cpython", "python-gil"])]
    for abi, choice in (("cp313", "python-gil"), ("cp313t", "python-freethreading")):
        packages += [("python", "3.13.0", f"0_{abi}", [f"python_abi 3.13.* *_{abi}"]), ("python_abi", "3.13", f"8_{abi}", []),
                     ("cpython", "3.13.0", f"0_{abi}", ["python 3.13.0.*", f"python_abi * *_{abi}"]),
                     (choice, "3.13.0", "0", ["cpython 3.13.0.*", f"python_abi * *_{abi}"])]
    records = {f"{name}-{version}-{build}.conda": {"name": name, "version": version, "build": build, "build_number": 0, "depends": depends,
                                                   "subdir": "linux-64", "md5": "0" * 32, "sha256": "0" * 64, "size": 1}
               for name, version, build, depends in packages}
    for subdir, content in (("linux-64", records), ("noarch", {})):
        (folder / subdir).mkdir(parents=True)
        (folder / subdir / "repodata.json").write_text(json.dumps({"info": {"subdir": subdir}, "packages": {}, "packages.conda": content}))
    return folder


class StableAbi(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        harness.peers_python()

    def wheel(self, tag: str, files: dict[str, bytes], requires: str = ">=3.9", scripts: str = "") -> pathlib.Path:
        info = {"toyabi-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: toyabi\nVersion: 1.0\nRequires-Python: {requires}\n",
                "toyabi-1.0.dist-info/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tag}\n",
                "toyabi-1.0.dist-info/entry_points.txt": scripts}
        texts = {name: text.encode() for name, text in info.items() if text} | files
        path = self.scratch / f"toyabi-1.0-{tag}.whl"
        tree = self.scratch / f"tree-{tag}"
        for name, text in texts.items():
            place = tree / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text)
        done = self.ptpkg("wheel", tree, "--output", self.scratch / "made")
        self.assertEqual(pathlib.Path(done.stdout.strip()).name, path.name)
        return pathlib.Path(done.stdout.strip())

    def extension(self) -> bytes:
        out = self.scratch / "toyabi.abi3.so"
        include = sysconfig.get_path("include")
        if not pathlib.Path(include, "Python.h").exists():
            harness.missing("Python.h")
        subprocess.run([harness.tool("gcc"), "-shared", "-fPIC", "-x", "c", "-", f"-I{include}", "-o", out], input=MODULE, text=True,
                       check=True)
        return out.read_bytes()

    def index(self, output: pathlib.Path) -> dict[str, dict]:
        packages, = (json.loads(path.read_text())["packages.conda"] for path in output.glob("conda/linux-64/repodata.json"))
        return packages

    def test_one_package_for_every_python(self):
        pythons = installing.interpreters(("3.10", "3.11"))
        if len(pythons) < 2:
            raise unittest.SkipTest("no two Pythons with headers on this machine")
        wheel = self.wheel("cp39-abi3-manylinux_2_17_x86_64", {"toyabi.abi3.so": self.extension()})
        output = self.scratch / "dist"
        self.ptpkg("conda", wheel, "--output", output, "--format", "conda")
        (name, record), = self.index(output).items()
        self.assertEqual(name, "toyabi-1.0-abi3_0.conda")
        self.assertEqual((record["subdir"], record["noarch"]), ("linux-64", "python"))
        self.assertIn("python >=3.9", record["depends"])
        self.ptpkg("check", output / "conda/linux-64" / name)
        support = self.scratch / "support"
        support.mkdir()
        (support / "recipe.yaml").write_text(SUPPORT)
        self.ptpkg("build", support, "--output", self.scratch / "support-dist")
        for version, python in pythons.items():
            channel = installing.python_channel(self, python, f"python{version}")
            prefix = self.scratch / f"env{version}"
            installed = installing.rattler_install(self, prefix, [output / "conda", self.scratch / "support-dist/conda", channel], "toyabi", f"python {version}.*")
            self.assertEqual(sorted(name.split("-")[0] for name in installed.split()), ["_python_abi3_support", "python", "toyabi"])
            folder = prefix / f"lib/python{version}/site-packages"
            self.assertTrue((folder / "toyabi.abi3.so").exists())
            self.run_clean("/usr/bin/env", f"PYTHONPATH={folder}", python, "-c", "import toyabi; assert toyabi.answer() == 42")

    def test_programs_without_a_module_fit_every_python_too(self):
        wheel = self.wheel("py3-none-manylinux_2_17_x86_64", {"toyabi/lib.so": self.extension(), "toyabi/__init__.py": b"def main(): print(1)\n"},
                           scripts="[console_scripts]\ntoyabi = toyabi:main\n")
        output = self.scratch / "dist"
        self.ptpkg("conda", wheel, "--output", output, "--format", "conda")
        (name, record), = self.index(output).items()
        self.assertEqual((name, record["noarch"]), ("toyabi-1.0-py_0.conda", "python"))
        link = json.loads(real_wheels.read_conda_info(output / "conda/linux-64" / name)["info/link.json"])
        self.assertEqual(link["noarch"]["entry_points"], ["toyabi = toyabi:main"])

    def solved(self, *specs: str) -> list[str]:
        program = self.scratch / "solve.py"
        program.write_text(SOLVE)
        channels = f"{self.scratch / 'dist/conda'},{self.forge}"
        return self.run_clean(harness.peers_python(), program, channels, *specs).splitlines()

    def test_free_threaded_pythons_get_packages_of_their_own(self):
        self.forge = conda_forge(self.scratch / "forge")
        files = {"cp313": "toyabi.cpython-313-x86_64-linux-gnu.so", "cp313t": "toyabi.cpython-313t-x86_64-linux-gnu.so"}
        for abi, file in files.items():
            wheel = self.wheel(f"cp313-{abi}-manylinux_2_17_x86_64", {file: self.extension()})
            self.ptpkg("conda", wheel, "--output", self.scratch / "dist", "--format", "conda")
        packages = self.index(self.scratch / "dist")
        self.assertEqual(set(packages), {"toyabi-1.0-py313_0.conda", "toyabi-1.0-cp313t_0.conda"})
        for name, abi, choice in (("toyabi-1.0-py313_0.conda", "cp313", "python-gil"), ("toyabi-1.0-cp313t_0.conda", "cp313t", "python-freethreading")):
            paths = json.loads(real_wheels.read_conda_info(self.scratch / "dist/conda/linux-64" / name)["info/paths.json"])["paths"]
            folder = f"lib/python3.13{abi.removeprefix('cp313')}/site-packages"
            self.assertIn(f"{folder}/{files[abi]}", {path["_path"] for path in paths})
            self.assertEqual({path["_path"].split("/site-packages/")[0] + "/site-packages" for path in paths}, {folder})
            solved = self.solved("toyabi", choice)
            self.assertIn(name, solved)
            self.assertIn(f"python-3.13.0-0_{abi}.conda", solved)

    def test_the_stable_abi_is_not_for_free_threaded_pythons(self):
        self.forge = conda_forge(self.scratch / "forge")
        wheel = self.wheel("cp39-abi3-manylinux_2_17_x86_64", {"toyabi.abi3.so": self.extension()})
        self.ptpkg("conda", wheel, "--output", self.scratch / "dist", "--format", "conda")
        self.assertIn("python-3.13.0-0_cp313.conda", self.solved("toyabi"))
        self.assertIn("unsolvable", self.solved("toyabi", "python-freethreading")[0])
        for tag in ("cp313-cp313d-linux_x86_64", "cp315-abi3t-linux_x86_64"):
            done = self.ptpkg("conda", self.wheel(tag, {"toyabi.so": self.extension()}), "--output", self.scratch / "no", exit_code=3)
            self.assertIn(f"the tag '{tag}' is for the ABI", done.stderr)

    def test_a_package_for_each_python_that_is_named(self):
        wheel = self.wheel("cp39-abi3-manylinux_2_17_x86_64", {"toyabi.abi3.so": self.extension()})
        output = self.scratch / "dist"
        summary = self.ptpkg_json("conda", wheel, "--output", output, "--format", "conda", "--python", "3.10,3.12")
        self.assertEqual(sorted(pathlib.Path(item["path"]).name for item in summary["artifacts"]),
                         ["toyabi-1.0-py310_0.conda", "toyabi-1.0-py312_0.conda"])
        self.assertEqual({record.get("noarch") for record in self.index(output).values()}, {None})
        done = self.ptpkg("conda", wheel, "--output", self.scratch / "no", "--python", "3.8", exit_code=3)
        self.assertIn("needs Python 3.9 or later", done.stderr)


if __name__ == "__main__":
    harness.main()
