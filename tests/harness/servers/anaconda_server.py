"""The API of anaconda.org, as its own client and rattler's call it, and the channels that it serves.

Source: what anaconda-client 1.16 and rattler_upload 0.10 send and accept. Where no client shows what the server does, the
stricter behaviour is chosen, and said in a comment as "Assumed".
"""

import base64
import dataclasses
import hashlib
import itertools
import re
import time
import xml.sax.saxutils

from servers import conda_packages, multipart
from servers.double import Answer, Double, Refused, Request, json_answer

SHA256 = re.compile(r"[0-9a-f]{64}$")
LABEL = re.compile(r"[a-z0-9][a-z0-9_.:-]*$")


@dataclasses.dataclass
class File:
    content: bytes
    attrs: dict
    labels: set[str]
    record: dict


@dataclasses.dataclass
class Release:
    attrs: dict
    files: dict[str, File] = dataclasses.field(default_factory=dict)  # by "subdir/name"


@dataclasses.dataclass
class Package:
    attrs: dict
    public: bool
    releases: dict[str, Release] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Staged:
    place: tuple[str, str, str, str]  # owner, package, version, "subdir/name"
    payload: dict
    form: dict[str, str]
    content: bytes | None = None


def error(status: int, message: str) -> Refused:
    return Refused(json_answer(status, {"error": message}))


def storage_error(status: int, code: str, message: str) -> Refused:
    text = xml.sax.saxutils.escape(message)
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{text}</Message></Error>'
    return Refused(Answer(status, body.encode(), {"Content-Type": "application/xml"}))


