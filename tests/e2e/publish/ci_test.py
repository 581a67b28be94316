"""`ptpkg ci`: its files are what the services' schemas and linters accept, and what they run does what it says, to the publication.

The services themselves are not here: ci_services.py fills in and runs their steps. Schemas, zizmor and yamllint are peers.
"""

import json
import pathlib
import re
import shutil
import subprocess

import ci_services
import harness
import publishing
import publish_s3_test
from hosted_judges import judge
from publishing import TOKEN, Target
from servers.s3_server import Moto

RECIPES = harness.REPOSITORY / "recipes"
TARGETS = ((), ("--to", "pypi:pypi"), ("--to", "s3://bucket/team"),
           ("--to", "s3://bucket/team", "--server", "https://s3.example.org"), ("--to", "anaconda:me/dev", "--publish-on", "branch"),
           ("--to", "pypi:ours", "--server", "https://example.org/legacy/", "--check-url", "https://example.org/simple"),
           ("--to", "file:///srv/channel", "--runner", "self-hosted,channel"))
IMAGE = "registry.example/ptpkg@sha256:" + "a" * 64
# What a person would not write, and a recipe may.
HOSTILE = ["plain", "a'b\"c", "x; touch PWNED", "$(touch PWNED)", "`touch PWNED`", "${{ secrets.ANACONDA_API_TOKEN }}", "$HOME $$ %d",
           "- a: b # c", "*.c ~ \\n", "--force"]


def literal(text: str) -> str:
    """Of YAML, and of the expressions that variant files may have."""
    return "'" + text.replace("${{", '${{ "${{" }}').replace("'", "''") + "'"


class Case(publishing.Case):
    def setUp(self) -> None:
        super().setUp()
        self.repository = self.scratch / "repository"
        (self.repository / ".git").mkdir(parents=True)

    def copy(self, *paths: str) -> list[pathlib.Path]:
        for path in paths:
            shutil.copytree(harness.REPOSITORY / path, self.repository / path, symlinks=True)
        return [self.repository / path for path in paths]

    def ci(self, service: str, *arguments, **options) -> str:
        """The text; nothing is written."""
        return self.ptpkg("ci", service, *arguments, "--output", "-", cwd=self.repository, **options).stdout

    def hostile_recipe(self, values: list[str]) -> pathlib.Path:
        """A package that holds the value of its variant, and one that is the same for all of them."""
        folder = self.repository / "recipes/it's a $(touch PWNED) recipe"
        folder.mkdir(parents=True)
        (folder / "variants.yaml").write_text("word:\n" + "".join(f"  - {literal(one)}\n" for one in values))
        (folder / "recipe.yaml").write_text("""
recipe: {name: toy, version: '1.0'}
outputs:
  - package: {name: toy-word}
    build:
      noarch: generic
      string: h${{ hash }}
      script: {content: 'mkdir -p $PREFIX/share && printf %s "$WORD" > $PREFIX/share/word', env: {WORD: '${{ word }}'}}
    about: {license: MIT, summary: toy}
  - package: {name: toy-common}
    build: {noarch: generic, string: h0, script: 'mkdir -p $PREFIX/share && echo x > $PREFIX/share/common'}
    about: {license: MIT, summary: toy}
extra: {ptpkg: {formats: [conda]}}
""")
        return folder


