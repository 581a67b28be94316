#!/usr/bin/env python3
"""Times packing, checking and indexing against the tools of the field, in one run, in turn, on the same input.

    scripts/bootstrap --check                         # once: makes the peers' environment, which holds them
    cmake --preset release && ninja -C build/release ptpkg
    $(scripts/environment peers)/bin/python bench/pack.py [--only conda,tarbz2,wheel,transmute,check,index]

The scratch folder needs 2 GB. The wheels are downloaded once into the user's cache. Exit 0: every bar is met; 1: a
bar is missed; 2: a tool failed.

Rows: `conda` and `tarbz2` a conda package of the scipy wheel. `ptpkg conda` unpacks the wheel, verifies it, rewrites
search paths, packs, reads everything back, checks it and indexes the channel. The peer only unpacks the wheel (python -m
zipfile) and packs the same files with assemble_package of rattler-build, at its own compression level and on as many
threads. (cph create needs 90 CPU seconds for the same .conda, at zstd level 19.) `wheel` the way back, by `ptpkg wheel`, which does as much; the peer is cph
extract and then wheel pack. `transmute` that .conda to .tar.bz2 by `ptpkg transmute`, which also checks the package and reads the result
back, against cph transmute. `check` the wheel of pyarrow by `ptpkg check`, against auditwheel show, which looks at symbol versions
and needed libraries only. `index` a channel of 400 small packages from nothing, against conda-index as a library, each
on one thread (its command line and its workers need conda, which the package index does not have). Times are medians of
rounds in which each tool begins once without any cache of its own. The lines at the end are those of README.md.
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

from costs import HEAD, MB, PTPKG, ROUNDS, SCRATCH, Cost, Runner, median, readme_row, real_wheel, version_of, wrong_work

SCIPY, PYARROW = "1.17.1", "26.0.1"
PACKAGES = 400
REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
ROWS = ["conda", "tarbz2", "wheel", "transmute", "check", "index"]
TASKS = {
    "conda": f"scipy {SCIPY}, wheel to .conda",
    "tarbz2": f"scipy {SCIPY}, wheel to .tar.bz2",
    "wheel": f"scipy {SCIPY}, .conda to wheel",
    "transmute": f"scipy {SCIPY}, .conda to .tar.bz2",
    "check": f"check the wheel of pyarrow {PYARROW}",
    "index": f"index a channel of {PACKAGES} packages",
}
ASSEMBLE = """
import os, sys
from rattler_build import ArchiveType, assemble_package
assemble_package(name="scipy", version="0", target_platform="linux-64", build_string="0", output_dir=sys.argv[2],
                 files_dir=sys.argv[1], archive_type=getattr(ArchiveType, sys.argv[3]),
                 compression_threads=len(os.sched_getaffinity(0)), detect_prefix=False)
