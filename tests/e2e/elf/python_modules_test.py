"""Python imports every module that `ptpkg check` passes, and none in which it finds no entry point or another Python's suffix.

The judge is the Python that runs this test: each module is built for it and imported in a process of its own. Suffixes are asked of each
Python on PATH.
"""

import importlib.machinery
import io
import json
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import unittest
import zipfile

import harness

SUFFIX = importlib.machinery.EXTENSION_SUFFIXES[0]
# struct PyModuleDef and PyMODULE_API_VERSION, since the headers of Python may be missing.
CREATE = """void *PyModule_Create2(void *, int);
static struct { long count; void *type, *init; long index; void *copy; const char *name, *doc; long size; void *rest[5]; } module =
  {1, 0, 0, 0, 0, "m", 0, -1, {0}};
static void *create(void) { return PyModule_Create2(&module, 1013); }
"""
USE = CREATE + "void *use(void) { return create(); }\n"
HOOK = CREATE + "void *%s(void) { return create(); }\n"
SYMVER = CREATE + '__asm__(".symver own%d,PyInit_m@%s"); void *own%d(void) { return create(); }\n'
IMPLEMENTATION = {"libimpl.so": (HOOK % "PyInit_m", ["-Wl,-soname,libimpl.so"])}
NEEDS = ["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", "-L{root}"]


# With the version and the flags of the Python that is asked; the rest are of others.
SUFFIXES = (".cpython-{0}{1}-x86_64-linux-gnu.so", ".cpython-{0}{1}-aarch64-linux-gnu.so", ".cpython-{0}{1}-i386-linux-gnu.so",
            ".cpython-{0}{1}-x86_64-linux-musl.so", ".cpython-{0}{1}-darwin.so", ".cpython-{0}d{1}-x86_64-linux-gnu.so",
            ".cpython-{0}{1}.so", ".cpython-36m-x86_64-linux-gnu.so", ".cpython-310-x86_64-linux-gnu.so", ".cpython-311-x86_64-linux-gnu.so",
            ".cpython-314t-x86_64-linux-gnu.so", ".pypy311-pp73-x86_64-linux-gnu.so", ".abi3.so", ".abi3t.so", ".abi3-x86_64-linux-gnu.so",
            ".cp{0}-win_amd64.pyd", ".so")


