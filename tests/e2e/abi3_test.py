"""Wheels that fit several Pythons become one conda package that rattler installs for each of them (CEP 20)."""

import json
import pathlib
import subprocess
import sysconfig
import unittest
import zipfile

import harness
import install_test
import outputs_test
import repack_test

MODULE = """
#define Py_LIMITED_API 0x03090000
#include <Python.h>
static PyObject* answer(PyObject* self, PyObject* none) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "toyabi", "", -1, methods};
PyMODINIT_FUNC PyInit_toyabi(void) { return PyModule_Create(&module); }
"""


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
        pythons = outputs_test.interpreters()
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
        for version, python in pythons.items():
            channel = install_test.python_channel(self, python, f"python{version}")
            prefix = self.scratch / f"env{version}"
            installed = install_test.rattler_install(self, prefix, [output / "conda", channel], "toyabi", f"python {version}.*")
            self.assertEqual(sorted(name.split("-")[0] for name in installed.split()), ["python", "toyabi"])
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
        link = json.loads(repack_test.read_conda_info(output / "conda/linux-64" / name)["info/link.json"])
        self.assertEqual(link["noarch"]["entry_points"], ["toyabi = toyabi:main"])

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
