#!/usr/bin/env python3
"""Times `ptpkg slice` of torch's wheel against `wheel pack`, of its largest library against `cp`, and six slices against one, in turn.

    scripts/bootstrap --check                         # once: makes the peers' environment, which holds wheel
    cmake --preset release && ninja -C build/release ptpkg
    $(scripts/environment peers)/bin/python bench/slices.py [--rounds N]

ptpkg reads the wheel, slices its libraries, holds each against the original, and writes a wheel; `wheel pack` packs the unpacked wheel.
`cp` copies what the slice of the library keeps: the compact slice. The scratch folder needs 5 GB. Times are medians over rounds on a
warm cache. Exit 0: every bar is met; 1: a bar is missed; 2: a tool failed.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys

from costs import HEAD, MB, PTPKG, SCRATCH, Cost, Runner, cleared, median, readme_row, real_wheel, version_of

TORCH, LIBRARY = "2.15.0", "torch/lib/libtorch_cuda.so"
GPU = ["--gpu", "9.0"]
SIX = [word for gpu in ("7.5", "8.0", "8.6", "9.0", "10.0", "12.0") for word in ("--gpu", gpu)]
LARGEST, MEMORY, LIBRARY_MEMORY = 300, 200, 64  # MB


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.scratch, self.rounds = cleared(options.scratch.resolve() / "slices"), options.rounds
        self.slice, self.runner = [str(options.ptpkg.resolve()), "slice", "--quiet"], Runner()
        self.peer = str(pathlib.Path(sys.executable).parent / "wheel")
        self.wheel = real_wheel("torch", TORCH)
        subprocess.run([self.peer, "unpack", "--dest", str(self.scratch / "tree"), str(self.wheel)], check=True, stdout=subprocess.DEVNULL)
        self.tree = next((self.scratch / "tree").glob("torch-*"))
        self.missed: list[str] = []

    def bar(self, name: str, value: float, limit: float) -> None:
        print(f"  {'ok  ' if value <= limit else 'MISS'} {name}: {value:.2f}, at most {limit:g}")
        if value > limit:
            self.missed.append(name)

    def ours(self, *words: str | pathlib.Path) -> Cost:
        return self.runner.run([[*self.slice, *map(str, words), "--output", str(cleared(self.scratch / "ours"))]])

    def wheels(self) -> list[str]:
        one: list[Cost] = []
        six: list[Cost] = []
        packed: list[Cost] = []
        for _ in range(self.rounds):
            six.append(self.ours(self.wheel, *SIX))
            one.append(self.ours(self.wheel, *GPU))
            size = next((self.scratch / "ours").glob("*.whl")).stat().st_size / MB
            packed.append(self.runner.run([[self.peer, "pack", "--dest-dir", str(cleared(self.scratch / "theirs")), str(self.tree)]]))
        for name, costs in (("one slice", one), ("six slices", six), ("wheel pack", packed)):
            self.tell(name, costs)
        self.bar("one slice, times wheel pack", self.ratio(one, packed), 0.3)
        self.bar("one slice, MB", size, LARGEST)
        self.bar("six slices, times one", self.ratio(six, one), 3)
        self.bar("peak MB", max(median(one).peak_bytes, median(six).peak_bytes) / MB, MEMORY)
        return [readme_row(f"torch {TORCH} for one GPU, against packing all of it", version_of("wheel"), one, packed, "bench/slices.py")]

    def library(self) -> list[str]:
        whole = self.tree / LIBRARY
        self.ours(whole, *GPU, "--compact")
        kept = next((self.scratch / "ours").rglob(whole.name)).rename(self.scratch / "kept.so")
        ours: list[Cost] = []
        copied: list[Cost] = []
        for _ in range(self.rounds):
            ours.append(self.ours(whole, *GPU))
            copied.append(self.runner.run([["/bin/cp", str(kept), str(cleared(self.scratch / "theirs") / "copy.so")]]))
        for name, costs in (("slice in place", ours), ("cp", copied)):
            self.tell(name, costs)
        self.bar("slice in place, times cp of what is kept", self.ratio(ours, copied), 2)
        self.bar("slice in place, peak MB", median(ours).peak_bytes / MB, LIBRARY_MEMORY)
        return [readme_row("libtorch_cuda.so for one GPU in place, against a copy of what is kept", "cp", ours, copied, "bench/slices.py")]

    @staticmethod
    def ratio(ours: list[Cost], theirs: list[Cost]) -> float:
        return statistics.median(a.wall_s / b.wall_s for a, b in zip(ours, theirs, strict=True))

    @staticmethod
    def tell(name: str, costs: list[Cost]) -> None:
        mid = median(costs)
        print(f"{name}: {mid.wall_s:.2f} s, CPU {mid.cpu_s:.2f} s, peak memory {mid.peak_bytes / MB:.0f} MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--scratch", type=pathlib.Path, default=SCRATCH, help="folder for trees and wheels, 5 GB")
    parser.add_argument("--rounds", type=int, default=3)
    bench = Bench(parser.parse_args())
    rows = bench.wheels() + bench.library()
    shutil.rmtree(bench.scratch)
    print("\n".join(["", HEAD, *rows, ""]))
    print("missed: " + ", ".join(bench.missed) if bench.missed else "every bar is met")
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
