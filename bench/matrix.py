#!/usr/bin/env python3
"""Bars of `ptpkg matrix --on slurm`, on the test cluster of tests/harness/servers/slurm.py. Needs root and the packages of
scripts/bootstrap --check.

    bench/matrix.py [--only overhead,plan,status] [--rounds 3] [--ptpkg build/release/bin/ptpkg]

overhead  The release of tests/e2e/matrix, whose builds sleep for --seconds: wall time of `ptpkg matrix --on slurm` from its call, planning
          included, until the last job has ended, beside sbatch of the same commands by a script. At most 5 % more.
plan      `ptpkg build --plan --json` of 250 variants, 1,001 nodes: less than a second.
status    `ptpkg matrix status` of 1,000 jobs in the queue: one call of a Slurm client.

Exit 1 when a bar is missed.
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import time

from costs import PTPKG, wrong_work

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY / "tests/harness"), str(REPOSITORY / "tests/e2e/matrix")]

from servers.slurm import CLIENTS, Settings, Slurm  # noqa: E402  after sys.path
from toy_matrix import PACKAGES, RECIPE  # noqa: E402

ROWS = ["overhead", "plan", "status"]
OVERHEAD, PLAN_S, STATUS_CALLS = 1.05, 1.0, 1
SLEEPER = "sleep {seconds}\nmkdir -p $PREFIX/share\necho $PKG_NAME >$PREFIX/share/$PKG_NAME\n"
# In the place of sbatch: the run is written, and nothing is submitted.
NO_SBATCH = "#!/bin/bash\necho $RANDOM\n"
COUNTING = '#!/bin/bash\necho "{name} $*" >>{calls}\nexec {program} "$@"\n'


class Matrix:
    def __init__(self, cluster: Slurm, program: pathlib.Path) -> None:
        self.cluster, self.program, self.number = cluster, program, 0

    def recipes(self, seconds: float) -> list[pathlib.Path]:
        folders = []
        for recipe, (name, host, variants) in PACKAGES.items():
            folder = self.cluster.root / "recipes" / recipe
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "recipe.yaml").write_text(RECIPE.format(name=name, host=host))
            (folder / "variants.yaml").write_text(json.dumps(variants))
            (folder / "build.sh").write_text(SLEEPER.format(seconds=seconds))
            folders.append(folder)
        return folders

    def many(self, count: int) -> pathlib.Path:
        """A recipe with `count` variants."""
        folder = self.cluster.root / f"many{count}"
        folder.mkdir()
        (folder / "recipe.yaml").write_text(RECIPE.format(name="many-${{ number }}", host=""))
        (folder / "variants.yaml").write_text(json.dumps({"number": [str(number) for number in range(count)]}))
        (folder / "build.sh").write_text("true\n")
        return folder

    def environment(self, path: pathlib.Path | None = None) -> dict[str, str]:
        environment = self.cluster.environment(PTPKG_CACHE_DIR=str(self.cluster.shared / f"cache{self.number}"))
        if path:
            environment["PATH"] = f"{path}:{environment['PATH']}"
        return environment

    def call(self, *args, path: pathlib.Path | None = None) -> str:
        done = self.cluster.login.run([self.program, *args, "--no-config"], env=self.environment(path), check=False)
        if done.returncode != 0:
            wrong_work(f"{' '.join(map(str, args))} failed: {done.stderr}")
        return done.stdout

    def start(self, recipes: list[pathlib.Path], path: pathlib.Path | None = None) -> pathlib.Path:
        """A new run, with a cache and an output directory of its own."""
        self.number += 1
        run = self.cluster.shared / f"run{self.number}"
        self.call("matrix", *recipes, "--on", "slurm", "--run", run, "--output", self.cluster.shared / f"dist{self.number}", path=path)
        return run

    def until_idle(self) -> None:
        self.cluster.wait_for(lambda: not self.cluster.queued(), 600)

    def check(self, run: pathlib.Path) -> None:
        states = {job["state"] for job in json.loads(self.call("matrix", "status", run, "--json"))["jobs"]}
        if states != {"passed"}:
            wrong_work(f"jobs of {run} are {states}")

    def programs(self, name: str, texts: dict[str, str]) -> pathlib.Path:
        """A directory with these scripts."""
        folder = self.cluster.root / name
        folder.mkdir(exist_ok=True)
        for program, text in texts.items():
            (folder / program).write_text(text)
            (folder / program).chmod(0o755)
        return folder

    def by_matrix(self, recipes: list[pathlib.Path]) -> tuple[float, float]:
        """Seconds of the whole run, and those until all was submitted."""
        begin = time.monotonic()
        run = self.start(recipes)
        submitted = time.monotonic() - begin
        self.until_idle()
        seconds = time.monotonic() - begin
        self.check(run)
        return seconds, submitted

    def by_hand(self, recipes: list[pathlib.Path]) -> float:
        """The same commands by a script that calls sbatch once for each job."""
        run = self.start(recipes, self.programs("no-sbatch", {"sbatch": NO_SBATCH}))
        jobs = json.loads((run / "run.json").read_text())["body"]["jobs"]
        lines = ["set -e"]
        names = {job["id"]: f"j{number}" for number, job in enumerate(jobs)}
        for job in jobs:
            command = f"{self.program} run-node {run} {job['id']} --jobs {job['resources']['cores']} --no-config >>{run}/jobs/{job['id']}/log 2>&1"
            after = ":".join(f"${names[need]}" for need in job["needs"])
            size = f"--cpus-per-task={job['resources']['cores']} --mem={job['resources']['memory_bytes'] >> 20}M"
            lines.append(f"{names[job['id']]}=$(sbatch --parsable --kill-on-invalid-dep=yes --output=/dev/null {size} "
                         f"{'--dependency=afterok:' + after if after else ''} --wrap={shlex.quote(command)})")
        script = self.cluster.root / "by_hand.sh"
        script.write_text("\n".join(lines) + "\n")
        begin = time.monotonic()
        self.cluster.login.run(["bash", script], env=self.environment())
        self.until_idle()
        seconds = time.monotonic() - begin
        self.check(run)
        return seconds


def overhead(matrix: Matrix, options: argparse.Namespace) -> tuple[bool, str]:
    recipes, ratios = matrix.recipes(options.seconds), []
    matrix.cluster.submit("true")  # a new controller starts its first job seconds late
    matrix.until_idle()
    for _ in range(options.rounds):
        (ours, submitted), theirs = matrix.by_matrix(recipes), matrix.by_hand(recipes)
        ratios.append(ours / theirs)
        print(f"  ptpkg matrix {ours:6.2f} s, of it {submitted:.2f} s until all was submitted; sbatch by hand {theirs:6.2f} s: times {ratios[-1]:.3f}", flush=True)
    ratio = statistics.median(ratios)
    return ratio <= OVERHEAD, f"25 jobs of {options.seconds:g} s, 12 at once: {ratio:.3f} times sbatch by hand, at most {OVERHEAD}"


def plan(matrix: Matrix, options: argparse.Namespace) -> tuple[bool, str]:
    recipe, walls = matrix.many(250), []
    for _ in range(options.rounds):
        begin = time.monotonic()
        nodes = len(json.loads(matrix.call("build", recipe, "--output", matrix.cluster.root / "dist", "--plan", "--json"))["nodes"])
        walls.append(time.monotonic() - begin)
    wall_s = statistics.median(walls)
    return wall_s < PLAN_S, f"a plan of {nodes:,} nodes: {wall_s:.2f} s, less than {PLAN_S:g}"


def status(matrix: Matrix, options: argparse.Namespace) -> tuple[bool, str]:
    calls = matrix.cluster.root / "calls"
    folder = matrix.programs("counting", {name: COUNTING.format(name=name, calls=calls, program=shutil.which(name)) for name in CLIENTS})
    for node in matrix.cluster.nodes:
        matrix.cluster.client("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=bench")
    run, walls = matrix.start([matrix.many(1000)]), []
    for _ in range(options.rounds):
        calls.write_text("")
        begin = time.monotonic()
        jobs = json.loads(matrix.call("matrix", "status", run, "--json", path=folder))["jobs"]
        walls.append(time.monotonic() - begin)
        if {job["state"] for job in jobs} != {"waiting"}:
            wrong_work("a job does not wait")
    made = calls.read_text().splitlines()
    return len(made) == STATUS_CALLS, (f"status of {len(jobs):,} jobs: {len(made)} call of Slurm's clients ({', '.join(line.split()[0] for line in made)}), "
                                       f"at most {STATUS_CALLS}; {statistics.median(walls):.2f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, default=PTPKG, help="the release program")
    parser.add_argument("--only", default=",".join(ROWS), help=f"rows, separated by commas (default: {','.join(ROWS)})")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20, help="of each build (default: 20)")
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := set(names) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    missed = 0
    with Slurm(Settings(cpus=16, shared_mb=1024)) as cluster:
        matrix = Matrix(cluster, options.ptpkg.resolve())
        for name in names:
            met, line = globals()[name](matrix, options)
            print(f"  {'ok  ' if met else 'MISS'} {line}", flush=True)
            missed += not met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
