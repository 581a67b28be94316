"""`ptpkg source`: clones with submodules at the recipes' tags, their updates, and what an update must not lose."""

import json
import os
import pathlib
import shutil
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

    def test_an_update_of_a_clone_without_files(self):
        """`git clone --no-checkout` of a user, made before the server had the version."""
        self.git(self.scratch, "clone", "-q", "--no-checkout", self.toy, self.clone)
        self.new_version()
        one = self.one("status", exit_code=1)
        self.assertEqual((one["as_wanted"], one["edited"]), (False, []))
        self.assertTrue(self.one("update")["as_wanted"])
        self.assertEqual((self.clone / "third_party/lib/a.txt").read_text(), "2")

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
                said = self.refused("update", 7, f"has changed files: '{name}'")
                self.assertIn(f"git -C {(self.clone / name).parent} stash", said)
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

    def test_an_update_writes_over_no_untracked_file(self):
        """Neither ignored ones nor others, in the clone or a submodule, and no clone changes."""
        for folder in (self.lib, self.toy):
            self.commit(folder, ".gitignore", "local.txt\n")
        self.git(self.toy / "third_party/lib", "pull", "-q")
        self.commit(self.toy, "toy.txt", "1.1")
        self.git(self.toy, "tag", "-f", "v1.0")
        other = self.scratch / "other"
        other.mkdir()
        (other / "recipe.yaml").write_text((self.folder / "recipe.yaml").read_text().replace("name: toy", "name: another"))
        (other / "variants.yaml").write_text('toy: ["1.0", "2.0"]\n')
        self.source("clone", other, "--select", "toy=1.0")
        for folder in (self.lib, self.toy):
            (folder / "data").mkdir()
            for name in ("local.txt", "new.txt", "data/new.txt"):
                (folder / name).write_text("theirs")
            self.git(folder, "add", "-f", "local.txt")
        self.new_version()
        folders = [clone / below for clone in (self.clone, self.into / "another") for below in ("", "third_party/lib")]
        before = [self.git(folder, "rev-parse", "HEAD") for folder in folders]
        for folder in folders[:2]:
            for name in ("local.txt", "new.txt", "data"):
                path = folder / name
                with self.subTest(path):
                    path.write_text("mine")
                    self.refused("update", 7, f"'{self.clone}' has files that tag v2.0 would replace: '{path.relative_to(self.clone)}'", other)
                    self.assertEqual(path.read_text(), "mine")
                    self.assertEqual([self.git(folder, "rev-parse", "HEAD") for folder in folders], before)
                    path.unlink()
        for folder in folders:  # an interrupted checkout wrote them
            (folder / "new.txt").write_text("theirs")
        self.source("update", other)
        self.assertEqual((self.clone / "third_party/lib/local.txt").read_text(), "theirs")
        self.assertTrue(self.one("status")["as_wanted"])

    def test_an_ignored_file_below_a_submodule_whose_url_changed(self):
        """ptpkg learns its new files only after the checkout of the clone."""
        self.commit(self.lib, ".gitignore", "local.txt\n")
        self.git(self.toy / "third_party/lib", "pull", "-q")
        self.commit(self.toy, "toy.txt", "1.1")
        self.git(self.toy, "tag", "-f", "v1.0")
        self.source("clone")
        (self.clone / "third_party/lib/local.txt").write_text("mine")
        (self.lib / "local.txt").write_text("theirs")
        self.git(self.lib, "add", "-f", "local.txt")
        self.lib = self.lib.rename(self.lib.parent / "moved")
        self.git(self.toy, "config", "--file", ".gitmodules", "submodule.third_party/lib.url", self.lib)
        self.git(self.toy, "submodule", "sync", "-q")
        self.new_version()
        self.assertIn("hint: move these files away: 'local.txt'", self.refused("update", 7, "failed in submodule path 'third_party/lib'"))
        self.assertEqual((self.clone / "third_party/lib/local.txt").read_text(), "mine")

    def test_an_update_moves_no_tag_of_the_user(self):
        self.source("clone")
        mine = self.commit(self.clone, "more.txt", "mine")
        self.git(self.clone, "tag", "v2.0")
        self.new_version()
        self.refused("update", 7, "(would clobber existing tag)")
        self.assertEqual(self.git(self.clone, "rev-parse", "v2.0"), mine)

    def test_an_update_takes_no_notice_of_other_tags_that_moved(self):
        self.git(self.toy, "tag", "nightly")
        self.source("clone")
        before = self.git(self.clone, "rev-parse", "nightly")
        self.new_version()
        self.git(self.toy, "tag", "-f", "nightly")
        self.assertTrue(self.one("update")["as_wanted"])
        self.assertEqual(self.git(self.clone, "rev-parse", "nightly"), before)

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


