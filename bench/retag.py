#!/usr/bin/env python3
"""Times `ptpkg retag` of torch's wheel against `wheel tags`, in one run, in turn, on the same input.

    scripts/bootstrap --check                         # once: makes the peers' environment, which holds wheel
    cmake --preset release && ninja -C build/release ptpkg
    $(scripts/environment peers)/bin/python bench/retag.py

Both give the wheel another build tag; `wheel tags` recompresses all of it. The last lines compare with `cp` of the file, which
bounds what any tool can do, and give the same for a new platform tag, which ptpkg proves by looking at every library. The scratch
folder needs 2 GB. Times are medians over rounds on a warm cache. Exit 0: every bar is met; 1: a bar is missed; 2: a tool failed.
"""

import argparse
import pathlib
import shutil
import statistics
import sys

from costs import HEAD, MB, PTPKG, SCRATCH, Cost, Runner, cleared, median, readme_row, real_wheel, version_of

TORCH, BAR = "2.15.0", 30
PLATFORM = "manylinux_2_34_x86_64"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--scratch", type=pathlib.Path, default=SCRATCH, help="folder for the wheels, 2 GB")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    scratch, runner = options.scratch.resolve() / "retag", Runner()
    wheel = real_wheel("torch", TORCH)
    peer = str(pathlib.Path(sys.executable).parent / "wheel")
    retag = [str(options.ptpkg.resolve()), "retag", "--quiet", "--output"]
    ours: list[Cost] = []
    theirs: list[Cost] = []
    copied: list[Cost] = []
    proven: list[Cost] = []
    for _ in range(options.rounds):
        folder = cleared(scratch)
        copied.append(runner.run([[shutil.which("cp"), str(wheel), str(folder / "copy")]]))
        ours.append(runner.run([[*retag, str(folder / "ours"), "--build", "2", str(wheel)]]))
        proven.append(runner.run([[*retag, str(folder / "proven"), "--platform", PLATFORM, str(wheel)]]))
        # It writes beside its input.
        beside = folder / wheel.name
        beside.symlink_to(wheel)
        theirs.append(runner.run([[peer, "tags", "--build", "2", str(beside)]]))
    shutil.rmtree(scratch)
    ratio = statistics.median(b.wall_s / a.wall_s for a, b in zip(ours, theirs, strict=True))
    print(HEAD)
    print(readme_row(f"another build tag for torch {TORCH}", version_of("wheel"), ours, theirs, "bench/retag.py"))
    for name, costs in (("cp", copied), ("retag, build", ours), ("retag, platform, proven", proven), ("wheel tags", theirs)):
        cost = median(costs)
        print(f"{name}: {cost.wall_s:.2f} s, CPU {cost.cpu_s:.2f} s, peak memory {cost.peak_bytes / MB:.0f} MB")
    print(f"{ratio:.0f} times as fast as wheel tags (bar {BAR})")
    return 0 if ratio >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
