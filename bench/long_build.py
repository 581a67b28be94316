#!/usr/bin/env python3
"""Times what ptpkg adds to a real build, libc10 of PyTorch 2.6.0: against the same commands, run by hand.

    cmake --preset release && ninja -C build/release ptpkg
    bench/long_build.py --source PATH                 # the unpacked source: recipes/pytorch says which

`overhead`: `ptpkg build` from nothing (sources, prefix, script, package, checks, tests, index) against the time that its
build script took within it. Both are of one run: the same commands, a minute later, take up to 1.4 times as long on a
shared machine. `by_hand`: that the script itself is no slower below ptpkg: the script of the last build in a copy of the
sources that is there already, with the environment that the build's log names; both in turn, so each round has one ratio.
There it also has the bar over both: the whole `ptpkg build` from nothing against that script by hand, which copies no
sources, packs and tests nothing. `unchanged`: the same `ptpkg build` once more. `dev`: one edited source file after another,
built and installed by `ptpkg dev --no-test`, against `cmake --build` and `cmake --install` by hand in the same folder; the
recipe's tests run on neither side. Figures are medians over the rounds. Exit 0: every bar is met; 1: one is missed; 2: a
command failed. A round takes four minutes on two idle cores, two without by_hand; the scratch folder needs 4 GB, and is best
a tmpfs.
"""

import argparse
import collections
import itertools
import json
import os
import pathlib
import shlex
import shutil
import statistics
import sys
import tempfile

from costs import PTPKG, SCRATCH, Cost, Runner, wrong_work

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
RECIPE = REPOSITORY / "recipes/pytorch"
ROWS = ["overhead", "by_hand", "unchanged", "dev"]
OVERHEAD, UNCHANGED_S, DEV = 1.03, 5.0, 1.1
DEV_ROUNDS = 5
# 0.5, 1.2 and 2.5 s to compile, of the 88 whose mean is 0.9 s.
EDITED = ["c10/util/Type_demangle.cpp", "c10/core/Device.cpp", "c10/core/TensorImpl.cpp"]
PYTHON = "/usr/bin/python3"
# Before the script of the recipe: writes down when it began and when it ended.
TIMED = """\
date +%s.%N > {times}
trap 'date +%s.%N >> {times}' EXIT
"""


class LongBuild:
    def __init__(self, options: argparse.Namespace) -> None:
        self.source = options.source.resolve()
        options.scratch.mkdir(parents=True, exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="long-build-", dir=options.scratch.resolve()))
        self.times = self.folder / "times"
        self.round = 0
        self.runner = Runner()
        self.recipe = self.folder / "pytorch"
        shutil.copytree(RECIPE, self.recipe)
        script = self.recipe / "build.sh"
        script.write_text(TIMED.format(times=shlex.quote(str(self.times))) + script.read_text())
        self.program, self.jobs = str(options.ptpkg.resolve()), str(options.jobs)

    @property
    def dist(self) -> pathlib.Path:
        return self.folder / f"dist{self.round}"

    def build(self) -> list[str]:
        return self.verb("build", self.source) + ["--format", "conda", "--output", str(self.dist)]

    def verb(self, name: str, source: pathlib.Path) -> list[str]:
        return [self.program, name, str(self.recipe), "--source", f"pytorch={source}", "--python-exe", PYTHON, "--env",
                "system", "--quiet", "--jobs", self.jobs, "--cache-dir", str(self.folder / f"cache{self.round}")]

    def from_nothing(self) -> tuple[Cost, float]:
        """What the build cost, and the seconds that its script took of that."""
        # Nothing is removed between the rounds: ext4 without a journal takes seconds longer to make as many files as were
        # removed in the minutes before.
        self.round += 1
        os.sync()
        cost = self.runner.run([self.build()])
        began, ended = map(float, self.times.read_text().split())
        return cost, ended - began

    def again(self) -> Cost:
        return self.runner.run([self.build()])

    def stages(self) -> dict[str, float]:
        """Seconds of each stage of the last build."""
        manifest = json.loads((self.dist / "manifest.json").read_text())
        return {stage["stage"]: stage["seconds"] for stage in manifest["stages"] if stage["ran"]}

    @staticmethod
    def header(log: pathlib.Path) -> tuple[str, dict[str, str]]:
        """The folder and the environment that a build's log names."""
        lines = [line[2:] for line in log.read_text(errors="replace").splitlines()[:200] if line.startswith("# ")]
        folder = next(line.removeprefix("in ") for line in lines if line.startswith("in "))
        return folder, dict(line.split("=", 1) for line in lines[2:] if "=" in line)

    def script(self, folder: str, variables: dict[str, str], text: str) -> list[str]:
        """A command that runs `text` as ptpkg would."""
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items() if name != "PWD")
        script = self.folder / "by_hand.sh"
        script.write_text(f"exec >{shlex.quote(str(self.folder / 'by_hand.log'))} 2>&1\n{exports}"
                          f"cd {shlex.quote(folder)}\n{text}")
        return ["/usr/bin/env", "-i", "/bin/bash", "-e", str(script)]

    def by_hand(self) -> Cost:
        """The script of the last build, with its environment but for the folders, in paths of the same length."""
        cwd, variables = self.header(next((self.dist / "logs").glob("*.build.log")))
        root = str(pathlib.Path(cwd).parent)
        hand = self.folder / f"hand{self.round}"
        place = hand / ("x" * max(1, len(root) - len(str(hand)) - 1))
        shutil.copytree(self.source, place / "work", symlinks=True)
        moved = {name: value.replace(root, str(place)) for name, value in variables.items()}
        moved.update(HOME=str(place / "home"), TMPDIR=str(place / "tmp"), PYTHON=PYTHON, RECIPE_DIR=str(self.recipe))
        for name in ("HOME", "TMPDIR", "PREFIX"):
            pathlib.Path(moved[name]).mkdir(parents=True, exist_ok=True)
        os.sync()
        return self.runner.run([self.script(str(place / "work"), moved, (self.recipe / "build.sh").read_text())])

    def dev(self) -> list[tuple[str, Cost, Cost]]:
        """One edit after the other, in turn: file, cost of `ptpkg dev --no-test`, which copies the file, compiles and
        installs; cost of `cmake --build` and `cmake --install` by hand in the same folder, on a file that is edited there.
        The recipe's tests are in neither."""
        source = self.folder / "edited"
        shutil.copytree(self.source, source, symlinks=True)
        command = self.verb("dev", source) + ["--no-test"]
        self.runner.run([command])
        # What dev writes down once tells of the tools: it is known from the second run on.
        self.runner.run([command])
        log = next((self.folder / f"cache{self.round}/dev").glob("*/build.log"))
        cwd, variables = self.header(log)
        commands = f"cmake --build build --target c10 --parallel {self.jobs}\ncmake --install build/c10\n"
        measured = []
        for file, edit in itertools.product(EDITED, range(DEV_ROUNDS)):
            text = (self.source / file).read_text()
            (source / file).write_text(f"{text}// Edit {edit}, for dev.\n")
            ours = self.runner.run([command])
            # The source stays behind: the next run of dev copies its next edit over this one.
            pathlib.Path(cwd, file).write_text(f"{text}// Edit {edit}, by hand.\n")
            measured.append((file, ours, self.runner.run([self.script(cwd, variables, commands)])))
        return measured