def pythons() -> list[tuple[str, str, str]]:
    """Path, version and flags of each CPython: "python3.7", "3.7", "m"."""
    found = {}
    for path in (sys.executable, *(shutil.which(f"python3.{minor}") for minor in range(6, 21))):
        words = "import sys; print('%d.%d %s %s' % (sys.version_info[:2] + (sys.implementation.name, sys.abiflags)))"
        done = subprocess.run([path, "-c", words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False) if path else None
        if done and done.returncode == 0 and done.stdout.split()[1] == "cpython":
            version, _, *flags = done.stdout.split()
            found.setdefault((version, *flags), (path, version, "".join(flags)))
    return list(found.values())


def wheel(folder: pathlib.Path, tag: str, files: dict[str, bytes]) -> pathlib.Path:
    path = folder / f"toy-1.0-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**files, "toy-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n"}.items():
            archive.writestr(name, content)
    return path


def conda_package(folder: pathlib.Path, depends: list[str], files: dict[str, bytes]) -> pathlib.Path:
    path = folder / "toy-1.0-0.tar.bz2"
    index = {"name": "toy", "version": "1.0", "build": "0", "build_number": 0, "depends": depends, "subdir": "linux-64"}
    with tarfile.open(path, "w:bz2") as archive:
        for name, content in {**files, "info/index.json": json.dumps(index).encode()}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def punycode(name: str) -> str:
    return "PyInitU_" + name.encode("punycode").decode().replace("-", "_")


@unittest.skipUnless(shutil.which("gcc"), "gcc is missing")
class PythonModules(harness.Case):
    def tree(self, name: str, files: dict[str, tuple[str, list[str]]]) -> pathlib.Path:
        """Path → source and options of a library; each is linked after those before it."""
        root = self.scratch / name.replace(" ", "-")
        (self.scratch / "versions.map").write_text("V1 { global: first; }; V2 { global: second; };")
        for path, (source, options) in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.scratch / "one.c").write_text(source)
            words = [option.format(root=root, scratch=self.scratch) for option in options]
            subprocess.run(["gcc", "-shared", "-fPIC", "one.c", "-o", str(root / path), *words], cwd=self.scratch, check=True)
        return root

    def findings(self, root: pathlib.Path) -> list[tuple[str, str]]:
        """Severity and message of each elf-module-init."""
        done = subprocess.run([harness.Settings.ptpkg, "check", "--json", "--quiet", "--profile", "tree", root], text=True,
                              env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return [(finding["severity"], finding["message"]) for finding in json.loads(done.stdout)[0]["findings"]
                if finding["id"] == "elf-module-init"]

    def imports(self, root: pathlib.Path, name: str) -> bool:
        words = "import importlib, sys; sys.path.insert(0, sys.argv[1]); importlib.import_module(sys.argv[2])"
        done = subprocess.run([sys.executable, "-X", "utf8", "-c", words, root, name], check=False, text=True, stderr=subprocess.PIPE)
        # A module with a name that is not ASCII must have two phases; this one was found and called.
        called = done.returncode == 0 or "did not return PyModuleDef" in done.stderr
        self.assertTrue(called or done.returncode < 0 or "module export function" in done.stderr, done.stderr)
        return called

    def compare(self, cases: dict[str, tuple[str, dict]]) -> None:
        """Name of a case → module to import and its files; the expected severity is Python's."""
        for case, (name, files) in cases.items():
            with self.subTest(case):
                root = self.tree(case, files)
                severities = [severity for severity, _ in self.findings(root)]
                self.assertEqual(severities, [] if self.imports(root, name) else ["error"])

    def test_packages_that_are_modules(self):
        """Python asks '__init__' for the function of the package."""
        self.compare({
            "package": ("p", {f"p/__init__{SUFFIX}": (HOOK % "PyInit_p", [])}),
            "stable package": ("p", {"p/__init__.abi3.so": (HOOK % "PyInit_p", [])}),
            "package of the file's name": ("p", {f"p/__init__{SUFFIX}": (HOOK % "PyInit___init__", [])}),
            "package in a package": ("o.p", {f"o/p/__init__{SUFFIX}": (HOOK % "PyInit_p", [])}),
            "no package": ("__init__", {f"__init__{SUFFIX}": (HOOK % "PyInit___init__", [])}),
        })

    def test_functions_of_needed_libraries(self):
        """dlsym searches the libraries of the module too, breadth first."""
        middle = {"libmiddle.so": ("int middle;", ["-Wl,-soname,libmiddle.so", *NEEDS, "-l:libimpl.so"])}
        data = {"libdata.so": ("int PyInit_m = 5;", ["-Wl,-soname,libdata.so"])}
        deep = {"libdeep.so": ("int PyInit_m = 5;", ["-Wl,-soname,libdeep.so"]),
                "liba.so": ("int a;", ["-Wl,-soname,liba.so", *NEEDS, "-l:libdeep.so"])}
        file = f"m{SUFFIX}"
        self.compare({
            "needed": ("m", {**IMPLEMENTATION, file: (USE, [*NEEDS, "-l:libimpl.so"])}),
            "called": ("m", {**IMPLEMENTATION, file: ("void *PyInit_m(void); void *use(void) { return PyInit_m(); }", [*NEEDS, "-l:libimpl.so"])}),
            "needed by a needed library": ("m", {**IMPLEMENTATION, **middle, file: (USE, [*NEEDS, "-l:libmiddle.so"])}),
            "in another directory": ("m", {"m.libs/libimpl.so": IMPLEMENTATION["libimpl.so"],
                                           file: (USE, ["-Wl,-rpath,$ORIGIN/m.libs", "-L{root}/m.libs", "-Wl,--no-as-needed", "-l:libimpl.so"])}),
            "filter": ("m", {**IMPLEMENTATION, file: (USE, ["-Wl,-F,libimpl.so", *NEEDS])}),
            "of another name": ("m", {"libimpl.so": (HOOK % "PyInit_x", ["-Wl,-soname,libimpl.so"]), file: (USE, [*NEEDS, "-l:libimpl.so"])}),
            "not needed": ("m", {**IMPLEMENTATION, file: (USE, [])}),
            "data": ("m", {**data, file: (USE, [*NEEDS, "-l:libdata.so"])}),
            "data first": ("m", {**data, **IMPLEMENTATION, file: (USE, [*NEEDS, "-l:libdata.so", "-l:libimpl.so"])}),
            "code first": ("m", {**data, **IMPLEMENTATION, file: (USE, [*NEEDS, "-l:libimpl.so", "-l:libdata.so"])}),
            "data behind the code": ("m", {**deep, **IMPLEMENTATION, file: (USE, [*NEEDS, "-l:liba.so", "-l:libimpl.so"])}),
        })
        found = self.findings(self.scratch / "data-first")
        self.assertEqual(found, [("error", "gets 'PyInit_m' from 'libdata.so', but not as code, so the import kills Python")])

    def test_library_outside_of_the_artifact(self):
        """It may have the function, so this is no error."""
        root = self.tree("outside", {"libimpl.so": IMPLEMENTATION["libimpl.so"], f"m{SUFFIX}": (USE, [*NEEDS, "-l:libimpl.so"])})
        self.assertTrue(self.imports(root, "m"))
        (root / "libimpl.so").unlink()
        self.assertEqual([severity for severity, _ in self.findings(root)], ["info"])
        root = self.tree("system", {f"m{SUFFIX}": (USE, ["-Wl,--no-as-needed", "-lm", "-lgcc_s"])})
        self.assertFalse(self.imports(root, "m"))
        self.assertEqual([severity for severity, _ in self.findings(root)], ["error"])

    def test_versions(self):
        """dlsym takes a default version, and no hidden one."""
        script = ["-Wl,--version-script,{scratch}/versions.map"]
        file = f"m{SUFFIX}"
        cases = {
            "default": ("m", {file: (SYMVER % (1, "@V1", 1), script)}),
            "hidden": ("m", {file: (SYMVER % (1, "V1", 1), script)}),
            "two hidden": ("m", {file: (SYMVER % (1, "V1", 1) + (SYMVER % (2, "V2", 2)).removeprefix(CREATE), script)}),
            "hidden and default": ("m", {file: (SYMVER % (1, "V1", 1) + (SYMVER % (2, "@V2", 2)).removeprefix(CREATE), script)}),
        }
        if shutil.which("ld.lld"):
            cases["hidden, lld"] = ("m", {file: (SYMVER % (1, "V1", 1), [*script, "-fuse-ld=lld"])})
        self.compare(cases)

    def test_names_that_are_no_identifiers(self):
        """importlib imports them; '-' counts as '_' (PEP 489)."""
        right = {"a-b": "PyInit_a_b", "1x": "PyInit_1x", "gr-ün": punycode("gr-ün"), "grün": punycode("grün")}
        self.compare({f"{name} {function}": (name, {name + SUFFIX: (HOOK % function, [])})
                      for name, own in right.items() for function in (own, "PyInit_q")})

    def errors(self, paths: list[pathlib.Path], finding_id: str) -> list[bool]:
        done = subprocess.run([harness.Settings.ptpkg, "check", "--json", "--quiet", *paths], text=True, env=self.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return [any(finding["id"] == finding_id and finding["severity"] == "error" for finding in report["findings"])
                for report in json.loads(done.stdout)]

    @unittest.skipUnless(platform.machine() == "x86_64", "the suffixes are those of x86-64")
    def test_suffixes_of_the_tag_and_of_the_dependencies(self):
        """A wheel is for the Python of its tag, and a conda package for that of its dependencies: is its module found there?"""
        image = (self.tree("image", {"m.so": (HOOK % "PyInit_m", [])}) / "m.so").read_bytes()
        for path, version, flags in pythons():
            digits = version.replace(".", "")
            suffixes = list(dict.fromkeys(suffix.format(digits, flags) for suffix in SUFFIXES))
            wheels, packages, found = [], [], []
            for number, suffix in enumerate(suffixes):
                folder = self.scratch / f"{digits}{flags}-{number}"
                folder.mkdir()
                name = f"m{suffix}"
                (folder / name).write_bytes(image)
                done = subprocess.run([path, "-c", "import sys; sys.path.insert(0, sys.argv[1]); import m", folder], check=False,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                self.assertTrue(done.returncode == 0 or "No module named" in done.stderr, done.stderr)
                found.append(done.returncode == 0)
                wheels.append(wheel(folder, f"cp{digits}-cp{digits}{flags}-manylinux_2_17_x86_64", {name: image}))
                site = f"lib/python{version}{'t' if 't' in flags else ''}/site-packages"
                packages.append(conda_package(folder, [f"python {version}.*"], {f"{site}/{name}": image}))
            self.assertGreaterEqual(found.count(True), 3, version)
            for kind, paths in (("wheel-extension-tag", wheels), ("conda-python-module", packages)):
                refused = self.errors(paths, kind)
                self.assertEqual({suffix: not is_refused for suffix, is_refused in zip(suffixes, refused, strict=True)},
                                 dict(zip(suffixes, found, strict=True)), f"{kind}, Python {version}{flags}")

    @unittest.skipUnless(platform.machine() == "x86_64", "the package is for x86-64")
    def test_directories_of_a_conda_package(self):
        """A Python finds the modules of one directory of its prefix."""
        for path, version, flags in pythons():
            words = "import sysconfig; print(sysconfig.get_path('purelib', 'posix_prefix', {'base': '', 'platbase': ''}).strip('/'))"
            own = subprocess.run([path, "-c", words], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
            folders = [own, "site-packages", "Lib/site-packages", "lib/site-packages", "lib/python3.5/site-packages"]
            packages = []
            for number, folder in enumerate(folders):
                scratch = self.scratch / f"place-{version}{flags}-{number}"
                scratch.mkdir()
                packages.append(conda_package(scratch, [f"python {version}.*"], {f"{folder}/m.py": b""}))
            self.assertEqual(self.errors(packages, "conda-python-module"), [False, True, True, True, True], f"{version}{flags}, {own}")

    def test_export_hook(self):
        """PyModExport_NAME (PEP 793) counts from Python 3.15 on, before PyInit_NAME."""
        if sys.version_info < (3, 15):
            self.compare({"export hook": ("m", {f"m{SUFFIX}": (HOOK % "PyModExport_m", [])})})
        hook = "void *PyErr_Occurred(void); void *{}(void) {{ return PyErr_Occurred(); }}"
        data = "void *PyErr_Occurred(void); void *use(void) {{ return PyErr_Occurred(); }} int {};"
        new, old = (f".cpython-3{minor}-x86_64-linux-gnu.so" for minor in (15, 14))
        for file, source, expected in (
                (f"m{new}", hook.format("PyModExport_m"), []), ("m.cpython-315t-x86_64-linux-gnu.so", hook.format("PyModExport_m"), []),
                ("m.abi3t.so", hook.format("PyModExport_m"), []), ("m.abi3.so", hook.format("PyModExport_m"), []),
                (f"m{new}", hook.format("PyModExport_x"), ["error"]), (f"m{new}", hook.format("PyInit_m"), []),
                (f"p/__init__{new}", hook.format("PyModExport_p"), []),
                (f"grün{new}", hook.format(punycode("grün").replace("PyInit", "PyModExport")), []),
                (f"m{new}", data.format("PyModExport_m"), ["error"]), (f"m{old}", hook.format("PyModExport_m"), ["error"]),
                ("m.pypy311-pp73-x86_64-linux-gnu.so", hook.format("PyModExport_m"), ["error"])):
            with self.subTest(file=file, source=source):
                self.assertEqual([severity for severity, _ in self.findings(self.one(file, source))], expected)

    def one(self, file: str, source: str) -> pathlib.Path:
        return self.tree(f"one{len(list(self.scratch.iterdir()))}", {file: (source, [])})


if __name__ == "__main__":
    harness.main()
