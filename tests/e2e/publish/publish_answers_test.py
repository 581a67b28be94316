"""`ptpkg publish` and servers that answer oddly: repeat the token, ignore conditions, are behind, compress, list what is no link."""

import base64
import gzip
import json
import subprocess
import urllib.parse
import zlib

import harness
import publish_s3_test
import publishing
from publishing import TOKEN, Target
from servers import faults
from servers.s3_server import S3Server

KINDS = ("anaconda", "quetz", "artifactory", "prefix", "pypi")
FORMS = (TOKEN, urllib.parse.quote(TOKEN, safe=""), json.dumps(TOKEN), base64.b64encode(f"__token__:{TOKEN}".encode()).decode(),
         base64.b64encode(f"x{TOKEN}".encode()).decode())


class Compressed(faults.Fault):
    """Each answer with a body is compressed, whether the client asked for it or not."""

    def __init__(self, coding: str, **which) -> None:
        super().__init__(times=None, **which)
        self.coding, self.name = coding, f"Compressed({coding})"

    def answered(self, handler, request, answer):
        if answer.body and request.method != "HEAD":
            pack = gzip.compress if self.coding == "gzip" else zlib.compress
            answer.body = pack(answer.body)
            answer.headers["Content-Encoding"] = self.coding
        return answer


class Page(faults.Fault):
    """A page of the index, instead of the server's."""

    def __init__(self, text: str, kind: str = "text/html") -> None:
        super().__init__(times=None, method="GET", path="^/simple/")
        self.text, self.kind, self.name = text, kind, "Page"

    def answered(self, handler, request, answer):
        return faults.Answer(200, self.text.encode(), {"Content-Type": self.kind})


class Careless(S3Server):
    """A store that carries out conditional writes whatever their condition."""

    def handle(self, request):
        for name in ("If-Match", "If-None-Match"):
            del request.headers[name]
        return super().handle(request)


