"""`ptpkg matrix` on this machine: its result is that of `ptpkg build`, whatever ends its jobs; and the files for other engines."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import harness
from repository import FIXTURES

TOYS = [FIXTURES / "toymagma", FIXTURES / "toytorch"]


class Matrix(harness.Case):
    def recipe(self, name: str, script: str = "true", host: str = "") -> pathlib.Path:
        root = self.scratch / name
        root.mkdir(exist_ok=True)
        make = f"{script}; mkdir -p $PREFIX/share && echo {name} > $PREFIX/share/{name}"
        (root / "recipe.yaml").write_text(
            f'package: {{name: {name}, version: "1"}}\nbuild: {{number: 0, string: "0", script: {{content: [{json.dumps(make)}]}}}}\n'
            f"requirements: {{host: [{host}]}}\nabout: {{license: MIT}}\nextra: {{ptpkg: {{formats: [conda], memory_per_job: 10 MB}}}}\n")
        return root

    def matrix(self, *args, **extra):
        return self.ptpkg("matrix", *args, **extra)

    def states(self, run="run") -> dict[str, str]:
        return {job["id"]: job["state"] for job in self.ptpkg_json("matrix", "status", run)["jobs"]}

    def ends(self, job: str, run="run") -> list[dict]:
        attempts = sorted((self.scratch / run / "jobs" / job / "attempts").iterdir(), key=lambda path: int(path.name))
        return [json.loads((path / "end.json").read_text()) for path in attempts if (path / "end.json").exists()]

    def start(self, *args) -> subprocess.Popen:
        return subprocess.Popen([harness.Settings.ptpkg, *map(str, args)], cwd=self.scratch, env=self.environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def test_a_run_makes_what_a_build_makes(self):
        self.ptpkg("build", *TOYS, "--output", "one", "--test", "skip")
        cache = str(self.scratch / "other-cache")
        done = self.matrix(*TOYS, "--run", "run", "--output", "two", "--test", "skip", PTPKG_CACHE_DIR=cache)
        self.assertIn("5 of 5 jobs passed", done.stderr)
        self.assertEqual(harness.artifacts(self.scratch / "two"), harness.artifacts(self.scratch / "one"))
        self.assertEqual((self.scratch / "two/conda/linux-64/repodata.json").read_bytes(), (self.scratch / "one/conda/linux-64/repodata.json").read_bytes())
        self.assertEqual(set(self.states().values()), {"passed"})
        self.assertEqual(harness.leftovers(pathlib.Path(cache), self.scratch / "two"), [])
        self.assertIn("build/toymagma-cpu-2.9.0-1: ran", self.matrix("logs", "run", "toymagma-cpu-2.9.0-1").stdout)
        again = self.matrix(*TOYS, "--run", "again", "--output", "two", "--test", "skip", PTPKG_CACHE_DIR=cache)
        self.assertIn("(4 cached)", again.stderr)  # the index runs each time
        page = self.scratch / "page.html"
        self.matrix("status", "run", "--html", page)
        self.assertIn("toymagma-cpu-2.9.0-1", page.read_text())

    def test_a_failure_ends_what_needs_it_and_resume_goes_on(self):
        marker = self.scratch / "works"
        base, other = self.recipe("base", f"test -e {marker}"), self.recipe("other")
        top = self.recipe("top", host="base")
        done = self.matrix(base, other, top, "--run", "run", exit_code=5)
        self.assertIn("job 'base-1-0' failed", done.stderr)
        self.assertIn("ptpkg matrix resume run", done.stderr)
        self.assertEqual(self.states(), {"base-1-0": "failed", "other-1-0": "passed", "top-1-0": "not started", "index": "passed"})
        self.assertEqual(len(harness.artifacts(self.scratch / "dist")), 1)
        self.assertIn("other", (self.scratch / "dist/conda/linux-64/repodata.json").read_text())
        marker.touch()
        self.matrix("resume", "run")
        self.assertEqual(set(self.states().values()), {"passed"})
        self.assertEqual([end["state"] for end in self.ends("base-1-0")], ["failed", "passed"])
        self.assertEqual(len(self.ends("other-1-0")), 1)
        self.assertEqual(len(harness.artifacts(self.scratch / "dist")), 3)

    def test_inputs_are_compared_before_anything_compiles(self):
        base, top = self.recipe("base"), self.recipe("top", host="base")
        self.matrix(base, top, "--run", "run", "--on", "json")
        done = self.ptpkg("run-node", "run", "top-1-0", exit_code=4)
        self.assertIn("job 'top-1-0' needs 'base-1-0', which has not passed", done.stderr)
        self.ptpkg("run-node", "run", "build/base-1-0")
        # The record names other content than that which lies in the output directory.
        end = self.scratch / "run/jobs/base-1-0/attempts/1/end.json"
        record = json.loads(end.read_text())
        for node in record["nodes"]:
            node["digest"] = "0" * 64
        end.write_text(json.dumps(record))
        done = self.ptpkg("run-node", "run", "top-1-0", exit_code=4)
        self.assertIn("the input 'conda/base-1-0' of job 'top-1-0' is not the one that its job made", done.stderr)
        self.assertEqual(self.ends("top-1-0")[-1]["error_code"], "hash_mismatch")
        for package in (self.scratch / "dist/conda").rglob("base-*.conda"):
            package.unlink()
        for folder in ("waiting", "stages/results/conda"):
            for path in sorted((self.cache / folder).rglob("*"), reverse=True) if (self.cache / folder).exists() else []:
                path.unlink() if path.is_file() else path.rmdir()
        done = self.ptpkg("run-node", "run", "top-1-0", exit_code=4)
        self.assertIn("the input 'conda/base-1-0' of job 'top-1-0' is missing", done.stderr)
        self.assertIn("ptpkg matrix resume", done.stderr)
        self.assertFalse(list((self.scratch / "dist/logs").glob("top-*")))

    def test_a_run_is_that_of_one_plan_and_one_ptpkg(self):
        self.matrix(self.recipe("base"), "--run", "run", "--on", "json")
        run = self.scratch / "run"
        whole = {name: (run / name).read_text() for name in ("run.json", "plan.json")}
        (run / "plan.json").write_text(whole["plan.json"].replace('"options": {', '"options": {"force": "", ', 1))
        self.assertIn("was edited after the run started", self.ptpkg("run-node", "run", "base-1-0", exit_code=3).stderr)
        (run / "plan.json").write_text(whole["plan.json"])
        (run / "run.json").write_text(whole["run.json"].replace('"lease_seconds": 120', '"lease_seconds": 1'))
        self.assertIn("was edited or is damaged", self.ptpkg("run-node", "run", "base-1-0", exit_code=3).stderr)
        (run / "run.json").write_text(whole["run.json"])
        self.assertIn("has no job 'nope'", self.ptpkg("run-node", "run", "nope", exit_code=4).stderr)
        self.assertIn("is not a run", self.matrix("status", self.scratch, exit_code=4).stderr)
        self.assertIn("is not empty", self.matrix(self.scratch / "base", "--run", "run", exit_code=7).stderr)

    def test_two_attempts_at_once_make_one_result(self):
        go, started = self.scratch / "go", self.scratch / "started"
        base = self.recipe("base", f"echo x >> {started}; while [ ! -e {go} ]; do sleep 0.05; done")
        self.matrix(base, "--run", "run", "--on", "json")
        first = self.start("run-node", "run", "base-1-0")
        self.wait_for(started.exists)
        second = self.start("run-node", "run", "base-1-0")
        go.touch()
        self.assertEqual((first.wait(), second.wait()), (0, 0))
        self.assertEqual([end["state"] for end in self.ends("base-1-0")], ["passed", "passed"])
        self.assertEqual(started.read_text(), "x\n")
        self.assertEqual(len(harness.artifacts(self.scratch / "dist")), 1)

    def test_a_worker_that_was_stopped_for_longer_than_its_lease_publishes_nothing(self):
        go, started = self.scratch / "go", self.scratch / "started"
        base = self.recipe("base", f"echo x >> {started}; while [ ! -e {go} ]; do sleep 0.05; done")
        self.matrix(base, "--run", "run", "--on", "json", "--lease", "2")
        first = self.start("run-node", "run", "base-1-0")
        self.wait_for(started.exists)
        tree = [first.pid, *harness.descendants(first.pid)]
        for pid in tree:
            os.kill(pid, signal.SIGSTOP)
        second = self.start("run-node", "run", "base-1-0")
        attempts = self.scratch / "run/jobs/base-1-0/attempts"
        self.wait_for(lambda: (attempts / "1/end.json").exists())
        for pid in tree:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(first.wait(), 7)
        go.touch()
        self.assertEqual(second.wait(), 0)
        self.assertEqual([end["state"] for end in self.ends("base-1-0")], ["fenced", "passed"])
        self.assertEqual(len(harness.artifacts(self.scratch / "dist")), 1)

    def test_a_killed_run_is_lost_and_goes_on(self):
        go, started = self.scratch / "go", self.scratch / "started"
        base = self.recipe("base", f"touch {started}; while [ ! -e {go} ]; do sleep 0.05; done")
        run = self.start("matrix", base, "--run", "run", "--lease", "2")
        self.wait_for(started.exists)
        self.assertEqual(self.states()["base-1-0"], "running")
        self.assertIn("still queued or running", self.matrix("resume", "run", exit_code=7).stderr)
        harness.kill_all(run)
        run.wait()
        self.assertEqual(self.states(), {"base-1-0": "lost", "index": "not started"})
        go.touch()
        self.matrix("resume", "run")
        self.assertEqual([end["state"] for end in self.ends("base-1-0")], ["fenced", "passed"])

    def test_cancel_stops_the_jobs(self):
        started = self.scratch / "started"
        base = self.recipe("base", f"touch {started}; sleep 1000")
        run = self.start("matrix", base, "--run", "run", "--lease", "2")
        self.wait_for(started.exists)
        self.matrix("cancel", "run")
        self.assertEqual(run.wait(), 5)
        self.assertEqual(self.states()["base-1-0"], "stopped")
        self.assertEqual(harness.artifacts(self.scratch / "dist"), {})

    def test_options_of_other_engines_and_actions_are_refused(self):
        base = self.recipe("base")
        for flags, text in ((["--partition", "p"], "--partition applies to --on slurm"), (["--image", "i"], "--image applies to"),
                            (["--on", "kubernetes"], "needs --image and --volume"),
                            (["--on", "slurm", "--sbatch", "x"], "--sbatch cannot take 'x'"), (["--on", "slurm", "--sbatch=--comment=x"], "--sbatch cannot take"), (["--html", "f"], "--html applies to a run that exists"),
                            (["--on", "kubernetes", "--image", "i", "--volume", "x"], "is not CLAIM:PATH")):
            self.assertIn(text, self.matrix(base, "--run", "run", *flags, exit_code=2).stderr)
        self.assertIn("does not take --lease", self.matrix("status", "run", "--lease", "3", exit_code=2).stderr)
        self.assertIn("takes one run", self.matrix("cancel", exit_code=2).stderr)
        self.assertFalse((self.scratch / "run").exists())

    def test_files_for_hosted_engines(self):
        self.matrix(*TOYS, "--run", "gh", "--on", "github", "--test", "skip")
        include = json.loads((self.scratch / "gh/github/level-2-1.json").read_text())["include"]
        self.assertEqual([(row["DESIRED_PYTHON"], row["DESIRED_CUDA"], row["GPU_ARCH_TYPE"], row["PACKAGE_TYPE"]) for row in include],
                         [("3.11", "cpu", "cpu", "manywheel")] * 2)
        workflow = (self.scratch / "gh/github/matrix.yml").read_text()
        self.assertIn("matrix: ${{ fromJSON(needs.plan.outputs.level_2_1) }}", workflow)
        self.matrix(*TOYS, "--run", "gl", "--on", "gitlab", "--test", "skip")
        self.assertIn("stages: [plan, level-1, level-2, level-3]", (self.scratch / "gl/gitlab/child.yml").read_text())
        self.matrix(*TOYS, "--run", "k8s", "--on", "kubernetes", "--image", "x@sha256:0", "--volume", f"shared:{self.scratch}", "--test", "skip")
        jobs = sorted((self.scratch / "k8s/kubernetes").glob("*.yaml"))
        self.assertEqual(len(jobs), 3)
        self.assertIn("completions: 2", jobs[0].read_text())

    def test_the_script_for_kubernetes_waits_until_a_job_has_ended(self):
        """Kubernetes says SuccessCriteriaMet or FailureTarget before the pods of a Job are gone. `kubectl` is a double: no cluster is here."""
        self.matrix(self.recipe("base"), self.recipe("top", host="base"), "--run", "run", "--on", "kubernetes", "--image", "x@sha256:0",
                    "--volume", f"shared:{self.scratch}")
        levels = [path.stem for path in sorted((self.scratch / "run/kubernetes").glob("*.yaml"))]
        conditions = [["", "SuccessCriteriaMet", "SuccessCriteriaMet Complete"], ["FailureTarget", "FailureTarget Failed"], ["Complete"]]
        tools = self.scratch / "tools"
        tools.mkdir()
        for name, lines in zip(levels, conditions, strict=True):
            (tools / f"{name}.conditions").write_text("".join(f"{line}\n" for line in lines))
        (tools / "kubectl").write_text(f'#!/bin/sh\ncd {tools}\nif [ "$1" = apply ]; then echo "apply ${{3%.yaml}}" >>calls; exit; fi\n'
                                       'echo "get ${2#job/}" >>calls\nhead -n 1 "${2#job/}.conditions"\nsed -i 1d "${2#job/}.conditions"\n')
        (tools / "sleep").write_text("#!/bin/sh\n")
        for name in ("kubectl", "sleep"):
            (tools / name).chmod(0o755)
        done = subprocess.run(["bash", self.scratch / "run/kubernetes/run.sh"], env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual((tools / "calls").read_text().splitlines(),
                         [line for name, lines in zip(levels, conditions, strict=True) for line in [f"apply {name}", *[f"get {name}"] * len(lines)]])

    def test_archives_carry_results_from_one_hosted_machine_to_the_next(self):
        recipes = [self.recipe("base"), self.recipe("top", host="base")]
        machine, kept = self.scratch / "machine", self.scratch / "kept"
        for folder in (machine, kept):
            folder.mkdir()
        self.matrix(*recipes, "--run", "run", "--on", "gitlab", cwd=machine, PTPKG_CACHE_DIR=str(machine / "cache"))
        subprocess.run(["tar", "-cf", kept / "0-plan.tar", "run"], cwd=machine, check=True)
        text = (machine / "run/gitlab/child.yml").read_text()
        script = text[text.index("for file in results"):]
        script = "\n".join(line.removeprefix("      ") for line in script[:script.index("mkdir -p results &&")].splitlines())
        environment = self.environment()
        environment["PATH"] = f"{harness.Settings.ptpkg.parent}:{environment['PATH']}"
        for job in ("base-1-0", "top-1-0", "publish"):
            shutil.rmtree(machine)
            shutil.copytree(kept, machine / "results")
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=machine, env={**environment, "PTPKG_JOB": job},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            (machine / "job.tar").rename(kept / f"{job}.tar")
        self.assertEqual(len(harness.artifacts(machine / "dist")), 2)
        self.assertIn("top", (machine / "dist/conda/linux-64/repodata.json").read_text())


if __name__ == "__main__":
    harness.main()