class Refs(Case):
    """Refs that change on the server: an update takes those that a build takes."""

    def ref(self, source: str) -> None:
        (self.folder / "recipe.yaml").write_text(RECIPE.replace("GIT", str(self.toy)).replace(', tag: "v${{ toy }}"', source))

    def test_a_rev_is_no_branch_of_the_user(self):
        self.ref(", rev: main")
        self.source("clone")
        self.git(self.clone, "branch", "-f", "main", "HEAD")
        commit = self.commit(self.toy, "toy.txt", "2")
        self.assertEqual(self.one("update")["commit"], commit)
        self.git(self.toy, "tag", "main", "HEAD~1")
        one = self.one("update")
        self.assertEqual((one["commit"], one["as_wanted"]), (self.git(self.toy, "rev-parse", "HEAD~1"), True))

    def test_a_branch_and_a_tag_that_the_server_removed(self):
        self.git(self.toy, "branch", "topic")
        self.ref(", branch: topic")
        self.source("clone")
        self.git(self.toy, "branch", "-D", "topic")
        self.refused("update", 4, f"'{self.toy}' does not have branch topic")
        self.git(self.toy, "tag", "-d", "v1.0")
        self.ref(", tag: v1.0")
        self.refused("update", 4, f"'{self.toy}' does not have tag v1.0")

    def test_another_default_branch(self):
        self.ref("")
        self.source("clone")
        self.git(self.toy, "checkout", "-q", "-b", "trunk")
        commit = self.commit(self.toy, "toy.txt", "2")
        self.assertEqual(self.one("update")["commit"], commit)

    def test_a_source_without_submodules(self):
        self.ref(", submodules: false")
        self.source("clone")
        self.assertEqual(list((self.clone / "third_party/lib").iterdir()), [])
        self.new_version()
        self.assertTrue(self.one("update")["as_wanted"])
        self.assertTrue(self.one("status")["as_wanted"])


