#!/usr/bin/env python3
"""Times packing and indexing against the tools of the field, in one run, in turn, on the same input.

    scripts/environment                               # once: the peers' environment, which holds them
    cmake --preset release -DBUILD_TESTING=OFF && ninja -C build/release ptpkg
    PYTHON bench/pack.py --ptpkg build/release/bin/ptpkg --scratch FOLDER [--rounds 3] [--only conda,tarbz2,index]

PYTHON is the interpreter of the peers' environment. The scratch folder needs 2 GB. The scipy wheel is downloaded once into
the user's cache. Exit 0: every bar is met; 1: a bar is missed; 2: a tool failed.

Rows: `conda` and `tarbz2` a conda package of the scipy wheel, by `ptpkg conda`, which unpacks it, rewrites search paths,
packs, reads everything back, checks it and indexes the channel; the peers only unpack it (python -m zipfile) and pack
(cph create, of conda-package-handling) the same files. `index` a channel of 400 small packages from nothing, against
conda-index. Times are medians of rounds in which each tool begins once without any cache of its own.
"""

import argparse
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

from elf import MB, Cost, Runner, median

SCIPY = "1.15.3"
PACKAGES = 400


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.scratch: pathlib.Path = options.scratch.resolve()
        self.rounds: int = options.rounds
        self.runner = Runner()
        self.ptpkg = str(options.ptpkg.resolve())
        self.python = sys.executable
        self.cph = str(pathlib.Path(sys.executable).parent / "cph")
        self.missed: list[str] = []
        self.results: dict[str, dict] = {}

    def wheel(self) -> pathlib.Path:
        cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ptpkg/real-input"
        cache.mkdir(parents=True, exist_ok=True)
        pattern = f"scipy-{SCIPY}-cp311-*.whl"
        if not list(cache.glob(pattern)):
            subprocess.run([self.python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                            "--python-version", "3.11", "--platform", "manylinux_2_17_x86_64", "--dest", cache,
                            f"scipy=={SCIPY}"], check=True)
        return next(cache.glob(pattern))

    def fresh(self, name: str) -> pathlib.Path:
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def compare(self, row: str, peer: str, ours: list[Cost], theirs: list[Cost]) -> float:
        print(f"{row}: medians of {len(ours)} rounds")
        for tool, costs in (("ptpkg", ours), (peer, theirs)):
            mid = median(costs)
            print(f"  {tool:12} wall {mid.wall_s:7.2f} s, CPU {mid.cpu_s:7.2f} s, peak {mid.peak_bytes / MB:7.1f} MB")
        return median(theirs).wall_s / median(ours).wall_s

    def bar(self, row: str, name: str, value: float, limit: float, at_least: bool) -> None:
        met = value >= limit if at_least else value <= limit
        print(f"  {'ok  ' if met else 'MISS'} {name}: {value:.2f}, {'at least' if at_least else 'at most'} {limit}")
        self.results.setdefault(row, {})[name] = value
        if not met:
            self.missed.append(f"{row}: {name}")

    def made_by_ptpkg(self, output: pathlib.Path, extension: str) -> pathlib.Path:
        return next(path for path in (output / "conda").rglob(f"*{extension}") if path.name.startswith("scipy-"))

    def race_packing(self, row: str, extension: str, faster: float) -> None:
        wheel, ours, theirs, sizes = self.wheel(), [], [], []
        # What cph packs: the files as they lie in a prefix, with the metadata of a package that ptpkg made.
        model = self.fresh("model")
        subprocess.run([self.ptpkg, "conda", wheel, "--output", model / "dist", "--format", "conda", "--quiet",
                        "--cache-dir", model / "cache"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([self.cph, "extract", self.made_by_ptpkg(model / "dist", ".conda"), "--dest", model / "info-of"],
                       check=True, stdout=subprocess.DEVNULL)
        for _ in range(self.rounds):
            work = self.fresh("work")
            os.sync()
            ours.append(self.runner.run([[self.ptpkg, "conda", str(wheel), "--output", str(work / "dist"), "--format",
                                          extension.lstrip("."), "--quiet", "--cache-dir", str(work / "cache")]], 1))
            tree = work / "tree/lib/python3.11/site-packages"
            tree.mkdir(parents=True)
            shutil.copytree(model / "info-of/info", work / "tree/info")
            os.sync()
            unpack = self.runner.run([[self.python, "-m", "zipfile", "-e", str(wheel), str(tree)]], 1)
            package = work / f"scipy-peer-0{extension}"
            pack = self.runner.run([[self.cph, "create", str(work / "tree"), str(package)]], 1)
            theirs.append(Cost(wall_s=unpack.wall_s + pack.wall_s, cpu_s=unpack.cpu_s + pack.cpu_s,
                               peak_bytes=max(unpack.peak_bytes, pack.peak_bytes)))
            sizes.append(self.made_by_ptpkg(work / "dist", extension).stat().st_size / package.stat().st_size)
        ratio = self.compare(row, "cph", ours, theirs)
        self.bar(row, "times faster than unzip and cph", ratio, faster, True)
        self.bar(row, "size, of cph's package", max(sizes), 1.05, False)
        self.bar(row, "memory, of cph's", median(ours).peak_bytes / median(theirs).peak_bytes, 2, False)

    def row_conda(self) -> None:
        self.race_packing("conda", ".conda", 2)

    def row_tarbz2(self) -> None:
        self.race_packing("tarbz2", ".tar.bz2", 2)

    @staticmethod
    def package(path: pathlib.Path, name: str) -> None:
        texts = {"info/index.json": json.dumps({"name": name, "version": "1.0", "build": "0", "build_number": 0,
                                                "depends": ["python"], "subdir": "linux-64", "arch": "x86_64",
                                                "platform": "linux"}),
                 "info/paths.json": json.dumps({"paths": [], "paths_version": 1}), "info/files": "",
                 "info/about.json": "{}"}
        with tarfile.open(path, "w:bz2") as archive:
            for member, text in texts.items():
                entry = tarfile.TarInfo(member)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))

    def row_index(self) -> None:
        channel = self.fresh("channel") / "linux-64"
        channel.mkdir()
        for number in range(PACKAGES):
            self.package(channel / f"package{number}-1.0-0.tar.bz2", f"package{number}")
        names, ours, theirs = [], [], []
        for _ in range(self.rounds):
            for costs, command in ((ours, [self.ptpkg, "index", "--quiet", "--cache-dir", str(self.scratch / "no-cache")]),
                                   (theirs, [self.python, "-m", "conda_index", "--no-progress"])):
                copy = self.fresh("work") / "channel"
                shutil.copytree(channel.parent, copy)
                shutil.rmtree(self.scratch / "no-cache", ignore_errors=True)
                os.sync()
                costs.append(self.runner.run([[*command, str(copy)]], 1))
                names.append(sorted(json.loads((copy / "linux-64/repodata.json").read_text())["packages"]))
        if any(listed != names[0] for listed in names) or len(names[0]) != PACKAGES:
            print("bench/pack.py: the two indexes list different packages", file=sys.stderr)
            sys.exit(2)
        self.bar("index", "times faster than conda-index", self.compare("index", "conda-index", ours, theirs), 5, True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rows = ["conda", "tarbz2", "index"]
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True, help="the release program")
    parser.add_argument("--scratch", type=pathlib.Path, required=True, help="folder for what is made")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(rows), help="rows, comma separated (default: all)")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures of the bars here too")
    options = parser.parse_args()
    bench = Bench(options)
    for row in options.only.split(","):
        getattr(bench, f"row_{row}")()
    if options.json:
        options.json.write_text(json.dumps(bench.results, indent=2) + "\n")
    print(f"\n{len(bench.missed)} bars missed" + "".join(f"\n  {bar}" for bar in bench.missed))
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
