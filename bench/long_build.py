#!/usr/bin/env python3
"""Times what ptpkg adds to a real build, libc10 of PyTorch 2.6.0: against the same script, run by hand.

    cmake --preset release && ninja -C build/release ptpkg
    bench/long_build.py --source PATH                 # the unpacked source: recipes/pytorch says which

`overhead`: `ptpkg build` from nothing (sources, prefix, script, package, checks, tests, index) against its build script
alone, in a copy of the sources that is there already, with the environment that the build's log names; both in turn, so
each round has one ratio. `unchanged`: the same `ptpkg build` once more. Times are medians over the rounds. CPU time is that
of all processes; on a machine with other work it says more than wall time. Exit 0: every bar is met; 1: one is missed; 2: a
command failed. A round takes two minutes on two idle cores; the scratch folder needs 2 GB.
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import statistics
import sys

from costs import PTPKG, SCRATCH, Cost, Runner, wrong_work

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
RECIPE = REPOSITORY / "recipes/pytorch"
ROWS = ["overhead", "unchanged"]
OVERHEAD, UNCHANGED_S = 1.03, 5.0
PYTHON = "/usr/bin/python3"


class LongBuild:
    def __init__(self, options: argparse.Namespace) -> None:
        self.source = options.source.resolve()
        self.folder = options.scratch.resolve() / "long-build"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.dist = self.folder / "dist"
        self.runner = Runner()
        self.command = [str(options.ptpkg.resolve()), "build", str(RECIPE), "--source", f"pytorch={self.source}",
                        "--python-exe", PYTHON, "--env", "system", "--format", "conda", "--quiet", "--jobs",
                        str(options.jobs), "--cache-dir", str(self.folder / "cache"), "--output", str(self.dist)]

    def from_nothing(self) -> Cost:
        for name in ("cache", "dist"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        os.sync()
        return self.runner.run([self.command])

    def again(self) -> Cost:
        return self.runner.run([self.command])

    def stages(self) -> dict[str, float]:
        """Seconds of each stage of the last build."""
        manifest = json.loads((self.dist / "manifest.json").read_text())
        return {stage["stage"]: stage["seconds"] for stage in manifest["stages"] if stage["ran"]}

    def by_hand(self) -> Cost:
        """The script of the last build, with its environment but for the folders, in paths of the same length."""
        log = next((self.dist / "logs").glob("*.build.log")).read_text(errors="replace").splitlines()
        header = [line[2:] for line in log[:200] if line.startswith("# ")]
        cwd = next(line.removeprefix("in ") for line in header if line.startswith("in "))
        variables = dict(line.split("=", 1) for line in header[2:] if "=" in line)
        root = str(pathlib.Path(cwd).parent)
        hand = self.folder / "hand"
        shutil.rmtree(hand, ignore_errors=True)
        place = hand / ("x" * max(1, len(root) - len(str(hand)) - 1))
        shutil.copytree(self.source, place / "work", symlinks=True)
        moved = {name: value.replace(root, str(place)) for name, value in variables.items() if name != "PWD"}
        moved.update(HOME=str(place / "home"), TMPDIR=str(place / "tmp"), PYTHON=PYTHON)
        for name in ("HOME", "TMPDIR", "PREFIX"):
            pathlib.Path(moved[name]).mkdir(parents=True, exist_ok=True)
        script = hand / "by_hand.sh"
        script.write_text(f"exec >{shlex.quote(str(hand / 'log'))} 2>&1\n" + "".join(f"export {name}={shlex.quote(value)}\n" for name, value in moved.items())
                          + f"cd {shlex.quote(str(place / 'work'))}\n" + (RECIPE / "build.sh").read_text())
        os.sync()
        return self.runner.run([["/usr/bin/env", "-i", "/bin/bash", "-e", str(script)]])


def told(cost: Cost) -> str:
    return f"wall {cost.wall_s:7.2f} s, CPU {cost.cpu_s:7.2f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, default=os.environ.get("PTPKG_PYTORCH_SOURCE"),
                        help="the unpacked source of PyTorch 2.6.0 (default: PTPKG_PYTORCH_SOURCE)")
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--only", default=",".join(ROWS), help=f"rows, separated by commas (default: {','.join(ROWS)})")
    parser.add_argument("--scratch", type=pathlib.Path, default=SCRATCH, help="folder for caches and packages, 2 GB")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    wanted = options.only.split(",")
    if unknown := set(wanted) - set(ROWS):
        wrong_work(f"no such row: {', '.join(sorted(unknown))}")
    if options.source is None:
        wrong_work("name the source of PyTorch 2.6.0: --source PATH")
    build = LongBuild(options)
    walls, cpus, unchanged = [], [], []
    for _ in range(options.rounds):
        ours = build.from_nothing()
        print(f"  ptpkg build  {told(ours)}: " +
              ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in build.stages().items()), flush=True)
        if "unchanged" in wanted:
            unchanged.append(build.again())
            print(f"  once more    {told(unchanged[-1])}", flush=True)
        if "overhead" in wanted:
            theirs = build.by_hand()
            walls.append(ours.wall_s / theirs.wall_s)
            cpus.append(ours.cpu_s / theirs.cpu_s)
            print(f"  by hand      {told(theirs)}: times {walls[-1]:.3f} wall, {cpus[-1]:.3f} CPU", flush=True)
    lines = []
    if walls:
        wall = statistics.median(walls)
        lines.append((wall <= OVERHEAD, f"wall time of the script alone: {wall:.3f} times, at most {OVERHEAD}; "
                                        f"CPU {statistics.median(cpus):.3f} times"))
    if unchanged:
        wall = statistics.median(cost.wall_s for cost in unchanged)
        lines.append((wall <= UNCHANGED_S, f"second build with nothing changed: {wall:.2f} s, at most {UNCHANGED_S:.0f}"))
    for met, line in lines:
        print(f"  {'ok  ' if met else 'MISS'} {line}")
    return 0 if all(met for met, _ in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
