"""Sources from real servers on the loopback interface: git daemon, git over http, archives that are cut."""

import functools
import hashlib
import http.server
import io
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tarfile
import threading

import harness
from servers.ports import Port

GIT_PROGRAMS = pathlib.Path("/usr/lib/git-core")


class CuttingProxy:
    """Hands connections on to a server; the first `cuts` of them end after `after` bytes of the answer."""

    def __init__(self, port: int, cuts: int, after: int):
        self.target, self.cuts, self.after = port, cuts, after
        self.seen = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.seen += 1
            budget = self.after if self.seen <= self.cuts else None
            server = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self.pump, args=(client, server, None), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, budget), daemon=True).start()

    @staticmethod
    def pump(source, sink, budget):
        try:
            while data := source.recv(65536):
                if budget is not None and len(data) >= budget:
                    sink.sendall(data[:budget])
                    break
                budget = None if budget is None else budget - len(data)
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


class SourceCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.recipe = self.scratch / "recipe"
        self.recipe.mkdir()
        self.repositories = self.scratch / "srv"
        self.repositories.mkdir()

    def git(self, folder: pathlib.Path, *args) -> str:
        identity = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                    for what, value in (("NAME", "a"), ("EMAIL", "a@b"), ("DATE", "2026-01-01T00:00:00Z"))}
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **identity}
        done = subprocess.run(["git", "-c", "protocol.file.allow=always", *map(str, args)], cwd=folder, env=env,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, f"git {args}: {done.stdout}")
        return done.stdout.strip()

    def repository(self, name: str) -> pathlib.Path:
        """A working repository; publish() puts it where servers find it."""
        folder = self.scratch / name
        folder.mkdir()
        self.git(folder, "init", "-q", "-b", "main")
        return folder

    def commit(self, folder: pathlib.Path, **files: str) -> str:
        for name, text in files.items():
            (folder / name).write_text(text)
        self.git(folder, "add", "-A")
        self.git(folder, "commit", "-q", "-m", "x")
        return self.git(folder, "rev-parse", "HEAD")

    def publish(self, folder: pathlib.Path) -> None:
        target = self.repositories / (folder.name + ".git")
        shutil.rmtree(target, ignore_errors=True)
        self.git(self.scratch, "clone", "-q", "--bare", folder, target)
        self.git(target, "update-server-info")

    def daemon(self) -> str:
        """Serves the published repositories; the URL's begin."""
        program = GIT_PROGRAMS / "git-daemon"
        if not program.exists():
            harness.tool("git-daemon")
        port = Port()
        self.serve(port, [program, "--export-all", "--reuseaddr", f"--port={port.number}", "--listen=127.0.0.1",
                          f"--base-path={self.repositories}"])
        return f"git://127.0.0.1:{port.number}"

    def serve(self, port: Port, command: list) -> None:
        """`self.server`, until the test ends."""
        self.addCleanup(port.close)
        self.server = port.serve(command, self.scratch / "server.log")
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.terminate)

    def http_port(self) -> int:
        """nginx and fcgiwrap before git http-backend below /smart/, files as they are below /dumb/."""
        nginx, wrapper = harness.tool("nginx"), harness.tool("fcgiwrap")
        port = Port()
        folder = self.scratch / "nginx"
        folder.mkdir()
        temporary = "".join(f"{what}_temp_path {folder}/{what};" for what in
                            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "nginx.conf").write_text(f"""
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{ access_log off; {temporary}
  server {{ listen 127.0.0.1:{port.number};
    location /dumb/ {{ alias {self.repositories}/; }}
    location ~ ^/smart(/.*)$ {{
      client_max_body_size 0;
      fastcgi_param SCRIPT_FILENAME {GIT_PROGRAMS}/git-http-backend;
      fastcgi_param GIT_HTTP_EXPORT_ALL ""; fastcgi_param GIT_PROJECT_ROOT {self.repositories};
      fastcgi_param PATH_INFO $1; fastcgi_param QUERY_STRING $query_string;
      fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param HTTP_GIT_PROTOCOL $http_git_protocol;
      fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding;
      fastcgi_param HOME /nonexistent; fastcgi_pass unix:{folder}/socket; }} }} }}
""")
        # git http-backend serves only what belongs to its user. fcgiwrap serves the socket that is its standard input.
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / "socket"))
            listener.listen()
            server = subprocess.Popen([wrapper], stdin=listener, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        self.serve(port, [nginx, "-c", folder / "nginx.conf"])
        return port.number

    def write_recipe(self, source: str, rest: str = "") -> pathlib.Path:
        (self.recipe / "recipe.yaml").write_text(
            'package: {name: toy, version: "1.0"}\n' + f"source: {source}\n"
            "build: {string: s, script: 'mkdir -p $PREFIX/share && cp -r . $PREFIX/share/toy'}\n"
            "about: {license: MIT}\nextra: {ptpkg: {formats: [conda]}}\n" + rest)
        return self.recipe

    def build(self, *args, exit_code: int = 0, **extra):
        return self.ptpkg("build", self.recipe, "--env", "system", "--output", self.scratch / "dist", *args,
                          exit_code=exit_code, **extra)

    def made(self) -> dict[str, str]:
        """The files of the package, by path below share/toy."""
        folder = self.scratch / "unpacked"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        package = next((self.scratch / "dist").rglob("*.conda"))
        code = "import sys; from conda_package_handling import api; api.extract(sys.argv[1], sys.argv[2])"
        subprocess.run([harness.peers_python(), "-c", code, package, folder], check=True)
        self.rendered = (folder / "info/recipe/rendered_recipe.yaml").read_text()
        root = folder / "share/toy"
        return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}

    def forget(self, *folders: str) -> None:
        """As on another day: no results, and of the cache only what is not named here."""
        for folder in (self.scratch / "dist", *(self.cache / name for name in ("stages", *folders))):
            shutil.rmtree(folder, ignore_errors=True)


