"""`ptpkg promote`, `yank` and `remove`: what is asked, what is there at the end, and that nothing else is touched."""

import json
import subprocess

import harness
import publishing
from publishing import Target
from servers import faults


class Labels(publishing.Case):
    """anaconda.org: a label is a channel of an owner."""

    def labels(self, target: Target, owner: str = "me") -> dict[str, list[str]]:
        packages = target.server.state()["owners"][owner]
        return {name.split("/")[-1]: entry["labels"] for releases in packages.values() for files in releases.values()
                for name, entry in files.items()}

    def changed(self, target: Target, verb: str, *arguments, exit_code: int = 0) -> str:
        return self.run_verb(verb, *arguments, "--server", target.server.url, exit_code=exit_code, **target.variables())

    def dev(self, target: Target, *packages) -> None:
        self.publish(*packages, "--to", "anaconda:me/dev", "--server", target.server.url, **target.variables())

    def name(self, path=None) -> str:
        return f"linux-64/{(path or self.package).name}"

    def test_promote_gives_the_label_and_keeps_the_other(self):
        with Target("anaconda") as target:
            self.dev(target, *self.both)
            sent = len(target.server.requests)
            flags = ("--from", "anaconda:me/dev", "--to", "anaconda:me/main")
            self.assertIn(f"{self.name()}: promoted", self.changed(target, "promote", self.package, *flags))
            place = f"me/toymagma-cpu/2.9.0/{self.name()}"
            self.assertEqual(target.server.trace(sent), ["GET /user/me -> 200 [token]", f"GET /dist/{place} -> 200 [token]",
                                                         "POST /channels/me/main -> 201 [token]", f"GET /dist/{place} -> 200 [token]"])
            other, = (one for one in self.both if one != self.package)
            self.assertEqual(self.labels(target), {self.package.name: ["dev", "main"], other.name: ["dev"]})
            sent = len(target.server.requests)
            self.assertIn(": already so", self.changed(target, "promote", self.package, *flags))
            self.assertEqual({one.method for one in target.server.requests[sent:]}, {"GET"})

    def test_move_takes_the_other_label_away(self):
        with Target("anaconda") as target:
            self.dev(target, *self.both)
            flags = ("--from", "anaconda:me/dev", "--to", "anaconda:me/main", "--move")
            self.assertIn(": moved", self.changed(target, "promote", self.package, *flags))
            other, = (one for one in self.both if one != self.package)
            self.assertEqual(self.labels(target), {self.package.name: ["main"], other.name: ["dev"]})
            self.assertIn(": already so", self.changed(target, "promote", self.package, *flags))
            # As conda-forge withdraws a package.
            flags = ("--artifact", self.name(), "--from", "anaconda:me/main", "--to", "anaconda:me/broken", "--move")
            self.changed(target, "promote", *flags)
            self.assertEqual(self.labels(target)[self.package.name], ["broken"])

    def test_another_owner_gets_a_copy(self):
        with Target("anaconda", owners={"us": {"me"}, "them": {"they"}}) as target:
            self.dev(target, self.package)
            flags = ("--from", "anaconda:me/dev", "--to", "anaconda:us/release")
            self.assertIn(": promoted", self.changed(target, "promote", self.package, *flags))
            self.assertEqual(self.labels(target, "us"), {self.package.name: ["release"]})
            self.assertEqual(self.labels(target), {self.package.name: ["dev"]})
            self.assertIn(": already so", self.changed(target, "promote", self.package, *flags))
            # The copy has a label more: the file is not copied again.
            self.changed(target, "promote", self.package, "--from", "anaconda:me", "--to", "anaconda:us")
            self.assertEqual(self.labels(target, "us"), {self.package.name: ["main", "release"]})
            self.assertIn("cannot move artifacts", self.changed(target, "promote", self.package, *flags, "--move", exit_code=7))
            # When what was copied is gone, the copy is still what was asked for.
            self.changed(target, "remove", self.package, "--from", "anaconda:me")
            self.assertIn(": already so", self.changed(target, "promote", self.package, *flags))
            self.assertIn("403", self.changed(target, "promote", self.package, "--from", "anaconda:us", "--to", "anaconda:them",
                                              exit_code=7))

    def test_another_file_is_a_conflict_and_nothing_is_done(self):
        with Target("anaconda", owners={"us": {"me"}}) as target:
            self.dev(target, *self.both)
            before = target.server.state()
            mixed = [self.other, *(one for one in self.both if one != self.package)]
            for verb, flags in (("promote", ("--from", "anaconda:me/dev", "--to", "anaconda:me")), ("remove", ("--from", "anaconda:me"))):
                said = self.changed(target, verb, *mixed, *flags, exit_code=7)
                self.assertIn(harness.sha256(self.other), said)
                self.assertIn(harness.sha256(self.package), said)
                self.assertEqual(target.server.state(), before)
            self.publish(self.other, "--to", "anaconda:us", "--server", target.server.url, **target.variables())
            before = target.server.state()
            self.assertIn("has a different", self.changed(target, "promote", self.package, "--from", "anaconda:me/dev", "--to", "anaconda:us",
                                                  exit_code=7))
            self.assertEqual(target.server.state(), before)

    def test_remove_takes_exactly_the_file(self):
        with Target("anaconda") as target:
            self.publish_to(target, *self.both)
            other, = (one for one in self.both if one != self.package)
            self.assertIn(": removed", self.changed(target, "remove", self.package, "--from", "anaconda:me"))
            self.assertEqual(target.files(), {other.name: harness.sha256(other)})
            self.assertIn(": not there", self.changed(target, "remove", self.package, "--from", "anaconda:me"))
            self.changed(target, "remove", other, "--from", "anaconda:me")
            self.assertEqual(target.server.state()["owners"], {"me": {}})
            self.assertIn(": not there", self.changed(target, "remove", other, "--from", "anaconda:me"))

    def test_a_name_alone_removes_nothing(self):
        with Target("anaconda") as target:
            self.publish_to(target, *self.both)
            digest = harness.sha256(self.package)
            said = self.changed(target, "remove", "--artifact", self.name(), "--from", "anaconda:me", exit_code=7)
            self.assertIn(f"--artifact {self.name()}#sha256={digest}", said)
            wrong = f"{self.name()}#sha256={harness.sha256(self.other)}"
            self.changed(target, "remove", "--artifact", wrong, "--from", "anaconda:me", exit_code=7)
            self.assertEqual(len(target.files()), 2)
            self.changed(target, "remove", "--artifact", f"{self.name()}#sha256={digest}", "--from", "anaconda:me")
            other, = (one for one in self.both if one != self.package)
            self.assertEqual(set(target.files()), {other.name})
            self.changed(target, "remove", "--artifact", self.name(other), "--yes", "--from", "anaconda:me")
            self.assertEqual(target.files(), {})

    def test_what_is_refused_by_name(self):
        with Target("anaconda") as target:
            self.publish_to(target, self.package)
            for code, words, arguments in (
                    (7, "all labels", ("remove", self.package, "--from", "anaconda:me/main")),
                    (2, "the same", ("promote", self.package, "--from", "anaconda:me/main", "--to", "anaconda:me")),
                    (2, "--move needs a label", ("promote", self.package, "--from", "anaconda:me", "--to", "anaconda:me/x", "--move")),
                    (7, "on different servers", ("promote", self.package, "--from", "anaconda:me", "--to", "quetz:main")),
                    (2, "--to TARGET is missing", ("promote", self.package, "--from", "anaconda:me")),
                    (2, "--from TARGET is missing", ("remove", self.package)),
                    (2, "no artifact given", ("remove", "--from", "anaconda:me")),
                    (2, "subdir is missing", ("remove", "--artifact", self.package.name, "--from", "anaconda:me")),
                    (2, "no SHA-256", ("remove", "--artifact", f"{self.name()}#md5=1", "--from", "anaconda:me")),
                    (2, "given twice", ("remove", self.package, "--artifact", self.name(), "--from", "anaconda:me")),
                    (7, "no API for changes", ("remove", self.package, "--from", "pypi:pypi")),
                    (4, "not 'dev'", ("promote", self.package, "--from", "anaconda:me/dev", "--to", "anaconda:me/x")),
                    (4, "has no", ("promote", "--artifact", "linux-64/none-1-0.conda", "--from", "anaconda:me", "--to", "anaconda:me/x")),
                    (4, "nobody", ("remove", self.package, "--from", "anaconda:nobody"))):
                with self.subTest(words):
                    self.assertIn(words, self.changed(target, *arguments, exit_code=code))
            self.assertEqual(self.labels(target), {self.package.name: ["main"]})
            self.run_verb("remove", self.package, "--from", "anaconda:me", "--server", target.server.url, exit_code=7,
                          ANACONDA_API_TOKEN="wrong")
            self.assertEqual(len(target.files()), 1)

    def test_a_locked_label(self):
        with Target("anaconda") as target:
            self.dev(target, self.package)
            target.server.locked.add(("me", "main"))
            self.assertIn("locked", self.changed(target, "promote", self.package, "--from", "anaconda:me/dev", "--to", "anaconda:me",
                                                 exit_code=7))
            self.assertEqual(self.labels(target), {self.package.name: ["dev"]})

    def test_dry_run_and_json(self):
        with Target("anaconda") as target:
            flags = ("--from", "anaconda:me/dev", "--to", "anaconda:me/main", "--move", "--server", target.server.url)
            said = self.run_verb("promote", self.package, *flags, "--dry-run")
            self.assertIn(f"POST {target.server.url}/channels/me/main", said)
            self.assertIn(f"DELETE {target.server.url}/channels/me/dev", said)
            said = self.run_verb("remove", "--artifact", self.name(), "--from", "anaconda:me", "--server", target.server.url, "--dry-run")
            self.assertIn(f"DELETE {target.server.url}/dist/me/toymagma-cpu/2.9.0/{self.name()}", said)
            self.assertEqual(target.server.requests, [])
            self.dev(target, self.package)
            printed = self.ptpkg("promote", self.package, *flags, "--json", **target.variables()).stdout
            item, = json.loads(printed)["artifacts"]
            self.assertEqual(item, {"name": self.name(), "sha256": harness.sha256(self.package), "outcome": "moved"})

    def test_publish_tells_the_command_that_gives_the_label(self):
        with Target("anaconda") as target:
            self.dev(target, self.package)
            said = self.publish_to(target, self.package, exit_code=7)
            command, = (line.split("ptpkg ", 1)[1].split() for line in said.splitlines() if "ptpkg promote" in line)
            self.run_verb(*command, **target.variables())
            self.assertEqual(self.labels(target), {self.package.name: ["dev", "main"]})
            self.assertIn("there already", self.publish_to(target, self.package))

    def test_a_file_that_somebody_replaces_meanwhile_stays(self):
        with Target("anaconda") as target:
            self.publish_to(target, self.package)
            theirs = target.server
            place = ("me", "toymagma-cpu", "2.9.0", self.name())
            with Target("anaconda") as elsewhere:
                self.publish_to(elsewhere, self.other)
                newer = elsewhere.server.owners["me"]["toymagma-cpu"]

            class Replaced(faults.Cut):
                def answered(self, handler, request, answer):
                    theirs.owners["me"]["toymagma-cpu"] = newer
                    return super().answered(handler, request, answer)

            theirs.faults.append(Replaced(method="DELETE"))
            self.assertIn(": removed", self.changed(target, "remove", self.package, "--from", "anaconda:me"))
            self.assertEqual(target.files(), {self.other.name: harness.sha256(self.other)})
            self.assertEqual(sum(one.method == "DELETE" for one in theirs.requests), 1, place)


