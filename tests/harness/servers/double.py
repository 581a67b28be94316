"""What every server double shares: listeners, keep-alive, TLS, the record of what was asked, and the seams for faults."""

import dataclasses
import hashlib
import http.server
import itertools
import json
import select
import socket
import ssl
import struct
import threading
import time
import traceback
import urllib.parse

BLOCK = 1 << 16
# An answer ahead of the whole body is followed by reading on for a while: closing with unread data would reset the
# connection and take the answer with it (RFC 9112 §9.6).
LINGER_SECONDS = 2


class Gone(Exception):
    """The connection ends here, without another byte."""


@dataclasses.dataclass
class Answer:
    status: int
    body: bytes = b""
    headers: dict = dataclasses.field(default_factory=dict)
    reason: str | None = None  # of the status line, where a server has its message there


class Refused(Exception):
    """Raised anywhere below Double.handle: this answer, and nothing is carried out after it."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status, answer.body)
        self.answer = answer


def json_answer(status: int, value, **headers: str) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json", **headers})


def text_answer(status: int, text: str, kind: str = "text/plain") -> Answer:
    return Answer(status, text.encode(), {"Content-Type": f"{kind}; charset=utf-8"})


@dataclasses.dataclass
class Request:
    """One request as it came in. After the answer the body is dropped; its length and digest stay."""

    number: int  # of this server, from 1, in the order of the heads
    connection: int  # two requests of one number came over one connection
    listener: str
    method: str
    target: str  # as sent, with the query
    headers: object  # email.message.Message: names in any case, values as sent, Authorization too
    body: bytes = b""
    body_length: int = 0
    body_sha256: str = ""
    complete: bool = False  # the whole body was read
    status: int | None = None  # None: no answer left
    fault: str = ""

    @property
    def path(self) -> str:
        return urllib.parse.urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.target).query, keep_blank_values=True))

    def segments(self) -> list[str]:
        """The parts of the path, decoded one by one: an encoded slash separates nothing."""
        return [urllib.parse.unquote(part) for part in self.path.strip("/").split("/") if part]

    def json(self) -> dict:
        try:
            value = json.loads(self.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise Refused(json_answer(400, {"error": "the body is no JSON object"}))
        return value

    def __str__(self) -> str:
        scheme = self.headers.get("Authorization", "").split(" ")[0]
        marks = [f"[{scheme}]"] * bool(scheme) + [f"!{self.fault}"] * bool(self.fault)
        where = "" if self.listener == "main" else f"{self.listener}:"
        return " ".join([self.method, where + self.target, "->", str(self.status or "nothing"), *marks])


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection. Faults call cut, send and wait."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60  # of an idle or stuck client, in seconds

    def setup(self) -> None:
        super().setup()
        self.double = self.server.double
        self.number = next(self.double.connections)
        self.idle_seconds = None  # a fault's, instead of `timeout`
        if isinstance(self.connection, ssl.SSLSocket):
            self.connection.do_handshake()

    def log_message(self, *_) -> None:
        pass

    def handle_expect_100(self) -> bool:
        self.expects_100 = True  # answered when the body is wanted: a refusal may come instead
        return True

    def handle_one_request(self) -> None:
        self.expects_100 = False
        self.connection.settimeout(self.timeout if self.idle_seconds is None else self.idle_seconds)
        super().handle_one_request()

    def serve(self) -> None:
        self.connection.settimeout(self.timeout)
        request, fault = self.double.begin(self)
        try:
            answer = fault and fault.head(self, request)
            if not answer:
                self.read_body(request, fault and fault.body_limit(request))
                answer = fault and fault.body(self, request)
            if not answer:
                answer = self.double.answer(request)
                if fault:
                    answer = fault.answered(self, request, answer)
            request.body = b""
            self.send(request, answer)
            if fault:
                fault.sent(self, request)
        except (Gone, OSError):
            self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = serve

    def read_body(self, request: Request, limit: int | None) -> None:
        """Reads the body to its end, or `limit` bytes of it and then cuts the connection."""
        length = self.headers.get("Content-Length")
        chunked = self.headers.get("Transfer-Encoding", "").lower() == "chunked"
        if self.expects_100 and (chunked or length):
            self.send_response_only(100)
            self.end_headers()
        left = limit if limit is not None else float("inf")
        blocks, digest = [], hashlib.sha256()
        source = self.chunks() if chunked else self.blocks(int(length or 0))
        try:
            for block in source:
                block = block[:int(min(left, len(block)))]
                left -= len(block)
                blocks.append(block)
                digest.update(block)
                request.body_length += len(block)
                request.body_sha256 = digest.hexdigest()
                if left == 0:
                    self.cut()
        finally:
            request.body_sha256 = digest.hexdigest()
        if limit is not None:
            self.cut()  # the body was shorter
        request.body, request.complete = b"".join(blocks), True

    def blocks(self, length: int):
        while length:
            block = self.rfile.read1(min(length, BLOCK))
            if not block:
                raise Gone("the client left inside the body")
            length -= len(block)
            yield block

    def chunks(self):
        while size := int(self.rfile.readline(100).split(b";")[0] or b"0", 16):
            yield from self.blocks(size)
            self.rfile.readline(3)
        while self.rfile.readline(BLOCK).strip():
            pass

    def send(self, request: Request, answer: Answer, *, kept: int | None = None) -> None:
        """Sends the answer, or its first `kept` bytes and then cuts the connection. Ahead of the whole body: closes."""
        body = b"" if request.method == "HEAD" or answer.status in (204, 304) else answer.body
        self.send_response_only(answer.status, answer.reason)
        headers = {"Date": self.date_time_string(), **answer.headers}
        if answer.status != 204:
            headers.setdefault("Content-Length", str(len(answer.body)))
        if not request.complete:
            headers["Connection"] = "close"
        for name, value in headers.items():
            self.send_header(name, value)
        head = b"".join(self._headers_buffer) + b"\r\n"
        self._headers_buffer = []
        whole = head + body
        # Ahead of the bytes: a client that has them may ask for the record at once.
        request.status = answer.status if kept != 0 else None
        self.wfile.write(whole if kept is None else whole[:kept])
        if kept is not None:
            self.cut(reset=False)
        if not request.complete:
            self.linger()

    def linger(self) -> None:
        try:
            if not isinstance(self.connection, ssl.SSLSocket):
                self.connection.shutdown(socket.SHUT_WR)
            end = time.monotonic() + LINGER_SECONDS
            while (left := end - time.monotonic()) > 0 and select.select([self.connection], [], [], left)[0]:
                if not self.connection.recv(BLOCK):
                    break
        except OSError:
            pass
        raise Gone

    def cut(self, *, reset: bool = True) -> None:
        """Ends the connection: by a TCP reset, or by an orderly end (FIN) in a place where none may be."""
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.server.resets.add(id(self.request))
        raise Gone

    def wait(self, seconds: float) -> None:
        if self.double.stopping.wait(seconds):
            raise Gone


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads, block_on_close, request_queue_size = True, False, 64

    def __init__(self, double: "Double", name: str, context: ssl.SSLContext | None) -> None:
        self.double, self.name, self.context = double, name, context
        self.resets, self.open = set(), set()
        super().__init__(("127.0.0.1", 0), Handler)

    def get_request(self):
        connection, address = super().get_request()
        if self.context:  # the handshake is the connection's own thread's: a stuck one holds up nobody
            connection = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        self.open.add(connection)
        return connection, address

    def shutdown_request(self, request) -> None:
        self.open.discard(request)
        if id(request) in self.resets:
            self.resets.discard(id(request))
            self.close_request(request)
        else:
            super().shutdown_request(request)

    def handle_error(self, request, client_address) -> None:
        self.double.failed(traceback.format_exc())


class Double:
    """A server. A subclass has handle(request) -> Answer and state(); both run under one lock.

    faults: see faults.py. latency: seconds before each request is carried out, outside of the lock.
    certificate: of faults.certificates(); without one the server speaks plain HTTP.
    """

    serial = True  # handle() runs under the lock

    def __init__(self, *, faults=(), latency: float = 0, certificate=None) -> None:
        self.faults, self.latency = list(faults), latency
        self.lock, self.stopping = threading.RLock(), threading.Event()
        self.connections = itertools.count(1)
        self.requests: list[Request] = []
        self.errors: list[str] = []  # what broke in the double itself: a test that sees one is worth nothing
        self.handshakes_refused = 0
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
        self.listeners: list[Listener] = []
        self.url = self.listen("main")

    def listen(self, name: str) -> str:
        """One more origin of this server, by its URL without a slash at the end."""
        listener = Listener(self, name, self.context)
        self.listeners.append(listener)
        threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True).start()
        return f"{'https' if self.context else 'http'}://127.0.0.1:{listener.server_port}"

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.stop()
        if self.errors:
            raise AssertionError("the server double failed:\n" + "\n".join(self.errors))

    def stop(self) -> None:
        self.stopping.set()
        for listener in self.listeners:
            listener.shutdown()
            listener.server_close()
            for connection in list(listener.open):
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def begin(self, handler: Handler):
        """Records a request whose head is read, and picks its fault: the first that matches and is not used up."""
        with self.lock:
            request = Request(len(self.requests) + 1, handler.number, handler.server.name, handler.command, handler.path,
                              handler.headers)
            request.complete = not (handler.headers.get("Content-Length") or handler.headers.get("Transfer-Encoding"))
            self.requests.append(request)
            fault = next((one for one in self.faults if one.takes(request)), None)
            request.fault = fault.name if fault else ""
            return request, fault

    def answer(self, request: Request) -> Answer:
        if self.latency:
            self.stopping.wait(self.latency)
        try:
            if not self.serial:
                return self.handle(request)
            with self.lock:
                return self.handle(request)
        except Refused as refused:
            return refused.answer
        except Exception:  # noqa: BLE001 - whatever it is, the test shall see it
            self.failed(traceback.format_exc())
            return text_answer(500, "the double itself failed")

    def failed(self, trace: str) -> None:
        with self.lock:
            if "do_handshake" in trace:
                self.handshakes_refused += 1
            elif not any(name in trace for name in ("ConnectionResetError", "BrokenPipeError", "ssl.SSL")):
                self.errors.append(trace)

    def handle(self, request: Request) -> Answer:
        raise NotImplementedError

    def state(self) -> dict:
        """What a reader would find here, in types that compare and print as JSON; nothing of how it came here."""
        raise NotImplementedError

    def trace(self, since: int = 0) -> list[str]:
        """The requests after number `since`, a line each."""
        with self.lock:
            return [str(request) for request in self.requests[since:]]
