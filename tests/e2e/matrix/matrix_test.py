"""`ptpkg matrix` on this machine: its result is that of `ptpkg build`, whatever ends its jobs; and the files for other engines."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import textwrap

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

    def packages(self) -> dict[str, pathlib.Path]:
        return {path.name.split("-")[0]: path for path in (self.scratch / "dist/conda").rglob("*.conda")}

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

    def test_the_index_runs_again_when_a_job_was_mended_by_hand(self):
        marker = self.scratch / "works"
        self.matrix(self.recipe("base", f"test -e {marker}"), self.recipe("other"), "--run", "run", exit_code=5)
        marker.touch()
        self.ptpkg("run-node", "run", "base-1-0")
        self.assertEqual(self.states(), {"base-1-0": "passed", "other-1-0": "passed", "index": "not started"})
        self.assertIn("3 of 3 jobs passed", self.matrix("resume", "run").stderr)
        self.assertEqual(set(self.states().values()), {"passed"})
        self.assertIn("base-1-0", (self.scratch / "dist/conda/linux-64/repodata.json").read_text())

    def test_settings_for_another_engine_wait_for_it(self):
        base = self.recipe("base")
        (self.scratch / "ptpkg.toml").write_text('[matrix]\npartition = "p"\nsbatch = "--account=a"\nimage = "i"\nvolume = "c:/v"\n'
                                                 'runner = "big"\noutput = "out"\n')
        self.matrix(base, "--run", "run", "--on", "json")
        self.matrix(base, "--run", "github", "--on", "github")
        self.assertIn("is not on the volume at '/v'", self.matrix(base, "--run", "k8s", "--on", "kubernetes", exit_code=2).stderr)

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
        harness.signal_each(tree, signal.SIGSTOP)
        second = self.start("run-node", "run", "base-1-0")
        attempts = self.scratch / "run/jobs/base-1-0/attempts"
        self.wait_for(lambda: (attempts / "1/end.json").exists())
        harness.signal_each(tree, signal.SIGCONT)
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
        self.assertIn("another 'ptpkg matrix' is starting or running the jobs", self.matrix("resume", "run", exit_code=7).stderr)
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
        slurm, kubernetes = ["--on", "slurm"], ["--on", "kubernetes", "--image", "i"]
        for flags, text in ((["--partition", "p"], "--partition applies to --on slurm"), (["--image", "i"], "--image applies to"),
                            (["--on", "kubernetes"], "needs --image and --volume"), (["--html", "f"], "--html applies to a run that exists"),
                            ([*kubernetes, "--volume", "x"], "is not CLAIM:PATH"), ([*kubernetes, "--runner", "x"], "--runner applies to"),
                            ([*slurm, "--sbatch", "x"], "--sbatch cannot take 'x'"), ([*slurm, "--sbatch=--comment=x"], "--sbatch cannot take"),
                            ([*slurm, "--sbatch=--comm=x"], "--sbatch cannot take '--comm=x'"), ([*slurm, "--sbatch=--"], "--sbatch cannot take"),
                            ([*slurm, "--sbatch=--cluster=x"], "--sbatch cannot take"), ([*slurm, "--jobs", "2"], "--jobs applies to --on local")):
            self.assertIn(text, self.matrix(base, "--run", "run", *flags, exit_code=2).stderr)
        for flag in ("--lease", "--jobs", "--cache-dir"):
            self.assertIn(f"does not take {flag}", self.matrix("status", "run", flag, "3", exit_code=2).stderr)
        self.assertIn("takes one run", self.matrix("cancel", exit_code=2).stderr)
        self.assertFalse((self.scratch / "run").exists())
        self.matrix(base, "--run", "run", "--on", "json")
        self.assertIn("--jobs applies to runs of --on local", self.matrix("resume", "run", "--jobs", "2", exit_code=2).stderr)

    def test_files_for_hosted_engines(self):
        self.matrix(*TOYS, "--run", "gh", "--on", "github", "--test", "skip")
        include = json.loads((self.scratch / "gh/github/level-2-1.json").read_text())["include"]
        self.assertEqual([(row["DESIRED_PYTHON"], row["DESIRED_CUDA"], row["GPU_ARCH_TYPE"], row["PACKAGE_TYPE"]) for row in include],
                         [("3.11", "cpu", "cpu", "manywheel")] * 2)
        workflow = (self.scratch / "gh/github/matrix.yml").read_text()
        self.assertIn("matrix: ${{ fromJSON(needs.plan.outputs.level_2_1) }}", workflow)
        for folder in ("fixtures/toymagma", "fixtures/toytorch", "patches/toymagma"):
            shutil.copytree(harness.REPOSITORY / folder, self.scratch / folder)
        self.matrix("fixtures/toymagma", "fixtures/toytorch", "--run", "gl", "--on", "gitlab", "--test", "skip")
        self.assertIn("stages: [plan, level-1, level-2, level-3]", (self.scratch / "gl/gitlab/child.yml").read_text())
        self.matrix(*TOYS, "--run", "k8s", "--on", "kubernetes", "--image", "x@sha256:0", "--volume", f"shared:{self.scratch}", "--test", "skip")
        jobs = sorted((self.scratch / "k8s/kubernetes").glob("*.yaml"))
        self.assertEqual(len(jobs), 3)
        self.assertIn("completions: 2", jobs[0].read_text())

    def test_the_script_for_kubernetes_waits_until_a_job_has_ended(self):
        """Servers from 1.31 on say SuccessCriteriaMet or FailureTarget while pods run. `kubectl` is a double: no cluster fits into a test."""
        self.matrix(self.recipe("base"), self.recipe("top", host="base"), "--run", "run", "--on", "kubernetes", "--image", "x@sha256:0",
                    "--volume", f"shared:{self.scratch}")
        levels = [path.stem for path in sorted((self.scratch / "run/kubernetes").glob("*.yaml"))]
        tools = self.scratch / "tools"
        tools.mkdir()
        (tools / "kubectl").write_text(f'#!/bin/sh\ncd {tools}\nif [ "$1" = apply ]; then echo "apply ${{3%.yaml}}" >>calls; exit; fi\n'
                                       'echo "get ${2#job/}" >>calls\nhead -n 1 "${2#job/}.conditions"\nsed -i 1d "${2#job/}.conditions"\n')
        (tools / "sleep").write_text("#!/bin/sh\n")
        for name in ("kubectl", "sleep"):
            (tools / name).chmod(0o755)
        passes, fails = ["", "SuccessCriteriaMet", "SuccessCriteriaMet Complete"], ["", "FailureTarget", "FailureTarget Failed"]
        for conditions, code in (([passes] * 3, 0), ([fails] * 3, 1), ([passes, fails[1:], ["Complete"]], 1)):
            with self.subTest(conditions):
                for name, lines in zip(levels, conditions, strict=True):
                    (tools / f"{name}.conditions").write_text("".join(f"{line}\n" for line in lines))
                environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
                done = subprocess.run(["bash", self.scratch / "run/kubernetes/run.sh"], env=environment, stdin=subprocess.DEVNULL, check=False)
                self.assertEqual(done.returncode, code)
                wanted = [line for name, lines in zip(levels, conditions, strict=True) for line in [f"apply {name}", *[f"get {name}"] * len(lines)]]
                self.assertEqual((tools / "calls").read_text().splitlines(), wanted)
                (tools / "calls").unlink()

    def test_a_workflow_of_github_runs_what_the_command_line_asks_for(self):
        """Each option is a word of the workflow, or refused, or named here as one of this call."""
        base = self.recipe("base")
        (base / "code").mkdir()
        recipe = base / "recipe.yaml"
        recipe.write_text(recipe.read_text() + "source: {path: code}\n")
        (base / "more.yaml").write_text('colour: ["red", "blue"]\n')
        of_this_call = {"--help", "--on", "--run", "--html", "--dry-run", "--image", "--runner"}
        refused = {"--partition": "p", "--sbatch": "--account=a", "--volume": "c:/v", "--output": "out", "--jobs": "2", "--cache-dir": "c"}
        carried = {"--variants": ("base/more.yaml",), "--select": ("target_platform=linux-64",), "--source": ("base=base/code",), "--offline": (),
                   "--env": ("system",), "--python-exe": ("python3:./base/python",), "--conda-exe": ("micromamba",), "--cuda-home": ("base/cuda",),
                   "--format": ("conda",), "--test": ("skip",), "--ccache": (), "--no-preflight": (), "--lease": ("77",),
                   "--remote-cache": ("s3://bucket/prefix",), "--remote-cache-read-only": ()}
        options = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", self.matrix("--help").stdout, re.MULTILINE))
        self.assertEqual(options - of_this_call - set(refused) - set(carried), set(), "options without a decision")
        for option, value in refused.items():
            with self.subTest(option):
                self.assertIn(option, self.matrix(base, "--on", "github", "--run", "refused", f"{option}={value}", exit_code=2).stderr)
        flags = ["=".join((option, *value)) for option, value in carried.items()]
        self.matrix("base", *flags, "--on", "github", "--run", "run", "--image", "i@sha256:0", "--runner", "big,gpu")
        text = (self.scratch / "run/github/matrix.yml").read_text()
        words = json.loads(re.search("PTPKG_ARGUMENTS: (.*)", text)[1]).split("\n")
        self.assertEqual({word.partition("=")[0] for word in words} - {"base"}, set(carried))
        self.assertIn("--python-exe=python3:./base/python", words)
        self.assertIn("--cuda-home=./base/cuda", words)
        self.assertIn("--image=i@sha256:0 --runner=big --runner=gpu", text.splitlines()[0])
        self.assertIn('runs-on: ["big", "gpu"]\n', text)
        self.assertIn("has an empty label", self.matrix("base", "--on", "github", "--run", "empty", "--runner", "big,,gpu", exit_code=2).stderr)
        self.assertRegex(self.matrix("status", "run").stderr, "jobs of github record what they did in their own copies of '.*run', not here")
        # The workflow's plan, in a checkout on another machine, is the one of this command line.
        script = textwrap.dedent(re.search(r"      - name: Plan\n.*?run: \|\n(.*?)      - name:", text, re.DOTALL)[1])
        older = re.sub(r"(printf '%s.n') .*? \|", r"\1 level-1-1 |", script)
        environment = {**self.environment(), "PTPKG_ARGUMENTS": "\n".join(words), "GITHUB_OUTPUT": str(self.scratch / "output")}
        environment["PATH"] = f"{harness.Settings.ptpkg.parent}:{environment['PATH']}"
        for machine, lines, code, shown in (("older", older, 1, "::error::this workflow was written for other recipes"), ("machine", script, 0, "")):
            checkout = self.scratch / machine / "source"
            shutil.copytree(base, checkout / "base")
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", lines], cwd=checkout, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, code, done.stdout)
            self.assertIn(shown, done.stdout)
        self.assertIn("level_1_1=", (self.scratch / "output").read_text())
        runs = [json.loads((folder / "run/run.json").read_text())["body"] for folder in (self.scratch, checkout.parent)]
        for key, value in (("lease_seconds", 77), ("offline", True)):
            self.assertEqual([run[key] for run in runs], [value, value])
        ours, theirs = ([(node["id"], node["key"], sorted(node["options"])) for node in json.loads((folder / "run/plan.json").read_text())["nodes"]]
                        for folder in (self.scratch, checkout.parent))
        self.assertEqual(ours, theirs)

    def test_a_configuration_reaches_the_workflow_too(self):
        base = self.recipe("base")
        (self.scratch / "ptpkg.toml").write_text('env = "system"\nccache = true\n[matrix]\ntest = "skip"\nlease = 77\n')
        self.matrix(base, "--on", "github", "--run", "run")
        self.assertIn(r"base\n--env=system\n--test=skip\n--ccache\n--lease=77", (self.scratch / "run/github/matrix.yml").read_text())

    def test_two_starts_in_one_directory(self):
        go, started = self.scratch / "go", self.scratch / "started"
        base, other = self.recipe("base", f"touch {started}; while [ ! -e {go} ]; do sleep 0.05; done"), self.recipe("other")
        first = self.start("matrix", base, "--run", "run")
        self.wait_for(started.exists)
        description = (self.scratch / "run/run.json").read_bytes()
        self.assertIn("'" + str(self.scratch / "run") + "' is not empty", self.matrix(other, "--run", "run", exit_code=7).stderr)
        self.assertEqual((self.scratch / "run/run.json").read_bytes(), description)
        go.touch()
        self.assertEqual(first.wait(), 0)
        self.assertEqual(self.states(), {"base-1-0": "passed", "index": "passed"})
        self.assertIn("is not empty", self.matrix(other, "--run", "run", exit_code=7).stderr)

    def test_an_attempt_of_another_process_is_not_ended(self):
        works, go, started = (self.scratch / name for name in ("works", "go", "started"))
        base = self.recipe("base", f"test -e {works}; touch {started}; while [ ! -e {go} ]; do sleep 0.05; done")
        self.matrix(base, "--run", "run", exit_code=5)
        works.touch()
        by_hand = self.start("run-node", "run", "base-1-0")
        self.wait_for(started.exists)
        engine = self.start("matrix", "resume", "run")
        log = self.scratch / "run/jobs/base-1-0/log"
        self.wait_for(lambda: "waiting for attempt 2 of" in log.read_text())
        for pid in harness.descendants(engine.pid):
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(engine.wait(), 5)
        go.touch()
        self.assertEqual(by_hand.wait(), 0)
        self.assertEqual([end["state"] for end in self.ends("base-1-0")], ["failed", "passed"])

    def test_a_job_that_has_passed_keeps_its_result_when_its_input_is_made_again(self):
        """As `ptpkg build` does: keys hold what goes into a build, and equal keys are equal for whoever uses the results."""
        works = self.scratch / "works"
        base = self.recipe("base", "cat /proc/sys/kernel/random/uuid > note; mkdir -p $PREFIX/share; cp note $PREFIX/share/note")
        first, second = self.recipe("first", "mkdir -p $PREFIX/share; cp $PREFIX/share/note $PREFIX/share/copy", host="base"), self.recipe("second", f"test -e {works}", host="base")
        self.matrix(base, first, second, "--run", "run", exit_code=5)
        made = {name: harness.sha256(path) for name, path in self.packages().items()}
        works.touch()
        self.packages()["base"].unlink()
        for node in json.loads((self.scratch / "run/plan.json").read_text())["nodes"]:
            for result in list(self.cache.rglob(node["key"])) if node["subject"] == "base-1-0" else []:
                shutil.rmtree(result)
        self.matrix("resume", "run", exit_code=5)
        self.assertEqual(self.ends("second-1-0")[-1]["error_code"], "not_found")
        self.matrix("resume", "run")
        again = {name: harness.sha256(path) for name, path in self.packages().items()}
        self.assertNotEqual(again["base"], made["base"])
        self.assertEqual(again["first"], made["first"])
        self.assertEqual(set(self.states().values()), {"passed"})
        self.assertNotIn("ran", [node["state"] for node in self.ends("first-1-0")[1]["nodes"]])

    def test_archives_carry_results_from_one_hosted_machine_to_the_next(self):
        self.recipe("base")
        self.recipe("top", host="base")
        machine, kept = self.scratch / "machine", self.scratch / "kept"
        kept.mkdir()

        def check_out():
            for name in ("base", "top"):
                shutil.copytree(self.scratch / name, machine / name)

        check_out()
        self.matrix("base", "top", "--run", "out/run", "--output", "out/dist", "--on", "gitlab", cwd=machine, PTPKG_CACHE_DIR=str(machine / "out/cache"))
        subprocess.run(["tar", "-cf", kept / "0-plan.tar", "out/run"], cwd=machine, check=True)
        text = (machine / "out/run/gitlab/child.yml").read_text()
        script = text[text.index("for file in results"):]
        script = "\n".join(line.removeprefix("      ") for line in script[:script.index("mkdir -p results &&")].splitlines())
        environment = self.environment()
        environment["PATH"] = f"{harness.Settings.ptpkg.parent}:{environment['PATH']}"
        for job in ("base-1-0", "top-1-0", "publish"):
            shutil.rmtree(machine)
            check_out()
            shutil.copytree(kept, machine / "results")
            done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], cwd=machine, env={**environment, "PTPKG_JOB": job},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            (machine / "job.tar").rename(kept / f"{job}.tar")
        self.assertEqual(len(harness.artifacts(machine / "out/dist")), 2)
        self.assertIn("top", (machine / "out/dist/conda/linux-64/repodata.json").read_text())


if __name__ == "__main__":
    harness.main()
