"""What GitHub and GitLab do with a workflow of `ptpkg ci`, as far as such a workflow goes: they fill in expressions and variables,
run the scripts with bash in order, and keep caches and artifacts between jobs. Containers are left out; all else that a workflow
says and this does not know is an AssertionError.
"""

import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess

import harness

LOAD = "import json, sys, yaml; json.dump(yaml.load(sys.stdin, Loader=yaml.BaseLoader), sys.stdout)"


def load(text: str) -> dict:
    """A YAML document, every scalar as text."""
    done = subprocess.run([harness.peers_python(), "-c", LOAD], input=text, text=True, capture_output=True, check=True)
    return json.loads(done.stdout)


class JobFailed(Exception):
    pass


class Service:
    """variables: of the project, secret or not. protected: those that only jobs that publish may see."""

    def __init__(self, repository: pathlib.Path, scratch: pathlib.Path, *, variables: dict, secrets: dict) -> None:
        self.repository, self.scratch, self.variables, self.secrets = repository, scratch, variables, secrets
        self.artifacts: dict[str, pathlib.Path] = {}
        self.caches: dict[str, pathlib.Path] = {}
        self.printed: dict[str, str] = {}
        keep = ("PATH", "LANG", "TMPDIR", "PTPKG_PYTHON")
        self.base = {name: os.environ[name] for name in keep if name in os.environ}
        self.base["PATH"] = f"{harness.Settings.ptpkg.parent}:{self.base['PATH']}"
        (scratch / "home").mkdir(parents=True)
        self.base.update(CI="true", HOME=str(scratch / "home"))

    def folder(self, *parts: str) -> pathlib.Path:
        path = self.scratch.joinpath(*parts)
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def bash(self, job: str, script: str, cwd: pathlib.Path, env: dict) -> None:
        file = self.scratch / "script.sh"
        file.write_text(script)
        done = subprocess.run(["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", file], cwd=cwd, text=True,
                              env={**self.base, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        self.printed[job] = self.printed.get(job, "") + done.stdout
        if done.returncode:
            raise JobFailed(f"{job}: {done.returncode}\n{script}\n{done.stdout}")

    def keep(self, name: str, source: pathlib.Path, *, hidden: bool) -> None:
        """A service keeps neither modes nor, at GitHub, hidden files."""
        target = self.folder("artifacts", name)
        for path in source.rglob("*"):
            relative = path.relative_to(source)
            if path.is_file() and (hidden or not any(part.startswith(".") for part in relative.parts)):
                (target / relative).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target / relative)
        self.artifacts[name] = target


class Github(Service):
    """event: "pull_request", "tag" or "branch". All jobs run in one workspace, those of the runs before too: a runner of one's own
    keeps it, and only a checkout cleans its own folder."""

    def run(self, text: str, event: str) -> None:
        workflow = load(text)
        assert workflow["permissions"] == {} and workflow["defaults"] == {"run": {"shell": "bash"}}
        self.event, done = event, set()
        while len(done) < len(workflow["jobs"]):
            ready = [key for key, job in workflow["jobs"].items() if key not in done and done.issuperset(job.get("needs", []))]
            assert ready, "jobs need each other"
            for key in ready:
                job = workflow["jobs"][key]
                for entry in job.get("strategy", {}).get("matrix", {}).get("include", [{}]):
                    matrix = {name: self.fill(text, {}) for name, text in entry.items() if isinstance(text, str)}
                    self.run_job(key, job, matrix)
                done.add(key)

    def fill(self, text: str, matrix: dict) -> str:
        def value(match: re.Match) -> str:
            said = match.group(1)
            if said.startswith("'"):
                return said[1:-1].replace("''", "'")
            kind, _, name = said.partition(".")
            known = {"matrix": matrix, "vars": self.variables, "secrets": self.secrets, "github": {"run_id": "7", "run_attempt": "1"}}
            return known[kind][name] if kind != "vars" else self.variables.get(name, "")
        return re.sub(r"\$\{\{ ('(?:[^']|'')*'|[\w.]+) \}\}", value, text)

    def holds(self, condition: str) -> bool:
        tag = "github.event_name == 'push' && github.ref_type == 'tag'"
        branch = ("github.event_name == 'push' && github.ref == format('refs/heads/{0}', "
                  "github.event.repository.default_branch)")
        answers = {tag: self.event == "tag", branch: self.event == "branch", "!cancelled()": True, "failure()": False}
        answers |= {f"!({text})": not answers[text] for text in (tag, branch)}
        return answers[condition.removeprefix("${{ ").removesuffix(" }}")]

    def run_job(self, key: str, job: dict, matrix: dict) -> None:
        name = f"{key} {matrix.get('id', '')}".strip()
        if not self.holds(job.get("if", "!cancelled()")):
            return
        assert int(job["timeout-minutes"]) and set(job) <= {
            "name", "needs", "if", "runs-on", "container", "timeout-minutes", "permissions", "strategy", "env", "steps",
            "environment"}, job
        workspace = self.scratch.parent / "workspace"
        workspace.mkdir(exist_ok=True)
        env = {text: self.fill(value, matrix) for text, value in job.get("env", {}).items()}
        for step in job["steps"]:
            if not self.holds(step.get("if", "!cancelled()")):
                continue
            given = {text: self.fill(value, matrix) for text, value in step.get("with", {}).items()}
            if "uses" in step:
                getattr(self, step["uses"].split("@")[0].split("/", 1)[1].replace("/", "_").replace("-", "_"))(workspace, given)
                continue
            own = {text: self.fill(value, matrix) for text, value in step.get("env", {}).items()}
            assert "${{" not in step["run"], "a value is put into a script"
            self.bash(name, step["run"], workspace / step.get("working-directory", "."), {**env, **own})

    def checkout(self, workspace, given) -> None:
        assert given["persist-credentials"] == "false"
        shutil.rmtree(workspace / given["path"], ignore_errors=True)
        shutil.copytree(self.repository, workspace / given["path"], symlinks=True)

    def cache_restore(self, workspace, given) -> None:
        for key in reversed(self.caches):
            if key.startswith(given["restore-keys"]):
                shutil.copytree(self.caches[key], workspace / given["path"], symlinks=True, dirs_exist_ok=True)
                return

    def cache_save(self, workspace, given) -> None:
        target = self.folder("caches", given["key"].replace("/", "-"))
        shutil.copytree(workspace / given["path"], target, symlinks=True, dirs_exist_ok=True)
        self.caches[given["key"]] = target

    def upload_artifact(self, workspace, given) -> None:
        self.keep(given["name"], workspace / given["path"], hidden=False)

    def download_artifact(self, workspace, given) -> None:
        pattern = given["pattern"]
        assert "{" not in pattern
        found = [name for name in self.artifacts if fnmatch.fnmatch(name, pattern)]
        for name in found:  # one alone gets no folder of its own, as version 8 has it
            target = workspace / given["path"] / (name if len(found) > 1 else ".")
            shutil.copytree(self.artifacts[name], target, dirs_exist_ok=True)


class Gitlab(Service):
    """event: "merge_request" or "tag", one of a protected tag."""

    def run(self, text: str, event: str) -> None:
        pipeline = load(text)
        templates = {".build": pipeline[".build"]}
        self.event, self.pipeline = event, pipeline
        known = {"stages", "workflow", "default", "variables", *templates}
        for stage in pipeline["stages"]:
            for name, job in pipeline.items():
                if name in known or job["stage"] != stage:
                    continue
                template = templates[job["extends"]] if "extends" in job else {}
                merged = {**template, **job, "variables": {**template.get("variables", {}), **job.get("variables", {})}}
                if self.included(merged):
                    self.run_job(name, merged)

    def included(self, job: dict) -> bool:
        for rule in job.get("rules", []):
            assert rule.get("if", '$CI_COMMIT_TAG && $CI_COMMIT_REF_PROTECTED == "true"') == \
                '$CI_COMMIT_TAG && $CI_COMMIT_REF_PROTECTED == "true"'
            if "if" not in rule or self.event == "tag":
                return rule.get("when") != "never"
        return "rules" not in job

    def run_job(self, name: str, job: dict) -> None:
        project = self.folder("gitlab", "project")
        shutil.copytree(self.repository, project, symlinks=True, dirs_exist_ok=True)
        # Protected variables of an environment; all jobs of a protected tag see those of the project.
        publishes = self.event == "tag" and job.get("environment") == "publish"
        env = {"CI_PROJECT_DIR": str(project), **self.variables, **(self.secrets if publishes else {})}
        for token in job.get("id_tokens", {}):
            env[token] = "identity-token-of-the-test"
        plain, raw = {}, {}
        for variable, value in {**self.pipeline["variables"], **job.get("variables", {})}.items():
            if isinstance(value, dict):
                assert value["expand"] == "false"
                raw[variable] = value["value"]
            else:
                plain[variable] = value
        # As GitLab: names in plain values are filled in, and a raw value is never looked at.
        env.update(raw)
        for variable, value in plain.items():
            env[variable] = re.sub(r"\$(\w+)", lambda match: env.get(match.group(1), ""), value)
        expand = lambda value: re.sub(r"\$(\w+)", lambda match: env[match.group(1)], value)  # noqa: E731
        for artifact in self.artifacts.values():
            shutil.copytree(artifact, project, dirs_exist_ok=True)
        if "cache" in job and (kept := self.caches.get(expand(job["cache"]["key"]))):
            shutil.copytree(kept, project / job["cache"]["paths"][0], symlinks=True)
        self.bash(name, "\n".join([*self.pipeline["default"]["before_script"], *job["script"]]), project, env)
        if "after_script" in job:
            self.bash(name, "\n".join(job["after_script"]), project, env)
        if "cache" in job:
            key = expand(job["cache"]["key"])
            self.caches[key] = self.folder("caches", key)
            shutil.copytree(project / job["cache"]["paths"][0], self.caches[key], symlinks=True, dirs_exist_ok=True)
        if "artifacts" in job:
            path = expand(job["artifacts"]["paths"][0])
            staged = self.folder("staged")
            shutil.copytree(project / path, staged / path)
            self.keep(expand(job["artifacts"]["name"]), staged, hidden=True)
