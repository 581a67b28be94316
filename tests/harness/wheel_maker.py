"""Wheels with compiled libraries that tests make, and what becomes of them when they are installed."""

import pathlib
import shutil
import subprocess
import sys
import sysconfig
import zipfile

import harness

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
# A module that calls `value`, and tells what it got.
MODULE = """
#include <Python.h>
int value(void);
%s
static PyObject *get(PyObject *self, PyObject *none) { return PyLong_FromLong(%s); }
static PyMethodDef methods[] = {{"get", get, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "%s", "", -1, methods};
PyMODINIT_FUNC PyInit_%s(void) { return PyModule_Create(&module); }
"""


def stored(path: pathlib.Path) -> dict[str, bytes]:
    """What lies in the file for each member, compressed as it is."""
    data, found = path.read_bytes(), {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            at = info.header_offset
            begin = at + 30 + int.from_bytes(data[at + 26:at + 28], "little") + int.from_bytes(data[at + 28:at + 30], "little")
            found[info.filename] = data[begin:begin + info.compress_size]
    return found


def contents(path: pathlib.Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


class WheelCase(harness.Case):
    """tree/ becomes a wheel; outside/ holds libraries that it needs."""

    def setUp(self) -> None:
        super().setUp()
        self.tree = self.scratch / "tree"
        (self.tree / "toy").mkdir(parents=True)
        (self.tree / "toy/__init__.py").write_text("")
        self.outside = self.scratch / "outside"
        self.outside.mkdir()

    # Making things.

    def gcc(self, *arguments) -> None:
        subprocess.run([harness.tool("gcc"), *map(str, arguments)], check=True)

    def library(self, name: str, body: str, *needs: str, folder: str = "", options=()) -> pathlib.Path:
        """outside/<folder>/<name>, linked to others there by file name."""
        place = self.outside / folder
        place.mkdir(exist_ok=True)
        source = self.scratch / "lib.c"
        source.write_text(body)
        soname = [] if any("-soname" in option for option in options) else [f"-Wl,-soname,{name}"]
        self.gcc("-shared", "-fPIC", "-g", "-o", place / name, source, *soname, *[place / need for need in needs],
                 *([f"-Wl,-rpath,{place}"] if needs else []), *options)
        return place / name

    def module(self, name: str, *needs: pathlib.Path, where: str = "toy", call: str = "value()", extra: str = "", options=None) -> None:
        source = self.scratch / f"{name}.c"
        source.write_text(MODULE % (extra, call, name, name))
        paths = sorted({f"-Wl,-rpath,{need.parent}" for need in needs}) if options is None else options
        place = self.tree / where
        place.mkdir(parents=True, exist_ok=True)
        self.gcc("-shared", "-fPIC", f"-I{sysconfig.get_path('include')}", "-o", place / f"{name}{SUFFIX}", source, *paths, *needs)

    def wheel(self, requires: str = "", platform: str = "linux_x86_64", pure: str = "false") -> pathlib.Path:
        info = self.tree / "toy-1.0.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n{requires}")
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: {pure}\nTag: {TAG}-{TAG}-{platform}\n")
        (self.scratch / "in").mkdir(exist_ok=True)
        subprocess.run([harness.peer_program("wheel"), "pack", self.tree, "--dest-dir", self.scratch / "in"], check=True, stdout=subprocess.DEVNULL)
        return self.scratch / f"in/toy-1.0-{TAG}-{TAG}-{platform}.whl"

    # Looking at results.

    def repair(self, wheel: pathlib.Path, *arguments, **options) -> dict:
        self.output = self.scratch / "out"
        result, = self.ptpkg_json("repair", wheel, "--output", self.output, *arguments, **options)
        return result

    def names(self, wheel) -> list[str]:
        with zipfile.ZipFile(wheel) as archive:
            return archive.namelist()

    def dynamic(self, wheel, member: str) -> str:
        folder = self.scratch / "look"
        with zipfile.ZipFile(wheel) as archive:
            path = archive.extract(member, folder)
        return subprocess.run([harness.tool("readelf"), "-dW", path], check=True, text=True, stdout=subprocess.PIPE).stdout

    def installed(self, wheel) -> pathlib.Path:
        """site-packages with the wheel, when what it was made of is gone."""
        site = self.scratch / "site"
        shutil.rmtree(site, ignore_errors=True)
        self.run_clean(harness.peers_python(), "-m", "pip", "install", "--no-deps", "--no-index", "-q", "--target", site, wheel)
        return site

    def get(self, site: pathlib.Path, *modules: str) -> str:
        """What toy.<module>.get() says, in one process, with nothing outside."""
        hidden = self.outside.with_name("hidden")
        if self.outside.exists():
            self.outside.rename(hidden)
        code = "import importlib\nprint(*[importlib.import_module(name).get() for name in %r])" % (list(modules),)
        try:
            return self.run_clean(sys.executable, "-c", f"import sys; sys.path.insert(0, {str(site)!r})\n{code}").strip()
        finally:
            hidden.rename(self.outside)

    def sound(self, wheel) -> None:
        code = ("import sys\nfrom installer.sources import WheelFile\nwith WheelFile.open(sys.argv[1]) as wheel:\n"
                "    wheel.validate_record(validate_contents=True)\n")
        subprocess.run([harness.peers_python(), "-c", code, wheel], check=True)
        self.ptpkg("check", wheel, "--profile", "pytorch-index")

    def shown(self, wheel) -> str:
        return subprocess.run([harness.peers_python(), "-m", "auditwheel", "show", wheel], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
