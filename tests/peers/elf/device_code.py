"""GPU code as `ptpkg check --json` tells it is what cuobjdump lists, for toys that nvcc compiles here; and a list of
architectures that a toy does not have is an error. nvcc and cuobjdump come from the Python index; no GPU is needed.
Exit 77 is a skip.
"""

import argparse
import collections
import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest

CUDA = pathlib.Path(sysconfig.get_path("purelib")) / "nvidia/cu13"
SOURCE = """__global__ void {name}(float* a) {{ a[threadIdx.x] += 1; }}
extern "C" void launch_{name}(float* a) {{ {name}<<<1, 32>>>(a); }}
"""
# A kernel that starts another: needs the device linker and libcudadevrt.a.
PARENT = """__global__ void child(float* a) { a[threadIdx.x] += 1; }
__global__ void parent(float* a) { child<<<1, 32>>>(a); }
extern "C" void launch(float* a) { parent<<<1, 1>>>(a); }
"""
# Library → architectures as TORCH_CUDA_ARCH_LIST has them, further flags of nvcc.
LIBRARIES = {
    "libright.so": ("8.0;9.0+PTX", []),
    "libmissing.so": ("8.0+PTX", []),
    "libextra.so": ("7.5;8.0;9.0+PTX", []),
    "libnoptx.so": ("8.0;9.0", []),
    "libsuffix.so": ("9.0a+PTX;10.0a;10.0f+PTX;12.0;12.1a", []),
    "libplain.so": ("9.0a;10.0f+PTX;12.0", ["--compress-mode=none"]),
    "libsmall.so": ("9.0a+PTX;10.0f;12.0", ["-Xfatbin", "-compress-all", "--compress-mode=size"]),
    "librdc.so": ("8.0;9.0+PTX", ["-rdc=true"]),
    "libparent.so": ("8.0;9.0+PTX", ["-rdc=true"]),  # brings libcudadevrt.a's code for ten architectures
    "libstatic.a": ("8.0;9.0+PTX", []),
    "libstaticrdc.a": ("8.0;9.0a+PTX", ["-rdc=true"]),
}


def gencode(archs: str) -> list[str]:
    flags = []
    for item in archs.split(";"):
        number = item.removesuffix("+PTX").replace(".", "")
        flags.append(f"-gencode=arch=compute_{number},code=sm_{number}")
        if item.endswith("+PTX"):
            flags.append(f"-gencode=arch=compute_{number},code=compute_{number}")
    return flags


def names(archs: str) -> tuple[set[str], set[str]]:
    items = [(item.removesuffix("+PTX").replace(".", ""), item.endswith("+PTX")) for item in archs.split(";")]
    return {f"sm_{number}" for number, _ in items}, {f"compute_{number}" for number, ptx in items if ptx}


def gpu_code(path: pathlib.Path) -> tuple[dict[str, int], dict[str, int]]:
    """How often cuobjdump shows each in both kinds of sections, by what the containers say."""
    done = subprocess.run([CUDA / "bin/cuobjdump", "-all", "-elf", "-ptx", path], text=True, capture_output=True, check=True)
    found: dict[str, collections.Counter] = {"elf": collections.Counter(), "ptx": collections.Counter()}
    for kind, number in re.findall(r"^Fatbin (elf|ptx) code:\n=+\narch = sm_(\w+)$", done.stdout, re.MULTILINE):
        found[kind][f"{'sm' if kind == 'elf' else 'compute'}_{number}"] += 1
    return dict(found["elf"]), dict(found["ptx"])


def as_listed(name: str) -> str:
    """Its lists name machine code by the cubin, which does not tell sm_100f from sm_100."""
    return re.sub(r"^(sm_\d+)f$", r"\1", name)


def listed(path: pathlib.Path, everything: bool) -> tuple[dict[str, int], dict[str, int]]:
    """How often cuobjdump lists each: of a linked file what can run, or, with its option -all, what the device linker
    reads too.
    """
    found = []
    for option in ("--list-elf", "--list-ptx"):
        done = subprocess.run([CUDA / "bin/cuobjdump", *(["-all"] if everything else []), option, path], text=True,
                              capture_output=True, check=False)
        found.append(collections.Counter(re.findall(r"^(?:ELF|PTX) file +\d+: .*\.(sm_\w+)\.\w+\s*$", done.stdout,
                                                    re.MULTILINE)))
    return dict(found[0]), {name.replace("sm_", "compute_"): count for name, count in found[1].items()}