class Answers(publishing.Case):
    def artifact(self, kind: str):
        return publishing.pure_wheel(self.scratch) if kind == "pypi" else self.package

    def attempt(self, target: Target, artifact, *more) -> str:
        """All that it printed, whatever its end."""
        done = subprocess.run([harness.Settings.ptpkg, "publish", artifact, *target.flags(), *more], cwd=self.scratch, text=True,
                              env=self.environment(HOME=str(self.scratch), **target.variables()), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_a_token_that_is_repeated_is_not_shown(self):
        said = " ".join(FORMS)
        # What is shortened must not leave a part of the token.
        bodies = (said, json.dumps({"error": said}), "x" * 190 + TOKEN)
        for kind in KINDS:
            for number, body in enumerate(bodies):
                with self.subTest(kind, body=number), Target(kind) as target:
                    target.server.faults.append(faults.Status(403, times=None, when="head", body=body.encode(), skip=number))
                    for more in ((), ("--json",), ("--log-format", "json")):
                        printed = self.attempt(target, self.artifact(kind), *more)
                        for form in (TOKEN[:10], *(one.strip('"=')[4:-4] for one in FORMS)):
                            self.assertNotIn(form, printed)

    def test_a_short_password_in_a_repeated_header_is_not_shown(self):
        credentials = base64.b64encode(b"joe:hun2").decode()
        with Target("pypi") as target:
            target.server.faults.append(faults.Status(403, times=None, when="head", body=f"Basic {credentials}".encode()))
            done = subprocess.run([harness.Settings.ptpkg, "publish", self.artifact("pypi"), *target.flags()], cwd=self.scratch, text=True,
                                  env=self.environment(HOME=str(self.scratch), TWINE_USERNAME="joe", TWINE_PASSWORD="hun2"),
                                  capture_output=True, check=False)
            self.assertIn("403", done.stderr)
            self.assertNotIn(credentials, done.stderr)

    def test_compressed_answers_are_read(self):
        for kind in KINDS:
            for coding in ("gzip", "deflate"):
                with self.subTest(kind, coding=coding), Target(kind, faults=[Compressed(coding, path="^(?!/files/|/get/|/main/)")]) as target:
                    artifact = self.artifact(kind)
                    self.assertIn(": sent", self.publish_to(target, artifact))
                    self.assertIn(": there already", self.publish_to(target, artifact))

    def test_an_answer_that_cannot_be_decoded_names_its_cause(self):
        class Encoded(Page):
            def __init__(self, coding, body):
                super().__init__("")
                self.coding, self.body_sent = coding, body

            def answered(self, handler, request, answer):
                return faults.Answer(200, self.body_sent, {"Content-Type": "text/html", "Content-Encoding": self.coding})

        packed = gzip.compress(b"<html></html>")
        for coding, body, words in (("gzip", packed[:-9], "damaged or cut"), ("deflate", b"no page", "damaged or cut"),
                                    ("br", b"no page", "'br', but ptpkg asked for gzip"), ("zstd", b"no page", "'zstd', but")):
            with self.subTest(coding), Target("pypi", faults=[Encoded(coding, body)]) as target:
                said = self.attempt(target, self.artifact("pypi"))
                for text in (f"GET '{target.server.simple_url}toy-pure/'", words, "the proxy in between"):
                    self.assertIn(text, said)
                self.assertEqual(target.files(), {})

    def test_what_is_no_link_is_no_success(self):
        wheel = publishing.pure_wheel(self.scratch)
        link = f'<a href="/files/{wheel.name}#sha256={harness.sha256(wheel)}">x</a>'
        for page in (f"<!-- {link} -->", f"<textarea>{link}</textarea>", f"<script>{link}</script>", f"<title>{link}</title>"):
            with self.subTest(page), Target("pypi", faults=[Page(page)]) as target:
                # It was sent, and the page still does not show it.
                self.assertIn("does not show it", self.publish_to(target, wheel, exit_code=8))
                self.assertEqual(target.files(), {wheel.name: harness.sha256(wheel)})
        with Target("pypi", faults=[Page(link)]) as target:
            self.assertIn("there already", self.publish_to(target, wheel))

    def test_entries_that_contradict_each_other_are_a_conflict(self):
        wheel = publishing.pure_wheel(self.scratch)
        links = [f'<a href="/files/{wheel.name}#sha256={digest}">x</a>' for digest in (harness.sha256(wheel), "0" * 64)]
        for page in ("".join(links), "".join(reversed(links))):
            with Target("pypi", faults=[Page(page)]) as target:
                self.assertIn("0" * 64, self.publish_to(target, wheel, exit_code=7))
                self.assertEqual(target.files(), {})

    def test_another_version_of_the_interface(self):
        wheel = publishing.pure_wheel(self.scratch)
        page = {"meta": {"api-version": "2.0"}, "name": "toy-pure", "files": []}
        kind = "application/vnd.pypi.simple.v1+json"
        with Target("pypi", faults=[Page(json.dumps(page), kind)]) as target:
            self.assertIn("version 2.0", self.attempt(target, wheel))
            self.assertEqual(target.files(), {})

    def test_a_wrong_check_url_is_named(self):
        wheel = publishing.pure_wheel(self.scratch)
        with Target("pypi", style="pypiserver") as target:
            self.publish_to(target, wheel)
            flags = ["--to", "pypi:ours", "--server", target.server.upload_url, "--check-url", target.server.url + "/wrong/"]
            said = self.publish(wheel, *flags, exit_code=7, **target.variables())
            self.assertIn("--check-url", said)
            self.assertNotIn("rerun to send the rest", said)

    def test_a_wrong_url_is_a_wrong_command_line(self):
        wheel = publishing.pure_wheel(self.scratch)
        for server, check_url, option in (("http://h/", "ftp://h/", "--check-url"), ("http://h/", "http://joe:hidden@localhost/", "--check-url"),
                                          ("http://joe:hidden@localhost/", "http://h/", "--server"), ("127.0.0.1:9", "http://h/", "--server")):
            said = self.publish(wheel, "--to", "pypi:ours", "--server", server, "--check-url", check_url, exit_code=2)
            self.assertIn(f"error: {option}: a server's URL", said)
            self.assertNotIn("hidden", said)

    def test_hints_fit_the_status(self):
        for status, code, word in ((401, 7, "rejects the token"), (403, 7, "write permission"), (413, 7, "exceeds the server's size limit")):
            with self.subTest(status), Target("quetz") as target:
                target.server.faults.append(faults.Status(status, method="POST", times=None))
                said = self.publish_to(target, self.package, exit_code=code)
                self.assertIn(word, said)
                self.assertNotIn("rerun to send the rest", said)
        with Target("quetz") as target:
            target.server.faults.append(faults.Status(500, method="POST", times=None))
            self.assertIn("rerun to send the rest", self.publish_to(target, self.package, exit_code=8))

    def test_anothers_basename_is_not_there(self):
        with Target("anaconda") as target:
            body = json.dumps({"basename": "linux-64/other.conda", "sha256": harness.sha256(self.package), "labels": ["main"]})
            target.server.faults.append(faults.Status(200, method="GET", path="^/dist/", times=1, when="head", body=body.encode()))
            self.assertIn(": sent", self.publish_to(target, self.package))

    def test_findings_are_shown(self):
        with Target("pypi") as target:
            said = self.publish_to(target, publishing.pure_wheel(self.scratch, tag="py3.py4-none-any"))
            self.assertIn("no Python accepts 'py4'", said)
            self.assertIn("[wheel-tag-nobody]", said)


class Buckets(publish_s3_test.Case):
    def careless(self, **options):
        bucket = self.bucket()
        bucket.server.stop()
        bucket.server = Careless(self.moto, **options)
        bucket.place = bucket.server.url + "/channel/team"
        return bucket

    def test_two_publishers_to_a_store_that_ignores_conditions(self):
        packages = self.named_packages(3)
        with self.careless(latency=0.02) as bucket:
            running = [self.start(bucket, package) for package in packages]
            said = [process.communicate()[0] for process in running]
            self.assertEqual([process.returncode for process in running], [0] * 3, said)
            for text in said:
                self.assertIn("has no conditional writes", text)
            listed = bucket.json("conda/noarch/repodata.json")["packages.conda"]
            self.assertEqual(sorted(listed), sorted(package.name for package in packages))

    def test_one_answer_that_is_behind_drops_no_rows(self):
        first, second, third = self.named_packages(3)
        for make in (self.bucket, self.careless):
            for stale in (True, False):
                with self.subTest(make.__name__, stale=stale), make() as bucket:
                    self.publish_to(bucket, first)
                    old = bucket.server.read("team/conda/noarch/repodata.json")
                    etag = bucket.server.told("team/conda/noarch/repodata.json")["etag"]
                    self.publish_to(bucket, second)
                    fault = faults.Status(200 if stale else 404, method="GET", path="noarch/repodata.json$", when="head",
                                          headers={"ETag": etag} if stale else {}, body=old if stale else b"")
                    bucket.server.faults.append(fault)
                    self.publish_to(bucket, third)
                    listed = bucket.json("conda/noarch/repodata.json")["packages.conda"]
                    self.assertEqual(sorted(listed), sorted(one.name for one in (first, second, third)))

    def test_a_forged_digest_is_no_success(self):
        other = bytearray(self.package.read_bytes())
        other[100] ^= 1
        with self.bucket() as bucket:
            self.moto.ask("PUT", f"/channel/team/conda/linux-64/{self.package.name}", bytes(other), Content_Type="application/octet-stream",
                          x_amz_meta_sha256=harness.sha256(self.package))
            self.assertIn("has a different", self.publish_to(bucket, self.package, exit_code=7))

    def test_keys_that_a_store_repeats_are_not_shown(self):
        said = f"<Error><Code>AccessDenied</Code><Message>{TOKEN} {publish_s3_test.SESSION}</Message></Error>"
        for skip in range(4):
            with self.subTest(skip=skip), self.bucket() as bucket:
                bucket.server.faults.append(faults.Status(403, when="head", times=None, skip=skip, body=said.encode()))
                self.publish_to(bucket, self.package, exit_code=7)


if __name__ == "__main__":
    harness.main()
