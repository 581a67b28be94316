"""`ptpkg source`: clones with submodules at the recipes' tags, their updates, and what an update must not lose."""

import json
import os
import pathlib
import subprocess

import harness

RECIPE = """package: {name: toy, version: "${{ toy }}"}
source: {git: GIT, tag: "v${{ toy }}"}
build: {script: ["true"]}
about: {license: MIT}
"""
# Submodules of a local repository are refused by git's own default.
ALLOW = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"}


class Case(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        harness.tool("git")
        self.lib = self.repository("lib")
        self.commit(self.lib, "a.txt", "1")
        self.toy = self.repository("toy")
        self.git(self.toy, "submodule", "add", "-q", self.lib, "third_party/lib")
        self.commit(self.toy, "toy.txt", "1")
        self.git(self.toy, "tag", "v1.0")
        self.folder = self.scratch / "recipe"
        self.folder.mkdir()
        (self.folder / "recipe.yaml").write_text(RECIPE.replace("GIT", str(self.toy)))
        (self.folder / "variants.yaml").write_text('toy: ["1.0"]\n')
        self.into = self.scratch / "work"
        self.clone = self.into / "toy"

    def git(self, folder: pathlib.Path, *arguments) -> str:
        identity = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                    for what, value in (("NAME", "a"), ("EMAIL", "a@b"), ("DATE", "2026-01-01T00:00:00Z"))}
        done = subprocess.run(["git", *map(str, arguments)], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **identity, **ALLOW}, check=False)
        self.assertEqual(done.returncode, 0, f"git {arguments}: {done.stdout}")
        return done.stdout.strip()

    def repository(self, name: str) -> pathlib.Path:
        folder = self.scratch / "servers" / name
        folder.mkdir(parents=True)
        self.git(folder, "init", "-q", "-b", "main")
        return folder

    def commit(self, folder: pathlib.Path, name: str, text: str) -> str:
        (folder / name).write_text(text)
        self.git(folder, "add", "-A")
        self.git(folder, "commit", "-q", "-m", name + text)
        return self.git(folder, "rev-parse", "HEAD")

    def new_version(self) -> None:
        """Version 2.0: another commit of the submodule and another file."""
        self.commit(self.lib, "a.txt", "2")
        self.git(self.toy / "third_party/lib", "pull", "-q")
        self.commit(self.toy, "toy.txt", "2")
        self.git(self.toy, "tag", "v2.0")
        (self.folder / "variants.yaml").write_text('toy: ["1.0", "2.0"]\n')

    def source(self, action, *arguments, exit_code=0, **variables):
        return self.ptpkg("source", action, self.folder, "--into", self.into, *arguments, exit_code=exit_code, **{**ALLOW, **variables})

    def one(self, action, *arguments, exit_code=0):
        document, = json.loads(self.source(action, *arguments, "--json", exit_code=exit_code).stdout)
        return document

    def refused(self, action, exit_code, words, *arguments, **variables) -> str:
        said = self.source(action, *arguments, exit_code=exit_code, **variables).stderr
        self.assertIn(words, said)
        self.assertIn("hint: ", said)
        return said


