"""A toy release of 24 packages in three levels, and runs of it on the test cluster whose builds wait and fail as a test wants."""

import json
import pathlib
import shutil
import subprocess
import sys
import time
import typing

import harness
from servers.slurm import Settings, Slurm

BACKENDS = ["cpu", "cu118", "cu124", "cu130"]
RECIPE = """\
schema_version: 1
package: {{name: "{name}", version: "1"}}
build: {{number: 0, string: "0", script: {{file: build.sh}}}}
requirements: {{host: [{host}]}}
about: {{license: MIT}}
extra: {{ptpkg: {{formats: [conda], memory_per_job: 100 MB}}}}
"""
# The gates lie outside of the shared directory: they also work when that is full.
SCRIPT = """\
echo "$PKG_NAME $(hostname)" >>{gates}/started
while [ -e {gates}/hold-$PKG_NAME ]; do sleep 0.1; done
if [ -e {gates}/fail-$PKG_NAME ]; then echo "fatal error: $PKG_NAME does not compile"; exit 3; fi
mkdir -p "$PREFIX/share/toy"
{{ cat "$PREFIX"/share/toy/* 2>/dev/null || true; seq 1000; echo "$PKG_NAME"; }} >all
mv all "$PREFIX/share/toy/$PKG_NAME"
"""
PACKAGES = {"core": ("core-${{ backend }}", "", {"backend": BACKENDS}),
            "lib": ("lib-${{ backend }}-${{ flavour }}", '"core-${{ backend }} ==1"', {"backend": BACKENDS, "flavour": list("abc")}),
            "ext": ("ext-${{ backend }}-${{ flavour }}", '"lib-${{ backend }}-${{ flavour }} ==1"', {"backend": BACKENDS, "flavour": list("ab")})}
ARTIFACTS, JOBS = 24, 25  # the last job writes the index


class Attempts(typing.NamedTuple):
    """What a run took: `attempts` of all jobs, starts of build scripts, and calls of `ptpkg matrix resume`."""

    attempts: int
    scripts: int
    resumes: int


