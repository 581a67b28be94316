#!/usr/bin/env python3
"""Slices the installed PyTorch for this machine's GPU and for others, and runs each slice on the GPU beside the installed one.

    python3 bench/gpu_slices.py --ptpkg build/release/bin/ptpkg [--tests pytorch/test] [--scratch DIR]

Needs a Linux machine with a GPU and a PyTorch of several architectures. Slices: for the GPU in the compact form and in place, for the
GPU and another one, for another one alone. The first three have to give the same bits in bench/gpu_operations.py as the installed
PyTorch (but for operations that differ from run to run), the last has to fail with CUDA's words. With nvcc on PATH the same is done
with a library of the device linker (bench/gpu_relocatable.py), of which both sections of device code get smaller; sliced for the other
GPU it fails as one that nvcc built for that GPU alone. --tests: PyTorch's own test_torch.py and test_linalg.py there, run by pytest,
have the same outcome test by test. Printed too: sizes, time to import, memory. Exit 0: all of that holds; 1: something does not; 2: a
tool failed.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

import gpu_relocatable

LIBRARIES = ("libtorch_cuda.so", "libtorch_cuda_linalg.so")
TESTS = {"test_torch.py": "cuda", "test_linalg.py": "TestLinalgCUDA and (cholesky or svd or solve or eigh or matmul or lu or qr or inv or det or norm)"}
NO_CODE = "no kernel image is available for execution on the device"


def gpus_of_this_machine() -> tuple[str, str]:
    """Capability of the GPU, and another one that the installed PyTorch has code for and this GPU cannot run."""
    ask = "import torch; print(*torch.cuda.get_device_capability(), *torch.cuda.get_arch_list())"
    major, minor, *names = subprocess.run([sys.executable, "-c", ask], text=True, capture_output=True, check=True).stdout.split()
    others = [match for name in names if (match := re.fullmatch(r"sm_(\d+)(\d)", name)) and match[1] != major]
    # The last one: libraries leave out old architectures, not new ones.
    return f"{major}.{minor}", f"{others[-1][1]}.{others[-1][2]}"


class Slices:
    def __init__(self, options: argparse.Namespace) -> None:
        self.ptpkg, self.scratch, self.tests = options.ptpkg.resolve(), options.scratch.resolve(), options.tests
        self.site = pathlib.Path(importlib.util.find_spec("torch").origin).parent.parent
        self.wrong: list[str] = []

    def make(self, name: str, gpus: str, *flags: str) -> None:
        """A folder for PYTHONPATH: the installed torch by hard links or copies, with sliced libraries."""
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        done = subprocess.run(["cp", "-al", self.site / "torch", folder], capture_output=True, check=False)
        if done.returncode != 0:  # another file system
            shutil.rmtree(folder / "torch", ignore_errors=True)
            subprocess.run(["cp", "-a", self.site / "torch", folder], check=True)
        for other in ("nvidia", "triton"):  # search paths lead from torch/lib to them
            if (self.site / other).exists():
                (folder / other).symlink_to(self.site / other)
        for library in LIBRARIES:
            whole = self.site / "torch/lib" / library
            begin = time.perf_counter()
            subprocess.run([self.ptpkg, "slice", whole, "--gpu", gpus, *flags, "--output", folder / "made", "--quiet"], check=True,
                           stdout=subprocess.DEVNULL)
            seconds = time.perf_counter() - begin
            made = next((folder / "made").rglob(library))
            (folder / "torch/lib" / library).unlink()
            made.rename(folder / "torch/lib" / library)
            size = (folder / "torch/lib" / library).stat()
            print(f"{name}: {library} {whole.stat().st_size / 1e6:.1f} -> {size.st_size / 1e6:.1f} MB, "
                  f"{size.st_blocks * 512 / 1e6:.1f} MB on disk, in {seconds:.2f} s")

    def environment(self, name: str) -> dict[str, str]:
        path = os.environ.get("PYTHONPATH", "")
        return os.environ | ({"PYTHONPATH": f"{self.scratch / name}:{path}"} if name != "installed" else {})

    def operations(self, name: str) -> dict[str, str]:
        program = pathlib.Path(__file__).with_name("gpu_operations.py")
        done = subprocess.run([sys.executable, program], env=self.environment(name), text=True, stdout=subprocess.PIPE, check=True)
        said = json.loads(done.stdout)
        if (name != "installed") != said["file"].startswith(str(self.scratch)):
            sys.exit(f"'{name}' imported {said['file']}")
        failed = sum(result.startswith("error") for result in said["results"].values())
        print(f"{name}: import {said['import_s']:.2f} s, first operation {said['first_operation_s']:.2f} s, resident {said['resident_mb']} MB, "
              f"{failed} of {len(said['results'])} operations failed")
        return said["results"]

    def outcomes(self, name: str, test: str) -> dict[str, str]:
        report = self.scratch / f"{name}-{test}.xml"
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "-k", TESTS[test],
                        "--junitxml", report, self.tests / test], env=self.environment(name), stdout=subprocess.DEVNULL, check=False)
        outcomes = {}
        for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
            kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
            outcomes[f"{case.get('classname')}.{case.get('name')}"] = kinds[0] if kinds else "passed"
        return outcomes

    def expect(self, holds: bool, words: str) -> None:
        print(("ok    " if holds else "WRONG ") + words)
        if not holds:
            self.wrong.append(words)

    def relocatable(self, nvcc: str, here: str, other: str) -> None:
        whole = gpu_relocatable.make(nvcc, self.scratch / "rdc", [here, other])
        # Of such a library CUDA does not say "no kernel image": what it says is told by one that was built for the other GPU alone.
        foreign, _ = gpu_relocatable.run(gpu_relocatable.make(nvcc, self.scratch / "rdc-other", [other]))
        self.expect(gpu_relocatable.run(whole) == ("no error", True), "a library of the device linker computes what it should")
        for name, gpu, flags in (("compact", here, ["--compact"]), ("in-place", here, []), ("another", other, [])):
            subprocess.run([self.ptpkg, "slice", whole, "--gpu", gpu, *flags, "--output", self.scratch / "rdc" / name, "--quiet", "--force"],
                           check=True, stdout=subprocess.DEVNULL)
            sliced = next((self.scratch / "rdc" / name).rglob(whole.name))
            print(f"rdc {name}: {whole.stat().st_size / 1e6:.2f} -> {sliced.stat().st_size / 1e6:.2f} MB")
            status, is_right = gpu_relocatable.run(sliced)
            holds = (status, is_right) == ("no error", True) if gpu == here else (status, is_right) == (foreign, False)
            self.expect(holds, f"rdc {name}, for {gpu}: CUDA says '{status}'")

    def run(self) -> int:
        here, other = gpus_of_this_machine()
        right = {"compact": (here, "--compact"), "in-place": (here,), "with-another": (f"{other}+{here}",)}
        for name, slice_of in right.items():
            self.make(name, *slice_of)
        self.make("another", other)
        installed = self.operations("installed")
        steady = {name for name, result in self.operations("installed").items() if result == installed[name]}
        for name in right:
            results = self.operations(name)
            different = [operation for operation in steady if results[operation] != installed[operation]]
            self.expect(not different, f"{name}: {len(steady) - len(different)} of {len(steady)} operations give the same bits "
                                       f"({len(installed) - len(steady)} more differ from run to run) {different or ''}")
        failures = self.operations("another")
        self.expect(all(NO_CODE in result for result in failures.values()), f"for {other} alone: each operation fails with '{NO_CODE}'")
        if nvcc := shutil.which("nvcc"):
            self.relocatable(nvcc, here, other)
        for test in TESTS if self.tests else ():
            before = self.outcomes("installed", test)
            for name in right:
                after = self.outcomes(name, test)
                different = sorted(case for case in before if before[case] != after.get(case))
                counts = {kind: list(after.values()).count(kind) for kind in sorted(set(after.values()))}
                self.expect(bool(before) and not different, f"{name}: {test} {counts}, {len(different)} outcomes differ {different[:5] or ''}")
        return 1 if self.wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True, help="the release program")
    parser.add_argument("--tests", type=pathlib.Path, help="folder with PyTorch's test_torch.py and test_linalg.py")
    parser.add_argument("--scratch", type=pathlib.Path, default=pathlib.Path("build/bench/gpu-slices"), help="for the slices, 6 GB")
    try:
        return Slices(parser.parse_args()).run()
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{sys.argv[0]}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
