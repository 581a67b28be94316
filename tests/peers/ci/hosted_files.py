"""The files that `ptpkg matrix --on` and `ptpkg ci` write for GitHub, GitLab, Kubernetes and other engines: the schemas of check-jsonschema and
Kubernetes, zizmor, yamllint and NetworkX find nothing in them, and neither do the rules of hosted_rules.py. Each judge reads a damaged file beside
them, and finds that one. Exit 77 is a skip.
"""

import copy
import json
import pathlib
import re
import sys

import harness
import hosted_rules as rules
from hosted_judges import judge
from peers import SKIPPED, is_skipped

PAGE = harness.REPOSITORY / "docs/tutorials/matrix.md"
# More jobs than a matrix of GitHub takes; one; and two levels whose names have dots, "+" and "!", the first on GPUs.
MANY = 300
RECIPES = {"many": [("wide-${{ n }}", "1.0", "", "", [str(number) for number in range(MANY)])],
           "one": [("one", "1.0", "", "", ["0"])],
           "mixed": [("toy.base", "1!1.0+cu13.0", "", "resources: {cores: 3, gpus: 1, minutes: 90, memory: 1500 MB}", ["sm.90", "sm.80"]),
                     ("toy.top", "2.0.dev1+g01", '"toy.base"', "", ["sm.90", "sm.80"])]}
RUNNERS = {"many": [], "one": [], "mixed": ["--runner", "self-hosted", "--runner", "gpu"]}
BUILDS = {name: sum(len(values) for *_, values in recipes) for name, recipes in RECIPES.items()}
RECIPE = """
package: {{name: "{name}", version: "{version}"}}
build: {{number: 0, string: "{string}", script: {{content: ["true"]}}}}
requirements: {{host: [{host}]}}
about: {{license: MIT}}
extra: {{ptpkg: {{formats: [conda], {extra}}}}}
"""


