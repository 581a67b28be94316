"""Faults of the server doubles, seen by a plain client: what it gets, what the server keeps and records."""

import hashlib
import http.client
import ssl
import subprocess
import select
import time
import urllib.parse

import harness
from servers import faults
from servers.double import Answer, Double, text_answer


class Shelf(Double):
    """PUT keeps, GET gives back."""

    def __init__(self, **options) -> None:
        self.kept: dict[str, bytes] = {}
        super().__init__(**options)

    def handle(self, request) -> Answer:
        if request.method == "PUT":
            self.kept[request.path] = request.body
            return text_answer(201, "kept")
        return Answer(200, self.kept[request.path]) if request.path in self.kept else text_answer(404, "none")

    def state(self) -> dict:
        return dict(self.kept)


class Faults(harness.Case):
    BODY = bytes(range(256)) * 4096  # 1 MiB: more than the buffers of a connection

    def connect(self, url: str, **options) -> http.client.HTTPConnection:
        parts = urllib.parse.urlsplit(url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname, parts.port, timeout=harness.HANGS_AFTER_S, **options)
        self.addCleanup(connection.close)
        return connection

    def put(self, connection, path: str = "/a", body: bytes = BODY):
        connection.request("PUT", path, body, {"Authorization": "token t"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def lost(self, server) -> None:
        """The PUT is cut off without an answer."""
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            self.put(self.connect(server.url))
        self.assertIsNone(server.requests[-1].status)

    def test_without_a_fault(self):
        with Shelf() as server:
            connection = self.connect(server.url)
            self.assertEqual(self.put(connection, "/a?b=c"), (201, b"kept"))
            connection.request("GET", "/a")
            self.assertEqual(connection.getresponse().read(), self.BODY)
            self.assertEqual(server.trace(), ["PUT /a?b=c -> 201 [token]", "GET /a -> 200"])
            first, second = server.requests
            self.assertEqual(first.connection, second.connection)
            self.assertEqual((first.body_length, first.body_sha256), (len(self.BODY), hashlib.sha256(self.BODY).hexdigest()))
            self.assertEqual(first.headers["authorization"], "token t")
            self.assertEqual(server.state(), {"/a": self.BODY})

    def test_chunks(self):
        with Shelf() as server:
            connection = self.connect(server.url)
            self.assertEqual(self.put(connection, body=iter([b"one", b"two"])), (201, b"kept"))
            self.assertEqual(server.kept, {"/a": b"onetwo"})

    def test_cut(self):
        for when, kept, length in (("head", 0, 0), ("body", 0, len(self.BODY)), ("answer", 1, len(self.BODY))):
            for reset in (True, False):
                with self.subTest(when, reset=reset), Shelf(faults=[faults.Cut(when=when, reset=reset)]) as server:
                    self.lost(server)
                    self.assertEqual((len(server.kept), server.requests[0].body_length), (kept, length))
                    self.assertEqual(self.put(self.connect(server.url))[0], 201)  # once, then no more
                    self.assertEqual(server.trace()[0], f"PUT /a -> nothing [token] !Cut({when})")

    def test_cut_in_the_body(self):
        for read in (1, 1000, len(self.BODY) - 1, len(self.BODY)):
            with self.subTest(read), Shelf(faults=[faults.CutInBody(read)]) as server:
                self.lost(server)
                self.assertEqual((server.kept, server.requests[0].body_length), ({}, read))

    def test_truncated_answer(self):
        for kept, error in ((-1, http.client.IncompleteRead), (10, http.client.HTTPException), (0, http.client.HTTPException)):
            with self.subTest(kept), Shelf(faults=[faults.TruncatedAnswer(kept)]) as server:
                with self.assertRaises(error):
                    self.put(self.connect(server.url))
                self.assertEqual(server.kept, {"/a": self.BODY})

    def test_status(self):
        for status in (500, 503, 429, 413, 408):
            for when in ("head", "body", "answer"):
                fault = faults.Status(status, when=when, headers={"Retry-After": "1"})
                with self.subTest(status, when=when), Shelf(faults=[fault]) as server:
                    connection = self.connect(server.url)
                    connection.putrequest("PUT", "/a")
                    connection.putheader("Content-Length", str(len(self.BODY)))
                    connection.endheaders(None if when == "head" else self.BODY)
                    answer = connection.getresponse()
                    self.assertEqual((answer.status, answer.getheader("Retry-After")), (status, "1"))
                    self.assertEqual(answer.getheader("Connection"), "close" if when == "head" else None)
                    self.assertEqual(len(server.kept), when == "answer")

    def test_an_early_answer_reaches_a_client_that_sends_on(self):
        with Shelf(faults=[faults.Status(413, when="head")]) as server:
            self.assertEqual(self.put(self.connect(server.url))[0], 413)
            self.assertEqual(server.requests[0].body_length, 0)

    def test_expect_100_is_answered_only_for_a_wanted_body(self):
        with Shelf(faults=[faults.Status(413, when="head")]) as server:
            for status, length in (("413", 0), ("201", len(self.BODY))):
                curl = [harness.tool("curl"), "-s", "-T", "-", "-H", "Expect: 100-continue", "-o", "/dev/null", "-w",
                        "%{http_code} %{size_upload}", f"{server.url}/a"]
                done = subprocess.run(curl, input=self.BODY, capture_output=True, check=True)
                self.assertEqual(done.stdout.decode().split()[0], status)
                self.assertEqual(server.requests[-1].body_length, length)

    def test_hang(self):
        for when, kept in (("head", 0), ("body", 0), ("answer", 1)):
            with self.subTest(when), Shelf(faults=[faults.Hang(30, when=when)]) as server:
                connection = self.connect(server.url)
                connection.timeout = 0.3
                with self.assertRaises(TimeoutError):
                    self.put(connection, body=b"x")
                self.wait_for(lambda: len(server.kept) >= kept)
                self.assertEqual(len(server.kept), kept)
        with Shelf(faults=[faults.Hang(0.2, times=None)]) as server:
            begin = time.monotonic()
            self.assertEqual(self.put(self.connect(server.url))[0], 201)
            self.assertGreater(time.monotonic() - begin, 0.2)

    def test_idle_close(self):
        for seconds in (0, 0.1):
            with self.subTest(seconds), Shelf(faults=[faults.IdleClose(seconds)]) as server:
                connection = self.connect(server.url)
                connection.request("PUT", "/a", b"1")
                answer = connection.getresponse()
                answer.read()
                self.assertIsNone(answer.getheader("Connection"))
                select.select([connection.sock], [], [], harness.HANGS_AFTER_S)  # the end that the server sends
                with self.assertRaises(ConnectionError):
                    self.put(connection, body=b"2")
                self.assertEqual(server.kept, {"/a": b"1"})

    def test_redirect_to_another_host(self):
        with Shelf() as other, Shelf(faults=[faults.Redirect(other.url)]) as server:
            connection = self.connect(server.url)
            connection.request("PUT", "/a?b", b"1")
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.getheader("Location")), (307, f"{other.url}/a?b"))
            self.assertEqual((server.kept, other.requests), ({}, []))

    def test_certificates(self):
        harness.tool("openssl")
        made = faults.certificates(self.scratch)
        trusting = ssl.create_default_context(cafile=str(self.scratch / "ca.crt"))
        with Shelf(certificate=made["good"], faults=[faults.Cut(number=2)]) as server:
            self.assertEqual(self.put(self.connect(server.url, context=trusting))[0], 201)
            with self.assertRaises(OSError):
                self.put(self.connect(server.url, context=trusting))
        for name, reason in (("other-name", "IP address mismatch"), ("self-signed", "self-signed"), ("expired", "expired")):
            with self.subTest(name), Shelf(certificate=made[name]) as server:
                with self.assertRaisesRegex(ssl.SSLCertVerificationError, reason):
                    self.put(self.connect(server.url, context=trusting))
                self.assertEqual(server.requests, [])

    def test_which_request(self):
        chosen = [faults.Status(501, number=2), faults.Status(502, method="GET", path=r"/b\?x=\d"),
                  faults.Status(503, path="/c", skip=1, times=2)]
        with Shelf(faults=chosen) as server:
            connection = self.connect(server.url)
            for method, target in (("PUT", "/b?x=1"), ("PUT", "/b"), ("GET", "/b?x=1"), ("GET", "/b?x=1"), *[("GET", "/c")] * 4):
                connection.request(method, target, b"")
                connection.getresponse().read()
            self.assertEqual([request.status for request in server.requests], [201, 501, 502, 200, 404, 503, 503, 404])

    def test_proxy_in_front_of_another_server(self):
        with Shelf() as upstream, faults.Proxy(upstream.url, faults=[faults.Cut(number=1), faults.CutInBody(9, number=2)]) as proxy:
            for _ in range(2):
                self.lost(proxy)
            self.assertEqual(self.put(self.connect(proxy.url)), (201, b"kept"))
            self.assertEqual(upstream.trace(), ["PUT /a -> 201 [token]"] * 2)
            self.assertEqual(upstream.requests[0].headers["Host"], proxy.url.removeprefix("http://"))


if __name__ == "__main__":
    harness.main()