class GitTest(SourceCase):
    def test_a_daemon_with_tags_branches_and_submodules(self):
        child = self.repository("child")
        self.commit(child, c="child")
        self.publish(child)
        toy = self.repository("toy")
        self.commit(toy, f="one")
        self.git(toy, "submodule", "--quiet", "add", child, "deps/c")
        self.git(toy, "config", "-f", ".gitmodules", "submodule.deps/c.url", "../child.git")
        first = self.commit(toy, f="tagged")
        self.git(toy, "tag", "-a", "-m", "x", "v1")
        second = self.commit(toy, f="newer")
        self.publish(toy)
        server = self.daemon()

        self.write_recipe(f"{{git: {server}/toy.git, tag: v1}}")
        self.build()
        files = self.made()
        self.assertEqual((files["f"], files["deps/c/c"]), ("tagged", "child"))
        self.assertFalse([name for name in files if ".git/" in name])
        self.assertRegex(self.rendered, f'expected_commit: "?{first}')
        self.assertIn("tag: v1", self.rendered)
        # Nothing is done twice.
        summary = self.ptpkg_json("build", self.recipe, "--env", "system", "--output", self.scratch / "dist")
        self.assertFalse(self.stage_states(summary)[("build", "toy-1.0-s")])

        self.write_recipe(f"{{git: {server}/toy.git, branch: main}}")
        done = self.build()
        self.assertIn(f"main of '{server}/toy.git' is commit {second}", done.stderr)
        self.assertEqual(self.made()["f"], "newer")
        self.assertRegex(self.rendered, f'rev: "?{second}')

        with self.subTest("a branch that moves after the plan"):
            self.forget("git")
            output = self.scratch / "dist"
            plan = self.scratch / "plan.json"
            plan.write_text(self.ptpkg("build", self.recipe, "--env", "system", "--output", output, "--plan",
                                       "--json").stdout)
            self.commit(toy, f="after the plan")
            self.git(toy, "push", "-q", self.repositories / "toy.git", "main")
            self.ptpkg("run-node", plan, "build/toy-1.0-s")
            tree = next((self.cache / "stages/results/build").glob("*/files/tree/share/toy/f"))
            self.assertEqual(tree.read_text(), "newer")

        with self.subTest("a tag that is gone"):
            self.write_recipe(f"{{git: {server}/toy.git, tag: v9}}")
            done = self.build(exit_code=4)
            self.assertIn(f"recipe.yaml:2:9: error: '{server}/toy.git' does not have the tag 'v9'", done.stderr)

        with self.subTest("another commit than the recipe expects"):
            self.write_recipe(f"{{git: {server}/toy.git, tag: v1, expected_commit: {second}}}")
            done = self.build(exit_code=4)
            self.assertIn(f"tag v1 of '{server}/toy.git' is commit {first}, but the recipe expects {second}",
                          done.stderr)

        with self.subTest("a repository that is not there"):
            self.write_recipe(f"{{git: {server}/none.git}}")
            self.assertIn("access denied or repository not exported", self.build(exit_code=4).stderr)

        with self.subTest("a submodule whose commit is gone"):
            self.forget("git")
            gone = self.git(child, "rev-parse", "HEAD")
            self.git(child, "commit", "-q", "--amend", "-m", "another")
            self.publish(child)
            self.git(self.repositories / "child.git", "gc", "-q", "--prune=now")
            self.write_recipe(f"{{git: {server}/toy.git, tag: v1}}")
            done = self.build(exit_code=4)
            self.assertIn(f"commit {gone} is not in '{server}/child.git'", done.stderr)
            self.assertIn("while fetching the submodule 'deps/c'", done.stderr)

        with self.subTest("a server that is gone"):
            self.server.terminate()
            self.server.wait()
            done = self.build(exit_code=8)
            self.assertIn("cannot list the branches and tags of", done.stderr)
        self.assertEqual(harness.leftovers(self.cache, self.scratch / "dist"), [])

    def test_offline_builds_from_the_cache(self):
        toy = self.repository("toy")
        commit = self.commit(toy, f="x")
        self.publish(toy)
        server = self.daemon()
        self.write_recipe(f"{{git: {server}/toy.git, branch: main}}")
        done = self.build("--offline", exit_code=4)
        self.assertIn(f"branch main of '{server}/toy.git' offline: it is not in the cache", done.stderr)
        self.build()
        self.server.terminate()
        self.server.wait()
        self.forget()
        self.build(PTPKG_OFFLINE="1")
        self.assertEqual(self.made()["f"], "x")
        self.assertIn(commit, self.rendered)
        items = self.ptpkg_json("cache")["items"]
        self.assertEqual([item["subject"] for item in items if item["kind"] == "git"], [f"{server}/toy.git"])
        self.ptpkg("cache", "clean")
        self.assertEqual(list((self.cache / "git").iterdir()), [])

    def test_http_with_cuts_and_without_a_program_behind_it(self):
        toy = self.repository("toy")
        (toy / "large").write_text(os.urandom(2_000_000).hex())
        self.commit(toy, f="old")
        old = self.git(toy, "rev-parse", "HEAD")
        self.commit(toy, f="new")
        self.publish(toy)
        port = self.http_port()
        with self.subTest("smart"):
            self.write_recipe(f"{{git: 'http://127.0.0.1:{port}/smart/toy.git', rev: {old}}}")
            self.build()
            self.assertEqual(self.made()["f"], "old")
        with self.subTest("dumb: all branches come"):
            self.forget()
            self.write_recipe(f"{{git: 'http://127.0.0.1:{port}/dumb/toy.git', rev: {old}}}")
            self.build()
        for cuts, exit_code in ((2, 0), (1000, 8)):
            with self.subTest(f"{cuts} connections are cut"):
                self.forget("git")
                proxy = CuttingProxy(port, cuts, 500_000)
                self.addCleanup(proxy.close)
                self.write_recipe(f"{{git: 'http://127.0.0.1:{proxy.port}/smart/toy.git', rev: {old}}}")
                # Connections are used again, so cuts are counted by what they carry.
                done = self.build(exit_code=exit_code)
                if exit_code:
                    self.assertIn(f"cannot fetch commit {old}", done.stderr)
        with self.subTest("not found"):
            self.write_recipe(f"{{git: 'http://127.0.0.1:{port}/smart/none.git', tag: v1}}")
            self.assertIn("not found", self.build(exit_code=4).stderr)

    def test_a_repository_as_source(self):
        toy = self.repository("toy")
        self.commit(toy, f="tagged")
        self.git(toy, "tag", "v1")
        self.commit(toy, f="committed")
        self.publish(toy)
        (toy / "f").write_text("edited")
        bare = self.repositories / "toy.git"
        self.write_recipe("{url: 'http://127.0.0.1:1/x.tar.gz', sha256: " + "0" * 64 + "}")
        for value, text in ((bare, "committed"), (f"{bare}@v1", "tagged"), (toy, "edited"), (f"{toy}@v1", "tagged"),
                            (f"git+file://{bare}@v1", "tagged")):
            with self.subTest(value):
                self.build("--source", f"toy={value}")
                self.assertEqual(self.made()["f"], text)
        self.assertIn("takes a path or git+URL", self.build("--source", "toy=https://h/x", exit_code=2).stderr)
        self.write_recipe("{path: ../srv/toy.git}")
        self.assertIn("is a bare git repository", self.build(exit_code=3).stderr)

    def test_lfs(self):
        harness.tool("git-lfs")
        toy = self.repository("toy")
        self.git(toy, "lfs", "install", "--local", "--skip-smudge")
        self.git(toy, "lfs", "track", "*.big")
        (toy / "a.big").write_text("large " * 1000)
        commit = self.commit(toy, f="x")
        # Shared as a path: git-lfs then reads the other repository itself.
        url = f"file://{toy}"
        self.write_recipe(f"{{git: '{url}', rev: {commit}, lfs: true}}")
        self.build()
        self.assertEqual(self.made()["a.big"], "large " * 1000)
        for damage in (lambda path: path.write_text("EVIL!!" * 1000), lambda path: path.unlink()):
            objects = [path for path in self.cache.glob("git/*/repo.git/lfs/objects/*/*/*") if path.is_file()]
            self.assertEqual(len(objects), 1)
            copy = objects[0].read_text()
            objects[0].chmod(0o644)
            objects[0].unlink()  # git-lfs may have linked it to the other repository's
            objects[0].write_text(copy)
            damage(objects[0])
            self.forget()
            self.write_recipe(f"{{git: '{url}', rev: {commit}, lfs: true}}")
            self.assertIn("an LFS file of commit", self.build().stderr)
            self.assertEqual(self.made()["a.big"], "large " * 1000)
        self.write_recipe(f"{{git: '{url}', rev: {commit}}}")
        self.build()
        self.assertTrue(self.made()["a.big"].startswith("version https://git-lfs"))


