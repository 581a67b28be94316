"""`ptpkg publish` to a bucket: what is there at the end, for readers and for other clients, and what is told when it fails.

The store is moto, behind a proxy (servers/s3_server.py); boto3, py-rattler, pip and uv read what was published.
"""

import hashlib
import json
import secrets
import shutil
import subprocess

import harness
import publishing
import servers_test
from publishing import TOKEN
from servers import faults
from servers.s3_server import Moto, S3Server, WithMoto

KEY_ID, SESSION = "AKIDOFTHETEST", "session-token-of-the-test"
BOTO = """
import boto3, json, sys
endpoint, key = sys.argv[1:]
client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
head = client.head_object(Bucket="channel", Key=key)
print(json.dumps([head["ETag"], head["Metadata"], head["ContentLength"]]))
"""
BOTO_PARTS = """
import boto3, sys
from boto3.s3.transfer import TransferConfig
endpoint, key, file = sys.argv[1:]
client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
client.upload_file(file, "channel", key, Config=TransferConfig(multipart_threshold=1 << 20))
"""


class Bucket:
    """A bucket with a prefix, how ptpkg is led to it, and what it has at the end: as publishing.Target."""

    def __init__(self, moto: Moto, **options) -> None:
        self.server = S3Server(moto, **options)
        self.place = self.server.url + "/channel/team"

    def flags(self) -> list[str]:
        return ["--to", "s3://channel/team", "--server", self.server.url]

    def variables(self) -> dict[str, str]:
        return {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": TOKEN, "AWS_SESSION_TOKEN": SESSION}

    def files(self) -> dict[str, str]:
        """sha256 of each artifact, by name."""
        return {key.split("/")[-1]: digest for key, digest in self.server.state().items()
                if key.endswith((".conda", ".tar.bz2", ".whl"))}

    def json(self, path: str) -> dict:
        return json.loads(self.server.read("team/" + path))

    def asked(self, *methods: str) -> list[str]:
        return [f"{one.method} {one.target}" for one in self.server.requests if one.method in methods]

    def __enter__(self) -> "Bucket":
        return self

    def __exit__(self, *_) -> None:
        self.server.__exit__(None, None, None)


class SlowWriter(faults.Fault):
    """Another publisher, who has read the index now, and writes it right after the next run has read back what it wrote."""

    def __init__(self, server: S3Server, key: str) -> None:
        super().__init__(method="GET", path=f"/{key}$", skip=1)
        self.server, self.key, self.text = server, key, server.read(key)
        self.happened = False

    def answered(self, handler, request, answer):
        self.happened = True
        # Without a type urllib sends a form, of which moto takes no bytes.
        self.server.moto.ask("PUT", f"/channel/{self.key}", self.text, Content_Type="application/json",
                             x_amz_meta_sha256=hashlib.sha256(self.text).hexdigest())
        return answer


class Case(WithMoto, publishing.Case):
    def bucket(self, **options) -> Bucket:
        return Bucket(self.moto, **options)

    def publish(self, *arguments, **options) -> str:
        printed = super().publish(*arguments, **options)
        for secret in (KEY_ID, SESSION):
            self.assertNotIn(secret, printed)
        return printed

    def big_wheel(self):
        """Of some 40 MB, more than other clients send at once."""
        return publishing.pure_wheel(self.scratch, f"x = '{secrets.token_hex(20_000_000)}'\n")

    def start(self, bucket: Bucket, *artifacts) -> subprocess.Popen:
        return subprocess.Popen([harness.Settings.ptpkg, "publish", *artifacts, *bucket.flags()], cwd=self.scratch,
                                env=self.environment(HOME=str(self.scratch), **bucket.variables()), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def named_packages(self, count: int) -> list:
        """Packages of different names: publish_test's, in noarch."""
        made = []
        for number in range(count):
            folder = self.scratch / f"recipe{number}"
            folder.mkdir()
            (folder / "recipe.yaml").write_text(
                f"package: {{name: toy{number}, version: '1.0'}}\n"
                "build: {noarch: generic, script: 'mkdir -p $PREFIX/share && echo x > $PREFIX/share/toy'}\n"
                "about: {license: MIT, summary: toy}\nextra: {ptpkg: {formats: [conda]}}\n")
            self.ptpkg("build", folder, "--output", self.scratch / f"out{number}")
            made.append(next((self.scratch / f"out{number}").glob("conda/noarch/*.conda")))
        return made


class Publishing(Case, servers_test.Clients):
    def test_once_and_only_once(self):
        wheel = publishing.pure_wheel(self.scratch)
        with self.bucket() as bucket:
            said = self.publish_to(bucket, self.package, wheel)
            for artifact in (self.package, wheel):
                self.assertIn(f"{artifact.name}: sent", said)
            self.assertEqual(bucket.files(), {one.name: harness.sha256(one) for one in (self.package, wheel)})
            sent, state = len(bucket.server.requests), bucket.server.state()
            said = self.publish_to(bucket, self.package, wheel)
            self.assertIn(f"{self.package.name}: there already", said)
            self.assertFalse([one for one in bucket.server.requests[sent:] if one.method not in ("GET", "HEAD")])
            self.assertEqual(bucket.server.state(), state)
            self.assertEqual(bucket.server.wrong_signatures(TOKEN), "")

    def test_a_bucket_has_what_a_folder_has(self):
        wheel, folder = publishing.pure_wheel(self.scratch), self.scratch / "folder"
        with self.bucket() as bucket:
            self.publish_to(bucket, *self.both, wheel)
            self.publish(*self.both, wheel, "--to", f"file://{folder}")
            names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
                     and not any(part.startswith(".") for part in path.relative_to(folder).parts)}
            # Made for people who look at a channel; the pages that pip asks for are files of their own.
            only_folder = {"manifest.json", "conda/channeldata.json"}
            # The first is asked whether the store honours conditions.
            only_bucket = {".ptpkg-conditions", "wheels/simple/", "wheels/simple/toy-pure/"}
            there = {key.removeprefix("team/") for key in bucket.server.keys()}
            self.assertEqual(there - only_bucket, names - only_folder)
            for name in names - only_folder:
                self.assertEqual(bucket.server.read("team/" + name), (folder / name).read_bytes(), name)

    def test_a_later_publication_keeps_the_patch_of_a_folder_and_is_refused_by_a_bucket(self):
        folder, (one, two) = self.scratch / "folder", self.both
        subdir = folder / "conda/linux-64"
        self.publish(one, "--to", f"file://{folder}")
        kind = "packages.conda" if one.suffix == ".conda" else "packages"
        patch = json.dumps({"patch_instructions_version": 1, kind: {one.name: {"depends": ["patched"]}}})
        source = self.scratch / "linux-64/patch_instructions.json"
        source.parent.mkdir()
        source.write_text(patch)
        self.ptpkg("index", folder / "conda", "--patch", source)
        self.publish(two, "--to", f"file://{folder}")
        repodata = json.loads((subdir / "repodata.json").read_text())
        self.assertEqual(repodata[kind][one.name]["depends"], ["patched"])
        self.assertEqual(len(repodata["packages"]) + len(repodata["packages.conda"]), 2)
        with self.bucket() as bucket:
            path = "conda/linux-64/patch_instructions.json"
            self.moto.ask("PUT", "/channel/team/" + path, patch.encode())
            said = self.publish_to(bucket, one, exit_code=7)
            self.assertIn(f"has '{path}', which ptpkg does not update in a bucket", said)
            self.assertEqual(bucket.server.keys(), ["team/" + path])

    def test_another_file_is_a_conflict_and_force_replaces_it(self):
        with self.bucket() as bucket:
            self.publish_to(bucket, self.other)
            said = self.publish_to(bucket, self.package, exit_code=7)
            for one in (self.package, self.other):
                self.assertIn(harness.sha256(one), said)
            self.assertEqual(bucket.files(), {self.package.name: harness.sha256(self.other)})
            self.publish_to(bucket, self.package, "--force")
            self.assertEqual(bucket.files(), {self.package.name: harness.sha256(self.package)})
            row = bucket.json("conda/linux-64/repodata.json")["packages.conda"][self.package.name]
            self.assertEqual(row["sha256"], harness.sha256(self.package))

    def test_what_another_client_put_there_is_read_back(self):
        with self.bucket() as bucket:
            key = f"/channel/team/conda/linux-64/{self.package.name}"
            self.moto.ask("PUT", key, self.package.read_bytes(), Content_Type="application/octet-stream")
            self.assertIn(": there already", self.publish_to(bucket, self.package))
            self.assertIn(self.package.name, bucket.json("conda/linux-64/repodata.json")["packages.conda"])
            other = bytearray(self.package.read_bytes())
            other[100] ^= 1
            self.moto.ask("PUT", key, bytes(other), Content_Type="application/octet-stream")
            self.assertIn(harness.sha256(self.package), self.publish_to(bucket, self.package, exit_code=7))
            self.moto.ask("PUT", key, b"short", Content_Type="application/octet-stream")
            self.assertIn("5 bytes there", self.publish_to(bucket, self.package, exit_code=7))

    def test_an_index_is_completed_though_the_artifact_is_there(self):
        wheel = publishing.pure_wheel(self.scratch)
        with self.bucket() as bucket:
            self.publish_to(bucket, self.package, wheel)
            state = bucket.server.state()
            for key in state:
                if not key.endswith((".conda", ".whl")):
                    self.moto.ask("DELETE", "/channel/" + key)
            self.assertIn(": there already", self.publish_to(bucket, self.package, wheel))
            self.assertEqual(bucket.server.state(), state)

    def test_it_installs(self):
        wheel = publishing.pure_wheel(self.scratch)
        with self.bucket() as bucket:
            self.publish_to(bucket, self.package, wheel)
            self.assert_installs(bucket.place + "/conda", self.package)
            bucket.server.simple_url = bucket.place + "/wheels/simple"
            self.assert_installs_from(bucket.server, wheel)

    def test_a_large_file_is_one_request(self):
        wheel = self.big_wheel()
        with self.bucket() as bucket:
            self.publish_to(bucket, wheel)
            self.assertEqual(bucket.files(), {wheel.name: harness.sha256(wheel)})
            self.assertEqual(len([one for one in bucket.asked("PUT", "POST") if wheel.name + " " in one + " "]), 1)
            self.assertEqual(bucket.server.largest_body, wheel.stat().st_size)
            self.assertEqual(bucket.server.wrong_signatures(TOKEN), "")
            head = self.client(harness.peers_python(), "-c", BOTO, bucket.server.url, f"team/wheels/{wheel.name}")
            etag, metadata, size = json.loads(head)
            self.assertEqual(etag, f'"{hashlib.md5(wheel.read_bytes()).hexdigest()}"')
            self.assertEqual((metadata, size), ({"sha256": harness.sha256(wheel)}, wheel.stat().st_size))
            self.assertIn(": there already", self.publish_to(bucket, wheel))

    def test_parts_of_another_client_are_read_back(self):
        """Their ETag is no digest of the file."""
        wheel = self.big_wheel()
        with self.bucket() as bucket:
            self.client(harness.peers_python(), "-c", BOTO_PARTS, bucket.server.url, f"team/wheels/{wheel.name}", wheel)
            self.assertIn(": there already", self.publish_to(bucket, wheel))
            self.assertIn(f"GET /channel/team/wheels/{wheel.name}", bucket.asked("GET"))

    def test_a_killed_upload_is_sent_again(self):
        wheel = self.big_wheel()
        with self.bucket(faults=[faults.Hang(600, when="head", method="PUT", path=wheel.name)]) as bucket:
            process = self.start(bucket, wheel)
            self.wait_for(lambda: [one for one in bucket.server.requests if one.method == "PUT"])
            harness.kill_all(process)
            process.communicate()
            self.assertEqual(bucket.files(), {})
            self.assertIn(": sent", self.publish_to(bucket, wheel))
            self.assertEqual(bucket.files(), {wheel.name: harness.sha256(wheel)})

    def test_yank_and_remove(self):
        first, second = (publishing.pure_wheel(self.scratch, version=version) for version in ("1.0", "2.0"))
        other, = (one for one in self.both if one != self.package)
        with self.bucket() as bucket:
            def changed(verb, *arguments, exit_code=0):
                return self.run_verb(verb, *arguments, "--from", *bucket.flags()[1:], exit_code=exit_code, **bucket.variables())

            def yanked():
                return {file["filename"]: file["yanked"] for file in bucket.json("wheels/simple/toy-pure/index.json")["files"]
                        if "yanked" in file}

            self.publish_to(bucket, *self.both, first, second)
            self.assertIn(": yanked", changed("yank", second, "--reason", "wrong"))
            self.assertEqual(yanked(), {second.name: "wrong"})
            for page in ("", "index.html"):
                self.assertIn(b'data-yanked="wrong"', bucket.server.read("team/wheels/simple/toy-pure/" + page))
            # Publishing again, and something else of the project, leaves it so.
            self.publish_to(bucket, second, publishing.pure_wheel(self.scratch, version="3.0"))
            self.assertEqual(yanked(), {second.name: "wrong"})
            self.assertIn(": already so", changed("yank", second, "--reason", "wrong"))
            changed("yank", "--artifact", second.name, "--undo")
            self.assertEqual(yanked(), {})
            self.assertIn(harness.sha256(self.other), changed("remove", self.other, exit_code=7))
            self.assertIn(": removed", changed("remove", self.package, first))
            self.assertEqual(set(bucket.files()), {other.name, second.name, "toy_pure-3.0-py3-none-any.whl"})
            self.assertFalse([key for key in bucket.server.state() if key.endswith(first.name + ".metadata")])
            repodata = bucket.json("conda/linux-64/repodata.json")
            self.assertEqual([*repodata["packages"], *repodata["packages.conda"]], [other.name])
            self.assertEqual([*bucket.json("conda/linux-64/run_exports.json")["packages"]], [other.name])
            page = bucket.json("wheels/simple/toy-pure/index.json")
            self.assertEqual((len(page["files"]), page["versions"]), (2, ["2.0", "3.0"]))
            self.assertIn(": not there", changed("remove", self.package))

    def test_what_lies_beside_goes_along(self):
        signed, = self.signed(self.package)
        with self.bucket() as bucket:
            self.publish_to(bucket, signed)
            beside = f"team/conda/linux-64/{signed.name}.sig"
            self.assertIn(beside, bucket.server.state())
            # Another file of the name: what was said of the first one is not true of it.
            self.publish_to(bucket, self.other, "--force")
            self.assertNotIn(beside, bucket.server.state())
            self.publish_to(bucket, signed, "--force")
            self.assertIn(beside, bucket.server.state())
            # Each answer is cut once: every file has tries of its own.
            ends = (r"\.intoto\.jsonl$", r"\.sig$", r"\.sigstore\.json$", r"\.v0\.sigs$", r"\.conda$")
            bucket.server.faults += [faults.Cut(method="DELETE", path=end) for end in ends]
            self.run_verb("remove", self.package, "--from", *bucket.flags()[1:], **bucket.variables())
            self.assertEqual(sum(bool(one.fault) for one in bucket.server.requests), len(ends))
            self.assertNotIn(beside, bucket.server.state())

    def test_two_publishers_at_once_lose_nothing(self):
        packages = self.named_packages(4)
        for conditions in (True, False):
            with self.subTest(conditions=conditions), self.bucket(conditions=conditions, latency=0.02) as bucket:
                running = [self.start(bucket, package) for package in packages]
                said = [process.communicate()[0] for process in running]
                self.assertEqual([process.returncode for process in running], [0] * 4, said)
                self.assertEqual("has no conditional writes" in said[0], not conditions)
                listed = bucket.json("conda/noarch/repodata.json")["packages.conda"]
                self.assertEqual(sorted(listed), sorted(package.name for package in packages))
                self.assertEqual(sorted(bucket.json("conda/noarch/run_exports.json")["packages.conda"]), sorted(listed))

    def test_a_slow_publisher_takes_rows_away(self):
        """It has read the index before this run writes it, and writes it after this run has read it back: nobody notices in a
        store without conditions, but who looks again."""
        first, second = self.named_packages(2)
        with self.bucket(conditions=False) as bucket:
            self.publish_to(bucket, first)
            slow = SlowWriter(bucket.server, "team/conda/noarch/repodata.json")
            bucket.server.faults.append(slow)
            self.publish_to(bucket, second)
            self.assertTrue(slow.happened)
            self.assertEqual(sorted(bucket.json("conda/noarch/repodata.json")["packages.conda"]), [first.name, second.name])
            # What is made of it agrees with it: read back by the digests it tells.
            bucket.server.state()
            slow = SlowWriter(bucket.server, "team/conda/noarch/repodata.json")
            bucket.server.faults.append(slow)
            self.run_verb("remove", second, "--from", *bucket.flags()[1:], **bucket.variables())
            self.assertTrue(slow.happened)
            self.assertEqual([*bucket.json("conda/noarch/repodata.json")["packages.conda"]], [first.name])

    def test_dry_run(self):
        with self.bucket() as bucket:
            wheel = self.big_wheel()
            said = self.publish(self.package, wheel, *bucket.flags(), "--dry-run")
            self.assertIn(f"PUT {bucket.place}/conda/linux-64/{self.package.name} (if nothing is there)", said)
            self.assertIn(f"PUT {bucket.place}/wheels/{wheel.name} (if nothing is there)", said)
            self.assertIn(f"GET and PUT {bucket.place}/conda/linux-64/repodata.json", said)
            self.assertEqual(bucket.server.requests, [])


class Refusals(Case):
    def test_keys_of_a_profile(self):
        home = self.scratch / "home/.aws"
        home.mkdir(parents=True)
        with self.bucket() as bucket:
            said = self.publish(self.package, *bucket.flags(), exit_code=7)
            self.assertIn("AWS_ACCESS_KEY_ID", said)
            self.assertEqual(bucket.server.requests, [])
            (home / "credentials").write_text(f"[ci]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SESSION}\n")
            (home / "config").write_text(f"[profile ci]\nregion = eu-test-1\nendpoint_url = {bucket.server.url}\n")
            # Not with publish(): the file is there, and holds what no other file may.
            self.ptpkg("publish", self.package, "--to", "s3://channel", HOME=str(self.scratch / "home"), AWS_PROFILE="ci")
            self.assertEqual(bucket.server.wrong_signatures(SESSION), "")
            self.assertIn("/eu-test-1/s3/", bucket.server.requests[0].headers["Authorization"])
            shutil.rmtree(home)

    def refused(self, status: int, body: str, exit_code: int, *words: str, **headers: str) -> None:
        fault = faults.Status(status, body=body.encode(), when="head",
                              headers={name.replace("_", "-"): text for name, text in headers.items()})
        with self.subTest(body), self.bucket(faults=[fault]) as bucket:
            said = self.publish_to(bucket, self.package, exit_code=exit_code)
            for word in words:
                self.assertIn(word, said)
            self.assertEqual(bucket.files(), {})

    def test_what_the_server_refuses_is_told(self):
        self.refused(403, "<Error><Code>RequestTimeTooSkewed</Code><ServerTime>2020-01-01T00:00:00Z</ServerTime></Error>", 7,
                     "clock of this machine", "2020-01-01T00:00:00Z")
        self.refused(403, f"<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message><AWSAccessKeyId>{KEY_ID}"
                     "</AWSAccessKeyId></Error>", 7, "secret does not belong")
        self.refused(403, f"<Error><Code>ExpiredToken</Code><Token-0>{SESSION}</Token-0></Error>", 7, "get new keys")
        self.refused(403, "<Error><Code>AccessDenied</Code></Error>", 7, "s3:ListBucket")
        self.refused(400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-9</Region></Error>", 7,
                     "AWS_REGION=eu-west-9")
        self.refused(301, "", 7, "AWS_REGION=eu-west-9", x_amz_bucket_region="eu-west-9")

    def test_a_bucket_that_is_missing(self):
        with self.bucket() as bucket:
            said = self.publish(self.package, "--to", "s3://others", "--server", bucket.server.url, exit_code=4, **bucket.variables())
            self.assertIn("NoSuchBucket", said)
            self.assertIn("create the bucket first", said)

    def test_an_index_of_others_that_is_none_is_left_alone(self):
        with self.bucket() as bucket:
            self.moto.ask("PUT", "/channel/team/conda/linux-64/repodata.json", b"mine", Content_Type="text/plain")
            said = self.publish_to(bucket, *self.both, exit_code=7)
            self.assertEqual(said.count("is not an index"), 1)
            self.assertEqual(bucket.server.read("team/conda/linux-64/repodata.json"), b"mine")


if __name__ == "__main__":
    harness.main()
