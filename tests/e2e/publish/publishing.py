"""What the tests of `ptpkg publish` share: artifacts, targets with their doubles, and a run that keeps what it printed."""

import atexit
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
import zipfile

import harness
from servers.anaconda_server import AnacondaServer
from servers.conda_servers import ArtifactoryServer, PrefixServer, QuetzServer
from servers.pypi_server import PypiServer

TOKEN = "secret-token-of-the-test"


def pure_wheel(folder: pathlib.Path, code: str = "x = 1\n", tag: str = "py3-none-any", version: str = "1.0") -> pathlib.Path:
    """In a folder of its own below `folder`; pure whatever its tag says. Its metadata has a field of each form."""
    info = f"toy_pure-{version}.dist-info"
    path = pathlib.Path(tempfile.mkdtemp(dir=folder)) / f"toy_pure-{version}-{tag}.whl"
    files = {"toy_pure/__init__.py": code,
             f"{info}/METADATA": f"Metadata-Version: 2.4\nName: toy-pure\nVersion: {version}\nSummary: x\n"
                                 "Requires-Python: >=3.9\nClassifier: Programming Language :: Python\n"
                                 "License-Expression: MIT\nProject-URL: Home, https://example.org\n"
                                 "Requires-Dist: a>=1; extra == 'a'\nProvides-Extra: a\n",
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": harness.record_of(files)}.items():
            archive.writestr(name, text)
    return path


class Target:
    """A double, how ptpkg is led to it, and what it has at the end."""

    def __init__(self, kind: str, **options) -> None:
        self.kind = kind
        self.server = {"anaconda": lambda: AnacondaServer(tokens={TOKEN: "me"}, **options),
                       "quetz": lambda: QuetzServer(token=TOKEN, **options),
                       "artifactory": lambda: ArtifactoryServer(token=TOKEN, **options),
                       "prefix": lambda: PrefixServer(token=TOKEN, **options),
                       "pypi": lambda: PypiServer(token=TOKEN, **options)}[kind]()

    def flags(self) -> list[str]:
        if self.kind == "pypi":
            return ["--to", "pypi:ours", "--server", self.server.upload_url, "--check-url", self.server.simple_url]
        return ["--to", f"{self.kind}:{'me' if self.kind == 'anaconda' else 'main'}", "--server", self.server.url]

    def variables(self) -> dict[str, str]:
        name = {"anaconda": "ANACONDA_API_TOKEN", "quetz": "QUETZ_API_KEY", "artifactory": "ARTIFACTORY_TOKEN",
                "prefix": "PREFIX_API_KEY", "pypi": "TWINE_PASSWORD"}[self.kind]
        return {name: TOKEN}

    def files(self) -> dict[str, str]:
        """sha256 by file name, of all that it has published."""
        state = self.server.state()
        if self.kind == "anaconda":
            found = [files for packages in state["owners"].values() for releases in packages.values() for files in releases.values()]
        elif self.kind == "pypi":
            found = list(state.values())
        else:
            found = [state["main"]]
        return {name.split("/")[-1]: entry["sha256"] for files in found for name, entry in files.items()}

    def listed(self) -> dict[str, str]:
        """sha256 by file name, as its indexes tell readers: of linux-64 and noarch, or of the project toy-pure in both forms."""
        if self.kind == "pypi":
            page = json.loads(self.read("/simple/toy-pure/", Accept="application/vnd.pypi.simple.v1+json") or '{"files": []}')
            listed = {file["filename"]: file["hashes"]["sha256"] for file in page["files"]}
            links = re.findall(r'href="[^"]*/([^"/]*)#sha256=(\w+)"', self.read("/simple/toy-pure/", Accept="text/html"))
            assert dict(links) == listed, (links, listed)
            return listed
        channel = "/conda/me" if self.kind == "anaconda" else "/main"
        listed = {}
        for subdir in ("linux-64", "noarch"):
            index = json.loads(self.read(f"{channel}/{subdir}/repodata.json") or "{}")
            for key in ("packages", "packages.conda"):
                listed |= {name: record["sha256"] for name, record in index.get(key, {}).items()}
        return listed

    def read(self, path: str, **headers: str) -> str:
        """"" of what is not there."""
        request = urllib.request.Request(self.server.url + path, headers=headers)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=harness.HANGS_AFTER_S) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            assert error.code == 404, error
            return ""

    def is_clean(self) -> bool:
        """Nothing that was begun is left."""
        if self.kind != "anaconda":
            return True
        state = self.server.state()
        return not state["staged"] and all(releases and all(releases.values())
                                           for packages in state["owners"].values() for releases in packages.values())

    def __enter__(self) -> "Target":
        return self

    def __exit__(self, *_) -> None:
        self.server.__exit__(None, None, None)


@functools.cache
def made() -> pathlib.Path:
    """The outputs `first` and `other` of one recipe, which differ by their time alone; removed when the program ends."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-publish-"))
    atexit.register(shutil.rmtree, folder)
    for name, epoch in (("first", "1700000000"), ("other", "1800000000")):
        command = [harness.Settings.ptpkg, "build", harness.FIXTURES / "toymagma", "--select", "toy_backend=cpu", "--output",
                   folder / name, "--cache-dir", folder / "cache", "--format", "conda,tar.bz2", "--quiet"]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       env={**os.environ, "CI": "true", "SOURCE_DATE_EPOCH": epoch})
    return folder


class Case(harness.Case):
    @classmethod
    def setUpClass(cls) -> None:
        """One package for all tests of a program, and another one of its name."""
        super().setUpClass()
        cls.made = made()
        cls.package, = (cls.made / "first/conda/linux-64").glob("*.conda")
        cls.both = sorted((cls.made / "first/conda/linux-64").glob("toymagma-*"))
        cls.other_both = sorted((cls.made / "other/conda/linux-64").glob("toymagma-*"))
        cls.other, = (cls.made / "other/conda/linux-64").glob("*.conda")

    def publish(self, *arguments, exit_code: int = 0, **variables) -> str:
        return self.run_verb("publish", *arguments, exit_code=exit_code, **variables)

    def run_verb(self, *arguments, exit_code: int = 0, **variables) -> str:
        """All that it printed; no token is in it, nor in any file that it wrote."""
        (self.scratch / "home").mkdir(exist_ok=True)
        done = self.ptpkg(*arguments, exit_code=exit_code, HOME=str(self.scratch / "home"), **variables)
        printed = done.stdout + done.stderr
        self.assertNotIn(TOKEN, printed)
        for folder in (self.scratch, self.cache):
            for path in folder.rglob("*"):
                if path.is_file():
                    self.assertNotIn(TOKEN.encode(), path.read_bytes(), path)
        return printed

    def signed(self, *artifacts: pathlib.Path) -> list[pathlib.Path]:
        """Copies of them, each with a signature beside it, which nobody reads without a key."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
        copies = [pathlib.Path(shutil.copy(one, folder)) for one in artifacts]
        for copy in copies:
            copy.with_name(copy.name + ".sig").write_bytes(b"signature")
        return copies

    def publish_to(self, target: Target, *arguments, **options) -> str:
        return self.publish(*arguments, *target.flags(), **target.variables(), **options)