class Archives(http.server.BaseHTTPRequestHandler):
    """One archive below any name: /whole, /cut (half, then the end), /slow (half, then nothing until `killed`), /lies, /gone."""

    protocol_version = "HTTP/1.1"
    killed = threading.Event()

    def __init__(self, body: bytes, log: list, *args):
        self.body, self.log = body, log
        super().__init__(*args)

    def do_GET(self):
        kind = self.path.split("/")[1]
        wanted = self.headers.get("Range")
        self.log.append((kind, wanted))
        body = b"another file" if kind == "lies" else self.body
        status, begin = 200, 0
        if kind == "gone":
            status, body = 404, b""
        elif wanted and self.headers.get("If-Range") == '"toy"':
            begin = int(wanted.removeprefix("bytes=").rstrip("-"))
            status = 206
        self.send_response(status)
        self.send_header("ETag", '"toy"')
        self.send_header("Content-Length", str(len(body) - begin))
        if status == 206:
            self.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
        self.end_headers()
        half = len(body) // 2
        if kind in ("cut", "slow") and begin == 0:
            self.wfile.write(body[:half])
            self.wfile.flush()
            if kind == "slow":
                self.killed.wait(harness.HANGS_AFTER_S)
            self.close_connection = True
            return
        self.wfile.write(body[begin:])

    def log_message(self, *_):
        pass