class Files(Case):
    def test_linters_find_nothing(self):
        """Each linter reads all files of a service at once: their names are in what it prints."""
        fixtures = [harness.FIXTURES / name for name in ("toymagma", "toytorch")]
        recipes = {"toys": fixtures, "toyops": [harness.FIXTURES / "toyops"], "magma": [RECIPES / "magma"],
                   "both": [RECIPES / "magma", RECIPES / "pytorch"]}
        for service, judges in (("github", ("schema", "yamllint", "zizmor")), ("gitlab", ("schema", "yamllint"))):
            texts = {f"{name}{number}": self.ci(service, *paths, *target)
                     for name, paths in recipes.items() for number, target in enumerate(TARGETS)}
            rules = ("--image", IMAGE, "--image", f"toy_backend=omp:{IMAGE}", "--runner", "gpu,large", "--runner", "toy_backend=cpu:x")
            texts["rules"] = self.ci(service, harness.FIXTURES / "toymagma", *rules)
            texts["hostile"] = self.ci(service, self.hostile_recipe(HOSTILE), "--to", "anaconda:me")
            shutil.rmtree(self.repository / "recipes")
            folder = self.scratch / service / ".github/workflows"
            folder.mkdir(parents=True)
            for name, text in texts.items():
                (folder / f"{name}.yml").write_text(text)
            for name in judges:
                done = judge(name, service, *sorted(folder.iterdir()))
                self.assertEqual(done.returncode, 0, f"{name}: {service}\n{done.stdout}{done.stderr}")

    def test_each_linter_can_fail(self):
        text = self.ci("github", harness.FIXTURES / "toymagma", "--to", "anaconda:me")
        broken = {"schema": ("runs-on:", "run-on:"), "yamllint": ("fail-fast: false", "fail-fast:   false"),
                  "zizmor": ("@3d3c42e5aac5ba805825da76410c181273ba90b1", "@v7")}
        path = self.scratch / "workflow.yml"
        for name, (good, bad) in broken.items():
            self.assertIn(good, text)
            path.write_text(text.replace(good, bad))
            self.assertNotEqual(judge(name, "github", path).returncode, 0, name)
        path.write_text(text.replace("mapfile -t target", "echo ${{ matrix.arguments }} ${{ github.head_ref }}"))
        self.assertIn("template-injection", judge("zizmor", "github", path).stdout)
        text = self.ci("gitlab", harness.FIXTURES / "toymagma")
        path.write_text(text.replace("expand: false", "expand: perhaps"))
        self.assertNotEqual(judge("schema", "gitlab", path).returncode, 0)

    def test_the_examples_of_the_docs_are_workflows_with_each_target(self):
        page = (harness.REPOSITORY / "docs/publishing.md").read_text()
        for service, text in zip(("github", "gitlab"), re.findall(r"```yaml\n(.*?)```", page, re.DOTALL), strict=True):
            path = self.scratch / f"{service}.yml"
            path.write_text(text)
            done = judge("schema", service, path)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for target in ("anaconda", "prefix", "quetz", "artifactory", "pypi", "s3", "file"):
                self.assertIn(f"--to {target}:", text)

    def test_real_recipes_have_a_job_for_each_variant(self):
        for recipe in ("magma", "pytorch"):
            jobs = json.loads(self.ptpkg("ci", "github", RECIPES / recipe, "--output", "-", "--json").stdout)["jobs"]
            rendered = json.loads(self.ptpkg("render", RECIPES / recipe, "--json").stdout)
            made = [package for job in jobs for package in job["packages"]]
            self.assertEqual(sorted(made), sorted(f"{one['name']}-{one['version']}-{one['build_string']}" for one in rendered))
        self.assertEqual(len(self.ptpkg_json("ci", "gitlab", RECIPES / "magma", "--output", "-")["jobs"]), 21)

    def test_same_bytes_wherever_the_repository_lies(self):
        texts = set()
        for name in ("one", "two"):
            self.repository = self.scratch / name
            (self.repository / ".git").mkdir(parents=True)
            recipe, = self.copy("fixtures/toytorch")
            self.ptpkg("ci", "github", recipe, cwd=self.scratch)
            texts.add((self.repository / ".github/workflows/toytorch.yml").read_text())
            self.ptpkg("ci", "github", "fixtures/toytorch", "--check", cwd=self.repository)
        self.assertEqual(len(texts), 1)

    def test_what_publishes_nothing_is_refused(self):
        recipe, = self.copy("fixtures/toymagma")
        for option, value in (("--server", "https://example.org"), ("--check-url", "https://example.org/simple"),
                              ("--publish-on", "branch")):
            said = self.ptpkg("ci", "gitlab", recipe, option, value, exit_code=2).stderr
            self.assertIn(f"'{option}' needs '--to' too", said)
        self.assertIn("the value of '--to' is empty", self.ptpkg("ci", "gitlab", recipe, "--to", "", exit_code=2).stderr)
        self.assertFalse((self.repository / ".gitlab-ci.yml").exists())

    def test_check_and_force(self):
        recipe, = self.copy("fixtures/toymagma")
        file = self.repository / ".gitlab-ci.yml"
        self.ptpkg("ci", "gitlab", recipe, "--check", exit_code=1)
        file.write_text("stages: [mine]\n")
        said = self.ptpkg("ci", "gitlab", recipe, exit_code=7).stderr
        self.assertIn("was not written by 'ptpkg ci'", said)
        self.assertEqual(file.read_text(), "stages: [mine]\n")
        self.ptpkg("ci", "gitlab", recipe, "--force")
        self.ptpkg("ci", "gitlab", recipe, "--check")
        (recipe / "variants.yaml").write_text("toy_backend: [cpu, omp, cuda]\ntoy_panel: ['32']\n")
        self.assertIn("is out of date with the recipes", self.ptpkg("ci", "gitlab", recipe, "--check", exit_code=1).stderr)


