"""Quetz, Artifactory and prefix.dev, as far as an uploader and an installer see them.

Source: rattler_upload 0.10, quetz of 2024-04, JFrog's REST documentation ("Deploy Artifact"). All read the package that
they take; a name that is not its metadata's is refused.
"""

import base64
import dataclasses
import hashlib
import time

from servers import conda_packages, multipart
from servers.double import Answer, Double, Refused, Request, json_answer, text_answer


@dataclasses.dataclass
class Package:
    content: bytes
    record: dict


def refused(status: int, message: str, key: str = "detail") -> Refused:
    return Refused(json_answer(status, {key: message}))


class CondaServer(Double):
    """Channels by name; self.url/{channel}/{subdir}/repodata.json and the files are readable without a token."""

    def __init__(self, *, channels: tuple[str, ...] = ("main",), token: str = "secret-of-the-test", **options) -> None:
        self.token = token
        self.channels: dict[str, dict[str, dict[str, Package]]] = {name: {} for name in channels}
        super().__init__(**options)

    def channel(self, name: str) -> dict[str, dict[str, Package]]:
        if name not in self.channels:
            raise refused(404, f"channel {name} not found")
        return self.channels[name]

    def bearer(self, request: Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            raise refused(401, "a valid bearer token is required")

    def read(self, request: Request, channel: str, subdir: str, name: str) -> Answer:
        """repodata.json and the files."""
        packages = self.channel(channel).get(subdir, {})
        if name == "repodata.json" and (packages or subdir == "noarch"):
            return json_answer(200, conda_packages.repodata(subdir, {one: found.record for one, found in packages.items()}))
        if name not in packages:
            raise refused(404, "not found")
        return Answer(200, packages[name].content, {"Content-Type": "application/octet-stream"})

    def keep(self, channel: str, filename: str, content: bytes, index: dict) -> Package:
        package = Package(content, conda_packages.record(index, content))
        self.channel(channel).setdefault(index["subdir"], {})[filename] = package
        return package

    def drop(self, channel: str, subdir: str, filename: str) -> Package:
        packages = self.channel(channel).get(subdir, {})
        if filename not in packages:
            raise refused(404, "not found")
        return packages.pop(filename)

    def exists(self, channel: str, filename: str) -> bool:
        return any(filename in packages for packages in self.channel(channel).values())

    def state(self) -> dict:
        with self.lock:
            return {channel: {f"{subdir}/{name}": {"sha256": package.record["sha256"], "size": package.record["size"]}
                              for subdir, packages in sorted(subdirs.items()) for name, package in sorted(packages.items())}
                    for channel, subdirs in self.channels.items()}


class QuetzServer(CondaServer):
    """POST /api/channels/{channel}/upload/{file}?force=&sha256=, X-API-Key, raw body. 201; 409 there is one of that name and
    force is not true; 406 the digest is another; 422 above size_limit. Reads also below /get/, where quetz has its channels.
    DELETE /api/channels/{channel}/packages/{package}/versions/{subdir}/{file} (quetz's main.py): 404 without it."""

    def __init__(self, *, size_limit: int | None = None, **options) -> None:
        self.size_limit = size_limit
        super().__init__(**options)

    def handle(self, request: Request) -> Answer:
        parts = request.segments()
        if request.method in ("GET", "HEAD") and parts[:2] == ["api", "channels"] and len(parts) == 3:
            self.channel(parts[2])
            return json_answer(200, {"name": parts[2], "size_limit": self.size_limit})
        if request.method == "DELETE" and len(parts) == 8 and (*parts[:2], parts[3], parts[5]) == ("api", "channels", "packages", "versions"):
            if request.headers.get("X-API-Key") != self.token:
                raise refused(401, "Not logged in")
            found = self.channel(parts[2]).get(parts[6], {}).get(parts[7])
            if not found or found.record["name"] != parts[4]:
                raise refused(404, "Package version not found")
            self.drop(parts[2], parts[6], parts[7])
            return json_answer(200, {})
        if request.method in ("GET", "HEAD"):
            parts = parts[1:] if parts[:1] == ["get"] else parts
            if len(parts) != 3:
                raise refused(404, "not found")
            return self.read(request, *parts)
        if request.method != "POST" or len(parts) != 5 or (*parts[:2], parts[3]) != ("api", "channels", "upload"):
            raise refused(404, "not found")
        if request.headers.get("X-API-Key") != self.token:
            raise refused(401, "Not logged in")
        _, _, channel, _, filename = parts
        exists = self.exists(channel, filename)
        if set(request.query) - {"force", "sha256"} or request.query.get("force", "false") not in ("true", "false"):
            raise refused(422, f"query {request.query}")
        digest = hashlib.sha256(request.body).hexdigest()
        if request.query.get("sha256") != digest:  # quetz itself lets it be left out; an uploader of ours may not
            raise refused(406 if "sha256" in request.query else 422, f"sha256 is {digest}")
        index = conda_packages.index_json(filename, request.body)
        if exists and request.query.get("force") != "true":
            raise refused(409, "Duplicate")
        stored = sum(one.record["size"] for packages in self.channel(channel).values() for one in packages.values())
        if self.size_limit is not None and stored + len(request.body) > self.size_limit:
            raise refused(422, f"{channel} is above quota of {self.size_limit} bytes")
        self.keep(channel, filename, request.body, index)
        return json_answer(201, {})


class PrefixServer(CondaServer):
    """POST /api/v1/upload/{channel}[?force=true], bearer, multipart: `file` with the headers X-File-Name and X-File-SHA256 in
    its own part, then perhaps `attestation`. 409: there is one of that name, whatever its content. DELETE
    /api/v1/delete/{channel}/{subdir}/{file}. trusts: an issuer; POST /api/oidc/mint_token with {"token": JWT} gives, as its
    whole body, a token to jobs whose claims contain `publisher` (rattler's trusted_publishing.rs); the audience is the host."""

    def __init__(self, *, trusts=None, publisher: dict | None = None, **options) -> None:
        self.attestations: dict[str, str] = {}
        self.trusts, self.publisher, self.minted = trusts, publisher or {}, set()
        super().__init__(**options)

    def bearer(self, request: Request) -> None:
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.minted:
            super().bearer(request)

    def mint(self, request: Request) -> Answer:
        try:
            claims = self.trusts.verify(request.json().get("token", ""), "127.0.0.1")
            if not self.publisher.items() <= claims.items():
                raise ValueError("OIDCPublisherNotFound")
        except (ValueError, KeyError, IndexError) as error:
            raise refused(400, str(error)) from error
        self.minted.add(token := f"pfx-minted-{len(self.minted)}")
        return text_answer(200, token)

    def handle(self, request: Request) -> Answer:
        parts = request.segments()
        if request.method in ("GET", "HEAD") and len(parts) == 3 and parts[0] != "api":
            return self.read(request, *parts)
        if (request.method, parts) == ("POST", ["api", "oidc", "mint_token"]) and self.trusts:
            return self.mint(request)
        if request.method == "DELETE" and parts[:3] == ["api", "v1", "delete"] and len(parts) == 6:
            self.bearer(request)
            self.drop(*parts[3:])
            return json_answer(200, {})
        if request.method != "POST" or parts[:3] != ["api", "v1", "upload"] or len(parts) != 4:
            raise refused(404, "not found")
        self.bearer(request)
        channel, form = parts[3], multipart.parts(request)
        self.channel(channel)
        if [part.name for part in form] not in (["file"], ["file", "attestation"]):
            raise refused(400, f"parts {[part.name for part in form]}")
        file, filename = form[0], form[0].headers.get("X-File-Name")
        if not filename or file.filename != filename:
            raise refused(400, f"X-File-Name is {filename}, the part's file name {file.filename}")
        if file.headers.get("Content-Length") not in (None, str(len(file.content))):
            raise refused(400, "the part has another length than it says")
        if file.headers.get("X-File-SHA256") != hashlib.sha256(file.content).hexdigest():
            raise refused(422, "X-File-SHA256 is not that of the content")
        index = conda_packages.index_json(filename, file.content)
        if self.exists(channel, filename) and request.query.get("force") != "true":
            raise refused(409, f"{filename} exists in {channel}")
        self.keep(channel, filename, file.content, index)
        self.attestations.pop(f"{channel}/{filename}", None)
        if len(form) == 2:
            self.attestations[f"{channel}/{filename}"] = form[1].text
        return json_answer(200, {"filename": filename})

    def state(self) -> dict:
        return {**super().state(), "attestations": {name: hashlib.sha256(text.encode()).hexdigest()
                                                    for name, text in sorted(self.attestations.items())}}


class ArtifactoryServer(CondaServer):
    """PUT /{channel}/{subdir}/{file} with the raw body, bearer or basic (any user, the token as password). 201; the body of
    another digest than X-Checksum-Sha256 (-Sha1, -Md5): 409; a file of that name and overwrite=False: 403. HEAD and GET
    give the digests back. X-Checksum-Deploy: true carries no body, and 404 says that the content is not known. DELETE: 204.
    POST /api/copy/{channel}/{subdir}/{file}?to=/{channel}/{subdir}/{file}, or /api/move, replaces what is there."""

    SUMS = {"Sha256": hashlib.sha256, "Sha1": hashlib.sha1, "Md5": hashlib.md5}

    def __init__(self, *, overwrite: bool = True, **options) -> None:
        self.overwrite = overwrite
        super().__init__(**options)

    def handle(self, request: Request) -> Answer:
        parts = request.segments()
        if request.method == "POST" and parts[:1] == ["api"] and parts[1:2] in (["copy"], ["move"]) and len(parts) == 5:
            return self.copy(request, *parts[1:])
        if len(parts) != 3:
            raise self.error(404, "File not found.")
        if request.method in ("GET", "HEAD"):
            answer = self.read(request, *parts)
            found = self.channel(parts[0]).get(parts[1], {}).get(parts[2])
            if found:
                answer.headers.update({f"X-Checksum-{name}": sum_of(found.content).hexdigest() for name, sum_of in self.SUMS.items()})
            return answer
        if request.method not in ("PUT", "DELETE"):
            raise self.error(405, "Method not allowed")
        self.authorize(request)
        if request.method == "DELETE":
            self.drop(*parts)
            return Answer(204)
        channel, subdir, filename = parts
        content = request.body
        if request.headers.get("X-Checksum-Deploy", "").lower() == "true":
            wanted = request.headers.get("X-Checksum-Sha256")
            known = [one.content for subdirs in self.channels.values() for packages in subdirs.values()
                     for one in packages.values() if one.record["sha256"] == wanted]
            if not known:
                raise self.error(404, "Checksum deploy failed. No existing file with that checksum.")
            content = known[0]
        for name, sum_of in self.SUMS.items():
            sent, received = request.headers.get(f"X-Checksum-{name}"), sum_of(content).hexdigest()
            if sent not in (None, received):
                raise self.error(409, f"Checksum error: received '{sent}' but actual is '{received}'")
        there = self.channel(channel).get(subdir, {}).get(filename)
        if there and not self.overwrite:
            raise self.error(403, "Not enough permissions to delete/overwrite the artifact")
        index = conda_packages.index_json(filename, content)
        if index["subdir"] != subdir:
            raise self.error(400, f"the package is of {index['subdir']}")
        self.keep(channel, filename, content, index)
        sums = {name.lower(): sum_of(content).hexdigest() for name, sum_of in self.SUMS.items()}
        return json_answer(201, {"repo": channel, "path": f"/{subdir}/{filename}", "size": str(len(content)), "checksums": sums,
                                 "created": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
                                 "downloadUri": f"{self.url}/{channel}/{subdir}/{filename}"},
                           Location=f"{self.url}/{channel}/{subdir}/{filename}")

    def copy(self, request: Request, verb: str, channel: str, subdir: str, filename: str) -> Answer:
        self.authorize(request)
        found = self.channel(channel).get(subdir, {}).get(filename)
        to = request.query.get("to", "").strip("/").split("/")
        if not found or len(to) != 3 or to[1:] != [subdir, filename]:
            raise self.error(404, "Could not find the source item, or the target is none")
        self.channel(to[0]).setdefault(subdir, {})[filename] = found
        if verb == "move":
            self.drop(channel, subdir, filename)
        return json_answer(200, {"messages": [{"level": "INFO", "message": f"{verb} completed"}]})

    def authorize(self, request: Request) -> None:
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        if scheme == "Basic":
            value = base64.b64decode(value).decode().partition(":")[2]
        if scheme not in ("Bearer", "Basic") or value != self.token:
            raise self.error(401, "Bad credentials")

    @staticmethod
    def error(status: int, message: str) -> Refused:
        return Refused(json_answer(status, {"errors": [{"status": status, "message": message}]}))