class Servers(publishing.Case):
    """quetz, Artifactory, prefix.dev."""

    def changed(self, target: Target, verb: str, *arguments, exit_code: int = 0) -> str:
        return self.run_verb(verb, *arguments, "--from", f"{target.kind}:main", "--server", target.server.url, exit_code=exit_code,
                             **target.variables())

    def test_remove_takes_exactly_the_file(self):
        for kind in ("quetz", "artifactory", "prefix"):
            with self.subTest(kind), Target(kind) as target:
                self.publish_to(target, *self.both)
                other, = (one for one in self.both if one != self.package)
                self.assertIn(harness.sha256(self.other), self.changed(target, "remove", self.other, exit_code=7))
                self.assertEqual(len(target.files()), 2)
                self.assertIn(": removed", self.changed(target, "remove", self.package))
                self.assertEqual(target.files(), {other.name: harness.sha256(other)})
                self.assertIn(": not there", self.changed(target, "remove", self.package))
                self.assertIn("have no yanking", self.changed(target, "yank", other, exit_code=7))
                deletes = sum(one.method == "DELETE" for one in target.server.requests)
                target.server.faults.append(faults.Cut(method="DELETE"))
                self.assertIn(": removed", self.changed(target, "remove", other))
                self.assertEqual(sum(one.method == "DELETE" for one in target.server.requests), deletes + 1)
                self.assertEqual(target.files(), {})

    def test_artifactory_copies_and_moves(self):
        with Target("artifactory", channels=("main", "release")) as target:
            self.publish_to(target, self.package)
            self.assertIn(": promoted", self.changed(target, "promote", self.package, "--to", "artifactory:release"))
            self.assertIn(": already so", self.changed(target, "promote", self.package, "--to", "artifactory:release"))
            state = target.server.state()
            self.assertEqual(state["main"], state["release"])
            self.assertIn(": moved", self.changed(target, "promote", self.package, "--to", "artifactory:release", "--move"))
            self.assertEqual(target.server.state(), {"main": {}, "release": state["release"]})
            self.publish_to(target, self.other)
            said = self.changed(target, "promote", self.other, "--to", "artifactory:release", exit_code=7)
            self.assertIn(harness.sha256(self.package), said)
            self.assertIn("the same", self.changed(target, "promote", self.other, "--to", "artifactory:main", exit_code=2))
        for kind in ("quetz", "prefix"):
            with Target(kind) as target:
                self.assertIn("publish the artifact", self.changed(target, "promote", self.package, "--to", f"{kind}:other", exit_code=7))


