"""The floor of `ptpkg check --json` is the policy that auditwheel finds: for small wheels made for one version each, and for
numpy's and scipy's. Exit 77 is a skip.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import real_wheels

# What the compilers of current distributions bind by default; a machine with older ones skips the case.
SOURCES = {
    "nothing": ("c", "int plain(void) { return 1; }", ""),
    "memcpy": ("c", "#include <string.h>\nvoid copy(char* a, char* b, unsigned long n) { memcpy(a, b, n); }", "GLIBC_2.14"),
    "exp": ("c", "#include <math.h>\ndouble grow(double x) { return exp(x); }", "GLIBC_2.29"),
    "fcntl64": ("c", "#define _FILE_OFFSET_BITS 64\n#include <fcntl.h>\nint f(int d) { return fcntl(d, F_GETFD); }",
                "GLIBC_2.28"),
    "dlopen": ("c", "#include <dlfcn.h>\nvoid* open_it(const char* n) { return dlopen(n, RTLD_NOW); }", "GLIBC_2.34"),
    "filesystem": ("cpp", "#include <filesystem>\nbool there(const char* n) { return std::filesystem::exists(n); }",
                   "GLIBCXX_3.4.26"),
    "condition": ("cpp", "#include <condition_variable>\nvoid w(std::condition_variable& c, std::unique_lock<std::mutex>& l)"
                         " { c.wait(l); }", "GLIBCXX_3.4.30"),
}


class Floor(unittest.TestCase):
    ptpkg: pathlib.Path

    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-peers-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.scratch), "LANG": "C.UTF-8",
                    "XDG_CACHE_HOME": str(self.scratch / "cache")}

    def output(self, *command, ok=(0,)) -> str:
        done = subprocess.run([str(word) for word in command], env=self.env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertIn(done.returncode, ok, f"\n$ {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def library(self, name: str, *flags) -> pathlib.Path:
        language, text, _ = SOURCES[name]
        source = self.scratch / f"{name}.{language}"
        source.write_text(text)
        path = self.scratch / f"{name}.so"
        compiler = "gcc" if language == "c" else "g++"
        self.output(compiler, "-shared", "-fPIC", "-O1", source, "-o", path, "-lm", *flags)
        return path

    def wheel(self, name: str, *libraries: pathlib.Path) -> pathlib.Path:
        path = self.scratch / f"{name}-1-py3-none-linux_x86_64.whl"
        info = f"{name}-1.dist-info"
        with zipfile.ZipFile(path, "w") as archive:
            for library in libraries:
                archive.write(library, f"{name}/{library.name}")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\n"
                                              "Tag: py3-none-linux_x86_64\n")
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
            archive.writestr(f"{info}/RECORD", "".join(f"{entry},,\n" for entry in archive.namelist()) + f"{info}/RECORD,,\n")
        return path

    def floor(self, wheel: pathlib.Path) -> dict:
        """Findings do not matter here: a wheel may fall short in other ways."""
        return json.loads(self.output(self.ptpkg, "check", "--json", "--quiet", wheel, ok=(0, 1)))[0]

    def theirs(self, wheel: pathlib.Path) -> dict:
        return json.loads(self.output(sys.executable, "-m", "auditwheel", "show", "--json", wheel))

    def compare(self, wheel: pathlib.Path) -> dict:
        ours, theirs = self.floor(wheel), self.theirs(wheel)
        # Without any requirement we set no floor, and they name the first policy.
        policy = ours["floor"]["policy"] if ours["floor"] else "manylinux_2_5_x86_64"
        self.assertEqual(policy or "linux_x86_64", theirs["sym_tag"], wheel.name)
        required = {version["version"] for file in ours["files"] for version in file["set_by"]}
        listed = {version for versions in theirs["versioned_symbols"].values() for version in versions}
        self.assertLessEqual(required, listed, wheel.name)
        return ours

    def test_one_version_each(self):
        for name, (_, _, version) in SOURCES.items():
            with self.subTest(name):
                library = self.library(name)
                if version and version not in self.output("objdump", "-p", library):
                    self.skipTest(f"the compiler of this machine does not bind {version}")
                ours = self.compare(self.wheel(name, library))
                if version:
                    self.assertTrue(any(symbol.endswith("@" + version) for symbol in ours["floor"]["symbols"]), ours["floor"])

    def test_the_highest_of_several_counts(self):
        wheel = self.wheel("several", *(self.library(name) for name in ("memcpy", "dlopen", "nothing")))
        ours = self.compare(wheel)
        self.assertEqual(ours["floor"]["file"], "several/dlopen.so")
        self.assertEqual(len(ours["files"]), 3)

    def test_processor_level(self):
        plain = self.wheel("plain", self.library("memcpy"))
        self.assertFalse(self.theirs(plain)["unsupported_isa"])
        self.assertNotIn("elf-isa-level", [finding["id"] for finding in self.floor(plain)["findings"]])
        newer = self.wheel("newer", self.library("memcpy", "-march=x86-64-v3", "-Wl,-z,x86-64-v3"))
        self.assertTrue(self.theirs(newer)["unsupported_isa"])
        ours = self.floor(newer)
        self.assertEqual(ours["files"][0]["isa"], "x86-64-v3")
        self.assertIn("elf-isa-level", [finding["id"] for finding in ours["findings"]])

    def test_real_wheels(self):
        for name in ("numpy", "scipy"):
            ours = self.compare(real_wheels.real_wheel(name))
            print(f"{name}: {ours['floor']['policy']} by {ours['floor']['file']}: {', '.join(ours['floor']['symbols'])}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True)
    options = parser.parse_args()
    Floor.ptpkg = options.ptpkg.resolve()
    for tool in ("gcc", "g++", "objdump"):
        if shutil.which(tool) is None:
            print(f"skipped: '{tool}' is missing")
            return 77
    try:
        import auditwheel  # noqa: F401
    except ImportError:
        print("skipped: auditwheel is missing")
        return 77
    result = unittest.main(argv=[sys.argv[0]], exit=False).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
