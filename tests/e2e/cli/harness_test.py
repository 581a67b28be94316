"""The harness itself: what a test program says and exits with when tests are skipped."""

import os
import subprocess
import sys

import harness

PROGRAM = """\
import unittest
import harness

class Some(harness.Case):
{tests}

if __name__ == "__main__":
    harness.main()
"""

PASSES = "    def test_passes(self): pass"
FAILS = "    def test_fails(self): self.fail('so')"
NO_ROOT = "    def test_root(self): self.skipTest('only root\\ncan mount')"
NO_SOURCE = "    def test_source(self): raise unittest.SkipTest('no source')"
NO_TOOL = "    def test_tool(self): harness.tool('no-such-tool')"
NO_PEERS = "    def test_peers(self): harness.peers_python()"
NO_CLASS = "    @classmethod\n    def setUpClass(cls): raise unittest.SkipTest('no source')"
IN_PART = """\
    def test_in_part(self):
        for name in ("sh", "no-such-tool"):
            with self.subTest(name): harness.tool(name)
"""


PORTS = """\
import pathlib, socket, sys
from servers.ports import Port

def bind(*options):
    other = socket.socket()
    for option in options:
        other.setsockopt(socket.SOL_SOCKET, option, 1)
    other.bind(("127.0.0.1", 0))
    return other

ports = [Port() for _ in range(5)]
log = pathlib.Path(sys.argv[1], "log")
server = ports[0].serve([sys.executable, "-m", "http.server", "--bind", "127.0.0.1", ports[0].number], log)
print("a server listens", flush=True)
ours = {port.number for port in ports}
assert len(ours) == 5
for options in ((), (socket.SO_REUSEADDR,), (socket.SO_REUSEPORT,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT)):
    free = bind(*options)
    assert free.getsockname()[1] not in ours, options
    try:
        bind(*options)
        raise SystemExit("a seventh port was found")
    except OSError:
        free.close()
client = socket.create_connection(("127.0.0.1", ports[0].number))
assert client.getsockname()[1] not in ours, "an outgoing connection took a port"
client.close()
for port in ports[1:]:
    assert socket.socket().connect_ex(("127.0.0.1", port.number)) != 0, "nobody listens"
stranger = socket.socket()
stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
stranger.bind(("127.0.0.1", ports[1].number))
stranger.listen()
try:
    ports[1].serve(["sleep", "60"], log)
    raise SystemExit("a stranger passed for the server")
except AssertionError as error:
    assert "another process" in str(error), error
server.terminate()
server.wait()
"""


class Harness(harness.Case):
    def program(self, *tests, args=(), **variables):
        """Exit code of a program with these tests, and the lines after the summary of unittest."""
        path = self.scratch / "some_test.py"
        path.write_text(PROGRAM.format(tests="\n".join(tests)))
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(harness.MODULES), "PYTHONDONTWRITEBYTECODE": "1",
               **variables}
        done = subprocess.run([sys.executable, path, "--ptpkg", "/bin/true", *args], env=env, text=True, capture_output=True,
                              check=False)
        lines = done.stderr.splitlines()
        summaries = [number for number, line in enumerate(lines) if line.startswith(("OK", "FAILED", "NO TESTS RAN"))]
        self.assertTrue(summaries, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.returncode, lines[summaries[-1] + 1:]

    def test_all_passed(self):
        self.assertEqual(self.program(PASSES), (0, []))

    def test_all_skipped_is_a_skip(self):
        lines = ["skipped: Some.test_root: only root can mount", "skipped: Some.test_source: no source"]
        for variables in ({}, {"CI": "true"}):  # the machine's nature, which CI cannot mend
            with self.subTest(variables=variables):
                self.assertEqual(self.program(NO_ROOT, NO_SOURCE, **variables), (77, lines))

    def test_a_skipped_class_is_a_skip(self):
        code, lines = self.program(NO_CLASS, PASSES)
        self.assertEqual((code, len(lines)), (77, 1))
        self.assertRegex(lines[0], "^skipped: .*Some.*: no source$")

    def test_what_is_skipped_beside_others_is_named_last(self):
        named = ["skipped: Some.test_source: no source"]
        self.assertEqual(self.program(PASSES, NO_SOURCE), (0, named))
        self.assertEqual(self.program(PASSES, NO_SOURCE, FAILS), (1, named))

    def test_a_test_of_which_a_part_ran_is_no_skip(self):
        code, lines = self.program(IN_PART)
        self.assertEqual((code, len(lines)), (0, 1))
        self.assertIn("'no-such-tool' is missing", lines[0])
        self.assertEqual(self.program(IN_PART, CI="true"), (1, []))

    def test_what_bootstrap_installs_is_a_failure_in_ci(self):
        for test, what in ((NO_TOOL, "'no-such-tool'"), (NO_PEERS, "the peers' environment")):
            with self.subTest(what):
                code, lines = self.program(test)
                self.assertEqual((code, len(lines)), (77, 1))
                self.assertIn(what, lines[0])
                self.assertIn("scripts/bootstrap --check installs it", lines[0])
                self.assertEqual(self.program(test, CI="true"), (1, []))
                self.assertEqual(self.program(test, NO_ROOT, CI="true")[0], 1)

    def test_nobody_else_gets_a_port(self):
        """In a network namespace with six ports: five belong to tests, and a server listens on one of them."""
        path = self.scratch / "ports_of_six.py"
        path.write_text(PORTS)
        narrow = "ip link set lo up && echo 40000 40005 > /proc/sys/net/ipv4/ip_local_port_range && exec \"$@\""
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(harness.MODULES), "PYTHONDONTWRITEBYTECODE": "1"}
        for rights in ([], ["--user", "--map-root-user"]):
            done = subprocess.run(["unshare", "--net", *rights, "sh", "-c", narrow, "sh", sys.executable, path, self.scratch], env=env,
                                  text=True, capture_output=True, check=False)
            if "a server listens" in done.stdout:
                break
        else:
            self.skipTest(f"new network namespaces are not permitted (unshare --net): {done.stderr}")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_a_selection_without_tests_has_not_passed(self):
        self.assertEqual(self.program(PASSES, args=["-k", "no_such"]), (5, []))
        self.assertEqual(self.program(PASSES, NO_ROOT, args=["Some.test_passes"]), (0, []))
        self.assertEqual(self.program(PASSES, NO_ROOT, args=["Some.test_root"])[0], 77)


if __name__ == "__main__":
    harness.main()