class Interrupted(Case):
    """Clones after an update that something stopped, in the states that a killed git leaves."""

    def setUp(self) -> None:
        super().setUp()
        self.deep = self.repository("deep")
        self.commit(self.deep, "deep.txt", "1")
        self.git(self.lib, "submodule", "add", "-q", self.deep, "sub/deep")
        self.commit(self.lib, "a.txt", "1.1")
        self.git(self.toy / "third_party/lib", "pull", "-q")
        self.commit(self.toy, "toy.txt", "1.1")
        self.git(self.toy, "tag", "-f", "v1.0")
        self.source("clone")
        self.copy = self.clone / "third_party/lib"
        self.git_folder = self.clone / ".git/modules/third_party/lib"

    def new_version(self) -> None:
        self.commit(self.deep, "deep.txt", "2")
        self.git(self.lib / "sub/deep", "pull", "-q")
        super().new_version()

    def assert_updated(self):
        self.assertTrue(self.one("update")["as_wanted"])
        for name in ("toy.txt", "third_party/lib/a.txt", "third_party/lib/sub/deep/deep.txt"):
            self.assertEqual((self.clone / name).read_text(), "2")
        self.assertEqual(self.git(self.clone, "status", "--porcelain"), "")
        self.assertEqual(self.one("status")["unready"], [])
        self.assertEqual(harness.leftovers(self.into), [])

    def test_a_nested_submodule_at_its_old_commit(self):
        self.new_version()
        self.git(self.clone, "fetch", "-q", "--tags")
        self.git(self.clone, "checkout", "-q", "--detach", "v2.0")
        self.git(self.clone, "submodule", "update")
        one = self.one("status", exit_code=1)
        self.assertEqual((one["unready"], one["edited"]), (["third_party/lib/sub/deep"], []))
        self.assert_updated()

    def test_a_submodule_that_nothing_was_checked_out_in(self):
        for new, lost in ((False, ("index", )), (True, ("index", )), (True, ("index", "HEAD"))):
            with self.subTest(new=new, lost=lost):
                if new and not (self.toy / ".git/refs/tags/v2.0").exists():
                    self.new_version()
                (self.git_folder / "index").unlink()
                (self.copy / "a.txt").unlink()
                if "HEAD" in lost:  # a clone without a commit
                    for name in ("objects", "refs", "packed-refs", "logs"):
                        path = self.git_folder / name
                        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                    for name in ("objects", "refs"):
                        (self.git_folder / name).mkdir()
                    (self.git_folder / "HEAD").write_text("ref: refs/heads/main\n")
                    shutil.rmtree(self.copy / "sub")
                    (self.copy / ".gitmodules").unlink()
                one = self.one("status", exit_code=1)
                self.assertEqual((one["unready"][0], one["edited"]), ("third_party/lib", []))
                if new:
                    self.assert_updated()
                else:
                    self.source("update")
                self.assertEqual((self.copy / "a.txt").read_text(), "2" if new else "1.1")

    def test_a_file_of_the_user_where_nothing_was_checked_out(self):
        (self.git_folder / "index").unlink()
        (self.copy / "a.txt").write_text("mine")
        self.refused("update", 7, "has changed files: 'third_party/lib/a.txt'")
        self.assertEqual((self.copy / "a.txt").read_text(), "mine")

    def test_files_of_a_checkout_that_was_not_completed(self):
        """In the clone and in a submodule: changed, new and removed files, before git wrote the index."""
        for folder in (self.lib, self.toy):
            self.commit(folder, "old.txt", "1")
        self.git(self.toy / "third_party/lib", "pull", "-q")
        self.commit(self.toy, "toy.txt", "1.2")
        self.git(self.toy, "tag", "-f", "v1.0")
        shutil.rmtree(self.clone)
        self.source("clone")
        for folder in (self.lib, self.toy):
            (folder / "old.txt").unlink()
            (folder / "new.txt").write_text("2")
        self.new_version()
        self.git(self.clone, "fetch", "-q", "--tags")
        for folder, changed in ((self.clone, "toy.txt"), (self.copy, "a.txt")):
            (folder / changed).write_text("2")
            (folder / "new.txt").write_text("mine")
            (folder / "old.txt").unlink()
            name = str((folder / "new.txt").relative_to(self.clone))
            said = self.refused("update", 7, f"has changed files: '{name}'")
            self.assertIn(f"git -C {folder} stash", said)
            self.assertEqual((folder / "new.txt").read_text(), "mine")
            (folder / "new.txt").write_text("2")
            if folder == self.clone:  # git then fetches in the submodule, and checks out there
                self.git(folder, "checkout", "-q", "--force", "--detach", "v2.0")
                self.git(self.copy, "fetch", "-q")
        self.assert_updated()

    def test_files_of_a_checkout_of_the_clone(self):
        (self.toy / "new.txt").write_text("2")
        self.new_version()
        self.git(self.clone, "fetch", "-q", "--tags")
        (self.clone / "toy.txt").write_text("2")
        (self.clone / "new.txt").write_text("2")
        self.assertEqual(self.one("status", exit_code=1)["edited"], [])
        self.assert_updated()

    def test_a_lock_of_a_killed_git(self):
        self.new_version()
        lock = self.git_folder / "index.lock"
        lock.touch()
        self.assertIn(f"rm {lock}\n", self.refused("update", 7, "index.lock': File exists"))
        lock.unlink()
        self.assert_updated()

    def test_a_submodule_that_is_no_repository(self):
        shutil.rmtree(self.git_folder)
        self.git_folder.mkdir()
        self.assertIn("below .git/modules", self.refused("update", 5, "not a git repository"))


