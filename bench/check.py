#!/usr/bin/env python3
"""Times `ptpkg check` of torch's wheel against installer's validate_record and auditwheel show, in one run, in turn, on the same file.

    scripts/bootstrap --check                         # once: makes the peers' environment, which holds both
    cmake --preset release && ninja -C build/release ptpkg
    $(scripts/environment peers)/bin/python bench/check.py

A second part times chains of small libraries: twice as many files may take at most three times as long.

installer compares every row of RECORD with its file; auditwheel looks at the libraries. ptpkg does both, and compares the headers of
all members, in one call. Times are medians over rounds on a warm cache. Exit 0: every bar is met; 1: a bar is missed; 2: a tool failed.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile

from costs import HEAD, MB, PTPKG, Cost, Runner, median, readme_row, real_wheel, version_of

TORCH = "2.15.0"
BARS = {"installer": 2.0, "auditwheel": 8.0}
CHAIN, GROWTH = 4000, 3.0
VALIDATE = """
import sys
from installer.sources import WheelFile
with WheelFile.open(sys.argv[1]) as wheel:
    wheel.validate_record()
"""


def write_chain(folder: pathlib.Path, count: int) -> None:
    """Libraries of 448 bytes or so, each of which needs the next one."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/harness"))
    import ld_so  # pylint: disable=import-outside-toplevel
    for number in range(count):
        needed = (f"m{number + 1:06}.so",) if number + 1 < count else ()
        (folder / f"m{number:06}.so").write_bytes(ld_so.Elf(needed, rpath="$ORIGIN").build())


def chain_growth(runner: Runner, ptpkg: str) -> float:
    taken = []
    for count in (CHAIN, 2 * CHAIN):
        with tempfile.TemporaryDirectory() as folder:
            write_chain(pathlib.Path(folder), count)
            taken.append(runner.run([[ptpkg, "check", "--quiet", folder]]).cpu_s)
        print(f"a chain of {count} libraries: CPU {taken[-1]:.2f} s")
    return taken[1] / taken[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    runner, wheel = Runner(), str(real_wheel("torch", TORCH))
    commands = {
        "ptpkg": [str(options.ptpkg.resolve()), "check", "--quiet", wheel],
        "installer": [sys.executable, "-c", VALIDATE, wheel],
        "auditwheel": [str(pathlib.Path(sys.executable).parent / "auditwheel"), "show", wheel],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            costs[name].append(runner.run([command]))
    print(HEAD)
    met = True
    rows = {"installer": f"every row of RECORD of torch {TORCH}", "auditwheel": f"platform policy of torch {TORCH}"}
    for name, row in rows.items():
        print(readme_row(row, version_of(name), costs["ptpkg"], costs[name], "bench/check.py"))
    for name, taken in costs.items():
        cost = median(taken)
        print(f"{name}: {cost.wall_s:.2f} s, CPU {cost.cpu_s:.2f} s, peak memory {cost.peak_bytes / MB:.0f} MB")
    for name, bar in BARS.items():
        ratio = statistics.median(b.wall_s / a.wall_s for a, b in zip(costs["ptpkg"], costs[name], strict=True))
        print(f"{ratio:.1f} times as fast as {name} (bar {bar:g})")
        met = met and ratio >= bar
    growth = chain_growth(runner, commands["ptpkg"][0])
    print(f"twice the chain takes {growth:.1f} times the CPU time (bar {GROWTH:g})")
    return 0 if met and growth <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
