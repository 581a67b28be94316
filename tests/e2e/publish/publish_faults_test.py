"""Each request of each target is cut, refused or left without an answer in turn, once or from there on, and publishing is tried once
more. At the end the server has exactly the artifact, once, with the right digest, in its index, and nothing that was begun. The tally
is printed.

publish_batch_faults_test.py has the same with several artifacts at once, publish_change_faults_test.py with the verbs that change what is
there already. The runs mostly wait, so that many are under way at a time.
"""

import concurrent.futures
import pathlib
import subprocess
import tempfile
import typing

import harness
import publishing
from publishing import Target
from servers import faults

KINDS = ("anaconda", "quetz", "artifactory", "prefix", "pypi")
AT_ONCE = 20
FAULTS = {
    "cut before the body": lambda n: faults.Cut(when="head", skip=n - 1),
    "cut in the middle of the body": lambda n: faults.CutInBody(skip=n - 1),
    "cut before it is carried out": lambda n: faults.Cut(when="body", skip=n - 1),
    "carried out, no answer": lambda n: faults.Cut(when="answer", skip=n - 1),
    "carried out, answer cut in its middle": lambda n: faults.TruncatedAnswer(None, skip=n - 1),
    "carried out, answer 500": lambda n: faults.Status(500, when="answer", skip=n - 1),
    "503 with Retry-After": lambda n: faults.Status(503, when="head", skip=n - 1, headers={"Retry-After": "1"}),
    "429": lambda n: faults.Status(429, when="head", skip=n - 1),
    "idle close": lambda n: faults.IdleClose(skip=n - 1),
}
LASTING = {
    "no request arrives from there on": lambda n: faults.Cut(when="head", skip=n - 1, times=None),
    "all bodies are cut in their middle from there on": lambda n: faults.CutInBody(skip=n - 1, times=None),
    "all is carried out and nothing answered from there on": lambda n: faults.Cut(when="answer", skip=n - 1, times=None),
}


class Command(typing.NamedTuple):
    """What is tried with each fault, each time at a new server."""

    title: str
    target: typing.Callable[[], Target]
    prepare: typing.Callable[[Target], None]
    arguments: typing.Callable[[Target], list]
    check: typing.Callable[[Target], None]  # asserts that it was carried out


