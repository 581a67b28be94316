"""Faults of servers and networks, for any double: server.faults.append(Cut(method="POST", path="/commit/")).

Which request: number= (of the server, from 1), method=, path= (a regular expression searched in the target, with the
query), listener=; what is not given fits all. skip= lets the first matching ones pass, times= says how many are hit after
that (None: all). The first fault of the list that fits takes the request.
"""

import http.client
import pathlib
import re
import subprocess
import urllib.parse

import harness
from servers.double import Answer, Double, Handler, Request, text_answer


class Fault:
    """The seams of one exchange, in order. What a fault does not override stays as it is."""


    def __init__(self, *, number: int | None = None, method: str | None = None, path: str | None = None,
                 listener: str | None = None, skip: int = 0, times: int | None = 1) -> None:
        self.number, self.method, self.path, self.listener = number, method, path, listener
        self.skip, self.times = skip, times
        self.name = type(self).__name__

    def takes(self, request: Request) -> bool:
        wanted = ((self.number, request.number), (self.method, request.method), (self.listener, request.listener))
        if any(want is not None and want != have for want, have in wanted):
            return False
        if self.path is not None and not re.search(self.path, request.target):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0

    def body_limit(self, request: Request) -> int | None:
        """How many bytes of the body are read before the connection is cut."""

    def head(self, handler: Handler, request: Request) -> Answer | None:
        """The head is read, nothing of the body. An answer takes the place of all that would follow."""

    def body(self, handler: Handler, request: Request) -> Answer | None:
        """The body is read, nothing is carried out; an answer likewise."""

    def answered(self, handler: Handler, request: Request, answer: Answer) -> Answer:
        """The request is carried out, nothing of the answer is sent."""
        return answer

    def sent(self, handler: Handler, request: Request) -> None:
        """The answer is sent."""


class Cut(Fault):
    """The connection ends: before the body is read, after the body but before anything is carried out, or carried out
    and without an answer (when="head", "body", "answer"; the last is the ambiguous one). reset=False: by FIN, not RST."""

    def __init__(self, *, when: str = "answer", reset: bool = True, **which) -> None:
        super().__init__(**which)
        assert when in ("head", "body", "answer")
        self.when, self.reset = when, reset
        self.name = f"Cut({when})"

    def head(self, handler, request):
        if self.when == "head":
            handler.cut(reset=self.reset)

    def body(self, handler, request):
        if self.when == "body":
            handler.cut(reset=self.reset)

    def answered(self, handler, request, answer):
        if self.when == "answer":
            handler.cut(reset=self.reset)
        return answer


