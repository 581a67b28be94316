"""The server doubles, against the real clients and against a plain one: what is asked, in order, and what is kept.

No request leaves 127.0.0.1: the clients' other ways out are closed by a proxy that nobody runs.
"""

import base64
import hashlib
import json
import pathlib
import subprocess
import urllib.error
import urllib.request

import harness
import installing
import publishing
from servers import faults
from servers.anaconda_server import AnacondaServer
from servers.conda_servers import ArtifactoryServer, PrefixServer, QuetzServer
from servers.oidc import Issuer
from servers.pypi_server import PypiServer


def ask(url: str, method: str = "GET", body=None, **headers: str) -> tuple[int, bytes]:
    """Status and body of one request; a dict goes as JSON."""
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    request = urllib.request.Request(url, content, {name.replace("_", "-"): text for name, text in headers.items()}, method=method)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=harness.HANGS_AFTER_S) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def form(parts: list[tuple[str, bytes]], filename: str = "x") -> dict:
    """body and Content-Type of a multipart form; the last part is a file."""
    body = b""
    for name, content in parts:
        extra = f'; filename="{filename}"' if name == parts[-1][0] else ""
        body += f'--b\r\nContent-Disposition: form-data; name="{name}"{extra}\r\n\r\n'.encode() + content + b"\r\n"
    return {"body": body + b"--b--\r\n", "Content_Type": "multipart/form-data; boundary=b"}


class Clients(harness.Case):
    """Runs real clients with a home of their own, and with no way out of this machine."""

    NOWHERE = "http://127.0.0.1:9"  # the discard port: refused at once

    def client(self, *arguments, exit_code: int | None = 0, **extra: str) -> str:
        """What it printed. exit_code=None: any but 0."""
        home = self.scratch / "home"
        (home / "data").mkdir(parents=True, exist_ok=True)
        env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "NO_COLOR": "1", "COLUMNS": "200",
               "HTTP_PROXY": self.NOWHERE, "HTTPS_PROXY": self.NOWHERE, "NO_PROXY": "127.0.0.1",
               "OTEL_SDK_DISABLED": "true", "ANACONDA_TELEMETRY_ENABLED": "false", "ANACONDA_CLIENT_FORCE_STANDALONE": "1",
               "BINSTAR_CONFIG_DIR": str(home), "RATTLER_AUTH_FILE": str(home / "auth.json"), "PYTHONDONTWRITEBYTECODE": "1",
               "UV_NO_CONFIG": "1", "UV_CACHE_DIR": str(home / "uv"), **extra}
        done = subprocess.run([*map(str, arguments)], env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, timeout=harness.HANGS_AFTER_S)
        fits = done.returncode != 0 if exit_code is None else done.returncode == exit_code
        self.assertTrue(fits, f"exit code {done.returncode}\n$ {' '.join(map(str, arguments))}\n{done.stdout}")
        return done.stdout

    def rattler_upload(self, target: str, *arguments, exit_code: int | None = 0, **options) -> str:
        """rattler-build's uploaders, by their Python interface."""
        program = f"import rattler_build.upload as u; u.upload_package_to_{target}(*{arguments!r}, **{options!r})"
        return self.client(harness.peers_python(), "-c", program, exit_code=exit_code)

    def conda_package(self) -> pathlib.Path:
        harness.peers_python()  # without the clients nothing needs a package
        output = self.scratch / "dist"
        self.ptpkg("build", harness.FIXTURES / "toymagma", "--select", "toy_backend=cpu", "--output", output)
        return next((output / "conda/linux-64").glob("*.conda"))

    def wheel(self, code: str = "x = 1\n", tag: str = "py3-none-any", version: str = "1.0") -> pathlib.Path:
        return publishing.pure_wheel(self.scratch, code, tag, version)

    def assert_installs(self, channel: str, package: pathlib.Path) -> None:
        """py-rattler solves from the channel, fetches the file, checks its digest, and links it."""
        program = self.scratch / "install.py"
        program.write_text(installing.INSTALL.replace('f"file://{c}"', "c"))
        prefix = self.scratch / f"prefix-{len(list(self.scratch.iterdir()))}"
        name = package.name.rsplit("-", 2)[0]
        self.assertEqual(self.client(harness.peers_python(), program, prefix, channel, "", name).split(), [package.name])
        self.assertTrue(list((prefix / "conda-meta").glob("*.json")))

    def assert_installs_from(self, server, wheel) -> None:
        python, target = harness.peers_python(), self.scratch / "installed"
        self.client(python, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--disable-pip-version-check", "-d", target,
                    "-i", server.simple_url, "toy-pure")
        self.assertEqual(harness.sha256(target / wheel.name), harness.sha256(wheel))
        self.client(harness.peer_program("uv"), "pip", "install", "--no-deps", "--no-cache", "--python", python, "--target",
                    self.scratch / "target", "--default-index", server.simple_url, "toy-pure")


