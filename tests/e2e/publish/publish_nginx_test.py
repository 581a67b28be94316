"""nginx as a hostile front of the doubles. For each fault: how ptpkg ends, and that the next run, without the fault, leaves exactly the
artifact, once, with the right digest, in the index. Nothing hangs. The tally is printed.

The faults mostly wait, so that many are tried side by side, each with a front and a double of its own.
"""

import concurrent.futures
import dataclasses
import functools
import pathlib
import secrets
import signal
import subprocess
import tempfile
import time

import harness
import publishing
from publishing import TOKEN, Target
from servers import faults
from servers.nginx import Nginx

NOBODY = "http://127.0.0.1:9"  # the discard port: refused at once
AT_ONCE = 12


@dataclasses.dataclass
class Fault:
    """kind: of the target. front: what Nginx.serve takes. server: faults of the double behind it. words: all are told. big: a package
    of some MB, whose body waits for "100 Continue"."""

    name: str
    kind: str
    exit_code: int
    words: tuple[str, ...] = ()
    front: dict = dataclasses.field(default_factory=dict)
    server: list = dataclasses.field(default_factory=list)
    big: bool = False
    variables: dict = dataclasses.field(default_factory=dict)
    most_sent: int | None = None  # requests that are no GET or HEAD and reach the double


def on(method: str, answer: str) -> dict:
    return {"location": f"if ($request_method = {method}) {{ {answer} }}"}


def commit(answer: str) -> dict:
    return {"location": f"if ($uri ~ ^/commit/) {{ {answer} }}"}


def faults_of_nginx() -> list[Fault]:
    """New ones each time: the doubles' faults are used up."""
    slow = {"http": "limit_rate 8k;"}
    return [
        Fault("slow link, 8 kB/s for answers", "quetz", 0, front=slow),
        Fault("slow server: the body waits 3 s in its middle", "artifactory", 0, big=True, front={"server": "proxy_request_buffering off;"},
              server=[faults.Hang(3, when="head", method="PUT")]),
        *[Fault("500 to each upload", kind, 8, ("500",), front=on(method, "return 500;"), most_sent=0)
          for kind, method in (("artifactory", "PUT"), ("quetz", "POST"), ("pypi", "POST"), ("prefix", "POST"))],
        Fault("500 to everything", "anaconda", 8, ("500",), front={"location": "return 500;"}, most_sent=0),
        Fault("503 with Retry-After: 1", "artifactory", 8, ("503",),
              front={"server": "add_header Retry-After 1 always;", **on("PUT", "return 503;")}, most_sent=0),
        Fault("503 with Retry-After: 7200", "artifactory", 8, ("120 minutes",),
              front={"server": "add_header Retry-After 7200 always;", **on("PUT", "return 503;")}, most_sent=0),
        Fault("429 to each upload", "artifactory", 8, ("429",), front=on("PUT", "return 429;"), most_sent=0),
        Fault("429 above two requests a second", "artifactory", 0,
              front={"http": "limit_req_zone $binary_remote_addr zone=all:1m rate=2r/s; limit_req_status 429;", "location": "limit_req zone=all;"}),
        Fault("413, a small body", "artifactory", 7, ("exceeds the server's size limit",), front={"server": "client_max_body_size 1k;"},
              most_sent=0),
        Fault("413, a body of some MB", "artifactory", 7, ("exceeds the server's size limit",), big=True,
              front={"server": "client_max_body_size 1m;"}, most_sent=0),
        Fault("504: the upload takes longer than the front waits", "artifactory", 0, front={"location": "proxy_read_timeout 1s;"},
              server=[faults.Hang(3, when="body", method="PUT")]),
        Fault("504: the commit takes longer than the front waits", "anaconda", 0, front={"location": "proxy_read_timeout 1s;"},
              server=[faults.Hang(3, when="body", path="^/commit/")]),
        Fault("504 to each commit, each carried out later", "anaconda", 0, front={"location": "proxy_read_timeout 1s;"},
              server=[faults.Hang(2, when="body", path="^/commit/", times=None)]),
        Fault("a commit that never answers", "anaconda", 8, ("there was no answer for 2 s",), variables={"PTPKG_ANSWER_TIMEOUT": "2"},
              server=[faults.Hang(600, when="body", path="^/commit/", times=None)]),
        Fault("a commit that is carried out and never answers", "anaconda", 0, variables={"PTPKG_ANSWER_TIMEOUT": "2"},
              server=[faults.Hang(600, when="answer", path="^/commit/", times=None)]),
        Fault("closed before each commit (444)", "anaconda", 8, front=commit("return 444;")),
        Fault("reset before each commit (444)", "anaconda", 8, front={"server": "reset_timedout_connection on;", **commit("return 444;")}),
        Fault("closed before each upload (444)", "artifactory", 8, front=on("PUT", "return 444;"), most_sent=0),
        Fault("reset before each upload of some MB (444)", "artifactory", 8, big=True,
              front={"server": "reset_timedout_connection on;", **on("PUT", "return 444;")}, most_sent=0),
        Fault("each connection closes after its answer", "anaconda", 0, front={"server": "keepalive_timeout 0;"}),
        Fault("each answer is cut in its middle", "quetz", 8, front={"location": "proxy_buffering off;"},
              server=[faults.TruncatedAnswer(None, times=None)]),
        Fault("each answer to an upload is cut in its middle", "artifactory", 0, front={"location": "proxy_buffering off;"},
              server=[faults.TruncatedAnswer(None, method="PUT", times=None)]),
        Fault("each file that is read back is cut in its middle", "prefix", 8, front={"location": "proxy_buffering off;"},
              server=[faults.TruncatedAnswer(None, method="GET", path="conda$", times=None)]),
        Fault("502: nothing behind it", "pypi", 8, ("502",), front={"upstream": NOBODY}, most_sent=0),
        *[Fault(f"redirect {status} to another server", kind, 7, (str(status), "does not follow this redirect"), most_sent=0,
                front=on(method, f"return {status} ELSEWHERE$request_uri;"))
          for status, kind, method in ((301, "artifactory", "PUT"), (302, "quetz", "POST"), (303, "prefix", "POST"), (307, "artifactory", "PUT"),
                                       (307, "pypi", "POST"), (308, "anaconda", "POST"))],
    ]