class Folders(publishing.Case):
    """A folder, which needs no server; the index is read as its readers do."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = self.scratch / "channel"
        self.wheels = [publishing.pure_wheel(self.scratch, version=version) for version in ("1.0", "2.0")]
        self.publish(*self.both, *self.wheels, "--to", f"file://{self.folder}")

    def changed(self, verb: str, *arguments, exit_code: int = 0) -> str:
        return self.run_verb(verb, *arguments, "--from", f"file://{self.folder}", exit_code=exit_code)

    def page(self) -> dict[str, dict]:
        page = json.loads((self.folder / "wheels/simple/toy-pure/index.json").read_text())
        return {file["filename"]: file for file in page["files"]}

    def yanked(self) -> dict:
        return {name: file["yanked"] for name, file in self.page().items() if "yanked" in file}

    def test_a_yank_is_there_until_it_is_undone(self):
        wheel = self.wheels[1]
        self.assertIn(": yanked", self.changed("yank", wheel, "--reason", 'breaks "x" & y'))
        self.assertEqual(self.yanked(), {wheel.name: 'breaks "x" & y'})
        html = (self.folder / "wheels/simple/toy-pure/index.html").read_text()
        self.assertEqual(html.count("data-yanked"), 1)
        self.assertIn('data-yanked="breaks &quot;x&quot; &amp; y"', html)
        self.assertIn(": already so", self.changed("yank", wheel, "--reason", 'breaks "x" & y'))
        # Neither an index that is made anew nor a publication forgets it.
        self.ptpkg("index", self.folder / "wheels")
        self.publish(publishing.pure_wheel(self.scratch, version="3.0"), wheel, "--to", f"file://{self.folder}")
        self.assertEqual(self.yanked(), {wheel.name: 'breaks "x" & y'})
        self.assertEqual(len(self.page()), 3)
        # Another file of the name is another file.
        other = publishing.pure_wheel(self.scratch, "x = 2\n", version="2.0")
        self.assertIn("has a different", self.changed("yank", other, "--undo", exit_code=7))
        self.publish(other, "--to", f"file://{self.folder}", "--force")
        self.assertEqual(self.yanked(), {})
        self.changed("yank", other)
        self.assertEqual(self.yanked(), {wheel.name: True})
        self.assertIn(": unyanked", self.changed("yank", "--artifact", wheel.name, "--undo"))
        self.assertEqual(self.yanked(), {})

    def test_pip_takes_a_yanked_wheel_when_it_is_pinned_alone(self):
        self.changed("yank", self.wheels[1], "--reason", "wrong")
        index = (self.folder / "wheels/simple").as_uri()
        for wanted, version in (("toy-pure", "1.0"), ("toy-pure==2.0", "2.0")):
            found = self.scratch / f"got{version}"
            subprocess.run([harness.peers_python(), "-m", "pip", "download", "--no-deps", "--isolated", "--disable-pip-version-check", "-q",
                            "--index-url", index, "-d", found, wanted], check=True, stdin=subprocess.DEVNULL)
            self.assertEqual([one.name for one in found.iterdir()], [f"toy_pure-{version}-py3-none-any.whl"])

    def test_what_lies_beside_goes_along(self):
        other, = (one for one in self.both if one != self.package)
        signed = self.signed(self.package, other)
        self.publish(*signed, "--to", f"file://{self.folder}")
        folder = self.folder / "conda/linux-64"
        self.assertTrue((folder / f"{self.package.name}.sig").exists())
        self.changed("remove", self.package)
        self.assertEqual({one.name for one in folder.iterdir() if one.name.startswith("toymagma")}, {other.name, other.name + ".sig"})
        listed = json.loads((self.folder / "manifest.json").read_text())["artifacts"]
        self.assertFalse([one for one in listed if self.package.name in one["path"]])

    def test_of_an_output_folder_the_wheels_alone_are_yanked(self):
        said = self.changed("yank", self.folder, self.wheels[0])
        self.assertIn("skipped: ", said)
        self.assertEqual(said.count(": yanked"), 2)
        self.assertEqual(set(self.yanked()), {one.name for one in self.wheels})
        self.assertIn("--reason", self.changed("yank", self.wheels[0], "--undo", "--reason", "x", exit_code=2))

    def test_a_place_that_is_not_there_is_told(self):
        said = self.run_verb("remove", self.package, "--from", f"file://{self.scratch / 'chanel'}", exit_code=4)
        self.assertIn("does not exist", said)
        self.assertFalse((self.scratch / "chanel").exists())

    def test_what_is_gone_and_still_listed_is_taken_out(self):
        (self.folder / f"conda/linux-64/{self.package.name}").unlink()
        self.assertIn(": not there", self.changed("remove", self.package))
        repodata = json.loads((self.folder / "conda/linux-64/repodata.json").read_text())
        self.assertNotIn(self.package.name, [*repodata["packages"], *repodata["packages.conda"]])
        listed = json.loads((self.folder / "manifest.json").read_text())["artifacts"]
        self.assertFalse([one for one in listed if self.package.name in one["path"]])

    def test_remove_takes_entry_and_file(self):
        wheel = self.wheels[0]
        self.assertIn(": removed", self.changed("remove", self.package, wheel))
        other, = (one for one in self.both if one != self.package)
        self.assertEqual(set(harness.artifacts(self.folder)), {f"conda/linux-64/{other.name}", f"wheels/{self.wheels[1].name}"})
        repodata = json.loads((self.folder / "conda/linux-64/repodata.json").read_text())
        self.assertEqual([*repodata["packages"], *repodata["packages.conda"]], [other.name])
        self.assertEqual(set(self.page()), {self.wheels[1].name})
        self.assertFalse((self.folder / f"wheels/{wheel.name}.metadata").exists())
        listed = json.loads((self.folder / "manifest.json").read_text())["artifacts"]
        self.assertEqual({one["path"].split("/")[-1] for one in listed}, {other.name, self.wheels[1].name})
        self.assertIn(": not there", self.changed("remove", self.package))
        self.assertIn("have no yanking", self.changed("yank", other, exit_code=7))
        self.assertIn("cannot copy artifacts", self.changed("promote", other, "--to", "file:///elsewhere", exit_code=7))
        self.assertEqual(harness.leftovers(self.folder), [])

    def test_a_wheel_in_the_folder_of_a_backend_has_its_name(self):
        place = self.folder / "wheels/cu130"
        place.mkdir()
        wheel = publishing.pure_wheel(self.scratch, "x = 3\n", version="3.0").rename(place / "toy_pure-3.0-py3-none-any.whl")
        name = f"cu130/{wheel.name}"
        self.assertIn("has no index of 'cu130'", self.changed("yank", "--artifact", name, exit_code=4))
        self.ptpkg("index", "--per-backend", self.folder / "wheels")
        self.assertIn(": yanked", self.changed("yank", "--artifact", name, "--reason", "wrong"))
        page = place / "toy-pure/index.json"
        self.assertEqual([one.get("yanked") for one in json.loads(page.read_text())["files"]], ["wrong"])
        self.assertEqual(self.yanked(), {})
        self.assertIn(": already so", self.changed("yank", "--artifact", name, "--reason", "wrong"))
        # The name alone is that of a wheel beside the folder, and there is none.
        self.assertIn("has no", self.changed("yank", "--artifact", wheel.name, exit_code=4))
        self.assertIn(f"--artifact {name}#sha256={harness.sha256(wheel)}", self.changed("remove", "--artifact", name, exit_code=7))
        self.assertIn(": removed", self.changed("remove", "--artifact", f"{name}#sha256={harness.sha256(wheel)}"))
        self.assertFalse(place.exists())
        self.assertEqual(set(self.page()), {one.name for one in self.wheels})
        self.assertIn("is not a backend directory", self.changed("remove", "--artifact", f"docs/{wheel.name}", exit_code=2))
        said = self.run_verb("yank", "--artifact", name, "--from", "s3://bucket", "--dry-run", exit_code=7)
        self.assertIn("no backend directories", said)

    def test_dry_run_changes_nothing(self):
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        for verb in ("yank", "remove"):
            self.assertIn(str(self.folder), self.changed(verb, self.wheels[0], "--dry-run"))
        self.assertEqual({path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}, before)


if __name__ == "__main__":
    harness.main()