class HostedFiles(harness.Case):
    def recipes(self, release: str) -> list[pathlib.Path]:
        folders = []
        for number, (name, version, host, extra, values) in enumerate(RECIPES[release]):
            folder = self.scratch / release / str(number)
            folder.mkdir(parents=True, exist_ok=True)
            # A build string has the value only where the name lacks it.
            string = "0" if "{{" in name else "${{ n }}_0"
            (folder / "recipe.yaml").write_text(RECIPE.format(name=name, version=version, host=host, extra=extra or "memory_per_job: 10 MB", string=string))
            (folder / "variants.yaml").write_text(json.dumps({"n": values}))
            folders.append(folder)
        return folders

    def run_of(self, engine: str, release: str, *options) -> pathlib.Path:
        """The directory of a run."""
        folder = self.scratch / f"{engine}-{release}"
        output = () if engine == "github" else ("--output", self.scratch / "dist")  # jobs of GitHub have their own
        self.ptpkg("matrix", *self.recipes(release), "--on", engine, "--run", folder, *output, *options)
        return folder

    def jobs_of(self, run: pathlib.Path) -> list[dict]:
        return json.loads((run / "run.json").read_text())["body"]["jobs"]

    def ci(self, service: str, release: str) -> str:
        (self.scratch / ".git").mkdir(exist_ok=True)
        return self.ptpkg("ci", service, *self.recipes(release), "--to", "anaconda:me/dev", "--output", "-").stdout

    def workflows(self, texts: dict[str, str]) -> list[pathlib.Path]:
        folder = self.scratch / ".github/workflows"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / f"{name}.yml").write_text(text)
        return [folder / f"{name}.yml" for name in texts]

    def refuses_only_the_damaged(self, name: str, service: str, paths: list[pathlib.Path], damaged: str, finds: str) -> None:
        """`damaged`: the text of one more file. `finds`: what the judge says of it."""
        path, = self.workflows({f"damaged-{name}": damaged})
        done = judge(name, service, *paths, path)
        self.assertNotEqual(done.returncode, 0, name)
        self.assertIn(path.name, done.stdout)
        self.assertIn(finds, done.stdout)
        for good in paths:
            self.assertNotIn(good.name, done.stdout, done.stdout)

    def damaged(self, text: str, good: str, bad: str) -> str:
        self.assertIn(good, text)
        return text.replace(good, bad, 1)

    def test_github(self):
        texts, workflows, lists = {}, {}, {}
        for release in RECIPES:
            run = self.run_of("github", release, *RUNNERS[release])
            texts[f"matrix-{release}"] = text = (run / "github/matrix.yml").read_text()
            lists[release] = {path.stem.replace("-", "_"): json.loads(path.read_text())["include"] for path in run.glob("github/level-*.json")}
            workflows[release] = workflow = yaml.load(text, yaml.CSafeLoader)
            self.assertEqual(rules.github_problems(workflow, lists[release]), [])
            self.each_job_follows_its_needs(workflow, lists[release], self.jobs_of(run))
            self.assertLess(len(text), rules.GITHUB_FILE_BYTES)
            self.assertLess(sum(2 * path.stat().st_size for path in run.glob("github/level-*.json")), rules.GITHUB_OUTPUT_BYTES)
            texts[f"ci-{release}"] = text = self.ci("github", release)
            workflow = yaml.load(text, yaml.CSafeLoader)
            self.assertEqual(rules.github_problems(workflow, {}), [])
            self.assertEqual(sum(len(rules.entries_of(job, {}) or []) for job in workflow["jobs"].values()), BUILDS[release])
        self.assertEqual({output: len(entries) for output, entries in lists["many"].items()}, {"level_1_1": 256, "level_1_2": MANY - 256, "level_2_1": 1})
        # As GitHub sees it once the first job has ended.
        filled = texts["matrix-mixed"]
        for output, entries in lists["mixed"].items():
            filled = self.damaged(filled, f"${{{{ fromJSON(needs.plan.outputs.{output}) }}}}", json.dumps({"include": entries}))
        paths, text = self.workflows(texts), texts["matrix-mixed"]
        self.refuses_only_the_damaged("schema", "github", [*paths, *self.workflows({"filled": filled})], self.damaged(text, "runs-on:", "run-on:"), "run-on")
        self.refuses_only_the_damaged("yamllint", "github", paths, self.damaged(text, "fail-fast: false", "fail-fast:   false"), "too many spaces")
        self.refuses_only_the_damaged("zizmor", "github", paths, self.damaged(text, 'ptpkg run-node run "$PTPKG_JOB"', "ptpkg run-node run ${{ matrix.id }}"),
                                      "template-injection")
        self.rules_of_github_bite(workflows["mixed"], lists["mixed"])

    def each_job_follows_its_needs(self, workflow: dict, lists: dict, jobs: list[dict]) -> None:
        keys = {entry["id"]: key for key, job in workflow["jobs"].items() for entry in rules.entries_of(job, lists) or []}
        self.assertEqual(sorted(keys), sorted(job["id"] for job in jobs))
        for job in jobs:
            for need in job["needs"]:
                self.assertIn(keys[need], workflow["jobs"][keys[job["id"]]]["needs"])

    def rules_of_github_bite(self, workflow: dict, lists: dict) -> None:
        for change, problem in ((lambda jobs, lists: jobs["level-2-1"]["needs"].append("level-9-1"), "needs 'level-9-1'"),
                                (lambda jobs, lists: jobs["plan"]["outputs"].pop("level_2_1"), "reads the output 'level_2_1'"),
                                (lambda jobs, lists: lists.update(level_1_1=[{"id": str(number)} for number in range(257)]), "has 257 jobs"),
                                (lambda jobs, lists: lists.update(level_1_1=[]), "has 0 jobs"),
                                (lambda jobs, lists: lists["level_1_1"].append({"id": "a:b"}), "'ptpkg-1-a:b'"),
                                (lambda jobs, lists: lists["level_1_1"].append(lists["level_1_1"][0]), "two artifacts")):
            other = copy.deepcopy((workflow["jobs"], lists))
            change(*other)
            found = rules.github_problems({"jobs": other[0]}, other[1])
            self.assertTrue(any(problem in one for one in found), (problem, found))

    def test_gitlab(self):
        texts = {}
        for release in RECIPES:
            run = self.run_of("gitlab", release, *RUNNERS[release])
            texts[f"matrix-{release}"] = text = (run / "gitlab/child.yml").read_text()
            pipeline = yaml.load(text, yaml.CSafeLoader)
            self.assertEqual(rules.gitlab_problems(pipeline), [])
            self.assertLess(len(text), rules.GITLAB_FILE_BYTES)
            stages = {name: pipeline["stages"].index(job["stage"]) for name, job in rules.gitlab_jobs(pipeline).items()}
            jobs = self.jobs_of(run)
            self.assertEqual(sorted(stages), sorted(["plan", *(job["id"] for job in jobs)]))
            for job in jobs:
                self.assertTrue(all(stages[need] < stages[job["id"]] for need in [*job["needs"], "plan"]), job)
            texts[f"ci-{release}"] = text = self.ci("gitlab", release)
            pipeline = yaml.load(text, yaml.CSafeLoader)
            self.assertEqual(rules.gitlab_problems(pipeline), [])
            self.assertEqual(sum(name.startswith("build ") for name in pipeline), BUILDS[release])
        paths, text = self.workflows(texts), texts["matrix-mixed"]
        # The jobs that plan and start the pipeline, as its comment shows them.
        pack, *trigger = [line[4:] for line in text.splitlines() if line.startswith("#   ")]
        self.assertIn("trigger:", trigger[0])
        plan = {"script": ["make", pack], "artifacts": {"paths": ["run.tar"]}}
        paths += self.workflows({"parent": "\n".join(["---", f"plan: {json.dumps(plan)}", *trigger, ""])})
        self.refuses_only_the_damaged("schema", "gitlab", paths, self.damaged(text, "timeout: 120 minutes", "timeout: {minutes: 120}"), "timeout")
        self.refuses_only_the_damaged("yamllint", "gitlab", paths[:-1], text + text[text.index('"publish":'):], "duplication of key")
        pipeline = yaml.load(text, yaml.CSafeLoader)
        for change, problem in ((lambda jobs: jobs["publish"].update(stage="level-9"), "in the stage 'level-9'"),
                                (lambda jobs: jobs["publish"].update(needs=["nobody"]), "needs 'nobody'"),
                                (lambda jobs: jobs["plan"].update(needs=["publish"]), "needs 'publish'"),
                                (lambda jobs: jobs["publish"].update(needs=[{"job": "plan"}] * 51), "51 needs"),
                                (lambda jobs: jobs["publish"].update(parallel={"matrix": [{"A": "1"}] * 201}), "201 rows"),
                                (lambda jobs: jobs["publish"].update(extends=".base"), "extends '.base'")):
            other = copy.deepcopy(pipeline)
            change(other)
            found = rules.gitlab_problems(other)
            self.assertTrue(any(problem in one for one in found), (problem, found))

    def test_kubernetes(self):
        least = re.search(r"Kubernetes (1\.\d+) or later", PAGE.read_text())[1]
        paths = []
        for release in RECIPES:
            run = self.run_of("kubernetes", release, "--image", "registry.example/ptpkg@sha256:" + "a" * 64, "--volume", f"shared:{self.scratch}")
            folder, jobs = run / "kubernetes", self.jobs_of(run)
            paths += sorted(folder.glob("*.yaml"))
            documents = {path.stem: yaml.load(path.read_text(), yaml.CSafeLoader) for path in sorted(folder.glob("*.yaml"))}
            indexes = {path.stem: path.read_text() for path in folder.glob("*.index")}
            script = (folder / "run.sh").read_text()
            self.assertEqual(rules.kubernetes_problems(documents, indexes, script, jobs), [])
            for document in documents.values():
                for version in (least, kubernetes_validate.latest_version()):
                    kubernetes_validate.validate(document, version, strict=True)
        self.refuses_only_the_damaged("yamllint", "github", paths, paths[0].read_text().replace("completions: ", "completions:   ", 1), "too many spaces")
        self.kubernetes_judges_bite(least, documents, indexes, script, jobs)

    def kubernetes_judges_bite(self, least: str, documents: dict, indexes: dict, script: str, jobs: list[dict]) -> None:
        """The last release is the one with GPUs: its first Job has two indexes."""
        first, *_ = documents
        for version in (least, kubernetes_validate.latest_version()):
            other = copy.deepcopy(documents[first])
            other["spec"]["completion"] = 2
            with self.assertRaisesRegex(kubernetes_validate.ValidationError, "'completion' was unexpected"):
                kubernetes_validate.validate(other, version, strict=True)
        other = copy.deepcopy(documents[first])
        del other["spec"]["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"]
        with self.assertRaisesRegex(kubernetes_validate.ValidationError, "'status' is a required property"):
            kubernetes_validate.validate(other, least, strict=True)
        calls = [line for line in script.splitlines() if line.startswith("level ")]
        container = ["spec", "template", "spec", "containers", 0]
        for path, value, problem in ((["spec", "completions"], 3, "3 completions"),
                                     ([*container, "resources", "requests", "nvidia.com/gpu"], 2, "other resources"),
                                     ([*container, "env", 1, "value"], "/kubernetes/other.index", "reads the index"),
                                     (["metadata", "name"], "a.b", "not the name of a Job")):
            other = copy.deepcopy(documents)
            at = other[first]
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = value
            found = rules.kubernetes_problems(other, indexes, script, jobs)
            self.assertTrue(any(problem in one for one in found), (problem, found))
        for index, text, problem in ((indexes[first].replace("0 toy", "0 other", 1), script, "no job 'other"),
                                     (indexes[first], script.replace(first, "ptpkg-x-1-1"), "apply each Job once"),
                                     (indexes[first], script.replace(calls[0], "#").replace(calls[1], f"{calls[1]}\n{calls[0]}"), "in their order")):
            found = rules.kubernetes_problems(documents, {**indexes, first: index}, text, jobs)
            self.assertTrue(any(problem in one for one in found), (problem, found))

    def test_json(self):
        """NetworkX judges the graph of jobs that other engines read."""
        for release in RECIPES:
            run = self.run_of("json", release)
            jobs, nodes = self.jobs_of(run), json.loads((run / "plan.json").read_text())["nodes"]
            self.assertEqual(self.graph_problems(jobs, nodes), [])
        index = next(number for number, job in enumerate(jobs) if job["id"] == "index")
        for change, problem in ((lambda jobs: jobs[0]["needs"].append("index"), "circle"),
                                (lambda jobs: jobs[index].update(needs=[]), "level"),
                                (lambda jobs: jobs[index].update(needs=jobs[index]["needs"][-1:]), "does not wait"),
                                (lambda jobs: jobs[0]["nodes"].pop(), "each node"),
                                (lambda jobs: jobs[index]["needs"].append("nobody"), "no job")):
            other = copy.deepcopy(jobs)
            change(other)
            found = self.graph_problems(other, nodes)
            self.assertTrue(any(problem in one for one in found), (problem, found))

    def graph_problems(self, jobs: list[dict], nodes: list[dict]) -> list[str]:
        graph = networkx.DiGraph()
        graph.add_nodes_from(job["id"] for job in jobs)
        found = [f"no job '{need}'" for job in jobs for need in job["needs"] if need not in graph]
        graph.add_edges_from((need, job["id"]) for job in jobs for need in job["needs"])
        if not networkx.is_directed_acyclic_graph(graph):
            return [*found, "the jobs need each other in a circle"]
        levels = {job: level for level, generation in enumerate(networkx.topological_generations(graph)) for job in generation}
        found += [f"the level of '{job['id']}' is {levels[job['id']]}" for job in jobs if job["level"] != levels[job["id"]]]
        place = {node: job["id"] for job in jobs for node in job["nodes"]}
        if sorted(node for job in jobs for node in job["nodes"]) != sorted(node["id"] for node in nodes):
            return [*found, "not each node of the plan is in one job"]
        before = {job["id"]: networkx.ancestors(graph, job["id"]) for job in jobs}
        found += [f"'{node['id']}' does not wait for '{need}'" for node in nodes for need in [*node["needs"].values(), *node["after"]]
                  if place[need] != place[node["id"]] and place[need] not in before[place[node["id"]]]]
        return found


if __name__ == "__main__":
    if is_skipped(["networkx", ("yaml", "PyYAML"), ("kubernetes_validate", "kubernetes-validate")], ["check-jsonschema", "zizmor", "yamllint"]):
        sys.exit(SKIPPED)
    import kubernetes_validate
    import networkx
    import yaml
    harness.main()
