"""Package indexes that people run: pypiserver and devpi, of the peers' environment. Each on a free port of the loopback interface,
with one user, and without a way to another index.
"""

import base64
import hashlib
import json
import pathlib
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import harness
from servers.ports import Port

USER, PASSWORD = "me", "secret-token-of-the-test"
JSON_PAGE = "application/vnd.pypi.simple.v1+json"


def ask(url: str, method: str = "GET", document: dict | None = None, **headers: str) -> bytes:
    credentials = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    body = None if document is None else json.dumps(document).encode()
    named = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json",
             **{name.replace("_", "-"): text for name, text in headers.items()}}
    request = urllib.request.Request(url, body, named, method=method)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=harness.HANGS_AFTER_S) as answer:
        return answer.read()


class Server:
    """A process that listens on `url` once the constructor returns. PORT in the command is its number."""

    def __init__(self, folder: pathlib.Path, command: list) -> None:
        self.port = Port()
        self.url = f"http://127.0.0.1:{self.port.number}"
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = self.port.serve([str(part).replace("PORT", str(self.port.number)) for part in command],
                                       folder / "server.log", env=environment, cwd=folder)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.port.close()


class Pypiserver(Server):
    """A folder of wheels. fallback: where readers are sent on to for projects that it does not have; None: 404."""

    def __init__(self, folder: pathlib.Path, *flags: str, fallback: str | None = None) -> None:
        self.packages = folder / "packages"
        self.packages.mkdir(parents=True)
        digest = base64.b64encode(hashlib.sha1(PASSWORD.encode()).digest()).decode()
        (folder / "users").write_text(f"{USER}:{{SHA}}{digest}\n")
        away = ["--fallback-url", fallback] if fallback else ["--disable-fallback"]
        super().__init__(folder, [harness.peer_program("pypi-server"), "run", "-i", "127.0.0.1", "-p", "PORT", "-P", folder / "users",
                                  "-a", "update", *away, *flags, self.packages])
        self.upload_url, self.simple_url = self.url + "/", self.url + "/simple/"

    def empty(self) -> None:
        for path in self.packages.iterdir():
            path.unlink()

    def files(self) -> dict[str, str]:
        return {path.name: harness.sha256(path) for path in sorted(self.packages.iterdir())}

    def state(self) -> dict:
        """What readers find, but for the server's own address."""
        page = ask(self.simple_url + "toy-pure/").decode()
        return {"files": self.files(), "page": page, "projects": ask(self.simple_url).decode()}


class Devpi:
    """Indexes of one server: index() makes a fresh one."""

    def __init__(self, folder: pathlib.Path) -> None:
        data = folder / "data"
        subprocess.run([harness.peer_program("devpi-init"), "--serverdir", data, "--no-root-pypi"], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.server = Server(folder, [harness.peer_program("devpi-server"), "--serverdir", data, "--host", "127.0.0.1", "--port", "PORT"])
        self.url = self.server.url
        self.made = 0
        ask(f"{self.url}/{USER}", "PUT", {"password": PASSWORD})

    def index(self, *, volatile: bool = False) -> "DevpiIndex":
        self.made += 1
        name = f"dev{self.made}"
        ask(f"{self.url}/{USER}/{name}", "PUT", {"bases": [], "type": "stage", "volatile": volatile})
        return DevpiIndex(f"{self.url}/{USER}/{name}")

    def stop(self) -> None:
        self.server.stop()


class DevpiIndex:
    def __init__(self, url: str) -> None:
        self.url = url
        self.upload_url, self.simple_url = url + "/", url + "/+simple/"

    def files(self) -> dict[str, str]:
        """sha256 by name, of the bytes that readers get."""
        found = {}
        try:
            page = json.loads(ask(self.simple_url + "toy-pure/", Accept=JSON_PAGE))
        except urllib.error.HTTPError as error:
            assert error.code == 404, error
            return {}
        for file in page["files"]:
            content = ask(urllib.parse.urljoin(self.simple_url + "toy-pure/", file["url"]))
            found[file["filename"]] = hashlib.sha256(content).hexdigest()
            assert file["hashes"]["sha256"] == found[file["filename"]]
        return found

    def state(self) -> dict:
        """What readers find: both forms of the page, and all that devpi keeps of each version; but for address and times."""
        versions = json.loads(ask(f"{self.url}/toy-pure", Accept="application/json"))["result"]
        for version in versions.values():
            for link in version["+links"]:
                link.pop("log")
        texts = (ask(self.simple_url + "toy-pure/").decode(), ask(self.simple_url + "toy-pure/", Accept=JSON_PAGE).decode(),
                 json.dumps(versions, sort_keys=True))
        name = self.url.rsplit("/", 1)[1]
        return {"files": self.files(), "texts": [text.replace(name, "INDEX") for text in texts]}