class Urls(Case):
    def config(self, folder: pathlib.Path, key: str) -> str:
        return self.git(folder, "config", key)

    def test_a_url_that_changed_in_gitmodules(self):
        """Also from one that an update before this one should have replaced."""
        self.source("clone")
        for name in ("lib2", "lib3"):
            moved = self.lib.parent / name
            self.lib.rename(moved)
            self.lib = moved
            self.git(self.toy, "config", "--file", ".gitmodules", "submodule.third_party/lib.url", f"../{name}")
            self.git(self.toy, "submodule", "sync", "-q")
            self.commit(self.toy, "toy.txt", name)
        self.new_version()
        self.assertNotIn("keeps its URL", self.source("update").stderr)
        self.assertEqual((self.clone / "third_party/lib/a.txt").read_text(), "2")
        self.assertEqual(self.config(self.clone, "submodule.third_party/lib.url"), str(self.lib))
        self.assertEqual(self.config(self.clone / "third_party/lib", "remote.origin.url"), str(self.lib))

    def test_a_url_of_the_user_stays(self):
        mirror = self.scratch / "mirror"
        self.source("clone")
        self.new_version()
        self.git(self.scratch, "clone", "-q", self.lib, mirror)
        for folder, key in ((self.clone, "submodule.third_party/lib.url"), (self.clone / "third_party/lib", "remote.origin.url")):
            self.git(folder, "config", key, mirror)
        self.lib.rename(self.lib.parent / "gone")
        said = self.source("update").stderr
        self.assertIn(f"'{self.clone}/third_party/lib' keeps its URL '{mirror}', which no .gitmodules had; ", said)
        self.assertIn(f"git -C {self.clone} submodule sync third_party/lib\n", said)
        self.assertEqual((self.clone / "third_party/lib/a.txt").read_text(), "2")
        self.assertEqual(self.config(self.clone, "submodule.third_party/lib.url"), str(mirror))
        self.assertEqual(self.config(self.clone / "third_party/lib", "remote.origin.url"), str(mirror))

    def test_a_clone_of_another_repository(self):
        self.source("clone")
        self.git(self.clone, "remote", "set-url", "origin", self.lib)
        for action in ("status", "update"):
            said = self.refused(action, 7, f"'{self.clone}' is a clone of '{self.lib}', but its recipe names '{self.toy}'")
            self.assertIn(f"hint: git -C {self.clone} remote set-url origin {self.toy}\n", said)
        # Other forms of the URL
        self.git(self.clone, "remote", "set-url", "origin", f"file://{self.toy}/")
        self.source("status")
        self.git(self.clone, "remote", "set-url", "origin", "https://me@example.org/a/b.git")
        (self.folder / "recipe.yaml").write_text(RECIPE.replace("GIT", "git@example.org:a/b"))
        self.source("status")
        self.git(self.clone, "remote", "remove", "origin")
        self.assertIn("remote add origin", self.refused("status", 7, "' has no remote 'origin', but "))


class Several(Case):
    def recipe(self, folder: str, text: str) -> pathlib.Path:
        path = self.scratch / folder
        path.mkdir()
        (path / "recipe.yaml").write_text(text)
        (path / "variants.yaml").write_text('toy: ["1.0"]\n')
        return path

    def test_one_that_cannot_be_cloned(self):
        other = self.recipe("other", RECIPE.replace("GIT", str(self.scratch / "none")).replace("name: toy", "name: other"))
        third = self.recipe("third", RECIPE.replace("GIT", str(self.toy)).replace("name: toy", "name: third"))
        said = self.refused("clone", 4, "cannot make a clone of '", other, third)
        self.assertIn("while cloning 'other'; complete: 'toy'; not begun: 'third'\n", said)
        self.assertEqual([path.name for path in self.into.iterdir()], ["toy"])
        self.assertTrue(self.one("status")["as_wanted"])
        self.assertIn("leave its recipe out", self.refused("clone", 7, "' already exists", third))

    def test_two_sources_for_one_clone(self):
        self.git(self.lib, "tag", "v1.0")
        same = self.recipe("same", RECIPE.replace("GIT", str(self.toy)))
        self.assertEqual(self.source("clone", same).stdout, "toy: tag v1.0\n")
        other = self.recipe("other", RECIPE.replace("GIT", str(self.lib)))
        said = self.refused("status", 2, f"two sources have the clone 'toy': tag v1.0 of '{self.toy}', and tag v1.0 of '{self.lib}'", other)
        self.assertIn("another --into", said)
        outputs = "recipe: {name: toy, version: \"${{ toy }}\"}\nbuild: {script: ['true']}\nabout: {license: MIT}\noutputs:\n"
        for name, url in (("a", self.toy), ("b", self.lib)):
            outputs += f"  - {{package: {{name: {name}}}, source: {{git: {url}, tag: v1.0}}}}\n"
        (self.folder / "recipe.yaml").write_text(outputs)
        self.assertIn("target_directory", self.refused("status", 2, "two sources have the clone 'toy'"))


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
