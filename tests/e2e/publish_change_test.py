"""`ptpkg promote`, `yank` and `remove`: what is asked, what is there at the end, and that nothing else is touched."""

import json

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
            flags = ("--name", self.name(), "--from", "anaconda:me/main", "--to", "anaconda:me/broken", "--move")
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
            self.assertIn("moves nothing", self.changed(target, "promote", self.package, *flags, "--move", exit_code=7))
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
            self.assertIn("another", self.changed(target, "promote", self.package, "--from", "anaconda:me/dev", "--to", "anaconda:us",
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
            said = self.changed(target, "remove", "--name", self.name(), "--from", "anaconda:me", exit_code=7)
            self.assertIn(f"--name {self.name()}#sha256={digest}", said)
            wrong = f"{self.name()}#sha256={harness.sha256(self.other)}"
            self.changed(target, "remove", "--name", wrong, "--from", "anaconda:me", exit_code=7)
            self.assertEqual(len(target.files()), 2)
            self.changed(target, "remove", "--name", f"{self.name()}#sha256={digest}", "--from", "anaconda:me")
            other, = (one for one in self.both if one != self.package)
            self.assertEqual(set(target.files()), {other.name})
            self.changed(target, "remove", "--name", self.name(other), "--yes", "--from", "anaconda:me")
            self.assertEqual(target.files(), {})

    def test_what_is_refused_by_name(self):
        with Target("anaconda") as target:
            self.publish_to(target, self.package)
            for code, words, arguments in (
                    (7, "all labels", ("remove", self.package, "--from", "anaconda:me/main")),
                    (2, "the same", ("promote", self.package, "--from", "anaconda:me/main", "--to", "anaconda:me")),
                    (2, "says no label", ("promote", self.package, "--from", "anaconda:me", "--to", "anaconda:me/x", "--move")),
                    (7, "not at one server", ("promote", self.package, "--from", "anaconda:me", "--to", "quetz:main")),
                    (2, "--to TARGET is missing", ("promote", self.package, "--from", "anaconda:me")),
                    (2, "--from TARGET is missing", ("remove", self.package)),
                    (2, "no artifact is named", ("remove", "--from", "anaconda:me")),
                    (2, "subdir is missing", ("remove", "--name", self.package.name, "--from", "anaconda:me")),
                    (2, "no SHA-256", ("remove", "--name", f"{self.name()}#md5=1", "--from", "anaconda:me")),
                    (2, "named twice", ("remove", self.package, "--name", self.name(), "--from", "anaconda:me")),
                    (7, "no interface", ("remove", self.package, "--from", "pypi:pypi")),
                    (4, "and not 'dev'", ("promote", self.package, "--from", "anaconda:me/dev", "--to", "anaconda:me/x")),
                    (4, "has no", ("promote", "--name", "linux-64/none-1-0.conda", "--from", "anaconda:me", "--to", "anaconda:me/x")),
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
            said = self.run_verb("remove", "--name", self.name(), "--from", "anaconda:me", "--server", target.server.url, "--dry-run")
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


if __name__ == "__main__":
    harness.main()