class Case(publishing.Case):
    def start(self, target: Target, *arguments) -> subprocess.Popen:
        return subprocess.Popen([harness.Settings.ptpkg, *arguments], cwd=self.scratch, text=True,
                                env=self.environment(HOME=tempfile.mkdtemp(dir=self.scratch), **target.variables()),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def publishing(self, kind: str, artifacts: list[pathlib.Path]) -> Command:
        wanted = {one.name: harness.sha256(one) for one in artifacts}

        def check(target: Target) -> None:
            assert target.files() == target.listed() == wanted, (target.files(), target.listed())

        return Command(kind, lambda: Target(kind), lambda target: None,
                       lambda target: ["publish", *artifacts, *target.flags()], check)

    def each_request(self, commands: list[Command]) -> None:
        counts = {}
        for command in commands:
            with command.target() as target:
                command.prepare(target)
                before = len(target.server.requests)
                self.assertEqual(self.run_to_its_end(target, command), 0)
                command.check(target)
                counts[command] = len(target.server.requests) - before
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            running = {(command.title, name): [pool.submit(self.try_one, command, fault(number), number) for number in range(1, count + 1)]
                       for command, count in counts.items() for name, fault in (LASTING | FAULTS).items()}
        for (title, name), runs in running.items():
            at_once = 0
            for number, run in enumerate(runs, 1):
                with self.subTest(title, fault=name, request=number):
                    at_once += run.result() == 0
            again = len(runs) - at_once
            print(f"{title}: {name}: {len(runs)} requests, {at_once} went well at once, {again} when it was run again", flush=True)
            if name in FAULTS:
                self.assertEqual(at_once, len(runs))

    def try_one(self, command: Command, fault: faults.Fault, number: int) -> int:
        """Exit code of the run with the fault; all else is as it has to be, or an assertion fails."""
        with command.target() as target:
            command.prepare(target)
            before = len(target.server.requests)
            target.server.faults.append(fault)
            code = self.run_to_its_end(target, command)
            # Of several artifacts under way one may find what another one has made, and ask less.
            was_hit = any(one.fault for one in target.server.requests)
            assert was_hit or len(target.server.requests) - before < number, "nothing was hit"
            target.server.faults.clear()
            if code != 0:
                assert self.run_to_its_end(target, command) == 0
            command.check(target)
            assert target.is_clean(), target.server.state()
        return code

    def run_to_its_end(self, target: Target, command: Command) -> int:
        process = self.start(target, *command.arguments(target))
        said = process.communicate()[0]
        assert process.returncode in (0, 7, 8), said
        assert publishing.TOKEN not in said
        return process.returncode


class Faults(Case):
    def test_each_request_in_turn(self):
        print(flush=True)
        wheel = publishing.pure_wheel(self.scratch)
        self.each_request([self.publishing(kind, [wheel if kind == "pypi" else self.package]) for kind in KINDS])

    def test_redirects_lead_no_body_and_no_token_away(self):
        for kind in ("anaconda", "quetz", "artifactory", "prefix"):
            with self.subTest(kind), Target(kind) as elsewhere, Target(kind) as target:
                # A login that is asked by GET goes well.
                target.server.faults += [faults.Redirect(elsewhere.server.url, method=one, times=None) for one in ("POST", "PUT")]
                self.publish_to(target, self.package, exit_code=7)
                self.assertEqual(elsewhere.server.requests, [])

    def test_a_redirect_gets_no_token(self):
        for kind in ("anaconda", "quetz"):
            with self.subTest(kind), Target(kind) as elsewhere, Target(kind) as target:
                target.server.faults += [faults.Redirect(elsewhere.server.url, method=one, times=None) for one in ("GET", "HEAD")]
                # It is sent to the one server, and never seen at the other.
                self.publish_to(target, self.package, exit_code=8)
                self.assertTrue(elsewhere.server.requests)
                for request in elsewhere.server.requests:
                    self.assertFalse({"Authorization", "X-API-Key"} & set(request.headers.keys()))


class TwoAtOnce(Case):
    """Two processes publish at the same time, to a server that is slow enough for both to look before either sends."""

    ROUNDS = 3

    def run_both(self, target: Target, *artifacts) -> list[tuple[int, str]]:
        running = [self.start(target, "publish", one, *target.flags()) for one in artifacts]
        return [(process.returncode, said) for process, said in [(one, one.communicate()[0]) for one in running]]

    def test_the_same_file(self):
        print(flush=True)
        wheel = publishing.pure_wheel(self.scratch)
        for kind, options in (*((kind, {}) for kind in KINDS), ("artifactory", {"overwrite": False})):
            artifact = wheel if kind == "pypi" else self.package
            told = []
            for _ in range(self.ROUNDS):
                with self.subTest(kind, **options), Target(kind, latency=0.05, **options) as target:
                    ended = self.run_both(target, artifact, artifact)
                    self.assertEqual([code for code, _ in ended], [0, 0], ended)
                    self.assertEqual(target.files(), {artifact.name: harness.sha256(artifact)})
                    self.assertEqual(target.listed(), target.files())
                    self.assertTrue(target.is_clean(), target.server.state())
                    told.append(len([one for one in target.server.requests if one.method in ("POST", "PUT")]))
            print(f"{kind} {options}: the same file from two at once: both succeed, once there; {told} requests that write", flush=True)

    def test_other_bytes_under_one_name(self):
        """An Artifactory that lets its users overwrite keeps the later one without a word: nothing can be promised there."""
        print(flush=True)
        wheels = [publishing.pure_wheel(self.scratch, f"x = {number}\n") for number in (1, 2)]
        for kind, options in (("anaconda", {}), ("quetz", {}), ("prefix", {}), ("artifactory", {"overwrite": False}), ("pypi", {}),
                              ("pypi", {"style": "devpi"}), ("pypi", {"style": "pypiserver"})):
            for _ in range(self.ROUNDS):
                both = wheels if kind == "pypi" else [self.package, self.other]
                with self.subTest(kind, **options), Target(kind, latency=0.05, **options) as target:
                    ended = self.run_both(target, *both)
                    codes = [code for code, _ in ended]
                    self.assertEqual(sorted(codes), [0, 7], ended)
                    won = both[codes.index(0)]
                    self.assertEqual(target.files(), {won.name: harness.sha256(won)})
                    self.assertEqual(target.listed(), target.files())
                    self.assertTrue(target.is_clean(), target.server.state())
                    # quetz and prefix.dev tell the size alone, and a file of another size is not read back.
                    what = f"{won.stat().st_size} bytes there" if kind in ("quetz", "prefix") else harness.sha256(won)
                    self.assertIn("has a different", ended[codes.index(7)][1])
                    self.assertIn(what, ended[codes.index(7)][1])
                    self.assertIn(harness.sha256(both[codes.index(7)]), ended[codes.index(7)][1])
            print(f"{kind} {options}: other bytes from two at once: one wins, the other one is told what is there", flush=True)


if __name__ == "__main__":
    harness.main()