class AnacondaServer(Double):
    """tokens: token → login. owners: owner → the logins that may write there; each login of tokens may, to itself.

    quota_bytes: an owner who has so much stored gets 402 on stage. largest_bytes: of one storage POST (5 GB at S3).
    digests: which digests GET /dist tells; old entries of the real server have md5 only.
    The files go to another origin (listener "storage"), where the token must not come.
    """

    def __init__(self, *, tokens: dict[str, str], owners: dict[str, set[str]] | None = None, quota_bytes: int | None = None,
                 largest_bytes: int = 5_000_000_000, digests: tuple[str, ...] = ("md5", "sha256"), **options) -> None:
        self.tokens, self.quota_bytes, self.largest_bytes, self.digests = tokens, quota_bytes, largest_bytes, digests
        self.writers = {login: {login} for login in tokens.values()}
        for login, logins in (owners or {}).items():
            self.writers.setdefault(login, set()).update(logins)
        self.owners: dict[str, dict[str, Package]] = {login: {} for login in self.writers}
        self.staged: dict[str, Staged] = {}
        self.locked: set[tuple[str, str]] = set()
        self.ids = itertools.count(1)
        super().__init__(**options)
        self.storage_url = self.listen("storage")

    # Who asks.

    def login(self, request: Request) -> str | None:
        """None without a token. A wrong token is refused wherever it comes."""
        sent = request.headers.get("Authorization")
        if sent is None:
            return None
        scheme, _, token = sent.partition(" ")
        if scheme != "token" or token not in self.tokens:
            raise error(401, "The token is invalid, or has expired")
        return self.tokens[token]

    def writes(self, request: Request, owner: str) -> str:
        login = self.login(request)
        if login is None:
            raise error(401, "Authorization required")
        self.packages(owner)
        if login not in self.writers[owner]:
            raise error(403, f"{login} may not write to {owner}")
        return login

    # What there is.

    def packages(self, owner: str) -> dict[str, Package]:
        if owner not in self.owners:
            raise error(404, f'User "{owner}" does not exist')
        return self.owners[owner]

    def package(self, owner: str, name: str) -> Package:
        if name not in self.packages(owner):
            raise error(404, f'"{owner}/{name}" could not be found')
        return self.owners[owner][name]

    def release(self, owner: str, name: str, version: str) -> Release:
        releases = self.package(owner, name).releases
        if version not in releases:
            raise error(404, f'"{owner}/{name}/{version}" could not be found')
        return releases[version]

    def file(self, owner: str, name: str, version: str, basename: str) -> File:
        files = self.release(owner, name, version).files
        if basename not in files:
            raise error(404, f'"{owner}/{name}/{version}/{basename}" could not be found')
        return files[basename]

    def all_files(self, owner: str):
        for name, package in self.packages(owner).items():
            for version, release in package.releases.items():
                for basename, file in release.files.items():
                    yield (owner, name, version, basename), file

    def labels(self, owner: str) -> dict[str, list]:
        found: dict[str, list] = {"main": []}
        for place, file in self.all_files(owner):
            for label in file.labels:
                found.setdefault(label, []).append((place, file))
        return found

    def file_view(self, place: tuple[str, str, str, str], file: File) -> dict:
        owner, name, version, basename = place
        return {"owner": {"login": owner}, "full_name": "/".join(place), "basename": basename, "version": version,
                "distribution_type": "conda", "type": "conda", "size": file.record["size"], "attrs": file.attrs,
                "labels": sorted(file.labels), **{one: file.record[one] for one in self.digests},
                "download_url": f"{self.url}/download/{'/'.join(place)}"}

    # The routes.

    def handle(self, request: Request) -> Answer:
        route, *rest = request.segments() or [""]
        if request.listener == "storage":
            return self.store(request, request.segments())
        if route == "" and request.method in ("HEAD", "GET"):
            return json_answer(200, {})
        if route == "conda":
            return self.channel(request, rest)
        shape = {"user": (0, 1), "dist": (5, 5), "download": (5, 5), "stage": (5, 5), "commit": (5, 5), "package": (2, 2),
                 "release": (3, 3), "channels": (1, 4), "copy": (4, 6)}.get(route)
        handler = getattr(self, f"{request.method.lower()}_{route}", None) if shape else None
        if not shape or not shape[0] <= len(rest) <= shape[1]:
            raise error(404, f"no such route: {request.path}")
        if handler is None:
            raise error(405, f"{request.method} is not allowed on /{route}")
        if shape == (5, 5):
            rest = [*rest[:3], "/".join(rest[3:])]
        if request.method == "GET":
            self.login(request)
            return handler(*rest) if route != "user" else self.user(request, *rest)
        if route != "copy":
            self.writes(request, rest[0])
        return handler(request, *rest)

    def user(self, request: Request, owner: str | None = None) -> Answer:
        owner = owner or self.login(request)
        if owner is None:
            raise error(401, "Authorization required")
        self.packages(owner)
        return json_answer(200, {"login": owner, "name": owner, "user_type": "user"})

    get_user = user

    def get_package(self, owner: str, name: str) -> Answer:
        package = self.package(owner, name)
        views = [(version, [self.file_view((owner, name, version, base), file) for base, file in release.files.items()])
                 for version, release in package.releases.items()]
        kinds = ["conda"] if any(files for _, files in views) else package.attrs.get("package_types", [])
        return json_answer(200, {**package.attrs, "name": name, "owner": {"login": owner}, "public": package.public,
                                 "package_types": kinds, "files": [file for _, files in views for file in files],
                                 "releases": [{"version": version, "distributions": files} for version, files in views]})

    def post_package(self, request: Request, owner: str, name: str) -> Answer:
        payload = request.json()
        attrs = payload.get("public_attrs")
        if name in self.owners[owner]:
            raise error(409, f'"{owner}/{name}" exists')
        if not isinstance(attrs, dict) or not isinstance(payload.get("public"), bool):
            raise error(400, "public and public_attrs are required")
        self.check_package_attributes(attrs)
        self.owners[owner][name] = Package(attrs, payload["public"])
        return self.get_package(owner, name)

    def patch_package(self, request: Request, owner: str, name: str) -> Answer:
        package = self.package(owner, name)
        attrs = request.json().get("public_attrs")
        if not isinstance(attrs, dict):
            raise error(400, "public_attrs is required")
        self.check_package_attributes(attrs, new=False)
        package.attrs.update(attrs)
        return self.get_package(owner, name)

    @staticmethod
    def check_package_attributes(attrs: dict, *, new: bool = True) -> None:
        # anaconda-client always sends a summary; rattler sends the keys of about.json, where it may be absent.
        kinds = attrs.get("package_types", [])
        if new and not (isinstance(kinds, list) and set(kinds) <= {"conda", "pypi"}):
            raise error(400, f"package_types: {kinds}")
        if not isinstance(attrs.get("summary", ""), (str, type(None))):
            raise error(400, "summary is no text")

    def delete_package(self, request: Request, owner: str, name: str) -> Answer:
        self.package(owner, name)
        del self.owners[owner][name]
        self.forget_staged(owner, name)
        return json_answer(201, {})

    def forget_staged(self, *place: str) -> None:
        """Assumed: what was staged below a package or release goes with it, and what was staged for a file with its commit."""
        self.staged = {key: one for key, one in self.staged.items() if one.place[:len(place)] != place}

    def get_release(self, owner: str, name: str, version: str) -> Answer:
        release = self.release(owner, name, version)
        files = [self.file_view((owner, name, version, base), file) for base, file in release.files.items()]
        return json_answer(200, {**release.attrs, "version": version, "distributions": files})

    def post_release(self, request: Request, owner: str, name: str, version: str) -> Answer:
        payload, releases = request.json(), self.package(owner, name).releases
        if version in releases:
            raise error(409, f'"{owner}/{name}/{version}" exists')
        if not isinstance(payload.get("requirements"), (list, dict)) or not {"announce", "description"} <= set(payload):
            raise error(400, "requirements, announce and description are required")
        releases[version] = Release({key: value for key, value in payload.items() if key not in ("requirements", "announce")})
        return self.get_release(owner, name, version)

    def patch_release(self, request: Request, owner: str, name: str, version: str) -> Answer:
        attrs = request.json().get("public_attrs")
        if not isinstance(attrs, dict):
            raise error(400, "public_attrs is required")
        self.release(owner, name, version).attrs.update(attrs)
        return self.get_release(owner, name, version)

    def delete_release(self, request: Request, owner: str, name: str, version: str) -> Answer:
        self.release(owner, name, version)
        del self.owners[owner][name].releases[version]
        self.forget_staged(owner, name, version)
        return json_answer(201, {})

    def get_dist(self, *place: str) -> Answer:
        return json_answer(200, self.file_view(place, self.file(*place)))

    def delete_dist(self, request: Request, *place: str) -> Answer:
        """An emptied release goes with its last file, and an emptied package likewise."""
        view = self.file_view(place, self.file(*place))
        owner, name, version, basename = place
        package = self.owners[owner][name]
        del package.releases[version].files[basename]
        if not package.releases[version].files:
            del package.releases[version]
            self.forget_staged(owner, name, version)
        if not package.releases:
            del self.owners[owner][name]
        return json_answer(200, view)

    def get_download(self, *place: str) -> Answer:
        return Answer(200, self.file(*place).content, {"Content-Type": "application/octet-stream"})

    # Stage, store, commit.

    def post_stage(self, request: Request, owner: str, name: str, version: str, basename: str) -> Answer:
        release, payload = self.release(owner, name, version), request.json()
        attrs, labels = payload.get("attrs"), payload.get("channels")
        subdir, _, filename = basename.partition("/")
        wrong = [text for text, bad in {
            "distribution_type is not conda": payload.get("distribution_type") != "conda",
            "sha256 is not 64 hexadecimal digits": not SHA256.match(str(payload.get("sha256"))),
            "attrs.subdir is not that of the path": not isinstance(attrs, dict) or attrs.get("subdir") != subdir,
            "attrs has no build, build_number and depends":
                not isinstance(attrs, dict) or not {"build", "build_number", "depends"} <= set(attrs),
            "channels is no list of labels":
                not isinstance(labels, list) or not all(isinstance(one, str) and LABEL.match(one) for one in labels),
            "the file name is not that of a conda package": not filename.endswith((".conda", ".tar.bz2")),
        }.items() if bad]
        if wrong:
            raise error(400, "; ".join(wrong))
        if basename in release.files:
            raise error(409, f'"{basename}" exists')
        self.check_labels(owner, labels)
        stored = sum(file.record["size"] for _, file in self.all_files(owner))
        if self.quota_bytes is not None and stored >= self.quota_bytes:
            raise error(402, f"{owner} has used all of the storage of its plan")
        dist_id = f"{next(self.ids):024x}"
        form = {"key": f"{owner}/{dist_id}", "success_action_status": "201", "policy": base64.b64encode(dist_id.encode()).decode(),
                "Content-Type": "application/octet-stream"}
        self.staged[dist_id] = Staged((owner, name, version, basename), payload, form)
        return json_answer(200, {"post_url": f"{self.storage_url}/", "form_data": form, "dist_id": dist_id})

    def store(self, request: Request, segments: list[str]) -> Answer:
        """A browser-style POST of S3: the fields of form_data as given, the length and MD5 of the file, the file last."""
        if request.method != "POST" or segments:
            raise storage_error(405, "MethodNotAllowed", "only POST to the bucket")
        if "Authorization" in request.headers:
            raise storage_error(400, "InvalidArgument", "Only one auth mechanism allowed; the token must not come here")
        if "Content-Length" not in request.headers:
            raise storage_error(411, "MissingContentLength", "You must provide the Content-Length HTTP header.")
        parts = multipart.parts(request)
        names = [part.name for part in parts]
        if names.count("file") != 1 or names[-1] != "file":
            raise storage_error(400, "InvalidArgument", f"file must come once and last: {names}")
        fields = {part.name: part.text for part in parts[:-1]}
        staged = next((one for one in self.staged.values() if one.form["key"] == fields.get("key")), None)
        if staged is None:
            raise storage_error(403, "AccessDenied", "no policy for this key")
        content = parts[-1].content
        if any(fields.get(name) != value for name, value in staged.form.items()):
            raise storage_error(403, "AccessDenied", "Invalid according to Policy")
        if len(fields) != len(parts) - 1 or set(fields) - set(staged.form) != {"Content-Length", "Content-MD5"}:
            raise storage_error(403, "AccessDenied", f"Invalid according to Policy: extra or missing fields: {names}")
        if len(content) > self.largest_bytes:
            raise storage_error(400, "EntityTooLarge", f"{self.largest_bytes} bytes are the most")
        if fields["Content-Length"] != str(len(content)):
            raise storage_error(400, "IncompleteBody", f"{len(content)} bytes came")
        if fields["Content-MD5"] != base64.b64encode(hashlib.md5(content).digest()).decode():
            raise storage_error(400, "InvalidDigest", "The Content-MD5 you specified is not valid.")
        staged.content = content
        body = f"<PostResponse><Key>{staged.form['key']}</Key></PostResponse>"
        return Answer(201, body.encode(), {"Content-Type": "application/xml"})

    def post_commit(self, request: Request, *place: str) -> Answer:
        """Assumed: a second commit of one dist_id is 404, so a client cannot just repeat it."""
        dist_id = request.json().get("dist_id")
        staged = self.staged.get(dist_id)
        if staged is None or staged.place != place:
            raise error(404, f"no staged file of id {dist_id}")
        release, basename = self.release(*place[:3]), place[3]
        if basename in release.files:
            raise error(409, f'"{basename}" exists')
        if staged.content is None:
            raise error(400, "the file was not uploaded")
        if hashlib.sha256(staged.content).hexdigest() != staged.payload["sha256"]:
            raise error(400, "the file has another sha256 than was staged")
        attrs = staged.payload["attrs"]
        index = conda_packages.index_json(basename.split("/")[1], staged.content)
        # Assumed: that the server compares. It builds repodata from attrs, so what differs would break installs.
        other = [name for name in ("subdir", "build", "build_number", "depends") if index.get(name) != attrs[name]]
        if [index["name"], index["version"]] != list(place[1:3]) or other:
            raise error(400, f"attrs differ from info/index.json: {other or 'name or version'}")
        record = conda_packages.record({**attrs, "name": place[1], "version": place[2]}, staged.content)
        release.files[basename] = File(staged.content, attrs, set(staged.payload["channels"]) or {"main"}, record)
        self.forget_staged(*place)
        return json_answer(200, {**self.file_view(place, release.files[basename]), "url": f"{self.url}/{place[0]}/{place[1]}",
                                 "upload_time": time.strftime("%Y-%m-%d %H:%M:%S+00:00", time.gmtime())})

    # Labels: "channels" in the API.

    def check_labels(self, owner: str, labels) -> None:
        for label in labels:
            if (owner, label) in self.locked:
                raise error(403, f'label "{label}" is locked')

    def chosen(self, request: Request, owner: str):
        """The files that {package, version, basename} of the body name; null is all of them."""
        wanted = request.json()
        keys = [wanted.get(name) for name in ("package", "version", "basename")]
        found = [(place, file) for place, file in self.all_files(owner)
                 if all(key in (None, part) for key, part in zip(keys, place[1:]))]
        if not found and any(keys):
            raise error(404, f"no file of {owner} fits {keys}")
        return found

    def get_channels(self, owner: str, label: str | None = None) -> Answer:
        labels = self.labels(owner)
        if label is None:
            return json_answer(200, {name: {"is_locked": (owner, name) in self.locked} for name in labels})
        if label not in labels:
            raise error(404, f'label "{label}" does not exist')
        return json_answer(200, {"files": [self.file_view(*one) for one in labels[label]]})

    def post_channels(self, request: Request, owner: str, label: str, verb: str = "", to: str = "") -> Answer:
        if not LABEL.match(label):
            raise error(400, f'"{label}" is no label')
        if verb == "lock":
            self.locked.add((owner, label))
        elif verb == "copy" and to:
            self.check_labels(owner, [to])
            for _, file in self.labels(owner).get(label, []):
                file.labels.add(to)
        elif verb:
            raise error(404, "no such route")
        else:
            self.check_labels(owner, [label])
            for _, file in self.chosen(request, owner):
                file.labels.add(label)
        return json_answer(201, {})

    def delete_channels(self, request: Request, owner: str, label: str, verb: str = "") -> Answer:
        """Assumed: a file without labels stays, and is in no channel."""
        if verb == "lock":
            self.locked.discard((owner, label))
        else:
            self.check_labels(owner, [label])
            for _, file in self.chosen(request, owner):
                file.labels.discard(label)
        return json_answer(201, {})

    def copy(self, request: Request, kind: str, owner: str, name: str, version: str, *base: str) -> Answer:
        """POST refuses if one of the files is there, PUT replaces, PATCH leaves what is there. Between owners or labels.
        Assumed: in the same owner only the label is added, and 409 means that the file has it."""
        if kind != "package":
            raise error(404, "no such route")
        payload = request.json()
        from_label, to_label = payload.get("from_channel") or "main", payload.get("to_channel") or "main"
        login = self.login(request)
        to_owner = payload.get("to_owner") or login
        self.writes(request, to_owner)
        self.check_labels(to_owner, [to_label])
        files = [(basename, file) for basename, file in self.release(owner, name, version).files.items()
                 if from_label in file.labels and (not base or basename == "/".join(base))]
        there = {}
        if name in self.owners[to_owner] and version in self.owners[to_owner][name].releases:
            there = self.owners[to_owner][name].releases[version].files
        taken = {basename for basename, _ in files if basename in there and (to_owner != owner or to_label in there[basename].labels)}
        if request.method == "POST" and taken:
            raise error(409, f"exists: {sorted(taken)}")
        if files:
            source = self.package(owner, name)
            package = self.owners[to_owner].setdefault(name, Package(dict(source.attrs), source.public))
            release = package.releases.setdefault(version, Release(dict(source.releases[version].attrs)))
        done = []
        for basename, file in files:
            if request.method == "PATCH" and basename in taken:
                continue
            if to_owner == owner:
                file.labels.add(to_label)
            else:
                release.files[basename] = dataclasses.replace(file, labels={to_label})
            done.append(self.file_view((to_owner, name, version, basename), release.files[basename]))
        return json_answer(200, done)

    post_copy = put_copy = patch_copy = copy

    # What installers read: /conda/{owner}/[label/{label}/]{subdir}/{file}.

    def channel(self, request: Request, rest: list[str]) -> Answer:
        owner, label = rest[0] if rest else "", "main"
        if rest[1:2] == ["label"]:
            label, rest = rest[2] if len(rest) > 2 else "", rest[2:]
        if request.method not in ("GET", "HEAD") or len(rest) != 3:
            raise error(404, "no such file")
        subdir, name = rest[1:]
        files = {place[3].split("/")[1]: file for place, file in self.labels(owner).get(label, [])
                 if place[3].startswith(f"{subdir}/")}
        if name == "repodata.json" and conda_packages.SUBDIR.match(subdir) and (files or subdir == "noarch"):
            return json_answer(200, conda_packages.repodata(subdir, {one: file.record for one, file in files.items()}))
        if name not in files:
            raise error(404, "no such file")
        return Answer(200, files[name].content, {"Content-Type": "application/octet-stream"})

    def state(self) -> dict:
        """What is published, and what was begun: packages and releases without files, staged files never committed."""
        with self.lock:
            owners = {owner: {name: {version: {base: {"sha256": file.record["sha256"], "size": file.record["size"],
                                                      "labels": sorted(file.labels)}
                                               for base, file in release.files.items()}
                                     for version, release in package.releases.items()}
                              for name, package in packages.items()}
                      for owner, packages in self.owners.items()}
            return {"owners": owners, "staged": sorted("/".join(one.place) for one in self.staged.values())}

    def attributes(self) -> dict:
        """The metadata of packages and releases, where clients legitimately differ."""
        with self.lock:
            return {f"{owner}/{name}": {"package": package.attrs, "public": package.public,
                                        "releases": {version: one.attrs for version, one in package.releases.items()}}
                    for owner, packages in self.owners.items() for name, package in packages.items()}
