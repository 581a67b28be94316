"""The faults of publish_faults_test.py in each request of the verbs that change what is at a target: promote and remove. What was not
named is never touched.
"""

import harness
from publish_faults_test import Case, Command
from publishing import Target


class Changes(Case):
    def published(self, target: Target, *flags: str) -> None:
        process = self.start(target, "publish", *self.both, *(flags or target.flags()))
        said = process.communicate()[0]
        assert process.returncode == 0, said

    def test_labels_and_removal(self):
        other, = (one for one in self.both if one != self.package)
        ours, theirs = (f"linux-64/{one.name}" for one in (self.package, other))
        before = {("me", ours): ("dev",), ("me", theirs): ("dev",)}

        def labels(target: Target) -> dict:
            return {(owner, name): tuple(entry["labels"]) for owner, packages in target.server.state()["owners"].items()
                    for releases in packages.values() for files in releases.values() for name, entry in files.items()}

        def command(title: str, arguments: list[str], after: dict) -> Command:
            wanted = {place: found for place, found in {**before, **after}.items() if found}

            def check(target: Target) -> None:
                assert labels(target) == wanted, labels(target)

            return Command(f"anaconda: {title}", lambda: Target("anaconda", owners={"us": {"me"}}),
                           lambda target: self.published(target, "--to", "anaconda:me/dev", "--server", target.server.url),
                           lambda target: [*arguments, self.package, "--server", target.server.url], check)

        to_main = ["promote", "--from", "anaconda:me/dev", "--to", "anaconda:me/main"]
        print(flush=True)
        self.each_request([
            command("promote", to_main, {("me", ours): ("dev", "main")}),
            command("promote --move", [*to_main, "--move"], {("me", ours): ("main",)}),
            command("promote to another owner", ["promote", "--from", "anaconda:me/dev", "--to", "anaconda:us/main"], {("us", ours): ("main",)}),
            command("remove", ["remove", "--from", "anaconda:me"], {("me", ours): None})])

    def test_removal_from_servers(self):
        other, = (one for one in self.both if one != self.package)

        def check(target: Target) -> None:
            assert target.files() == {other.name: harness.sha256(other)}, target.files()

        print(flush=True)
        self.each_request([Command(f"{kind}: remove", lambda kind=kind: Target(kind), self.published,
                                   lambda target: ["remove", self.package, "--from", f"{target.kind}:main", "--server", target.server.url],
                                   check)
                           for kind in ("quetz", "artifactory", "prefix")])


if __name__ == "__main__":
    harness.main()
