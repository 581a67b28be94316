"""Each request of each target is cut, refused or left without an answer in turn, and publishing is tried once more. At the
end the server has exactly the artifact, once, with the right digest, and nothing that was begun. The tally is printed.
"""

import subprocess

import harness
import publishing
from publishing import Target
from servers import faults

FAULTS = {
    "cut before the body": lambda n: faults.Cut(when="head", number=n),
    "cut in the body": lambda n: faults.CutInBody(100, number=n),
    "cut before it is carried out": lambda n: faults.Cut(when="body", number=n),
    "carried out, no answer": lambda n: faults.Cut(when="answer", number=n),
    "carried out, answer 500": lambda n: faults.Status(500, when="answer", number=n),
    "503 with Retry-After": lambda n: faults.Status(503, when="head", number=n, headers={"Retry-After": "1"}),
    "429": lambda n: faults.Status(429, when="head", number=n),
    "idle close": lambda n: faults.IdleClose(number=n),
}


class Faults(publishing.Case):
    def test_each_request_in_turn(self):
        print(flush=True)
        wheel = publishing.pure_wheel(self.scratch)
        for kind in ("anaconda", "quetz", "artifactory", "prefix", "pypi"):
            artifact = wheel if kind == "pypi" else self.package
            with Target(kind) as target:
                self.publish_to(target, artifact)
                requests = len(target.server.requests)
            for name, fault in FAULTS.items():
                at_once = 0
                for number in range(1, requests + 1):
                    with self.subTest(kind, fault=name, request=number), Target(kind, faults=[fault(number)]) as target:
                        first = self.run_publish(target, artifact)
                        self.assertTrue(any(one.fault for one in target.server.requests))
                        at_once += first == 0
                        if first != 0:
                            self.publish_to(target, artifact)
                        self.assertEqual(target.files(), {artifact.name: harness.sha256(artifact)})
                        self.assertTrue(target.is_clean(), target.server.state())
                print(f"{kind}: {name}: {requests} requests, {at_once} went well at once", flush=True)
                self.assertEqual(at_once, requests)

    def run_publish(self, target: Target, artifact) -> int:
        done = subprocess.run([harness.Settings.ptpkg, "publish", artifact, *target.flags()], cwd=self.scratch,
                              env=self.environment(HOME=str(self.scratch), **target.variables()), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertIn(done.returncode, (0, 7, 8), done.stdout)
        self.assertNotIn(publishing.TOKEN, done.stdout)
        return done.returncode

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


if __name__ == "__main__":
    harness.main()
