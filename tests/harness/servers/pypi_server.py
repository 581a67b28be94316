"""PyPI's legacy upload and simple index, with trusted publishing.

Source: the core metadata and simple-index specifications, PyPI's documentation of its upload API and of trusted
publishing, and what twine 7 and uv 0.13 send. style= changes only how a second upload of a name is answered, and with
"devpi" and "pypiserver" the rules that are PyPI's own (platform tags, local versions) are off.
"""

import base64
import binascii
import dataclasses
import email.parser
import hashlib
import html
import io
import itertools
import re
import time
import urllib.parse
import zipfile

from servers import multipart
from servers.double import Answer, Double, Refused, Request, json_answer, text_answer
from servers.oidc import Issuer

WHEEL = re.compile(r"(?P<name>[A-Za-z0-9_.]+)-(?P<version>[^-]+)(-(?P<build>\d[^-]*))?-(?P<python>[^-]+)-(?P<abi>[^-]+)-"
                   r"(?P<platform>[^-]+)\.whl$")
SDIST = re.compile(r"(?P<name>[A-Za-z0-9_.]+)-(?P<version>[^-]+)\.tar\.gz$")
PLATFORM = re.compile(r"any|win32|win_(?:amd64|arm64)|macosx_\d+_\d+_\w+|(?:many|musl)linux_\d+_\d+_\w+|manylinux(?:1|2010|2014)_\w+")
JSON_TYPE = "application/vnd.pypi.simple.v1+json"
DIGESTS = {"md5_digest": lambda: hashlib.md5(), "sha256_digest": lambda: hashlib.sha256(),
           "blake2_256_digest": lambda: hashlib.blake2b(digest_size=32)}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def refused(status: int, message: str) -> Refused:
    """The message is in the status line too: twine shows nothing else."""
    answer = text_answer(status, f"{status} {message}")
    answer.reason = message
    return Refused(answer)


@dataclasses.dataclass
class File:
    content: bytes
    sha256: str
    blake2: str
    metadata: bytes | None
    fields: dict[str, list[str]]


