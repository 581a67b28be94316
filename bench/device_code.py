#!/usr/bin/env python3
"""Times the list of GPU code of torch's largest library by `ptpkg check --json` against `cuobjdump --list-elf`.

    scripts/bootstrap --check                         # once: makes the peers' environment, which holds cuobjdump
    cmake --preset release && ninja -C build/release ptpkg
    $(scripts/environment peers)/bin/python bench/device_code.py

ptpkg is at a disadvantage: it makes all its checks of the file, reads PTX too, and adds up sizes. Times are medians over
rounds in which each runs once, on a warm cache. Exit 0: every bar is met; 1: a bar is missed; 2: the two do not list the
same machine code.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

from costs import HEAD, MB, PTPKG, SCRATCH, Runner, median, readme_row, real_wheel, version_of, wrong_work

TORCH = "2.15.0"
LIBRARY = "torch/lib/libtorch_cuda.so"


def library(scratch: pathlib.Path) -> pathlib.Path:
    """In a tree of its own, so deep that its search path stays inside."""
    path = scratch / "torch-gpu-code" / LIBRARY
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unpacking = scratch / "torch-gpu-code-unpacking"
    with zipfile.ZipFile(real_wheel("torch", TORCH)) as wheel, wheel.open(LIBRARY) as member, open(unpacking, "wb") as out:
        shutil.copyfileobj(member, out, 1 << 20)
    unpacking.rename(path)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--cuobjdump", type=pathlib.Path, help="default: that of this Python's environment",
                        default=pathlib.Path(sysconfig.get_path("purelib")) / "nvidia/cu13/bin/cuobjdump")
    parser.add_argument("--scratch", type=pathlib.Path, default=SCRATCH, help="folder for the library, 520 MB")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    path = library(options.scratch.resolve())
    ours = [str(options.ptpkg.resolve()), "check", "--profile", "tree", "--allow-unresolved", "*", "--json", "--quiet",
            str(path.parents[2])]
    theirs = [str(options.cuobjdump), "--list-elf", str(path)]

    text = subprocess.run(theirs, text=True, capture_output=True, check=True).stdout
    listed = collections.Counter(re.findall(r"\.(sm_\w+)\.\w+\s*$", text, re.MULTILINE))
    outcome, = json.loads(subprocess.run(ours, text=True, capture_output=True, check=False).stdout)
    told: collections.Counter = collections.Counter()
    for name, amount in outcome["device_code"][0]["embedded"]["sass"].items():
        told[name.removesuffix("f")] += amount["elements"]  # cuobjdump's list does not tell sm_100f from sm_100
    if told != listed:
        wrong_work(f"ptpkg lists {dict(told)}, cuobjdump {dict(listed)}")
    print(f"{path.stat().st_size / MB:,.0f} MB, machine code: {dict(told)}")

    runner = Runner()
    costs: dict[str, list] = {"ptpkg": [], "cuobjdump": []}
    for _ in range(options.rounds):
        costs["ptpkg"].append(runner.run([ours]))
        costs["cuobjdump"].append(runner.run([theirs]))
    for tool, runs in costs.items():
        mid = median(runs)
        print(f"  {tool:10} wall {mid.wall_s * 1e3:9.1f} ms, CPU {mid.cpu_s * 1e3:9.1f} ms, peak {mid.peak_bytes / MB:8.1f} MB")
    ratio = median(costs["cuobjdump"]).wall_s / median(costs["ptpkg"]).wall_s
    peak = median(costs["ptpkg"]).peak_bytes
    missed = 0
    for met, line in ((ratio >= 100, f"times faster than cuobjdump: {ratio:,.0f}, at least 100"),
                      (peak <= 20 * MB, f"peak memory: {peak / MB:.1f} MB, at most 20")):
        print(f"  {'ok  ' if met else 'MISS'} {line}")
        missed += not met
    print("\n".join(["", HEAD, readme_row("GPU architectures of libtorch_cuda.so", version_of("nvidia-cuda-cuobjdump"),
                                          costs["ptpkg"], costs["cuobjdump"], "bench/device_code.py")]))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