class ToyMatrix(harness.Case):
    """Each test has a run, a cache and an output directory of its own in the directory that the hosts share."""

    settings = Settings(cpus=16)  # a job without resources of its own asks for four
    lease_s = 20

    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Slurm(cls.settings))
        cls.gates = cls.cluster.root / "gates"
        cls.gates.mkdir()
        cls.recipes = cls.cluster.root / "recipes"
        for recipe, (name, host, variants) in PACKAGES.items():
            folder = cls.recipes / recipe
            folder.mkdir(parents=True)
            (folder / "recipe.yaml").write_text(RECIPE.format(name=name, host=host))
            (folder / "variants.yaml").write_text(json.dumps(variants))
            (folder / "build.sh").write_text(SCRIPT.format(gates=cls.gates))
        cls.local = cls.local_run()
        (cls.gates / "started").unlink()

    @classmethod
    def local_run(cls) -> dict[str, str]:
        """Artifacts of one machine, without the matrix."""
        done = subprocess.run([harness.Settings.ptpkg, "build", *cls.all_recipes(), "--output", cls.cluster.root / "local", "--cache-dir",
                               cls.cluster.root / "local-cache", "--no-config"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return harness.artifacts(cls.cluster.root / "local")

    @classmethod
    def all_recipes(cls) -> list[pathlib.Path]:
        return [cls.recipes / recipe for recipe in PACKAGES]

    def setUp(self):
        super().setUp()
        self.place = self.cluster.shared / self._testMethodName
        self.place.mkdir()
        self.run_folder, self.cache, self.output = (self.place / name for name in ("run", "cache", "dist"))
        self.resumes, self.began = 0, time.monotonic()
        self.addCleanup(self.clear)

    def clear(self):
        for path in self.gates.iterdir():
            path.unlink()
        self.cluster.client("scancel", "--user=root", check=False)
        self.cluster.wait_for(lambda: not self.cluster.queued())
        shutil.rmtree(self.place, ignore_errors=True)

    # ---- the program

    def matrix(self, *args, exit_code: int = 0, path: pathlib.Path | None = None, **options) -> subprocess.CompletedProcess:
        """`ptpkg matrix ARGS` on the login host. `path`: a directory for the front of PATH."""
        # Filters of a user for the queue, which hide no jobs of a run.
        environment = self.environment(SLURM_CONF=str(self.cluster.conf), SQUEUE_PARTITION="none", SQUEUE_USERS="nobody", SINFO_PARTITION="none")
        if path:
            environment["PATH"] = f"{path}:{environment['PATH']}"
        done = self.cluster.login.run([harness.Settings.ptpkg, "matrix", *args], env=environment, check=False, cwd=self.place, **options)
        self.assertEqual(done.returncode, exit_code, f"\n$ ptpkg matrix {' '.join(map(str, args))}\n{done.stdout}{done.stderr}{self.cluster.logs()}")
        return done

    def start(self, *more, **options) -> subprocess.CompletedProcess:
        return self.matrix(*self.all_recipes(), "--on", "slurm", "--run", self.run_folder, "--output", self.output, "--lease", self.lease_s,
                           *more, **options)

    def status(self) -> dict:
        return json.loads(self.matrix("status", self.run_folder, "--json").stdout)

    def jobs(self) -> dict[str, dict]:
        return {job["id"]: job for job in self.status()["jobs"]}

    def states(self) -> dict[str, str]:
        return {name: job["state"] for name, job in self.jobs().items()}

    def resume(self) -> None:
        self.resumes += 1
        self.matrix("resume", self.run_folder)

    # ---- gates

    def hold(self, *names: str) -> None:
        for name in names:
            (self.gates / f"hold-{name}").touch()

    def release(self) -> None:
        for path in self.gates.glob("hold-*"):
            path.unlink()

    def started(self, name: str | None = None) -> list[str]:
        """Hosts on which the build script of `name` has started, one for each start; of any package without a name."""
        file = self.gates / "started"
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return [host for package, host in lines if name in (None, package)]

    def host_of(self, name: str) -> str:
        """Where the held build runs."""
        self.cluster.wait_for(lambda: self.started(name))
        return self.started(name)[-1]

    # ---- ends

    def job_of(self, package: str) -> str:
        return f"{package}-1-0"

    def wait_until_still(self) -> dict[str, str]:
        """Until Slurm has no job in its queue; the states then."""
        self.cluster.wait_for(lambda: not self.cluster.queued(), harness.HANGS_AFTER_S)
        return self.states()

    def finish(self, fault: str) -> Attempts:
        """Waits for the end, resumes what has not passed, and compares the result with the one of a single machine."""
        states = self.wait_until_still()
        while set(states.values()) != {"passed"} and self.resumes < 3:
            self.resume()
            states = self.wait_until_still()
        status = self.status()
        self.assertEqual(set(states.values()), {"passed"}, json.dumps(status, indent=1))
        self.assertEqual(len(states), JOBS)
        self.assertEqual(harness.artifacts(self.output), self.local)
        names = [path.name for path in self.output.rglob("*.conda")]
        self.assertEqual((len(names), len(set(names))), (ARTIFACTS, ARTIFACTS), "each artifact exists once")
        self.assertEqual(harness.leftovers(self.output), [])
        tally = Attempts(sum(1 for _ in self.run_folder.glob("jobs/*/attempts/*/worker.json")), len(self.started()), self.resumes)
        print(f"tally: {fault}: {JOBS} jobs, {tally.attempts} attempts, {tally.scripts} build scripts, {tally.resumes} resumes, "
              f"{len(names)} artifacts, each once and equal to a local run; {time.monotonic() - self.began:.0f} s", file=sys.stderr)
        return tally