class PypiServer(Double):
    """upload_url takes files, simple_url is the index. token: of the user __token__; more come from mint-token.

    style: "pypi" (the same bytes again 200, others 400), "devpi" (200, 409), "pypiserver" (409, to twine 400, the same bytes
    too). trusts: an issuer whose tokens mint-token takes, for jobs whose claims contain `publisher`.
    largest_bytes: 413 above it. local_versions, any_platform: what PyPI refuses and others take.
    """

    def __init__(self, *, token: str = "pypi-token-of-the-test", style: str = "pypi", trusts: Issuer | None = None,
                 publisher: dict | None = None, largest_bytes: int = 100 << 20, token_seconds: float = 900, **options) -> None:
        assert style in ("pypi", "devpi", "pypiserver")
        self.style, self.trusts, self.publisher = style, trusts, publisher or {}
        self.largest_bytes, self.token_seconds = largest_bytes, token_seconds
        self.tokens: dict[str, float] = {token: float("inf")}  # → when it ends
        self.files: dict[str, dict[str, File]] = {}  # by normalized project and file name
        self.ids = itertools.count(1)
        super().__init__(**options)
        self.upload_url, self.simple_url = f"{self.url}/legacy/", f"{self.url}/simple/"

    def handle(self, request: Request) -> Answer:
        route, *rest = request.segments() or [""]
        if request.path == "/legacy/" and request.method == "POST":
            return self.upload(request)
        if request.path == "/legacy/" or (route == "_" and rest[-1:] in (["mint-token"], ["burn-token"]) and request.method != "POST"):
            raise refused(405, "Method Not Allowed")
        if (route, rest, request.method) == ("_", ["oidc", "audience"], "GET") and self.trusts:
            return json_answer(200, {"audience": "pypi"})
        if (route, rest) == ("_", ["oidc", "mint-token"]) and self.trusts:
            return self.mint(request)
        if (route, rest) == ("_", ["oidc", "burn-token"]) and self.trusts:
            return self.burn(request)
        if request.method in ("GET", "HEAD"):
            if route == "simple" and len(rest) <= 1:
                return self.simple(request, rest[0] if rest else None)
            if route == "files" and len(rest) == 1:
                return self.download(rest[0])
        raise refused(404, "Not Found")

    # Who asks.

    def authorize(self, request: Request) -> None:
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        try:
            user, _, token = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            user = token = ""
        if scheme.lower() != "basic" or user != "__token__" or self.tokens.get(token, 0) < time.time():
            raise refused(403, "Invalid or non-existent authentication information.")

    def mint(self, request: Request) -> Answer:
        try:
            claims = self.trusts.verify(request.json().get("token", ""), "pypi")
            if not self.publisher.items() <= claims.items():
                raise ValueError("valid token, but no corresponding publisher")
        except (ValueError, KeyError, IndexError) as error:
            return json_answer(422, {"message": "Token request failed",
                                     "errors": [{"code": "invalid-publisher", "description": str(error)}]})
        token = f"pypi-minted-{next(self.ids)}"
        self.tokens[token] = time.time() + self.token_seconds
        return json_answer(200, {"success": True, "token": token, "expires": int(self.tokens[token])})

    def burn(self, request: Request) -> Answer:
        """The end of a minted token ahead of its time (PyPI since June 2026, uv since September; warehouse #20197).
        Assumed: 204 whether there was such a token or not."""
        token = request.json().get("token")
        if not isinstance(token, str):
            raise refused(422, "token must be a text")
        if token.startswith("pypi-minted-"):
            self.tokens.pop(token, None)
        return Answer(204)

    # Upload.

    def upload(self, request: Request) -> Answer:
        self.authorize(request)
        if request.body_length > self.largest_bytes:
            raise refused(413, f"File too large. Limit is {self.largest_bytes >> 20} MB.")
        fields: dict[str, list[str]] = {}
        content = filename = None
        for part in multipart.parts(request):
            if part.name == "content":
                if content is not None or not part.filename:
                    raise refused(400, "content must come once, with a file name")
                content, filename = part.content, part.filename
            else:
                fields.setdefault(part.name, []).append(part.text)
        if content is None:
            raise refused(400, "Upload payload does not have a file.")
        name = self.check_fields(fields, filename)
        sums = self.check_digests(fields, content)
        metadata = self.check_file(fields, filename, content)
        there = self.files.get(name, {}).get(filename)
        if there:
            return self.duplicate(request, filename, there, there.sha256 == sums["sha256_digest"])
        self.files.setdefault(name, {})[filename] = File(content, sums["sha256_digest"], sums["blake2_256_digest"], metadata, fields)
        return text_answer(200, "")

    def check_fields(self, fields: dict[str, list[str]], filename: str) -> str:
        """The normalized name of the project."""
        def one(name: str) -> str:
            values = fields.get(name, [])
            if len(values) != 1 or not values[0]:
                raise refused(400, f"'{name}' must come once: {values}")
            return values[0]

        if (one(":action"), one("protocol_version")) != ("file_upload", "1"):
            raise refused(400, "Invalid :action or protocol_version")
        if not re.match(r"[12]\.\d$", one("metadata_version")):
            raise refused(400, f"'{one('metadata_version')}' is an invalid value for Metadata-Version.")
        kind = one("filetype")
        shape = {"bdist_wheel": WHEEL, "sdist": SDIST}.get(kind)
        match = shape.match(filename) if shape else None
        if not match:
            raise refused(400, f"Invalid file name '{filename}' for filetype '{kind}'")
        if normalized(match["name"]) != normalized(one("name")) or match["version"] != one("version").replace("-", "_"):
            raise refused(400, f"'{filename}' is not of {one('name')} {one('version')}")
        if one("pyversion") != (match["python"] if kind == "bdist_wheel" else "source"):
            raise refused(400, f"pyversion '{one('pyversion')}' is not of '{filename}'")
        if self.style == "pypi":
            if "+" in one("version"):
                raise refused(400, f"The use of local versions in '{one('version')}' is not allowed.")
            for tag in match["platform"].split(".") if kind == "bdist_wheel" else ():
                if not PLATFORM.fullmatch(tag):
                    raise refused(400, f"Binary wheel '{filename}' has an unsupported platform tag '{tag}'.")
        return normalized(one("name"))

    @staticmethod
    def check_digests(fields: dict[str, list[str]], content: bytes) -> dict[str, str]:
        sums = {}
        for name, make in DIGESTS.items():
            digest = make()
            digest.update(content)
            sums[name] = digest.hexdigest()
            if fields.get(name, [sums[name]]) != [sums[name]]:
                raise refused(400, f"The digest supplied as {name} does not match a digest calculated from the uploaded file.")
        if not set(fields) & set(DIGESTS):
            raise refused(400, "Include at least one message digest.")
        return sums

    @staticmethod
    def check_file(fields: dict[str, list[str]], filename: str, content: bytes) -> bytes | None:
        """METADATA of a wheel, which must say what the form says."""
        match = WHEEL.match(filename)
        if not match:
            return None
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                if archive.testzip():
                    raise zipfile.BadZipFile("a member is damaged")
                metadata = archive.read(f"{match['name']}-{match['version']}.dist-info/METADATA")
        except (zipfile.BadZipFile, KeyError) as error:
            raise refused(400, f"Invalid distribution file: {error}") from error
        headers = email.parser.BytesParser().parsebytes(metadata, headersonly=True)
        told = {"metadata_version": headers["Metadata-Version"], "version": headers["Version"],
                "requires_python": headers["Requires-Python"], "summary": headers["Summary"]}
        for name, value in told.items():
            if value is not None and name in fields and fields[name] != [value]:
                raise refused(400, f"{name} {fields[name]} is not that of METADATA, {value}")
        if normalized(headers["Name"]) != normalized(fields["name"][0]):
            raise refused(400, "name is not that of METADATA")
        if "requires_dist" in fields and fields["requires_dist"] != headers.get_all("Requires-Dist"):
            raise refused(400, "requires_dist is not that of METADATA")
        return metadata

    def duplicate(self, request: Request, filename: str, there: File, same: bool) -> Answer:
        if self.style == "pypiserver":
            twine = "twine" in request.headers.get("User-Agent", "")
            raise refused(400 if twine else 409, f"Package {filename!r} already exists!")
        if same:
            return text_answer(200, "")
        if self.style == "devpi":
            raise refused(409, f"{filename} already exists in non-volatile index")
        raise refused(400, f"File already exists ('{filename}', with blake2_256 hash '{there.blake2}').")

    # The index.

    def simple(self, request: Request, project: str | None) -> Answer:
        as_json = JSON_TYPE in request.headers.get("Accept", "")
        if not request.path.endswith("/"):
            return Answer(301, headers={"Location": f"{request.path}/"})
        if project is None:
            if as_json:
                return json_answer(200, {"meta": {"api-version": "1.1"}, "projects": [{"name": name} for name in sorted(self.files)]},
                                   **{"Content-Type": JSON_TYPE})
            links = "".join(f'<a href="/simple/{name}/">{name}</a>\n' for name in sorted(self.files))
            return text_answer(200, f"<!DOCTYPE html>\n{links}", "text/html")
        if project != normalized(project):
            return Answer(301, headers={"Location": f"/simple/{normalized(project)}/"})
        if project not in self.files:
            raise refused(404, "Not Found")
        entries = sorted(self.files[project].items())
        if as_json:
            return json_answer(200, {"meta": {"api-version": "1.1"}, "name": project,
                                     "versions": sorted({file.fields["version"][0] for _, file in entries}),
                                     "files": [self.json_entry(*entry) for entry in entries]}, **{"Content-Type": JSON_TYPE})
        links = "".join(self.html_entry(*entry) for entry in entries)
        return text_answer(200, f"<!DOCTYPE html>\n{links}", "text/html")

    def json_entry(self, filename: str, file: File) -> dict:
        entry = {"filename": filename, "url": f"{self.url}/files/{urllib.parse.quote(filename)}", "size": len(file.content),
                 "hashes": {"sha256": file.sha256}, "yanked": False}
        if file.metadata is not None:
            entry["core-metadata"] = {"sha256": hashlib.sha256(file.metadata).hexdigest()}
        if "requires_python" in file.fields:
            entry["requires-python"] = file.fields["requires_python"][0]
        return entry

    def html_entry(self, filename: str, file: File) -> str:
        attributes = ""
        if file.metadata is not None:
            attributes += f' data-core-metadata="sha256={hashlib.sha256(file.metadata).hexdigest()}"'
        if "requires_python" in file.fields:
            attributes += f' data-requires-python="{html.escape(file.fields["requires_python"][0])}"'
        return f'<a href="/files/{urllib.parse.quote(filename)}#sha256={file.sha256}"{attributes}>{filename}</a><br>\n'

    def download(self, filename: str) -> Answer:
        for files in self.files.values():
            if filename in files:
                return Answer(200, files[filename].content, {"Content-Type": "application/octet-stream"})
            if filename.endswith(".metadata") and filename.removesuffix(".metadata") in files:
                return Answer(200, files[filename.removesuffix(".metadata")].metadata or b"", {"Content-Type": "text/plain"})
        raise refused(404, "Not Found")

    def state(self) -> dict:
        with self.lock:
            return {project: {name: {"sha256": file.sha256, "size": len(file.content)} for name, file in sorted(files.items())}
                    for project, files in sorted(self.files.items())}

    def fields_of(self, filename: str) -> dict[str, list[str]]:
        """The form that a file came with, less `content`: to compare clients."""
        with self.lock:
            return next(dict(files[filename].fields) for files in self.files.values() if filename in files)
