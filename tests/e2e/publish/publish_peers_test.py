"""What ptpkg publishes, beside what the real clients publish: the same state, the same form, and it installs."""

import hashlib

import harness
import publishing
import servers_test
from publishing import TOKEN, Target


class SameAsTheirs(publishing.Case, servers_test.Clients):
    def anaconda_client(self, target: Target, *arguments) -> None:
        config = self.scratch / "home/data/config.yaml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f"url: {target.server.url}\n")
        self.client(harness.peer_program("anaconda"), "-t", TOKEN, *arguments)

    def test_anaconda_client_leaves_the_same(self):
        theirs, ours = Target("anaconda"), Target("anaconda")
        with theirs, ours:
            self.anaconda_client(theirs, "upload", "--no-progress", "-u", "me", self.package)
            self.publish_to(ours, self.package)
            self.assertEqual(ours.server.state(), theirs.server.state())
            self.assertEqual(ours.server.attributes(), theirs.server.attributes())
            self.assert_installs(f"{ours.server.url}/conda/me", self.package)

    def test_anaconda_client_changes_the_same(self):
        """Each command of the two, one after the other: the same state after each, and the same requests that write."""
        file = f"linux-64/{self.package.name}"
        place = f"me/toymagma-cpu/2.9.0/{file}"
        steps = (
            (("copy", "--from-label", "dev", "--to-label", "release", "--to-owner", "us", place),
             ("promote", self.package, "--from", "anaconda:me/dev", "--to", "anaconda:us/release")),
            (("move", "--from-label", "dev", "--to-label", "main", place),
             ("promote", self.package, "--from", "anaconda:me/dev", "--to", "anaconda:me/main", "--move")),
            (("move", "--from-label", "main", "--to-label", "broken", place),
             ("promote", "--artifact", file, "--from", "anaconda:me/main", "--to", "anaconda:me/broken", "--move")),
            (("remove", "--force", place), ("remove", self.package, "--from", "anaconda:me")))
        theirs, ours = (Target("anaconda", owners={"us": {"me"}}) for _ in range(2))
        with theirs, ours:
            for target in (theirs, ours):
                self.publish(*self.both, "--to", "anaconda:me/dev", "--server", target.server.url, **target.variables())
            for their_words, our_words in steps:
                with self.subTest(their_words[0]):
                    counts = [len(target.server.requests) for target in (theirs, ours)]
                    self.anaconda_client(theirs, *their_words)
                    self.run_verb(*our_words, "--server", ours.server.url, **ours.variables())
                    self.assertEqual(ours.server.state(), theirs.server.state())
                    wrote = [[(one.method, one.path) for one in target.server.requests[count:] if one.method not in ("GET", "HEAD")]
                             for target, count in zip((theirs, ours), counts)]
                    self.assertTrue(wrote[0])
                    self.assertEqual(wrote[1], wrote[0])
            self.assertEqual(ours.server.attributes(), theirs.server.attributes())

    def test_rattler_installs_from_each_channel(self):
        for kind in ("quetz", "artifactory", "prefix"):
            with self.subTest(kind), Target(kind) as target:
                self.publish_to(target, self.package)
                self.assert_installs(f"{target.server.url}/main", self.package)

    def test_twine_sends_the_same_form(self):
        wheel = self.wheel()
        theirs, ours = Target("pypi"), Target("pypi")
        with theirs, ours:
            self.client(harness.peer_program("twine"), "upload", "--non-interactive", "--disable-progress-bar", "-u", "__token__",
                        "-p", TOKEN, "--repository-url", theirs.server.upload_url, wheel)
            self.publish_to(ours, wheel)
            form = ours.server.fields_of(wheel.name)
            self.assertEqual(form.pop("md5_digest"), [hashlib.md5(wheel.read_bytes()).hexdigest()])
            expected = theirs.server.fields_of(wheel.name)
            expected.pop("blake2_256_digest")  # a manifest has none, and an index takes sha256 as well
            self.assertEqual(form, expected)
            self.assert_installs_from(ours.server, wheel)


if __name__ == "__main__":
    harness.main()
