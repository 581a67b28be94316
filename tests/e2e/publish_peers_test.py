"""What ptpkg publishes, beside what the real clients publish: the same state, the same form, and it installs."""

import hashlib

import harness
import publishing
import servers_test
from publishing import TOKEN, Target


class SameAsTheirs(publishing.Case, servers_test.Clients):
    def test_anaconda_client_leaves_the_same(self):
        theirs, ours = Target("anaconda"), Target("anaconda")
        with theirs, ours:
            config = self.scratch / "home/data/config.yaml"
            config.parent.mkdir(parents=True)
            config.write_text(f"url: {theirs.server.url}\n")
            self.client(harness.peer_program("anaconda"), "-t", TOKEN, "upload", "--no-progress", "-u", "me", self.package)
            self.publish_to(ours, self.package)
            self.assertEqual(ours.server.state(), theirs.server.state())
            self.assertEqual(ours.server.attributes(), theirs.server.attributes())
            self.assert_installs(f"{ours.server.url}/conda/me", self.package)

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
            self.assertEqual(form, theirs.server.fields_of(wheel.name))
            self.assert_installs_from(ours.server, wheel)


if __name__ == "__main__":
    harness.main()
