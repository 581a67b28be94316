#!/usr/bin/env python3
"""Times `ptpkg inspect --quick` of torch's wheel against `ptpkg check` of the same file.

    cmake --preset release && ninja -C build/release ptpkg
    python3 bench/inspect_wheel.py

The bar: looking at the directory and the metadata costs at most a twentieth of reading everything. Times are medians over
rounds in which each runs once, on a warm cache; also shown, without a bar: the whole inspection. Before that, both list the
same files, sizes and metadata. Exit 0: the bar is met; 1: it is missed; 2: the two do not list the same.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

from costs import HEAD, MB, PTPKG, Runner, median, readme_row, real_wheel, wrong_work

TORCH = "2.15.0"
BAR = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    wheel = real_wheel("torch", TORCH)
    program = str(options.ptpkg.resolve())
    commands = {"quick": [program, "inspect", "--quick", "--json", "--quiet", str(wheel)],
                "check": [program, "check", "--json", "--quiet", str(wheel)],
                "whole": [program, "inspect", "--json", "--quiet", str(wheel)]}

    documents = {name: json.loads(subprocess.run(commands[name], text=True, capture_output=True, check=True).stdout)[0]
                 for name in ("quick", "whole")}
    for key in ("metadata", "unpacked_bytes"):
        if documents["quick"][key] != documents["whole"][key]:
            wrong_work(f"--quick tells another {key}")
    sizes = [{file["path"]: file["size_bytes"] for file in document["files"]} for document in documents.values()]
    if sizes[0] != sizes[1]:
        wrong_work("--quick lists other files")
    print(f"{wheel.name}: {len(sizes[0]):,} files, {len(documents['whole']['elf'])} ELF files")

    runner = Runner()
    costs: dict[str, list] = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            costs[name].append(runner.run([command]))
    for name, runs in costs.items():
        mid = median(runs)
        print(f"  {name:6} wall {mid.wall_s * 1e3:9.1f} ms, CPU {mid.cpu_s * 1e3:9.1f} ms, peak {mid.peak_bytes / MB:8.1f} MB")
    ratio = statistics.median(check.wall_s / quick.wall_s for quick, check in zip(costs["quick"], costs["check"], strict=True))
    met = ratio >= BAR
    print(f"  {'ok  ' if met else 'MISS'} check costs {ratio:.0f} times as much as inspect --quick, at least {BAR}")
    print("\n".join(["", HEAD, readme_row("inspect --quick of torch's wheel", "ptpkg check", costs["quick"], costs["check"],
                                          "bench/inspect_wheel.py")]))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