class Front:
    """A double with nginx before it, and how ptpkg is led there."""

    def __init__(self, scratch: pathlib.Path, kind: str, *, certificate=None, server_faults=()) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        self.target = Target(kind, faults=server_faults)
        self.nginx = Nginx(self.folder, self.target.server.url, certificate)

    def flags(self) -> list[str]:
        return [one.replace(self.target.server.url, self.nginx.url) for one in self.target.flags()]

    def start(self, environment: dict, artifact) -> subprocess.Popen:
        return subprocess.Popen([harness.Settings.ptpkg, "publish", artifact, *self.flags()], cwd=self.folder, env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def sent(self) -> int:
        return len([one for one in self.target.server.requests if one.method not in ("GET", "HEAD")])

    def stop(self) -> None:
        self.nginx.close()
        self.target.__exit__()


@functools.cache
def big_package() -> pathlib.Path:
    made = publishing.made()
    recipe = made / "big"
    recipe.mkdir()
    (recipe / "data").write_bytes(secrets.token_bytes(8_000_000))
    (recipe / "recipe.yaml").write_text(
        "package: {name: big, version: '1.0'}\nsource: {path: data}\n"
        "build: {noarch: generic, script: 'mkdir -p $PREFIX/share && cp data $PREFIX/share/big'}\n"
        "about: {license: MIT, summary: big}\nextra: {ptpkg: {formats: [conda]}}\n")
    subprocess.run([harness.Settings.ptpkg, "build", recipe, "--output", made / "out", "--cache-dir", made / "cache", "--quiet"],
                   check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    package, = (made / "out").glob("conda/noarch/*.conda")
    return package


class Case(publishing.Case):
    @classmethod
    def setUpClass(cls) -> None:
        harness.tool("nginx")
        super().setUpClass()
        cls.big = big_package()

    def front(self, kind: str, **options) -> Front:
        front = Front(self.scratch, kind, **options)
        self.addCleanup(front.stop)
        return front

    def run_to(self, front: Front, artifact, **variables) -> tuple[int, str]:
        """Exit code and all that it printed."""
        environment = self.environment(HOME=str(front.folder), **front.target.variables(), **variables)
        process = front.start(environment, artifact)
        try:
            said = process.communicate(timeout=harness.HANGS_AFTER_S)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            said = "HANGS\n" + process.communicate()[0]
        return process.returncode, said

    def assert_there(self, front: Front, artifact) -> None:
        """Once, with its digest, in the index that readers get, and nothing that was begun."""
        digest = harness.sha256(artifact)
        self.assertEqual(front.target.files(), {artifact.name: digest})
        self.assertTrue(front.target.is_clean(), front.target.server.state())
        self.assertEqual(front.target.listed(), {artifact.name: digest})


@dataclasses.dataclass
class Tried:
    """A run with the fault, and one without it."""

    front: Front
    code: int
    said: str
    seconds: float
    sent: int
    there: bool  # after the first of them
    again: int
    said_again: str


class Hostile(Case):
    def try_one(self, fault: Fault, artifact) -> "Tried":
        front = self.front(fault.kind, server_faults=fault.server)
        elsewhere = self.front(fault.kind)
        front.nginx.serve(**{level: text.replace("ELSEWHERE", elsewhere.target.server.url) for level, text in fault.front.items()})
        begin = time.monotonic()
        code, said = self.run_to(front, artifact, **fault.variables)
        seconds, sent, there = time.monotonic() - begin, front.sent(), front.target.files()
        self.assertEqual(elsewhere.target.server.requests, [], fault.name)
        front.target.server.faults.clear()
        front.nginx.serve()
        again, said_again = self.run_to(front, artifact)
        return Tried(front=front, code=code, said=said, seconds=seconds, sent=sent, there=bool(there), again=again, said_again=said_again)

    def test_each_fault(self):
        print(flush=True)
        wheel = publishing.pure_wheel(self.scratch)
        artifact = {True: self.big, False: self.package}
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            tries = [(one, wheel if one.kind == "pypi" else artifact[one.big]) for one in faults_of_nginx()]
            running = [pool.submit(self.try_one, *one) for one in tries]
        for (fault, published), one in zip(tries, running, strict=True):
            tried = one.result()
            print(f"{fault.kind}: {fault.name}: exit {tried.code} after {tried.seconds:.1f} s, the file "
                  f"{'is there' if tried.there else 'is not there'}; without the fault: exit {tried.again}", flush=True)
            with self.subTest(fault.name):
                self.assertEqual((tried.code, tried.again), (fault.exit_code, 0), tried.said + tried.said_again)
                for word in fault.words:
                    self.assertIn(word, tried.said)
                self.assertNotIn(TOKEN, tried.said)
                if fault.most_sent is not None:
                    self.assertLessEqual(tried.sent, fault.most_sent)
                self.assertIn(f"{published.name}: {'there already' if tried.there else 'sent'}", tried.said_again)
                self.assert_there(tried.front, published)

    def test_a_front_that_dies_in_the_middle_of_a_body(self):
        front = self.front("artifactory", server_faults=[faults.Hang(600, when="head", method="PUT", times=None)])
        front.nginx.serve(server="proxy_request_buffering off;")
        process = front.start(self.environment(HOME=str(front.folder), **front.target.variables()), self.big)
        while not front.sent() and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.2)
        front.nginx.stop(signal.SIGKILL)
        said = process.communicate(timeout=harness.HANGS_AFTER_S)[0]
        self.assertEqual(process.returncode, 8, said)
        front.target.server.faults.clear()
        front.nginx.serve()
        self.assertEqual(self.run_to(front, self.big)[0], 0)
        self.assert_there(front, self.big)


class Certificates(Case):
    def test_whom_it_trusts(self):
        made = faults.certificates(self.scratch)
        authority = str(self.scratch / "ca.crt")
        fronts = {name: self.front("artifactory", certificate=certificate) for name, certificate in made.items()}
        for front in fronts.values():
            front.nginx.serve()
        for name, words in (("expired", "expired"), ("other-name", "does not match"), ("self-signed", "self-signed")):
            with self.subTest(name):
                code, said = self.run_to(fronts[name], self.package, SSL_CERT_FILE=authority)
                self.assertEqual(code, 8, said)
                self.assertIn(words, said.replace("self signed", "self-signed").replace("no alternative certificate subject name matches",
                                                                                      "does not match"))
                self.assertIn("SSL_CERT_FILE", said)
                self.assertEqual(fronts[name].target.server.requests, [])
                print(f"certificate, {name}: exit {code}", flush=True)
        good = fronts["good"]
        code, said = self.run_to(good, self.package)
        self.assertEqual(code, 8, said)
        self.assertEqual(good.target.server.requests, [])
        print(f"certificate of an authority that is not the system's: exit {code}", flush=True)
        for variable in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            with self.subTest(variable):
                code, said = self.run_to(good, self.package, **{variable: authority})
                self.assertEqual(code, 0, said)
                print(f"the authority by {variable}: exit {code}", flush=True)
        # The first that is set counts, also when it is wrong.
        code, said = self.run_to(good, self.package, SSL_CERT_FILE=str(self.scratch / "self-signed.crt"), CURL_CA_BUNDLE=authority)
        self.assertEqual(code, 8, said)
        self.assert_there(good, self.package)


if __name__ == "__main__":
    harness.main()