class Clones(Case):
    def test_a_clone_has_the_submodules_at_the_newest_version(self):
        self.new_version()
        said = self.source("clone").stdout
        self.assertEqual(said, "toy: tag v2.0\n")
        self.assertEqual((self.clone / "third_party/lib/a.txt").read_text(), "2")
        self.assertEqual(self.git(self.clone, "config", "remote.origin.url"), str(self.toy))
        self.assertEqual([path.name for path in self.into.iterdir()], ["toy"])
        one = self.one("status")
        self.assertTrue(one["as_wanted"])
        self.assertEqual((one["ref"], one["edited"], one["unready"]), ("tag v2.0", [], []))
        # It is a directory for --source.
        self.ptpkg("build", self.folder, "--select", "toy=2.0", "--source", f"toy={self.clone}", "--dry-run", "--output", "dist")

    def test_a_named_version_and_its_update(self):
        self.new_version()
        self.source("clone", "--select", "toy=1.0")
        self.assertEqual((self.clone / "third_party/lib/a.txt").read_text(), "1")
        said = self.source("status", exit_code=1).stdout
        self.assertIn(", not tag v2.0\n", said)
        one = self.one("update")
        self.assertEqual((one["commits"], one["files"], one["submodules"], one["as_wanted"]), (1, 2, ["third_party/lib"], True))
        self.assertEqual((self.clone / "third_party/lib/a.txt").read_text(), "2")
        self.assertIn("toy: tag v2.0\n  nothing changed\n", self.source("update").stdout)
        said = self.source("update", "--select", "toy=1.0").stdout
        self.assertIn("toy: tag v1.0\n  from ", said)
        self.assertIn(": 0 new commits, 2 files changed; submodules: 'third_party/lib'\n", said)

    def test_an_interrupted_update_goes_on(self):
        self.source("clone")
        self.new_version()
        self.git(self.clone, "fetch", "-q", "--tags")
        self.git(self.clone, "checkout", "-q", "--detach", "v2.0")  # and no submodule update
        one = self.one("status", exit_code=1)
        self.assertEqual((one["unready"], one["edited"]), (["third_party/lib"], []))
        self.source("update")
        self.assertEqual((self.clone / "third_party/lib/a.txt").read_text(), "2")

    def test_an_update_loses_nothing(self):
        self.source("clone")
        self.new_version()
        for name in ("toy.txt", "third_party/lib/a.txt"):
            with self.subTest(name):
                (self.clone / name).write_text("mine")
                said = self.refused("update", 7, "has changed files: ")
                self.assertIn(" stash", said)
                self.assertEqual((self.clone / name).read_text(), "mine")
                self.git((self.clone / name).parent, "checkout", "--", (self.clone / name).name)
        mine = self.commit(self.clone, "more.txt", "mine")
        self.refused("update", 7, f"has commits that no branch or tag holds, up to {mine}")
        self.git(self.clone, "branch", "mine")
        self.source("update")
        self.assertEqual(self.git(self.clone, "rev-parse", "mine"), mine)

    def test_an_update_loses_no_commit_of_a_submodule(self):
        self.source("clone")
        self.new_version()
        lib = self.clone / "third_party/lib"
        mine = self.commit(lib, "more.txt", "mine")
        said = self.refused("update", 7, "has submodules with commits that no branch or tag holds: 'third_party/lib'")
        self.assertIn(f"git -C {lib} branch NAME", said)
        self.assertEqual(self.git(lib, "rev-parse", "HEAD"), mine)
        self.git(lib, "branch", "mine")
        self.source("update")
        self.assertEqual((lib / "a.txt").read_text(), "2")

    def test_an_update_writes_over_no_ignored_file(self):
        self.commit(self.toy, ".gitignore", "local.txt\n")
        self.git(self.toy, "tag", "-f", "v1.0")
        self.source("clone")
        (self.clone / "local.txt").write_text("mine")
        (self.toy / "local.txt").write_text("theirs")
        self.git(self.toy, "add", "-f", "local.txt")
        self.new_version()
        self.source("update", exit_code=5)
        self.assertEqual((self.clone / "local.txt").read_text(), "mine")

    def test_an_update_moves_no_tag_of_the_user(self):
        self.source("clone")
        mine = self.commit(self.clone, "more.txt", "mine")
        self.git(self.clone, "tag", "v2.0")
        self.new_version()
        self.refused("update", 7, "(would clobber existing tag)")
        self.assertEqual(self.git(self.clone, "rev-parse", "v2.0"), mine)

    def test_two_clones_and_one_that_cannot_be_updated(self):
        other = self.scratch / "other"
        other.mkdir()
        (other / "recipe.yaml").write_text(RECIPE.replace("GIT", str(self.toy)).replace("name: toy", "name: other"))
        (other / "variants.yaml").write_text('toy: ["1.0"]\n')
        self.source("clone", other)
        self.new_version()
        (self.into / "other/toy.txt").write_text("mine")
        before = self.git(self.clone, "rev-parse", "HEAD")
        self.refused("update", 7, "has changed files: 'toy.txt'", other)
        self.assertEqual(self.git(self.clone, "rev-parse", "HEAD"), before)

    def test_branches_commits_and_head(self):
        commit = self.git(self.toy, "rev-parse", "HEAD")
        for key, ref in (("branch: main", "branch main"), (f"rev: {commit}", f"commit {commit}"), ("rev: v1.0", "rev v1.0"), ("", "HEAD")):
            with self.subTest(ref):
                tail = f", {key}" if key else ""
                text = RECIPE.replace("GIT", str(self.toy)).replace(', tag: "v${{ toy }}"', tail)
                (self.folder / "recipe.yaml").write_text(text)
                self.into = self.scratch / ref.replace(" ", "-")
                self.assertEqual(self.source("clone").stdout, f"toy: {ref}\n")


class Mistakes(Case):
    def test_clones_that_cannot_be_made(self):
        self.refused("update", 4, "' is not a clone")
        self.assertEqual(self.source("status", exit_code=1).stdout, f"toy: no clone at '{self.clone}'\n")
        (self.folder / "variants.yaml").write_text('toy: ["9.0"]\n')
        self.refused("clone", 4, "does not have tag v9.0")
        self.assertEqual(list(self.into.iterdir()), [])
        (self.folder / "variants.yaml").write_text('toy: ["1.0"]\n')
        self.refused("clone", 4, "asks the servers, but --offline is set", "--offline")
        self.clone.mkdir(parents=True)
        self.refused("clone", 7, f"'{self.clone}' already exists")

    def test_sources_without_a_repository(self):
        (self.folder / "recipe.yaml").write_text(RECIPE.replace('{git: GIT, tag: "v${{ toy }}"}', "{path: .}"))
        self.refused("status", 2, "has a git source")
        (self.folder / "recipe.yaml").write_text(RECIPE.replace("GIT", str(self.scratch / "none")))
        self.refused("clone", 4, "cannot make a clone of '")
        self.assertEqual(list(self.into.iterdir()), [])


if __name__ == "__main__":
    harness.main()