"""
INDEX = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import conda_index_records
conda_index_records.stand_in_for_conda()
from conda_index.index import ChannelIndex
index = ChannelIndex(pathlib.Path(sys.argv[2]), None, threads=1, write_bz2=False, write_current_repodata=False,
                     write_run_exports=True)
index.index(None)
index.update_channeldata()
"""


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.scratch: pathlib.Path = options.scratch.resolve()
        self.rounds: int = options.rounds
        self.runner = Runner()
        self.ptpkg = str(options.ptpkg.resolve())
        self.python = sys.executable
        self.missed: list[str] = []
        self.results: dict[str, dict] = {}
        self.readme: list[str] = []

    @staticmethod
    def peer(name: str) -> str:
        return str(pathlib.Path(sys.executable).parent / name)

    @staticmethod
    def wheel(name: str = "scipy", version: str = SCIPY) -> pathlib.Path:
        return real_wheel(name, version)

    def fresh(self, name: str) -> pathlib.Path:
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def timed(self, *command) -> Cost:
        os.sync()
        return self.runner.run([list(map(str, command))])

    def convert(self, verb: str, source: pathlib.Path, work: pathlib.Path, *more) -> Cost:
        return self.timed(self.ptpkg, verb, source, "--output", work / "dist", "--quiet", "--cache-dir", work / "cache",
                          *more)

    @staticmethod
    def made_by_ptpkg(work: pathlib.Path, extension: str) -> pathlib.Path:
        return next(path for path in (work / "dist").rglob(f"*{extension}") if path.name.startswith("scipy-"))

    def compare(self, row: str, peers: dict[str, list[Cost]]) -> float:
        """Prints medians, and adds the README's lines; `peers` holds ptpkg's costs under "ptpkg". Returns how many
        times faster than the fastest peer ptpkg is."""
        print(f"{row}: medians of {self.rounds} rounds")
        for tool, costs in peers.items():
            mid = median(costs)
            print(f"  {tool:30} wall {mid.wall_s:7.2f} s, CPU {mid.cpu_s:7.2f} s, peak {mid.peak_bytes / MB:7.1f} MB")
        for tool, costs in peers.items():
            if tool != "ptpkg":
                self.readme.append(readme_row(TASKS[row], tool, peers["ptpkg"], costs, f"bench/pack.py --only {row}"))
        walls = {tool: median(costs).wall_s for tool, costs in peers.items()}
        return min(wall for tool, wall in walls.items() if tool != "ptpkg") / walls["ptpkg"]

    def bar(self, row: str, name: str, value: float, limit: float, at_least: bool) -> None:
        met = value >= limit if at_least else value <= limit
        print(f"  {'ok  ' if met else 'MISS'} {name}: {value:.2f}, {'at least' if at_least else 'at most'} {limit}")
        self.results.setdefault(row, {})[name] = value
        if not met:
            self.missed.append(f"{row}: {name}")

    # The rows.

    def race_packing(self, row: str, extension: str, archive_type: str, limit: float) -> None:
        wheel, peer = self.wheel(), f"unzip and {version_of('py-rattler-build')}"
        costs: dict[str, list[Cost]] = {"ptpkg": [], peer: []}
        sizes = []
        for _ in range(self.rounds):
            work = self.fresh("work")
            costs["ptpkg"].append(self.convert("conda", wheel, work, "--format", extension.lstrip(".")))
            tree = work / "tree/lib/python3.11/site-packages"
            tree.mkdir(parents=True)
            unpack = self.timed(self.python, "-m", "zipfile", "-e", wheel, tree)
            pack = self.timed(self.python, "-c", ASSEMBLE, work / "tree", work / "peer", archive_type)
            costs[peer].append(unpack.then(pack))
            theirs = next((work / "peer").rglob(f"*{extension}"))
            sizes.append(self.made_by_ptpkg(work, extension).stat().st_size / theirs.stat().st_size)
        self.bar(row, "times faster than rattler-build", self.compare(row, costs), limit, True)
        self.bar(row, "size, of rattler-build's package", max(sizes), 1.05, False)

    def row_conda(self) -> None:
        self.race_packing("conda", ".conda", "Conda", 0.5)

    def row_tarbz2(self) -> None:
        self.race_packing("tarbz2", ".tar.bz2", "TarBz2", 1)

    def row_wheel(self) -> None:
        model = self.fresh("model")
        self.convert("conda", self.wheel(), model, "--format", "conda")
        package = self.made_by_ptpkg(model, ".conda")
        peer = f"{version_of('conda-package-handling')} and {version_of('wheel')}"
        costs: dict[str, list[Cost]] = {"ptpkg": [], peer: []}
        sizes = []
        for _ in range(self.rounds):
            work = self.fresh("work")
            costs["ptpkg"].append(self.convert("wheel", package, work))
            unpack = self.timed(self.peer("cph"), "extract", package, "--dest", work / "tree")
            site_packages = work / "tree/lib/python3.11/site-packages"
            costs[peer].append(unpack.then(self.timed(self.peer("wheel"), "pack", site_packages, "--dest-dir", work)))
            sizes.append(self.made_by_ptpkg(work, ".whl").stat().st_size / next(work.glob("*.whl")).stat().st_size)
        self.bar("wheel", "times faster than cph and wheel", self.compare("wheel", costs), 1.5, True)
        self.bar("wheel", "size, of wheel's", max(sizes), 1.05, False)

    def row_transmute(self) -> None:
        model = self.fresh("model")
        self.convert("conda", self.wheel(), model, "--format", "conda")
        package = self.made_by_ptpkg(model, ".conda")
        peer = version_of("conda-package-handling")
        costs: dict[str, list[Cost]] = {"ptpkg": [], peer: []}
        sizes = []
        for _ in range(self.rounds):
            work = self.fresh("work")
            costs["ptpkg"].append(self.timed(self.ptpkg, "transmute", package, "--output", work / "dist", "--quiet",
                                             "--cache-dir", work / "cache"))
            (work / "theirs").mkdir()
            costs[peer].append(self.timed(self.peer("cph"), "transmute", package, ".tar.bz2", "--out-folder", work / "theirs"))
            sizes.append(self.made_by_ptpkg(work, ".tar.bz2").stat().st_size / next((work / "theirs").iterdir()).stat().st_size)
        self.bar("transmute", "times faster than cph", self.compare("transmute", costs), 1, True)
        self.bar("transmute", "size, of cph's package", max(sizes), 1.05, False)

    def row_check(self) -> None:
        wheel, peer = self.wheel("pyarrow", PYARROW), version_of("auditwheel")
        costs: dict[str, list[Cost]] = {"ptpkg": [], peer: []}
        for _ in range(self.rounds):
            cache = self.fresh("work") / "cache"
            costs["ptpkg"].append(self.timed(self.ptpkg, "check", wheel, "--quiet", "--cache-dir", cache))
            costs[peer].append(self.timed(self.peer("auditwheel"), "show", wheel))
        self.bar("check", "times faster than auditwheel", self.compare("check", costs), 5, True)

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
        peer = version_of("conda-index")
        commands = {"ptpkg": [self.ptpkg, "index", "--quiet", "--jobs", 1, "--cache-dir", self.scratch / "no-cache"],
                    peer: [self.python, "-c", INDEX, REPOSITORY / "tests/peers/conda"]}
        costs: dict[str, list[Cost]] = {tool: [] for tool in commands}
        names = []
        for _ in range(self.rounds):
            for tool, command in commands.items():
                copy = self.fresh("work") / "channel"
                shutil.copytree(channel.parent, copy)
                shutil.rmtree(self.scratch / "no-cache", ignore_errors=True)
                costs[tool].append(self.timed(*command, copy))
                names.append(sorted(json.loads((copy / "linux-64/repodata.json").read_text())["packages"]))
        if any(listed != names[0] for listed in names) or len(names[0]) != PACKAGES:
            wrong_work("the two indexes list different packages")
        self.bar("index", "times faster than conda-index", self.compare("index", costs), 5, True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--scratch", type=pathlib.Path, default=SCRATCH, help="folder for what is made")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default=",".join(ROWS), help="rows, comma separated (default: all)")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures of the bars here too")
    options = parser.parse_args()
    bench = Bench(options)
    for row in options.only.split(","):
        getattr(bench, f"row_{row}")()
    if options.json:
        options.json.write_text(json.dumps(bench.results, indent=2) + "\n")
    print("\n".join(["", HEAD, *bench.readme]))
    print(f"\n{len(bench.missed)} bars missed" + "".join(f"\n  {bar}" for bar in bench.missed))
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
