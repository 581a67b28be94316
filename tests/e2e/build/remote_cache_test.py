"""`ptpkg build --remote-cache`: hosts without a common disk share results by a bucket, and whatever breaks there breaks no build.

Each host has a cache, a home and recipes of its own, in directories of other names and depths; the second one is another user where
the test may change users. The store is moto, behind a proxy that makes faults (servers/s3_server.py).
"""

import collections
import json
import os
import re
import shutil
import subprocess

import harness
import toy_backends
from servers import faults
from servers.s3_server import S3Server, WithMoto

KEY_ID, SECRET, SESSION = "AKIDOFTHETEST", "secret-key-of-the-test", "session-token-of-the-test"
PLACE = "s3://channel/team"
USERS = {"alpha": 0, "beta": 1002}
# The prefix is in a file, which the package must name as a prefix of whoever installs it.
LINK_AND_PREFIX = """\
ln -s numbers "$PREFIX/share/toy/link"
echo "exec cat $PREFIX/share/toy/numbers" >>"$PREFIX/bin/toy-$PKG_NAME"
"""
OUTPUTS = """\
schema_version: 1
recipe: {name: parts, version: "1"}
build: {number: 0, string: "0"}
about: {license: MIT}
extra: {ptpkg: {formats: [conda]}}
outputs:
  - staging: {name: parts-native}
    build: {script: ['mkdir -p "$PREFIX/lib" && pwd >where && echo native >"$PREFIX/lib/native" && echo "$PREFIX" >"$PREFIX/lib/prefix"']}
  - package: {name: parts-lib}
    inherit: parts-native
    build: {files: [lib/native]}
  - package: {name: parts-rest}
    inherit: parts-native
    build: {script: ['test "$(cat where)" = "$(pwd)" && test "$(cat "$PREFIX/lib/prefix")" = "$PREFIX" && echo more >"$PREFIX/lib/more"']}
"""