class Anaconda(Clients):
    FILE = "/me/toymagma-cpu/2.9.0/linux-64/toymagma-cpu-2.9.0-1.conda"
    BEGIN = ["HEAD / -> 200 [token]", "GET /user/me -> 200 [token]"]
    CREATE = ["GET /package/me/toymagma-cpu -> 404 [token]", "POST /package/me/toymagma-cpu -> 200 [token]",
              "GET /release/me/toymagma-cpu/2.9.0 -> 404 [token]", "POST /release/me/toymagma-cpu/2.9.0 -> 200 [token]"]
    SEND = [f"POST /stage{FILE} -> 200 [token]", "POST storage:/ -> 201", f"POST /commit{FILE} -> 200 [token]"]

    def serve(self, **options) -> AnacondaServer:
        server = AnacondaServer(tokens={"t": "me"}, **options)
        self.addCleanup(server.__exit__)
        config = self.scratch / "home/data/config.yaml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f"url: {server.url}\n")
        return server

    def anaconda(self, *arguments, token: str = "t", **options) -> str:
        return self.client(harness.peer_program("anaconda"), "-t", token, *arguments, **options)

    def upload(self, *arguments, **options) -> str:
        return self.anaconda("upload", "--no-progress", "-u", "me", *arguments, **options)

    def published(self, package: pathlib.Path, *labels: str) -> dict:
        entry = {"sha256": harness.sha256(package), "size": package.stat().st_size, "labels": list(labels)}
        return {"owners": {"me": {"toymagma-cpu": {"2.9.0": {"linux-64/" + package.name: entry}}}}, "staged": []}

    def test_anaconda_client(self):
        server, package = self.serve(), self.conda_package()
        self.assertIn("Upload complete", self.upload(package))
        self.assertEqual(server.trace(), [*self.BEGIN, f"GET /dist{self.FILE} -> 404 [token]", *self.CREATE, *self.SEND])
        self.assertEqual(server.state(), self.published(package, "main"))
        self.assert_installs(f"{server.url}/conda/me", package)

        there = [*self.BEGIN, f"GET /dist{self.FILE} -> 200 [token]"]
        for mode, exit_code, words in (((), 1, "already exists"), (("--skip-existing",), 0, "Skipping upload")):
            asked = len(server.requests)
            self.assertIn(words, self.upload(*mode, package, exit_code=exit_code))
            self.assertEqual(server.trace(asked), there)
        asked = len(server.requests)
        self.upload("--force", package)
        self.assertEqual(server.trace(asked), [*there, f"DELETE /dist{self.FILE} -> 200 [token]", *self.CREATE, *self.SEND])
        self.assertEqual(server.state(), self.published(package, "main"))

    def test_rattler_leaves_the_same_state(self):
        server, package = self.serve(), self.conda_package()
        arguments = ([str(package)], "me")
        options = {"channel": ["main"], "api_key": "t", "url": server.url}
        self.rattler_upload("anaconda", *arguments, **options)
        self.assertEqual(server.trace(), [*self.CREATE, *self.SEND])
        self.assertEqual(server.state(), self.published(package, "main"))

        update = ["GET /package/me/toymagma-cpu -> 200 [token]", "PATCH /package/me/toymagma-cpu -> 200 [token]",
                  "GET /release/me/toymagma-cpu/2.9.0 -> 200 [token]", "PATCH /release/me/toymagma-cpu/2.9.0 -> 200 [token]",
                  f"POST /stage{self.FILE} -> 409 [token]"]
        asked = len(server.requests)
        self.assertIn("already exists", self.rattler_upload("anaconda", *arguments, **options, exit_code=None))
        self.assertEqual(server.trace(asked), update)
        asked = len(server.requests)
        self.rattler_upload("anaconda", *arguments, **options, force=True)
        self.assertEqual(server.trace(asked), [*update, f"DELETE /dist{self.FILE} -> 200 [token]", *self.CREATE, *self.SEND])
        self.assertEqual(server.state(), self.published(package, "main"))

    def test_labels_copy_and_removal(self):
        server, package = self.serve(owners={"team": {"me"}}), self.conda_package()
        self.upload("--label", "dev", package)
        self.assertEqual(ask(f"{server.url}/conda/me/linux-64/repodata.json")[0], 404)
        self.assert_installs(f"{server.url}/conda/me/label/dev", package)
        spec = f"me/toymagma-cpu/2.9.0/linux-64/{package.name}"
        asked = len(server.requests)
        self.anaconda("copy", "--from-label", "dev", "--to-label", "rc", "--to-owner", "me", spec)
        self.anaconda("move", "--from-label", "rc", "--to-label", "main", spec)
        self.assertEqual(server.trace(asked), [
            "GET /channels/me -> 200 [token]", f"POST /copy/package{self.FILE} -> 200 [token]", "GET /channels/me -> 200 [token]",
            "POST /channels/me/main -> 201 [token]", "DELETE /channels/me/rc -> 201 [token]"])
        self.anaconda("copy", "--from-label", "dev", "--to-owner", "team", spec)
        published = self.published(package, "dev", "main")["owners"]["me"]
        self.assertEqual(server.state()["owners"]["me"], published)
        self.assertEqual(list(server.state()["owners"]["team"]["toymagma-cpu"]["2.9.0"].values())[0]["labels"], ["main"])
        self.assertIn("File conflict", self.anaconda("copy", "--from-label", "dev", "--to-owner", "team", spec, exit_code=1))
        self.anaconda("copy", "--update", "--from-label", "dev", "--to-owner", "team", spec)
        for owner in ("me", "team"):
            self.anaconda("remove", "-f", spec.replace("me/", f"{owner}/", 1))
        self.assertEqual(server.state()["owners"], {"me": {}, "team": {}})  # release and package went with the last file

    def test_refusals_and_what_the_client_leaves(self):
        package = self.conda_package()
        nothing = {"owners": {"me": {}}, "staged": []}
        server = self.serve()
        self.assertIn("401", self.upload(package, token="wrong", exit_code=1))
        self.assertEqual(server.state(), nothing)
        server = self.serve(quota_bytes=0)
        self.assertIn("storage", self.upload(package, exit_code=1))
        self.assertEqual(server.trace(7), [
            f"POST /stage{self.FILE} -> 402 [token]", "GET /release/me/toymagma-cpu/2.9.0 -> 200 [token]",
            "DELETE /release/me/toymagma-cpu/2.9.0 -> 201 [token]", "GET /package/me/toymagma-cpu -> 200 [token]",
            "DELETE /package/me/toymagma-cpu -> 201 [token]"])
        self.assertEqual(server.state(), nothing)

    def test_commit_carried_out_without_an_answer(self):
        """The client takes it for a failure; it never compares digests afterwards."""
        server, package = self.serve(faults=[faults.Cut(path="^/commit/")]), self.conda_package()
        self.upload(package, exit_code=1)
        self.assertEqual(server.trace()[9], f"POST /commit{self.FILE} -> nothing [token] !Cut(answer)")
        self.assertEqual(server.state(), self.published(package, "main"))

    def test_what_a_strict_storage_refuses(self):
        server, content = AnacondaServer(tokens={"t": "me"}), b"content"
        self.addCleanup(server.__exit__)
        path, auth = "/me/p/1.0/noarch/p-1.0-0.conda", {"Authorization": "token t"}
        self.assertEqual(ask(f"{server.url}/package/me/p", "POST", {"public": True, "public_attrs": {"summary": ""}}, **auth)[0], 200)
        release = {"requirements": [], "announce": None, "description": None}
        self.assertEqual(ask(f"{server.url}/release/me/p/1.0", "POST", release, **auth)[0], 200)
        stage = {"distribution_type": "conda", "attrs": {"subdir": "noarch", "build": "0", "build_number": 0, "depends": []},
                 "channels": [], "sha256": hashlib.sha256(content).hexdigest()}
        self.assertEqual(ask(f"{server.url}/stage{path}", "POST", {**stage, "sha256": ""}, **auth)[0], 400)
        status, answer = ask(f"{server.url}/stage{path}", "POST", stage, **auth)
        staged = json.loads(answer)
        self.assertEqual(ask(f"{server.url}/commit{path}", "POST", {"dist_id": staged["dist_id"]}, **auth)[0], 400)

        fields = [(name, value.encode()) for name, value in staged["form_data"].items()]
        size, md5 = ("Content-Length", b"7"), ("Content-MD5", base64.b64encode(hashlib.md5(content).digest()))
        file = ("file", content)
        for code, parts in (("InvalidArgument", [*fields, size, file, md5]), ("InvalidDigest", [*fields, size, (md5[0], b"x"), file]),
                            ("IncompleteBody", [*fields, (size[0], b"8"), md5, file]), ("AccessDenied", [*fields[1:], size, md5, file]),
                            ("AccessDenied", [*fields, size, file])):
            with self.subTest(code):
                status, answer = ask(staged["post_url"], "POST", **form(parts))
                self.assertEqual((status // 100, f"<Code>{code}</Code>" in answer.decode()), (4, True), answer)
        good = form([*fields, size, md5, file])
        self.assertIn(b"Only one auth mechanism", ask(staged["post_url"], "POST", **good, **auth)[1])
        self.assertEqual(ask(staged["post_url"], "POST", **good)[0], 201)
        self.assertIn(b"is no conda package", ask(f"{server.url}/commit{path}", "POST", {"dist_id": staged["dist_id"]}, **auth)[1])
        self.assertEqual(server.state()["staged"], [path[1:]])


class CondaServers(Clients):
    """Quetz, Artifactory and prefix.dev, with rattler-build's uploaders."""

    def test_quetz(self):
        package = self.conda_package()
        place = f"/api/channels/main/upload/{package.name}?force=false&sha256={harness.sha256(package)}"
        with QuetzServer() as server:
            arguments = ([str(package)], server.url, "main")
            self.rattler_upload("quetz", *arguments, api_key=server.token)
            self.rattler_upload("quetz", *arguments, api_key=server.token, exit_code=None)
            self.rattler_upload("quetz", *arguments, api_key="wrong", exit_code=None)
            self.assertEqual(server.trace(), [f"POST {place} -> {status}" for status in (201, 409, 401)])
            self.assert_published(server, package)
            self.assertEqual(self.post(server, package, "force=true", "0" * 64), 406)
            self.assertEqual(self.post(server, package, "force=true", harness.sha256(package)), 201)
            self.assertEqual(self.post(server, package.with_name("other-1.0-0.conda"), "force=true", harness.sha256(package)), 400)

    def post(self, server, package: pathlib.Path, query: str, digest: str) -> int:
        content = next(package.parent.glob("toymagma-*.conda")).read_bytes()
        url = f"{server.url}/api/channels/main/upload/{package.name}?{query}&sha256={digest}"
        return ask(url, "POST", content, X_API_Key=server.token)[0]

    def assert_published(self, server, package: pathlib.Path) -> None:
        """State, repodata.json and an installer agree."""
        entry = {"sha256": harness.sha256(package), "size": package.stat().st_size}
        self.assertEqual(server.state()["main"], {f"linux-64/{package.name}": entry})
        records = json.loads(ask(f"{server.url}/main/linux-64/repodata.json")[1])["packages.conda"]
        self.assertEqual(records[package.name]["sha256"], entry["sha256"])
        self.assert_installs(f"{server.url}/main", package)

    def test_artifactory(self):
        package = self.conda_package()
        place, digest = f"/main/linux-64/{package.name}", harness.sha256(package)
        with ArtifactoryServer() as server:
            for status in (201, 201):
                self.rattler_upload("artifactory", [str(package)], server.url, "main", token=server.token)
                self.assertEqual(server.trace()[-1], f"PUT {place} -> {status} [Bearer]")
            self.assert_published(server, package)
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                    urllib.request.Request(server.url + place, method="HEAD")) as answer:
                self.assertEqual((answer.headers["X-Checksum-Sha256"], answer.headers["Content-Length"]),
                                 (digest, str(package.stat().st_size)))
            auth = {"Authorization": f"Bearer {server.token}"}
            self.assertEqual(ask(server.url + place, "PUT", b"x", X_Checksum_Sha256=digest, **auth)[0], 409)
            self.assertEqual(ask(server.url + place, "PUT", b"x", **auth)[0], 400)
            known = {"X-Checksum-Deploy": "true", "X-Checksum-Sha256": digest, **auth}
            self.assertEqual(ask(server.url + place, "PUT", b"", **known)[0], 201)
            server.overwrite = False
            self.assertEqual(ask(server.url + place, "PUT", package.read_bytes(), **auth)[0], 403)
            self.assertEqual(ask(server.url + place, "PUT", package.read_bytes())[0], 401)

    def test_prefix(self):
        package = self.conda_package()
        with PrefixServer() as server:
            for options, status, exit_code in (({}, 200, 0), ({}, 409, None), ({"skip_existing": True}, 409, 0),
                                               ({"force": True}, 200, 0)):
                self.rattler_upload("prefix", [str(package)], server.url, "main", api_key=server.token, exit_code=exit_code, **options)
                self.assertRegex(server.trace()[-1], rf"^POST /api/v1/upload/main(\?force=true)? -> {status} \[Bearer\]$")
            self.assertEqual(len(server.requests), 4)
            self.assert_published(server, package)
            status, answer = ask(f"{server.url}/api/v1/upload/main", "POST", **form([("file", b"x")]),
                                 Authorization=f"Bearer {server.token}")
            self.assertEqual((status, b"X-File-Name is None" in answer), (400, True))

    def test_what_rattler_retries(self):
        """503 and nothing of it kept: it tries again by itself. It takes an answer that was lost for a failure."""
        package = self.conda_package()
        with PrefixServer(faults=[faults.Status(503, number=1)]) as server:
            self.rattler_upload("prefix", [str(package)], server.url, "main", api_key=server.token)
            self.assertEqual([request.status for request in server.requests], [503, 200])
        with PrefixServer(faults=[faults.Cut(number=1)]) as server:
            self.rattler_upload("prefix", [str(package)], server.url, "main", api_key=server.token, exit_code=None)
            self.assertIn(f"linux-64/{package.name}", server.state()["main"])


class Pypi(Clients):
    def twine(self, server, wheel, **options) -> str:
        return self.client(harness.peer_program("twine"), "upload", "--non-interactive", "--disable-progress-bar", "-u", "__token__",
                           "-p", "pypi-token-of-the-test", "--repository-url", server.upload_url, wheel, **options)

    def uv(self, server, wheel, *arguments, **options) -> str:
        return self.client(harness.peer_program("uv"), "publish", "--publish-url", server.upload_url, "--token",
                           "pypi-token-of-the-test", "--trusted-publishing", "never", *arguments, wheel, **options)

    def test_twine_and_uv_leave_the_same(self):
        wheel, forms = self.wheel(), []
        for upload in (self.twine, self.uv):
            with PypiServer() as server:
                upload(server, wheel)
                upload(server, wheel)  # the same bytes again
                self.assertEqual(server.trace(), ["POST /legacy/ -> 200 [Basic]"] * 2)
                entry = {"sha256": harness.sha256(wheel), "size": wheel.stat().st_size}
                self.assertEqual(server.state(), {"toy-pure": {wheel.name: entry}})
                forms.append(server.fields_of(wheel.name))
                self.assert_installs_from(server, wheel)
        self.assertEqual(*forms)

    def test_what_is_refused(self):
        cases = (("unsupported platform tag 'linux_x86_64'", {"tag": "py3-none-linux_x86_64"}),
                 ("use of local versions", {"version": "1.0+cpu"}))
        for words, wanted in cases:
            for upload in (self.twine, self.uv):
                with self.subTest(words, client=upload.__name__), PypiServer() as server:
                    self.assertIn(words, " ".join(upload(server, self.wheel(**wanted), exit_code=None).split()))
                    self.assertEqual((server.trace(), server.state()), (["POST /legacy/ -> 400 [Basic]"], {}))

    def test_a_second_upload_of_a_name(self):
        first, other = self.wheel(), self.wheel("x = 2\n")
        for style, of_twine, of_uv in (("pypi", (200, 400), (200, 400)), ("devpi", (200, 409), (200, 409)),
                                       ("pypiserver", (400, 400), (409, 409))):
            for upload, statuses in ((self.twine, of_twine), (self.uv, of_uv)):
                with self.subTest(style, client=upload.__name__), PypiServer(style=style) as server:
                    upload(server, first)
                    for wheel, status in zip((first, other), statuses):
                        upload(server, wheel, exit_code=0 if status == 200 else None)
                    self.assertEqual([request.status for request in server.requests], [200, *statuses])
                    self.assertEqual(server.state()["toy-pure"][first.name]["sha256"], harness.sha256(first))

    def test_check_url_of_uv(self):
        """What uv reads before it sends, and after a failure whose cause it does not know."""
        first, other = self.wheel(), self.wheel("x = 2\n")
        with PypiServer(faults=[faults.Status(500, when="answer", number=2)]) as server:
            check = ("--check-url", server.simple_url)
            self.uv(server, first, *check)
            self.assertEqual(server.trace()[:3], ["GET /simple/toy-pure/ -> 404", "POST /legacy/ -> 500 [Basic] !Status(500, answer)",
                                                  "GET /simple/toy-pure/ -> 200"])
            self.assertIn("already exists, skipping", self.uv(server, first, *check))
            self.assertIn("do not match", self.uv(server, other, *check, exit_code=2))

    def test_fields(self):
        wheel = self.wheel()
        content = wheel.read_bytes()
        fields = {":action": "file_upload", "protocol_version": "1", "metadata_version": "2.4", "name": "toy.pure", "version": "1.0",
                  "filetype": "bdist_wheel", "pyversion": "py3", "sha256_digest": harness.sha256(wheel)}
        auth = {"Authorization": "Basic " + base64.b64encode(b"__token__:pypi-token-of-the-test").decode()}

        def post(server, changed: dict, name: str = wheel.name, **headers) -> int:
            parts = [(key, value.encode()) for key, value in {**fields, **changed}.items() if value]
            sent = form([*parts, ("content", content)], filename=name)
            return ask(server.upload_url, "POST", **sent, **headers)[0]

        with PypiServer() as server:
            for name, value in ((":action", ""), ("name", "other"), ("version", "1.1"), ("filetype", "sdist"), ("pyversion", "cp311"),
                                ("sha256_digest", "0" * 64), ("sha256_digest", ""), ("blake2_256_digest", "0"), ("summary", "y")):
                with self.subTest(name, value=value):
                    self.assertEqual(post(server, {name: value}, **auth), 400)
            self.assertEqual(post(server, {}, name="toy_pure-1.0-py2-none-any.whl", **auth), 400)
            self.assertEqual(post(server, {}), 403)
            self.assertEqual((post(server, {"unknown": "x"}, **auth), len(server.state())), (200, 1))

    def test_trusted_publishing(self):
        """uv asks for https whatever the address of the index says."""
        made, wheel = faults.certificates(self.scratch), self.wheel()
        claims = {"repository": "owner/name"}
        with Issuer(claims=claims) as issuer, PypiServer(trusts=issuer, publisher=claims, certificate=made["good"]) as server:
            command = (harness.peer_program("uv"), "publish", "--publish-url", server.upload_url, "--trusted-publishing", "always", wheel)
            environment = {"SSL_CERT_FILE": str(self.scratch / "ca.crt"), **issuer.environment()}
            self.client(*command, **environment)
            self.assertEqual(server.trace(), ["GET /_/oidc/audience -> 200", "POST /_/oidc/mint-token -> 200",
                                              "POST /legacy/ -> 200 [Basic]", "POST /_/oidc/burn-token -> 204"])
            self.assertEqual(list(server.tokens), ["pypi-token-of-the-test"])
            self.assertEqual(issuer.trace(), ["GET /token?api-version=2.0&audience=pypi -> 200 [Bearer]"])
            server.publisher = {"repository": "owner/other"}
            self.assertIn("no corresponding publisher", self.client(*command, exit_code=None, **environment))
            for audience, key in (("other", issuer.key), ("pypi", b"another issuer")):
                issuer.key, kept = key, issuer.key
                token = issuer.sign(audience, **claims)
                issuer.key = kept
                with self.assertRaises(ValueError):
                    issuer.verify(token, "pypi")


if __name__ == "__main__":
    harness.main()
