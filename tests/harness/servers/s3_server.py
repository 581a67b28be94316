"""A bucket of moto, the store that boto3's own users test with, behind the proxy that makes faults (faults.py).

moto keeps everything in memory, answers conditional writes, and asks for a signature without checking it: wrong_signatures()
has botocore do that, over all requests that came.
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import tempfile
import urllib.parse
import urllib.request
import xml.etree.ElementTree

import harness
from servers import faults
from servers.ports import Port

NAMESPACE = {"s3": "http://s3.amazonaws.com/doc/2006-03-01/"}
# moto takes any; without one it serves what is public alone.
SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"}
READ_BY_ALL = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",
                                                       "Resource": "arn:aws:s3:::channel/*"}]}
CHECK = """
import json, sys
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

key, requests = json.load(sys.stdin)
for request in requests:
    said = dict(part.strip().split("=", 1) for part in request["headers"]["authorization"].split(" ", 1)[1].split(","))
    identity, day, region, service, _ = said["Credential"].split("/")
    headers = {name: request["headers"][name] for name in said["SignedHeaders"].split(";")}
    unsigned = [name for name in request["headers"] if name.startswith(("x-amz-", "content-md5", "if-")) and name not in headers]
    made = AWSRequest(request["method"], request["url"], headers=headers)
    made.context["timestamp"] = headers["x-amz-date"]
    auth = S3SigV4Auth(Credentials(identity, key), service, region)
    signature = auth.signature(auth.string_to_sign(made, auth.canonical_request(made)), made)
    if signature != said["Signature"] or unsigned:
        print(request["method"], request["url"], unsigned)
"""


class Moto:
    """The server process; one serves the tests of a class, each with a bucket that is emptied before."""

    def __init__(self) -> None:
        self.port = Port()
        self.url = f"http://127.0.0.1:{self.port.number}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-moto-"))
        self.process = self.port.serve([harness.peer_program("moto_server"), "-H", "127.0.0.1", "-p", self.port.number],
                                       self.folder / "server.log")

    def ask(self, method: str, target: str, body: bytes | None = None, **headers: str) -> tuple[bytes, dict]:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        request = urllib.request.Request(self.url + target, body, {**SIGNED, **named}, method=method)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=harness.HANGS_AFTER_S) as answer:
            return answer.read(), {name.lower(): text for name, text in answer.headers.items()}

    def empty(self) -> None:
        self.ask("POST", "/moto-api/reset", b"")
        self.ask("PUT", "/channel", b"")
        self.ask("PUT", "/channel?policy", json.dumps(READ_BY_ALL).encode(), Content_Type="application/json")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.port.close()
        shutil.rmtree(self.folder)


class WithMoto:
    """Before harness.Case in the bases of a class: `self.moto` serves its tests."""

    @classmethod
    def setUpClass(cls) -> None:
        harness.peers_python()
        super().setUpClass()
        cls.moto = Moto()
        cls.addClassCleanup(cls.moto.stop)


class S3Server(faults.Proxy):
    """The bucket 'channel', as ptpkg is led to it. Requests are carried out one by one: moto does not look and write at once.

    conditions=False: a store that answers 501 to a write under a condition, as the S3 interface of OpenStack Swift does.
    """

    serial = True

    def __init__(self, moto: Moto, *, conditions: bool = True, **options) -> None:
        self.moto, self.conditions = moto, conditions
        self.largest_body = 0
        moto.empty()
        super().__init__(moto.url, **options)

    def handle(self, request):
        self.largest_body = max(self.largest_body, request.body_length)
        conditional = {"if-match", "if-none-match"} & {name.lower() for name in request.headers}
        if not self.conditions and conditional and request.method in ("PUT", "POST"):
            return faults.Answer(501, b"<Error><Code>NotImplemented</Code><Message>no conditions here</Message></Error>",
                                 {"Content-Type": "application/xml"})
        sent = request.headers.get("x-amz-content-sha256")
        if sent != hashlib.sha256(request.body).hexdigest():  # as S3; moto does not look
            if request.headers.get("Authorization"):
                return faults.Answer(400, b"<Error><Code>XAmzContentSHA256Mismatch</Code></Error>")
        return super().handle(request)

    def keys(self) -> list[str]:
        listed, _ = self.moto.ask("GET", "/channel?list-type=2")
        return [item.text for item in xml.etree.ElementTree.fromstring(listed).iterfind("s3:Contents/s3:Key", NAMESPACE)]

    def read(self, key: str) -> bytes:
        return self.moto.ask("GET", "/channel/" + urllib.parse.quote(key))[0]

    def told(self, key: str) -> dict:
        """Headers of an object."""
        return self.moto.ask("HEAD", "/channel/" + urllib.parse.quote(key))[1]

    def state(self) -> dict[str, str]:
        """sha256 by key; what an object says of itself is true."""
        state = {}
        for key in self.keys():
            state[key] = hashlib.sha256(self.read(key)).hexdigest()
            said = self.told(key).get("x-amz-meta-sha256")
            assert said == state[key], f"{key}: {said} is told, and {state[key]} is true"
        return state

    def wrong_signatures(self, key: str) -> str:
        """The requests whose signatures botocore does not make of this secret, a line each."""
        signed = [{"method": one.method, "url": self.url + one.target,
                   "headers": {name.lower(): text for name, text in one.headers.items()}}
                  for one in self.requests if one.headers.get("Authorization")]
        assert signed
        done = subprocess.run([harness.peers_python(), "-c", CHECK], input=json.dumps([key, signed]), text=True,
                              capture_output=True, check=True)
        return done.stdout