def told(cost: Cost) -> str:
    return f"wall {cost.wall_s:7.2f} s, CPU {cost.cpu_s:7.2f} s"


def measure(build: LongBuild, rounds: int, wanted: list[str]) -> int:
    overheads, by_hand, whole, unchanged = [], [], [], []
    for _ in range(rounds if {"overhead", "by_hand", "unchanged"} & set(wanted) else 0):
        ours, script_s = build.from_nothing()
        overheads.append(ours.wall_s / script_s)
        print(f"  ptpkg build  {told(ours)}, of it the script {script_s:.2f} s: times {overheads[-1]:.3f}; " +
              ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in build.stages().items()), flush=True)
        if "unchanged" in wanted:
            unchanged.append(build.again().wall_s)
            print(f"  once more    wall {unchanged[-1]:7.2f} s", flush=True)
        if "by_hand" in wanted:
            theirs = build.by_hand()
            by_hand.append(script_s / theirs.wall_s)
            whole.append(ours.wall_s / theirs.wall_s)
            print(f"  by hand      {told(theirs)}: the script took {by_hand[-1]:.3f} times that, ptpkg build {whole[-1]:.3f} times",
                  flush=True)
    lines = []
    if "overhead" in wanted:
        ratio = statistics.median(overheads)
        lines.append((ratio <= OVERHEAD, f"wall time of the script alone: {ratio:.3f} times, at most {OVERHEAD}"))
    if by_hand:
        ratio = statistics.median(by_hand)
        lines.append((ratio <= OVERHEAD, f"the script below ptpkg: {ratio:.3f} times by hand, at most {OVERHEAD}"))
        ratio = statistics.median(whole)
        lines.append((ratio <= OVERHEAD, f"ptpkg build: {ratio:.3f} times the script by hand, at most {OVERHEAD}"))
    if unchanged:
        wall_s = statistics.median(unchanged)
        lines.append((wall_s <= UNCHANGED_S, f"second build with nothing changed: {wall_s:.2f} s, at most {UNCHANGED_S:.0f}"))
    if "dev" in wanted:
        ratios = collections.defaultdict(list)
        for file, ours, theirs in build.dev():
            ratios[file].append(ours.wall_s / theirs.wall_s)
            print(f"  dev          {told(ours)}; by hand {told(theirs)}: times {ratios[file][-1]:.3f}  {file}", flush=True)
        for file, of_file in ratios.items():
            ratio = statistics.median(of_file)
            lines.append((ratio <= DEV, f"{file} edited: {ratio:.3f} times the commands by hand, at most {DEV}"))
    for met, line in lines:
        print(f"  {'ok  ' if met else 'MISS'} {line}")
    return 0 if all(met for met, _ in lines) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, default=os.environ.get("PTPKG_PYTORCH_SOURCE"),
                        help="the unpacked source of PyTorch 2.6.0 (default: PTPKG_PYTORCH_SOURCE)")
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--only", default=",".join(ROWS), help=f"rows, separated by commas (default: {','.join(ROWS)})")
    parser.add_argument("--scratch", type=pathlib.Path, default=SCRATCH, help="folder for caches and packages, 4 GB")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := set(wanted) - set(ROWS):
        wrong_work(f"no such row: {', '.join(sorted(unknown))}")
    if options.source is None:
        wrong_work("name the source of PyTorch 2.6.0: --source PATH")
    build = LongBuild(options)
    try:
        return measure(build, options.rounds, wanted)
    finally:
        shutil.rmtree(build.folder)


if __name__ == "__main__":
    sys.exit(main())