class Host:
    """A machine's own files. `depth`: how many directories lie above them."""

    def __init__(self, case: harness.Case, name: str, depth: int) -> None:
        self.case, self.name = case, name
        self.home = case.scratch.joinpath(name, *["deeper"] * depth)
        self.cache, self.output, self.recipe = self.home / f"cache-{name}", self.home / "dist", self.home / "recipe"
        self.recipe.mkdir(parents=True)
        self.write(toy_backends.files(LINK_AND_PREFIX))

    def write(self, files: dict[str, str]) -> None:
        for file in self.recipe.iterdir():
            file.unlink()
        for name, text in files.items():
            (self.recipe / name).write_text(text)

    def command(self, verb: str, *arguments) -> list[str]:
        words = [harness.Settings.ptpkg, verb, self.recipe, "--output", self.output, *arguments]
        user = USERS[self.name]
        if os.geteuid() != 0 or user == 0:
            return [str(word) for word in words]
        for path in (self.case.scratch / self.name, *(self.case.scratch / self.name).rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)
        return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *map(str, words)]

    def environment(self, server_url: str, **extra: str) -> dict[str, str]:
        return {**self.case.environment(), "HOME": str(self.home), "PTPKG_CACHE_DIR": str(self.cache), "AWS_ENDPOINT_URL": server_url,
                "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": SESSION, **extra}

    def start(self, server_url: str, *arguments, verb: str = "build", **extra: str) -> subprocess.Popen:
        return subprocess.Popen(self.command(verb, *arguments), cwd=self.home, text=True, env=self.environment(server_url, **extra),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class RemoteCache(WithMoto, harness.Case):
    def setUp(self) -> None:
        super().setUp()
        self.scratch.chmod(0o755)
        self.alpha, self.beta = Host(self, "alpha", 0), Host(self, "beta", 2)

    def server(self, **options) -> S3Server:
        return self.enterContext(S3Server(self.moto, **options))

    def ended(self, process: subprocess.Popen, exit_code: int = 0) -> tuple[str, str]:
        stdout, stderr = process.communicate(timeout=harness.HANGS_AFTER_S)
        self.assertEqual(process.returncode, exit_code, stdout + stderr)
        for secret in (KEY_ID, SECRET, SESSION):
            self.assertNotIn(secret, stdout + stderr)
        return stdout, stderr

    def build(self, host: Host, server, *arguments, **extra: str) -> tuple[dict, str]:
        """The document of --json, and stderr. Artifacts of an earlier build are gone: they would save the host the work."""
        shutil.rmtree(host.output, ignore_errors=True)
        url = server if isinstance(server, str) else server.url
        stdout, stderr = self.ended(host.start(url, "--json", "--remote-cache", PLACE, *arguments, **extra))
        return json.loads(stdout), stderr

    def counts(self, summary: dict) -> dict[str, int]:
        """Sums of the counters, without their common prefix, and the builds that ran."""
        sums = collections.Counter(ran=sum(stage["ran"] for stage in summary["stages"] if stage["stage"] == "build"))
        for stage in summary["stages"]:
            for name, count in stage.get("counts", {}).items():
                sums[name.removeprefix("remote_cache_")] += count
        return {name: count for name, count in sums.items() if count}

    def warnings(self, said: str) -> list[str]:
        return [line for line in said.splitlines() if line.startswith("warning:")]

    def objects(self, server: S3Server) -> list[str]:
        return [key for key in server.keys() if key.startswith("team/v1/build/")]

    # Hits

    def test_results_of_another_host_path_and_user_are_hits(self):
        server = self.server()
        first, said = self.build(self.alpha, server)
        self.assertEqual(self.counts(first), {"ran": 3, "misses": 3, "uploads": 3}, said)
        self.assertEqual(len(self.objects(server)), 3)
        second, said = self.build(self.beta, server)
        self.assertEqual(self.counts(second), {"hits": 3}, said)
        self.assertEqual(harness.artifacts(self.beta.output), harness.artifacts(self.alpha.output))
        self.assertEqual({stage["reason"] for stage in second["stages"] if stage["stage"] == "build"}, {"from the remote cache"})
        self.assertEqual(self.warnings(said), [])
        self.assertEqual(server.wrong_signatures(SECRET), "")
        self.assertEqual(harness.leftovers(self.alpha.cache, self.beta.cache), [])
        # They are in the host's own cache from now on: nothing is asked for.
        asked = len(server.requests)
        again, _ = self.build(self.beta, server)
        self.assertEqual(self.counts(again), {})
        self.assertEqual(len(server.requests), asked)
        self.assertEqual(harness.artifacts(self.beta.output), harness.artifacts(self.alpha.output))

    def test_people_are_told(self):
        server = self.server()
        url, remote = server.url, {"PTPKG_REMOTE_CACHE": PLACE}
        _, said = self.ended(self.alpha.start(url, **remote))
        self.assertIn("; remote cache: 0 of 3 found, 3 uploaded; ", said)
        stdout, said = self.ended(self.beta.start(url, "--dry-run", "--explain", **remote))
        self.assertEqual(said.count("in the remote cache"), 6, said)  # progress, and --explain
        stdout, _ = self.ended(self.beta.start(url, "--plan", **remote))
        self.assertEqual(stdout.count("in the remote cache"), 3, stdout)
        self.assertFalse((self.beta.cache / "stages").exists())
        _, said = self.ended(self.beta.start(url, "--explain", **remote))
        self.assertIn("; remote cache: 3 of 3 found; ", said)
        self.assertEqual(len(re.findall(r"build  toy-\S+: from the remote cache", said)), 3, said)

    def test_the_outputs_of_a_staging_output(self):
        server = self.server()
        for host in (self.alpha, self.beta):
            host.write({"recipe.yaml": OUTPUTS})
        first, said = self.build(self.alpha, server)
        self.assertEqual(self.counts(first), {"ran": 3, "misses": 3, "uploads": 3}, said)
        # One output changes: its script continues in the files of the staging output of another host.
        self.beta.write({"recipe.yaml": OUTPUTS.replace("echo more", "echo less")})
        second, said = self.build(self.beta, server)
        self.assertEqual(self.counts(second), {"hits": 2, "misses": 1, "ran": 1, "uploads": 1}, said)

    def test_a_failed_build_is_not_uploaded(self):
        server = self.server()
        self.alpha.write(toy_backends.files("exit 3\n"))
        self.ended(self.alpha.start(server.url, "--remote-cache", PLACE), exit_code=5)
        self.assertEqual(server.keys(), [])

    def test_refresh_replaces_a_result(self):
        server = self.server()
        self.build(self.alpha, server)
        for host in (self.alpha, self.beta):
            summary, said = self.build(host, server, "--refresh")
            self.assertEqual(self.counts(summary), {"ran": 3, "misses": 3, "uploads": 3}, said)

    # Settings

    def test_a_configuration_file_names_the_bucket(self):
        server = self.server()
        (self.alpha.home / "ptpkg.toml").write_text(f'remote-cache = "{PLACE}"\nremote-cache-read-only = true\n')
        stdout, _ = self.ended(self.alpha.start(server.url, "--json"))
        self.assertEqual(self.counts(json.loads(stdout)), {"ran": 3, "misses": 3})
        self.assertEqual({request.method for request in server.requests}, {"GET"})

    def test_read_only_uploads_nothing(self):
        server = self.server()
        for option, variables in (("--remote-cache-read-only", {}), ("--explain", {"PTPKG_REMOTE_CACHE_READ_ONLY": "1"})):
            summary, said = self.build(self.alpha, server, option, "--no-cache", **variables)
            self.assertEqual(self.counts(summary), {"ran": 3, "misses": 3}, said)
            self.assertEqual(self.warnings(said), [])
        self.assertEqual(server.keys(), [])

    def test_offline_asks_nothing(self):
        server = self.server()
        summary, said = self.build(self.alpha, server, "--offline")
        self.assertEqual(self.counts(summary), {"ran": 3}, said)
        self.assertEqual(server.requests, [])

    def test_mistakes_are_named(self):
        for arguments, words in ((["--remote-cache", "channel/team"], "--remote-cache: 'channel/team' is not the URL of a bucket"),
                                 (["--remote-cache", "s3://a b"], "'a b' is not a bucket name"),
                                 (["--remote-cache-read-only"], "--remote-cache-read-only needs --remote-cache")):
            with self.subTest(arguments):
                _, said = self.ended(self.alpha.start("http://127.0.0.1:9", *arguments), exit_code=2)
                self.assertIn(words, said)
                self.assertIn("hint: ", said)
        _, said = self.ended(self.alpha.start("http://127.0.0.1:9", PTPKG_REMOTE_CACHE_READ_ONLY="maybe"), exit_code=2)
        self.assertIn("PTPKG_REMOTE_CACHE_READ_ONLY is 'maybe'", said)

    def test_without_keys_the_build_runs(self):
        server = self.server()
        nothing = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": ""}
        summary, said = self.build(self.alpha, server, **nothing)
        self.assertEqual(self.counts(summary), {"ran": 3}, said)
        self.assertEqual(len(self.warnings(said)), 1, said)
        self.assertIn("AWS_ACCESS_KEY_ID", said)
        self.assertEqual(server.requests, [])

    # Faults of objects and of the server

    def test_a_damaged_object_is_named_and_replaced(self):
        server = self.server()
        self.build(self.alpha, server)
        damaged, swapped, whole = self.objects(server)
        content = server.read(damaged)
        middle = len(content) // 2
        for key, text in ((damaged, content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]), (swapped, server.read(whole))):
            self.moto.ask("PUT", f"/channel/{key}", text, Content_Type="application/zstd")
        summary, said = self.build(self.beta, server)
        self.assertEqual(self.counts(summary), {"hits": 1, "misses": 2, "ran": 2, "uploads": 2}, said)
        self.assertEqual(len(self.warnings(said)), 2, said)
        for key in (damaged, swapped):
            self.assertIn(f"'{key}' of the remote cache {PLACE} at {server.url} is damaged", said)
        self.assertEqual(harness.artifacts(self.beta.output), harness.artifacts(self.alpha.output))
        third, said = self.build(self.alpha, server, "--no-cache")
        self.assertEqual(self.counts(third), {"hits": 3}, said)

    def broken(self, name: str, warnings: int, counts: dict, host: Host, server, **extra: str) -> str:
        """A build that ends as without a bucket."""
        with self.subTest(name):
            summary, said = self.build(host, server, "--no-cache", "--jobs", "1", **extra)
            self.assertEqual(self.counts(summary), counts, said)
            self.assertEqual(len(self.warnings(said)), warnings, said)
            self.assertEqual(len(summary["artifacts"]), 6)
            return said

    def test_a_key_that_may_not_write_costs_one_warning(self):
        denied = b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
        server = self.server(faults=[faults.Status(403, when="head", body=denied, method="PUT", times=None)])
        said = self.broken("403 on PUT", 1, {"ran": 3, "misses": 3}, self.alpha, server)
        self.assertIn("--remote-cache-read-only", said)
        self.assertEqual(sum(request.method == "PUT" for request in server.requests), 1)

    def test_a_server_that_breaks_costs_one_warning(self):
        filled = self.server()
        self.build(self.alpha, filled)
        objects = {key: filled.read(key) for key in self.objects(filled)}
        nothing_found = {"ran": 3, "misses": 3}
        for name, fault, extra in (
                ("refuses", faults.Status(403, method="GET", times=None), {}),
                ("fails", faults.Status(500, method="GET", times=None), {}),
                ("cuts its answers", faults.TruncatedAnswer(None, method="GET", times=None), {}),
                ("hangs", faults.Hang(20, when="body", times=None), {"PTPKG_ANSWER_TIMEOUT": "1"})):
            with S3Server(self.moto, faults=[fault]) as server:
                for key, text in objects.items():
                    self.moto.ask("PUT", f"/channel/{key}", text, Content_Type="application/zstd")
                said = self.broken(name, 1, nothing_found, self.beta, server, **extra)
                self.assertIn("continuing without it", said)
                self.assertEqual(sum(request.method == "PUT" for request in server.requests), 0)
        gone = S3Server(self.moto)
        gone.stop()
        said = self.broken("is gone", 1, nothing_found, self.beta, gone.url)
        self.assertIn("continuing without it", said)

    def test_a_server_that_is_gone_after_the_first_upload(self):
        server = self.server(faults=[faults.CutInBody(method="PUT", skip=1, times=None)])
        self.broken("gone in the middle", 1, {"ran": 3, "misses": 3, "uploads": 1}, self.alpha, server)
        self.assertEqual(len(self.objects(server)), 1)
        summary, said = self.build(self.beta, self.server_with(server))
        self.assertEqual(self.counts(summary), {"hits": 1, "misses": 2, "ran": 2, "uploads": 2}, said)

    def server_with(self, other: S3Server) -> S3Server:
        """A server that works, with the objects of another one."""
        objects = {key: other.read(key) for key in self.objects(other)}
        server = self.server()
        for key, text in objects.items():
            self.moto.ask("PUT", f"/channel/{key}", text, Content_Type="application/zstd")
        return server

    def test_an_answer_that_is_cut_once_is_read_again(self):
        server = self.server()
        self.build(self.alpha, server)
        server.faults.append(faults.TruncatedAnswer(None, method="GET"))
        summary, said = self.build(self.beta, server)
        self.assertEqual(self.counts(summary), {"hits": 3}, said)

    def test_a_store_without_conditional_writes(self):
        server = self.server(conditions=False)
        first, said = self.build(self.alpha, server)
        self.assertEqual(self.counts(first), {"ran": 3, "misses": 3, "uploads": 3}, said)
        self.assertEqual(self.warnings(said), [])
        second, said = self.build(self.beta, server)
        self.assertEqual(self.counts(second), {"hits": 3}, said)

    def test_two_writers_at_once(self):
        """Both have found nothing, and build: one writes each object, and both have all packages."""
        for conditions in (True, False):
            with self.subTest(conditions=conditions), S3Server(self.moto, conditions=conditions) as server:
                both, started = self.scratch / f"both-{conditions}", self.scratch / f"started-{conditions}"
                started.mkdir()
                started.chmod(0o777)
                wait = f"mktemp {started}/XXXXXX\nwhile ! [ -e {both} ]; do sleep 0.05; done\n"
                processes = []
                for host in (self.alpha, self.beta):
                    shutil.rmtree(host.output, ignore_errors=True)
                    host.write(toy_backends.files(LINK_AND_PREFIX + wait, ["cpu"]))
                    processes.append(host.start(server.url, "--json", "--remote-cache", PLACE, "--no-cache"))
                self.wait_for(lambda: len(list(started.iterdir())) == 2)
                both.touch()
                counts = [self.counts(json.loads(self.ended(process)[0])) for process in processes]
                self.assertEqual(len(self.objects(server)), 1)
                self.assertEqual([one["ran"] for one in counts], [1, 1])
                self.assertIn(sum(one.get("uploads", 0) for one in counts), (1,) if conditions else (1, 2))
                self.assertEqual(harness.artifacts(self.beta.output), harness.artifacts(self.alpha.output))

    # Matrix

    def test_jobs_of_a_matrix_use_it(self):
        server = self.server()
        self.build(self.alpha, server)
        run = self.beta.home / "run"
        self.ended(self.beta.start(server.url, "--run", run, "--remote-cache", PLACE, verb="matrix"))
        records = [json.loads(file.read_text()) for file in run.glob("jobs/*/attempts/1/end.json")]
        states = [(node["state"], node["reason"]) for record in records for node in record.get("body", record)["nodes"]
                  if node["id"].startswith("build/")]
        self.assertEqual(states, [("cached", "from the remote cache")] * 3)
        self.assertEqual(harness.artifacts(self.beta.output), harness.artifacts(self.alpha.output))
        for file in run.rglob("*"):
            if file.is_file():
                for secret in (KEY_ID, SECRET, SESSION):
                    self.assertNotIn(secret, file.read_text(errors="replace"), file)
        self.assertEqual(json.loads((run / "run.json").read_text())["body"]["remote_cache"], PLACE)


if __name__ == "__main__":
    harness.main()
