#!/usr/bin/env python3
"""Times `ptpkg wheel` of torch's unpacked wheel, and of 100,000 small files, against `wheel pack`, in one run, in turn.

    scripts/bootstrap --check                         # once: makes the peers' environment, which holds wheel
    cmake --preset release && ninja -C build/release ptpkg
    $(scripts/environment peers)/bin/python bench/wheel.py [--rounds N]

ptpkg reads the tree for the node's key, packs, reads the wheel again, checks it and indexes the folder; `wheel pack` only packs.
The scratch folder needs 4 GB. Exit 0: every bar is met; 1: a bar is missed; 2: a tool failed.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys

from costs import HEAD, MB, PTPKG, SCRATCH, Cost, Runner, cleared, median, readme_row, real_wheel, version_of

TORCH = "2.15.0"
SMALL = 100_000
BARS = {"default": 5, "fast": 8}
LARGEST = {"default": 539.0, "fast": 1.08 * 539.0}  # MB
MEMORY = 200  # MB


def small_tree(folder: pathlib.Path) -> pathlib.Path:
    info = folder / "small-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    for number in range(SMALL):
        place = folder / f"small/{number // 1000}/{number}.py"
        if number % 1000 == 0:
            place.parent.mkdir(parents=True)
        place.write_text(f"value = {number}\n" * 20)
    return folder


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.scratch, self.rounds = options.scratch.resolve() / "wheel", options.rounds
        self.ptpkg, self.runner = str(options.ptpkg.resolve()), Runner()
        self.peer = str(pathlib.Path(sys.executable).parent / "wheel")
        self.missed: list[str] = []

    def ours(self, tree: pathlib.Path, compression: str) -> tuple[Cost, float]:
        work = cleared(self.scratch / "ours")
        cost = self.runner.run([[self.ptpkg, "wheel", str(tree), "--compression", compression, "--output", str(work / "dist"),
                                 "--cache-dir", str(work / "cache"), "--quiet"]])
        return cost, next((work / "dist/wheels").glob("*.whl")).stat().st_size / MB

    def theirs(self, tree: pathlib.Path) -> tuple[Cost, float]:
        work = cleared(self.scratch / "theirs")
        cost = self.runner.run([[self.peer, "pack", "--dest-dir", str(work), str(tree)]])
        return cost, next(work.glob("*.whl")).stat().st_size / MB

    def bar(self, name: str, value: float, limit: float, at_least: bool) -> None:
        met = value >= limit if at_least else value <= limit
        print(f"  {'ok  ' if met else 'MISS'} {name}: {value:.2f}, {'at least' if at_least else 'at most'} {limit:g}")
        if not met:
            self.missed.append(name)

    def race(self, task: str, tree: pathlib.Path, bars: dict[str, float]) -> None:
        costs: dict[str, list[Cost]] = {name: [] for name in (*bars, "wheel pack")}
        sizes: dict[str, float] = {}
        for _ in range(self.rounds):
            for compression in bars:
                cost, sizes[compression] = self.ours(tree, compression)
                costs[compression].append(cost)
            cost, sizes["wheel pack"] = self.theirs(tree)
            costs["wheel pack"].append(cost)
        for name, list_of in costs.items():
            mid = median(list_of)
            print(f"{name}: {mid.wall_s:.1f} s, CPU {mid.cpu_s:.1f} s, peak memory {mid.peak_bytes / MB:.0f} MB, {sizes[name]:.1f} MB")
        for compression, bar in bars.items():
            pairs = zip(costs[compression], costs["wheel pack"], strict=True)
            self.bar(f"{task}, {compression}: times as fast", statistics.median(b.wall_s / a.wall_s for a, b in pairs), bar, True)
            self.bar(f"{task}, {compression}: peak MB", median(costs[compression]).peak_bytes / MB, MEMORY, False)
            if task.startswith("torch"):
                self.bar(f"{task}, {compression}: size in MB", sizes[compression], LARGEST[compression], False)
            print(readme_row(f"{task} to wheel, {compression}", version_of("wheel"), costs[compression], costs["wheel pack"],
                             "bench/wheel.py"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--scratch", type=pathlib.Path, default=SCRATCH, help="folder for trees and wheels, 4 GB")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    bench = Bench(options)
    trees = cleared(bench.scratch / "trees")
    subprocess.run([bench.peer, "unpack", "--dest", str(trees), str(real_wheel("torch", TORCH))], check=True, stdout=subprocess.DEVNULL)
    print(HEAD)
    bench.race(f"torch {TORCH}, unpacked", next(trees.glob("torch-*")), BARS)
    bench.race(f"{SMALL:,} small files", small_tree(trees / "small-1.0"), {"default": 2})
    shutil.rmtree(bench.scratch)
    print("missed: " + ", ".join(bench.missed) if bench.missed else "every bar is met")
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