class CutInBody(Fault):
    """Reset after `read` bytes of the body, at the latest at its end; None: in its middle. Nothing is carried out."""

    def __init__(self, read: int | None = None, **which) -> None:
        super().__init__(**which)
        assert read is None or read > 0, "Cut(when='head') reads nothing"
        self.read, self.name = read, f"CutInBody({read or 'middle'})"

    def body_limit(self, request):
        return self.read or max(1, int(request.headers.get("Content-Length", 0)) // 2)


class TruncatedAnswer(Fault):
    """Carried out; the first `kept` bytes of the answer leave (its head counts), then the connection ends.
    kept < 0: all but so many. None: half of its body, or half of its head where it has no body."""

    def __init__(self, kept: int | None = -1, **which) -> None:
        super().__init__(**which)
        self.kept, self.name = kept, f"TruncatedAnswer({'middle' if kept is None else kept})"

    def answered(self, handler, request, answer):
        if self.kept is None:
            has_body = answer.body and request.method != "HEAD" and answer.status not in (204, 304)
            handler.send(request, answer, kept=-(len(answer.body) + 1) // 2 if has_body else len("HTTP/1.1 200 OK\r\nDa"))
            return answer
        assert self.kept >= 0 or len(answer.body) >= -self.kept, "the answer is shorter than what shall be missing"
        handler.send(request, answer, kept=self.kept)
        return answer


class Status(Fault):
    """Another answer: after the head ("head", as a proxy refuses), after the body ("body"), or in place of the true one
    when all is carried out ("answer"). headers: e.g. {"Retry-After": "1"}."""

    def __init__(self, status: int, *, when: str = "body", headers: dict | None = None, body: bytes | None = None,
                 **which) -> None:
        super().__init__(**which)
        assert when in ("head", "body", "answer")
        self.when, self.name = when, f"Status({status}, {when})"
        self.instead = text_answer(status, f"{status} on demand\n")
        if body is not None:
            self.instead.body = body
        self.instead.headers.update(headers or {})

    def head(self, handler, request):
        return self.instead if self.when == "head" else None

    def body(self, handler, request):
        return self.instead if self.when == "body" else None

    def answered(self, handler, request, answer):
        return self.instead if self.when == "answer" else answer


class Redirect(Fault):
    """To the same target of another origin, after the body is read; nothing is carried out. `to`: "http://host:port"."""

    def __init__(self, to: str, *, status: int = 307, **which) -> None:
        super().__init__(**which)
        self.to, self.status, self.name = to, status, f"Redirect({status})"

    def body(self, handler, request):
        return Answer(self.status, headers={"Location": self.to + request.target})


class Hang(Fault):
    """Nothing for so many seconds, then all goes on: before the body is read, before the request is carried out, or
    between that and the answer. times=None and a short time make a server with latency."""

    def __init__(self, seconds: float, *, when: str = "answer", **which) -> None:
        super().__init__(**which)
        assert when in ("head", "body", "answer")
        self.seconds, self.when, self.name = seconds, when, f"Hang({seconds}, {when})"

    def head(self, handler, request):
        if self.when == "head":
            handler.wait(self.seconds)

    def body(self, handler, request):
        if self.when == "body":
            handler.wait(self.seconds)

    def answered(self, handler, request, answer):
        if self.when == "answer":
            handler.wait(self.seconds)
        return answer


class IdleClose(Fault):
    """The answer promises a connection that stays, and the server closes it after so many seconds without a request.
    0: at once. A client that reuses it must see the end, and know that nothing was carried out."""

    def __init__(self, seconds: float = 0, **which) -> None:
        super().__init__(**which)
        self.seconds, self.name = seconds, f"IdleClose({seconds})"

    def sent(self, handler, request):
        handler.idle_seconds = self.seconds
        if not self.seconds:
            handler.close_connection = True


class Proxy(Double):
    """The same faults in front of a server that is no double (pypiserver, devpi, an object store): forwards one request
    after another, each over a connection of its own, with the Host of the client so that signatures hold."""

    serial = False
    HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "expect", "date")

    def __init__(self, upstream: str, **options) -> None:
        self.upstream = urllib.parse.urlsplit(upstream)
        super().__init__(**options)

    def handle(self, request: Request) -> Answer:
        connection = http.client.HTTPConnection(self.upstream.hostname, self.upstream.port, timeout=harness.HANGS_AFTER_S)
        try:
            connection.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers.items():
                if name.lower() not in self.HOP:
                    connection.putheader(name, value)
            if request.body or request.method in ("POST", "PUT", "PATCH"):
                connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body or None)
            got = connection.getresponse()
            headers = {name: value for name, value in got.getheaders() if name.lower() not in self.HOP}
            if request.method == "HEAD" and got.getheader("Content-Length"):
                headers["Content-Length"] = got.getheader("Content-Length")
            return Answer(got.status, got.read(), headers)
        finally:
            connection.close()

    def state(self) -> dict:
        return {}


def certificates(folder: pathlib.Path) -> dict[str, tuple[str, str]]:
    """Made with openssl(1) in `folder`: what Double(certificate=…) takes, by what a client that trusts `folder`/ca.crt
    and asks for 127.0.0.1 must think of it: "good", "other-name" (of the same authority), "self-signed", "expired"."""
    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def selfsigned(name: str, subject: str, *more: str) -> None:
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={subject}",
                "-keyout", f"{name}.key", "-out", f"{name}.crt", "-days", "2", *more)

    def issued(name: str, alternative: str, *dates: str) -> None:
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (folder / f"{name}.ext").write_text(f"subjectAltName={alternative}\n")
        openssl("ca", "-batch", "-config", "ca.conf", "-in", f"{name}.csr", "-out", f"{name}.crt", "-notext",
                "-extfile", f"{name}.ext", *dates)

    (folder / "ca.conf").write_text("[ca]\ndefault_ca=a\n[a]\ndatabase=index\nserial=serial\nnew_certs_dir=.\n"
                                    "certificate=ca.crt\nprivate_key=ca.key\ndefault_md=sha256\npolicy=p\n"
                                    "unique_subject=no\n[p]\ncommonName=supplied\n")
    (folder / "index").write_text("")
    (folder / "serial").write_text("01\n")
    selfsigned("ca", "authority of the test")
    selfsigned("self-signed", "self-signed", "-addext", "subjectAltName=IP:127.0.0.1")
    issued("good", "IP:127.0.0.1", "-days", "2")
    issued("other-name", "DNS:other.example", "-days", "2")
    issued("expired", "IP:127.0.0.1", "-startdate", "20200101000000Z", "-enddate", "20200102000000Z")
    names = ("good", "other-name", "self-signed", "expired")
    return {name: (str(folder / f"{name}.crt"), str(folder / f"{name}.key")) for name in names}