class Runs(Case):
    def service(self, kind, event: str, text: str, *, variables=None, secrets=None):
        service = kind(self.repository, self.scratch / f"{kind.__name__}-{event}", variables=variables or {}, secrets=secrets or {})
        service.run(text, event)
        for printed in service.printed.values():
            self.assertNotIn(TOKEN, printed)
            self.assertNotIn("\x1b", printed)
        self.assertEqual(list(self.scratch.rglob("PWNED")), [])
        return service

    def test_github_builds_two_recipes_and_publishes_once(self):
        """Packages of the first recipe reach the builds of the second; the index gets each artifact once."""
        recipes = self.copy("fixtures/toymagma", "fixtures/toytorch")
        shutil.copytree(harness.REPOSITORY / "patches/toymagma", self.repository / "patches/toymagma")
        with Target("anaconda") as target:
            self.ptpkg("ci", "github", *recipes, *target.flags())
            text = (self.repository / ".github/workflows/toytorch.yml").read_text()
            first = self.service(ci_services.Github, "pull_request", text)
            self.assertIn("rehearse", first.printed)
            self.assertNotIn("publish", first.printed)
            self.assertEqual(target.files(), {})
            self.assertEqual(len(first.artifacts), 4)
            made = {}
            for folder in first.artifacts.values():
                for name, digest in harness.artifacts(folder).items():
                    if name.startswith("conda/"):
                        self.assertEqual(made.setdefault(name.split("/")[-1], digest), digest)
            self.assertEqual(len(made), 8)
            last = self.service(ci_services.Github, "tag", text, secrets={"ANACONDA_API_TOKEN": TOKEN})
            self.assertNotIn("rehearse", last.printed)
            self.assertEqual(target.files(), made)
            self.assertTrue(target.is_clean())
            uploads = [one for one in target.server.trace() if one.startswith("POST /stage")]
            self.assertEqual(len(uploads), 8)

    def test_github_goes_on_from_the_cache(self):
        recipe, = self.copy("fixtures/toymagma")
        shutil.copytree(harness.REPOSITORY / "patches/toymagma", self.repository / "patches/toymagma")
        text = self.ci("github", recipe, "--select", "toy_backend=cpu")
        service = self.service(ci_services.Github, "pull_request", text)
        before, = service.printed.values()
        service.printed.clear()
        service.run(text, "pull_request")
        after, = service.printed.values()
        self.assertRegex(before, r"build +toymagma-cpu-2.9.0-1: done in")
        self.assertNotRegex(after, r"build +toymagma-cpu-2.9.0-1: done in")

    def test_hostile_values_reach_the_build_as_they_are(self):
        recipe = self.hostile_recipe(HOSTILE)
        for service, kind in (("github", ci_services.Github), ("gitlab", ci_services.Gitlab)):
            with self.subTest(service), Target("quetz") as target:
                text = self.ci(service, recipe, *target.flags())
                event = self.service(kind, "tag", text, secrets=target.variables())
                self.assertEqual(len(event.artifacts), len(HOSTILE))
                # One for each value, and the one that is in the output folder of every job.
                self.assertEqual(len(target.files()), len(HOSTILE) + 1)
                values = set()
                for folder in event.artifacts.values():
                    for path in folder.rglob("toy-word-*.conda"):
                        unpacked = self.ptpkg_json("check", path)
                        self.assertTrue(unpacked[0]["ok"])
                        values.add(self.word_of(path))
                self.assertEqual(values, set(HOSTILE))

    def word_of(self, package: pathlib.Path) -> str:
        code = ("import sys; from conda_package_streaming.package_streaming import stream_conda_component as stream\n"
                "for tar, member in stream(sys.argv[1]):\n"
                "    if member.name == 'share/word': sys.stdout.write(tar.extractfile(member).read().decode())\n")
        return subprocess.run([harness.peers_python(), "-c", code, package], text=True, capture_output=True, check=True).stdout

    def test_gitlab_publishes_to_a_bucket_by_a_role(self):
        """The source is the whole repository, in which cache and output may not lie. `aws` is a stand-in that asks for what the
        real one needs."""
        (self.repository / "recipe").mkdir()
        (self.repository / "hello.txt").write_text("hello")
        (self.repository / "recipe/recipe.yaml").write_text("""
package: {name: toy, version: '1.0'}
source: {path: ..}
build: {noarch: generic, script: 'mkdir -p $PREFIX/share && cp hello.txt $PREFIX/share && test ! -e .ptpkg-ci'}
about: {license: MIT, summary: toy}
extra: {ptpkg: {formats: [conda]}}
""")
        tools = self.scratch / "tools"
        tools.mkdir()
        (tools / "aws").write_text('#!/bin/sh\ntest "$*" = "configure export-credentials --format env" || exit 9\n'
                                   'test "$AWS_ROLE_ARN" = the-role || exit 8\n'
                                   'test "$(cat "$AWS_WEB_IDENTITY_TOKEN_FILE")" = identity-token-of-the-test || exit 7\n'
                                   f'echo export AWS_ACCESS_KEY_ID={publish_s3_test.KEY_ID}\n'
                                   f'echo export AWS_SECRET_ACCESS_KEY={TOKEN}\necho export AWS_SESSION_TOKEN=session\n')
        (tools / "aws").chmod(0o755)
        moto = Moto()
        self.addCleanup(moto.stop)
        with publish_s3_test.Bucket(moto) as bucket:
            self.ptpkg("ci", "gitlab", self.repository / "recipe", "--to", "s3://channel/team")
            text = (self.repository / ".gitlab-ci.yml").read_text()
            path = f"{harness.Settings.ptpkg.parent}:{tools}:{self.environment()['PATH']}"
            variables = {"AWS_ENDPOINT_URL_S3": bucket.server.url, "PTPKG_AWS_ROLE": "the-role", "PATH": path}
            service = self.service(ci_services.Gitlab, "tag", text, variables=variables)
            (name, digest), = bucket.files().items()
            artifact, = service.artifacts.values()
            self.assertEqual(digest, harness.sha256(next(artifact.rglob(name))))
            self.assertEqual(bucket.server.wrong_signatures(TOKEN), "")
            again = self.service(ci_services.Gitlab, "merge_request", text, variables=variables)
            self.assertNotIn("publish", again.printed)

    def test_what_is_missing_is_said(self):
        recipe = self.hostile_recipe(["a", "b"])
        text = self.ci("github", recipe, "--to", "file:///nonexistent/channel", "--runner", "self-hosted")
        with self.assertRaisesRegex(ci_services.JobFailed, "PTPKG_IMAGE has no digest"):
            self.service(ci_services.Github, "pull_request", text, variables={"PTPKG_IMAGE": "image:latest"})
        service = ci_services.Github(self.repository, self.scratch / "bare", variables={}, secrets={})
        service.base["PATH"] = "/usr/bin:/bin"
        with self.assertRaisesRegex(ci_services.JobFailed, "cannot run ptpkg: it is not on PATH"):
            service.run(text, "pull_request")
        lost = ci_services.Github(self.repository, self.scratch / "lost", variables={}, secrets={})
        lost.keep = lambda name, source, *, hidden: None if "b" in name.split("-")[-1] else ci_services.Service.keep(
            lost, name, source, hidden=hidden)
        with self.assertRaisesRegex(ci_services.JobFailed, "1 output folders, not 2"):
            lost.run(text, "pull_request")

    def test_a_stale_workflow_fails(self):
        recipe = self.hostile_recipe(["a"])
        self.ptpkg("ci", "github", recipe)
        text = (self.repository / ".github/workflows/toy.yml").read_text()
        (recipe / "variants.yaml").write_text("word: [a, b]\n")
        with self.assertRaisesRegex(ci_services.JobFailed, "is out of date with the recipes"):
            self.service(ci_services.Github, "pull_request", text)


if __name__ == "__main__":
    harness.main()