class DeviceCode(unittest.TestCase):
    ptpkg: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-peers-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.tree = cls.scratch / "tree"
        cls.tree.mkdir()
        for name in ("one", "two"):
            (cls.scratch / f"{name}.cu").write_text(SOURCE.format(name=name))
        (cls.scratch / "parent.cu").write_text(PARENT)
        for library, (archs, flags) in LIBRARIES.items():
            # Without the run-time library nvcc leaves the device linker out.
            runtime = "-cudart=static" if "-rdc=true" in flags else "-cudart=none"
            kind = ["-lib"] if library.endswith(".a") else ["-shared", runtime]
            sources = ["parent.cu"] if library == "libparent.so" else ["one.cu", "two.cu"]
            cls.nvcc(*gencode(archs), *flags, *kind, "-o", cls.tree / library, *sources)
        cls.nvcc("-gencode=arch=compute_90,code=[sm_90,lto_90]", "-dc", "-o", cls.tree / "lto.o", "one.cu")
        shutil.copy(CUDA / "lib/libcudadevrt.a", cls.tree)

    @classmethod
    def nvcc(cls, *arguments) -> None:
        command = [CUDA / "bin/nvcc", "-Xcompiler=-fPIC", f"-L{CUDA}/lib", *map(str, arguments)]
        done = subprocess.run(command, cwd=cls.scratch, text=True, capture_output=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"$ {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")

    def ptpkg_json(self, *arguments, allowed: tuple[int, ...] = (0,)):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.scratch), "XDG_CACHE_HOME": str(self.scratch / "cache")}
        done = subprocess.run([self.ptpkg, "--json", "--quiet", *map(str, arguments)], env=env, text=True, capture_output=True,
                              check=False)
        self.assertIn(done.returncode, allowed, done.stderr)
        return json.loads(done.stdout)

    def check(self, *arguments, folder: pathlib.Path | None = None) -> dict:
        return self.ptpkg_json("check", "--profile", "tree", *arguments, folder or self.tree, allowed=(0, 1))[0]

    def test_architectures_are_those_that_cuobjdump_lists(self):
        told = {item["file"]: item for item in self.check()["device_code"]}
        self.assertEqual(sorted(told), sorted([*LIBRARIES, "lto.o", "libcudadevrt.a"]))
        for file, item in told.items():
            with self.subTest(file):
                path = self.tree / file
                for kind, shown, names_only in zip(("sass", "ptx"), gpu_code(path), listed(path, everything=True)):
                    ours: collections.Counter = collections.Counter()
                    for part in (item["embedded"], item["relocatable"]):
                        ours.update({name: amount["elements"] for name, amount in part[kind].items()})
                    self.assertEqual(dict(ours), shown)
                    self.assertEqual(set(map(as_listed, ours)), set(names_only))
                if file.endswith(".so"):
                    self.assertEqual(set(map(as_listed, item["sass"])), set(listed(path, everything=False)[0]))
                if file in LIBRARIES:
                    self.assertEqual((set(item["sass"]), set(item["ptx"])), names(LIBRARIES[file][0]))
        self.assertGreater(told["lto.o"]["relocatable"]["other_bytes"], 0)

    def test_each_library_against_the_list_of_the_right_one(self):
        folder = self.scratch / "some"
        folder.mkdir()
        for library in ("libright.so", "libmissing.so", "libextra.so", "libnoptx.so", "libstatic.a", "librdc.so", "libparent.so"):
            shutil.copy(self.tree / library, folder)
        found = {one["file"]: one["message"] for one in self.check("--device-code", "8.0;9.0+PTX", folder=folder)["findings"]
                 if one["id"] == "device-code-mismatch"}
        self.assertEqual(found, {
            "libmissing.so": "machine code for sm_90 is missing; PTX for compute_90 is missing; PTX for compute_80 was not "
                             "requested",
            "libextra.so": "machine code for sm_75 was not requested",
            "libnoptx.so": "PTX for compute_90 is missing"})

    def test_slices_have_exactly_what_is_kept(self):
        """Linked by the device linker: with --compact both sections get smaller, and the loader loads what is left."""
        for library in ("librdc.so", "libparent.so", "libplain.so", "libsuffix.so"):
            for form in ((), ("--compact",)):
                with self.subTest(library, form=form):
                    whole, folder = self.tree / library, self.scratch / ("slices" + "".join(form))
                    self.ptpkg_json("slice", "--gpu", "9.0", "--output", folder, "--force", *form, whole)
                    sliced = folder / "sm90" / library
                    for before, after in zip(listed(whole, everything=True), listed(sliced, everything=True)):
                        self.assertEqual(set(after), {name for name in before if name in ("sm_90", "sm_90a")})
                        self.assertLessEqual(after.items(), before.items())
                    if "-rdc=true" in LIBRARIES[library][1]:  # the others were linked without the run-time library
                        ctypes.CDLL(str(sliced))
        before, after = (section_sizes(path) for path in (self.tree / "libparent.so", self.scratch / "slices--compact/sm90/libparent.so"))
        self.assertLess(after[".nv_fatbin"], before[".nv_fatbin"])
        self.assertLess(after["__nv_relfatbin"], before["__nv_relfatbin"] / 5)


def section_sizes(path: pathlib.Path) -> dict[str, int]:
    done = subprocess.run(["readelf", "-SW", path], text=True, capture_output=True, check=True)
    return {name: int(size, 16) for name, size in re.findall(r"\] (\S+) +\w+ +\w+ \w+ (\w+)", done.stdout)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True)
    options = parser.parse_args()
    DeviceCode.ptpkg = options.ptpkg.resolve()
    for tool in (CUDA / "bin/nvcc", CUDA / "bin/cuobjdump"):
        if not tool.exists():
            print(f"skipped: peer '{tool.name}' is missing")
            return 77
    if shutil.which("g++") is None:
        print("skipped: 'g++' is missing")
        return 77
    result = unittest.main(argv=[sys.argv[0]], exit=False).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
