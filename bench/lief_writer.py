#!/usr/bin/env python3
"""What `ptpkg relink --writer lief` costs, beside ptpkg's own writer and patchelf, on libraries of this machine.

    PYTHON bench/lief_writer.py --ptpkg build/release/bin/ptpkg [--patchelf FILE] [--rounds 5] [LIBRARY…]

Each writer gives a copy of each library a search path of 700 characters, which has to grow. Printed as a table: median
time, peak memory (ru_maxrss), growth of the file, how many dynamic symbols moved and by how much, complaints of eu-elflint
before and after, and whether what each of strip, eu-strip and llvm-strip makes of it is still relocated by ld.so without
a word that it did not say of the original (ldd -r; nothing is run). Tools that are missing are named. The page
docs/decisions/0010-lief-writer.md holds one run. Exit 1: a writer's own output does not load.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

LIBRARIES = ["/usr/lib/llvm-14/lib/libc++.so.1.0", "/usr/lib/x86_64-linux-gnu/libgnat-12.so",
             "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"]
PATH = "$ORIGIN/" + "x" * 700
STRIPPERS = ["strip", "eu-strip", "llvm-strip"]
CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent"}


def output(*command) -> str:
    return subprocess.run(list(map(str, command)), env=CLEAN, text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT).stdout


def run(command: list[str]) -> tuple[float, float]:
    """Seconds and MB of a command that must succeed."""
    begin = time.perf_counter()
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(command[0], command, CLEAN, file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"bench/lief_writer.py: failed: {' '.join(command)[:300]}")
    return time.perf_counter() - begin, usage.ru_maxrss / 1000


def symbols(file: pathlib.Path) -> list[int]:
    rows = (line.split() for line in output("readelf", "--dyn-syms", "-W", file).splitlines())
    return [int(row[1], 16) for row in rows if len(row) > 6 and re.fullmatch(r"\d+:", row[0]) and row[6] != "UND"]


def said_by_loader(file: pathlib.Path) -> list[str]:
    text = output("ldd", "-r", file).replace(str(file), "FILE")
    return sorted(re.sub(r"\(0x[0-9a-f]+\)", "", line).strip() for line in text.splitlines())


def complaints(file: pathlib.Path) -> int:
    lines = output("eu-elflint", "--gnu-ld", file).splitlines()
    return 0 if lines == ["No errors"] else len(lines)


class Bench:
    def __init__(self, options: argparse.Namespace, scratch: pathlib.Path) -> None:
        relink = [str(options.ptpkg.resolve()), "relink", "--quiet", "--set-rpath", PATH]
        self.writers = {"own": relink, "lief": [*relink, "--writer", "lief"]}
        if options.patchelf:
            self.writers["patchelf"] = [str(options.patchelf.resolve()), "--set-rpath", PATH]
        self.rounds = options.rounds
        self.strippers = [tool for tool in STRIPPERS if shutil.which(tool)]
        self.scratch = scratch
        self.failed = False

    def row(self, library: pathlib.Path, writer: str) -> list[str]:
        file = self.scratch / library.name
        costs = []
        for _ in range(self.rounds):
            shutil.copyfile(library, file)
            file.chmod(0o755)
            os.sync()
            costs.append(run([*self.writers[writer], str(file)]))
        before, after = symbols(library), symbols(file)
        moves = [new - old for old, new in zip(before, after) if new != old]
        shift = ", ".join(f"{move:#x}" for move in sorted(set(moves))[:3])
        expected = said_by_loader(library)
        loads = said_by_loader(file) == expected
        self.failed |= not loads
        survival = []
        for tool in self.strippers:
            stripped = self.scratch / f"{tool}.so"
            shutil.copyfile(file, stripped)
            stripped.chmod(0o755)
            done = subprocess.run([tool, stripped], env=CLEAN, capture_output=True, check=False).returncode
            alive = done == 0 and said_by_loader(stripped) == expected
            survival.append(tool if alive else f"**not {tool}**")
        return [library.name, writer, f"{statistics.median(cost[0] for cost in costs):.2f}",
                f"{max(cost[1] for cost in costs):.0f}", f"{file.stat().st_size - library.stat().st_size:,}",
                f"{len(moves):,} of {len(before):,}" + (f" by {shift}" if moves else ""),
                f"{complaints(library)} → {complaints(file)}", "yes" if loads else "**no**", ", ".join(survival)]

    def main(self, libraries: list[pathlib.Path]) -> int:
        print("| library | writer | s | MB | grows by | symbols moved | eu-elflint | loads | after |")
        print("|---|---|---|---|---|---|---|---|---|")
        for library in libraries:
            for writer in self.writers:
                print(f"| {' | '.join(self.row(library, writer))} |", flush=True)
        for tool in set(STRIPPERS) - set(self.strippers):
            print(f"{tool} is not installed")
        return 1 if self.failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True)
    parser.add_argument("--patchelf", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("libraries", nargs="*", type=pathlib.Path, metavar="LIBRARY")
    options = parser.parse_args()
    libraries = options.libraries or [path for path in map(pathlib.Path, LIBRARIES) if path.exists()]
    with tempfile.TemporaryDirectory(prefix="ptpkg-bench-") as scratch:
        return Bench(options, pathlib.Path(scratch)).main(libraries)


if __name__ == "__main__":
    sys.exit(main())