class ArchiveTest(SourceCase):
    def setUp(self):
        super().setUp()
        self.body = self.archive({"toy-1.0/f": b"one\ntwo\n", "toy-1.0/large": os.urandom(2_000_000)})
        self.log: list = []
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Archives, self.body, self.log))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.base = f"http://127.0.0.1:{server.server_port}"

    @staticmethod
    def archive(files: dict[str, bytes]) -> bytes:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for name, data in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        return packed.getvalue()

    def source(self, *kinds: str, rest: str = "") -> str:
        urls = ", ".join(f"'{self.base}/{kind}/toy.tar.gz'" for kind in kinds)
        return f"{{url: [{urls}], sha256: {hashlib.sha256(self.body).hexdigest()}{rest}}}"

    def test_a_cut_download_goes_on(self):
        self.write_recipe(self.source("cut"))
        self.build()
        self.assertEqual(self.log, [("cut", None), ("cut", f"bytes={len(self.body) // 2}-")])

    def test_a_killed_download_goes_on_in_the_next_run(self):
        self.write_recipe(self.source("slow"))
        process = subprocess.Popen([harness.Settings.ptpkg, "build", self.recipe, "--env", "system", "--output",
                                    self.scratch / "dist"], env=self.environment(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        half = len(self.body) // 2
        self.wait_for(lambda: half in [path.stat().st_size for path in self.cache.glob("downloads/*/.partial-*") if path.suffix == ""])
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        Archives.killed.set()
        self.assertEqual([item["kind"] for item in self.ptpkg_json("cache")["items"] if "downloads" in item["path"]],
                         ["partial"])
        self.build()
        self.assertEqual(self.log, [("slow", None), ("slow", f"bytes={half}-")])
        names = sorted(path.name for path in next((self.cache / "downloads").iterdir()).iterdir())
        self.assertEqual(names, [".fetch-lock", ".lease", "toy.tar.gz"])

    def test_mirrors_that_lie_or_are_gone(self):
        self.write_recipe(self.source("lies", "gone", "whole"))
        done = self.build()
        self.assertIn("/lies/toy.tar.gz' has sha256", done.stderr)
        self.assertIn("trying the next mirror", done.stderr)
        self.write_recipe(self.source("lies", "gone"))
        self.forget("downloads")
        done = self.build(exit_code=4)
        self.assertIn("cannot fetch 'toy.tar.gz' from any of 2 mirrors", done.stderr)
        self.assertEqual(list((self.scratch / "dist").rglob("*.conda")), [])

    def test_offline(self):
        self.write_recipe(self.source("whole"))
        done = self.build("--offline", exit_code=4)
        self.assertIn("'toy.tar.gz' (sha256 ", done.stderr)
        self.assertIn("build once without --offline, or put the file at", done.stderr)
        self.assertEqual(self.log, [])
        self.build()
        self.forget()
        self.build("--offline")

    def test_several_archives_and_a_series_of_patches(self):
        other = self.scratch / "other.tar.gz"
        other.write_bytes(self.archive({"other/g": b"g\n"}))
        patches = self.recipe / "debian/patches"
        patches.mkdir(parents=True)
        (patches / "series").write_text("# of the distribution\nfix.patch -p1\n")
        (patches / "fix.patch").write_text("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n")
        second = f"{{url: 'file://{other}', sha256: {harness.sha256(other)}, target_directory: third_party/other}}"
        self.write_recipe(f"[{self.source('whole', rest=', patches: debian/patches')}, {second}]")
        self.build()
        files = self.made_text("f", "third_party/other/g")
        self.assertEqual(files, ["one\nthree\n", "g\n"])
        with self.subTest("fuzz"):
            (patches / "fix.patch").write_text("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n zero\n one\n-two\n+three\n")
            self.assertIn("hunk 1 of 'f' does not fit at line 1", self.build(exit_code=3).stderr)
        with self.subTest("a missing member"):
            (patches / "series").write_text("fix.patch\nmore.patch\n")
            done = self.build(exit_code=4)
            self.assertIn("debian/patches/series:2:1: error: the series file lists the patch 'more.patch'", done.stderr)

    def made_text(self, *names: str) -> list[str]:
        root = next((self.cache / "stages/results/build").glob("*/files/tree/share/toy"))
        return [(root / name).read_text() for name in names]


if __name__ == "__main__":
    harness.main()
