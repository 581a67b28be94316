"""`ptpkg publish` against the server doubles and folders: what is asked, what is there at the end, what is refused."""

import base64
import configparser
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import time

import harness
import publishing
from publishing import Target
from servers import faults
from servers.oidc import Issuer

CONDA_KINDS = ("anaconda", "quetz", "artifactory", "prefix")


class Channels(publishing.Case):
    def test_once_and_only_once(self):
        for kind in CONDA_KINDS:
            with self.subTest(kind), Target(kind) as target:
                self.assertIn(f"{self.package.name}: sent", self.publish_to(target, self.package))
                self.assertEqual(target.files(), {self.package.name: harness.sha256(self.package)})
                sent = len(target.server.requests)
                self.assertIn(f"{self.package.name}: there already", self.publish_to(target, self.package))
                self.assertFalse([one for one in target.server.requests[sent:] if one.method not in ("GET", "HEAD")])

    def test_another_file_is_a_conflict_and_force_replaces_it(self):
        for kind in CONDA_KINDS:
            with self.subTest(kind), Target(kind) as target:
                self.publish_to(target, self.other)
                said = self.publish_to(target, self.package, exit_code=7)
                self.assertIn(harness.sha256(self.package), said)
                self.assertEqual(target.files(), {self.package.name: harness.sha256(self.other)})
                self.publish_to(target, self.package, "--force")
                self.assertEqual(target.files(), {self.package.name: harness.sha256(self.package)})
                self.assertTrue(target.is_clean())

    def test_requests_of_anaconda(self):
        place = f"/me/toymagma-cpu/2.9.0/linux-64/{self.package.name}"
        with Target("anaconda") as target:
            self.publish_to(target, self.package)
            self.assertEqual(target.server.trace(), [
                "GET /user/me -> 200 [token]", f"GET /dist{place} -> 404 [token]",
                "GET /package/me/toymagma-cpu -> 404 [token]", "POST /package/me/toymagma-cpu -> 200 [token]",
                "GET /release/me/toymagma-cpu/2.9.0 -> 404 [token]", "POST /release/me/toymagma-cpu/2.9.0 -> 200 [token]",
                f"POST /stage{place} -> 200 [token]", "POST storage:/ -> 201", f"POST /commit{place} -> 200 [token]",
                f"GET /dist{place} -> 200 [token]"])

    def test_label(self):
        with Target("anaconda") as target:
            flags = ["--to", "anaconda:me/dev", "--server", target.server.url]
            self.publish(self.package, *flags, **target.variables())
            entry, = target.server.state()["owners"]["me"]["toymagma-cpu"]["2.9.0"].values()
            self.assertEqual(entry["labels"], ["dev"])
            self.assertIn("with the label 'dev' instead of 'main'", self.publish_to(target, self.package, exit_code=7))

    def test_what_the_server_refuses(self):
        with Target("anaconda") as target:
            said = self.publish(self.package, *target.flags(), exit_code=7, ANACONDA_API_TOKEN="wrong")
            self.assertIn("401", said)
            said = self.publish(self.package, *target.flags(), exit_code=7)
            self.assertIn("ANACONDA_API_TOKEN", said)
            self.assertIn("404", self.publish(self.package, "--to", "anaconda:nobody", "--server", target.server.url, exit_code=4,
                                              **target.variables()))
        with Target("anaconda", quota_bytes=0) as target:
            self.assertIn("delete files first", self.publish_to(target, self.package, exit_code=7))
            self.assertEqual(target.server.state()["owners"], {"me": {}})  # what this run made is taken back

    def test_what_was_there_is_not_taken_back(self):
        with Target("anaconda") as target:
            archive, = (one for one in self.both if one != self.package)
            self.publish_to(target, archive)
            target.server.faults.append(faults.Status(402, path="^/stage/"))
            self.publish_to(target, self.package, exit_code=7)
            self.assertEqual(target.files(), {archive.name: harness.sha256(archive)})

    def test_two_files_of_one_release_are_replaced(self):
        for kind in CONDA_KINDS:
            with self.subTest(kind), Target(kind) as target:
                self.publish_to(target, *self.other_both)
                self.publish_to(target, *self.both, "--force")
                self.assertEqual(target.files(), {one.name: harness.sha256(one) for one in self.both})
                self.assertTrue(target.is_clean())

    def test_a_release_that_goes_underneath_is_made_again(self):
        with Target("anaconda", faults=[faults.Status(404, path="^/stage/"), faults.Status(404, path="^/commit/")]) as target:
            self.publish_to(target, self.package)
            self.assertEqual(target.files(), {self.package.name: harness.sha256(self.package)})

    def test_dry_run(self):
        for kind in CONDA_KINDS:
            with self.subTest(kind), Target(kind) as target:
                said = self.publish(self.package, *target.flags(), "--dry-run")
                self.assertIn(f" {target.server.url}/", said)
                self.assertEqual(target.server.requests, [])

    def test_a_dry_run_refuses_a_wrong_url_too(self):
        for url in ("http://127.0.0.1:99999/", "http://127.0.0.1:abc/", "http://[::1", "http://127.0.0.1 :1/"):
            for more in ((), ("--dry-run",)):
                with self.subTest(url, more=more):
                    said = self.publish(self.package, "--to", "quetz:c", "--server", url, *more, exit_code=2)
                    self.assertIn("--server: the ", said)
                    said = self.publish(self.package, "--to", "s3://bucket", *more, exit_code=2, AWS_ENDPOINT_URL_S3=url)
                    self.assertIn("AWS_ENDPOINT_URL_S3: the ", said)

    def test_trusted_publishing_of_a_channel(self):
        made = faults.certificates(self.scratch)
        claims = {"repository": "owner/name"}
        with Issuer(claims=claims) as issuer, \
                Target("prefix", trusts=issuer, publisher=claims, certificate=made["good"]) as target:
            variables = {"SSL_CERT_FILE": str(self.scratch / "ca.crt"), **issuer.environment()}
            said = self.publish(self.package, *target.flags(), **variables)
            self.assertEqual(target.files(), {self.package.name: harness.sha256(self.package)})
            self.assertNotIn("pfx-minted", said)
            self.assertNotIn("Authorization", target.server.requests[0].headers)
            gitlab = {"SSL_CERT_FILE": str(self.scratch / "ca.crt"), "127_0_0_1_ID_TOKEN": issuer.sign("127.0.0.1", **claims)}
            self.assertIn("there already", self.publish(self.package, *target.flags(), **gitlab))
            target.server.publisher = {"repository": "owner/other"}
            self.assertIn("trusted publishing", self.publish(self.package, *target.flags(), exit_code=7, **variables))
        with Issuer(claims=claims) as issuer, Target("prefix", trusts=issuer) as target:
            # Nobody's identity goes over a connection that others read.
            self.assertIn("PREFIX_API_KEY", self.publish(self.package, *target.flags(), exit_code=7, **issuer.environment()))
            self.assertEqual(issuer.requests, [])

    def test_room_is_asked_for_before_anything_is_sent(self):
        with Target("quetz", size_limit=100) as target:
            self.assertIn("remove files first", self.publish_to(target, self.package, exit_code=7))
            self.assertFalse([one for one in target.server.requests if one.method == "POST"])
            target.server.size_limit = 10_000_000
            self.publish_to(target, self.package)

    def test_no_core_dump_holds_a_token(self):
        folder = self.scratch / "dumps"
        folder.mkdir()

        def dumps_of(command, wait) -> int:
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=self.environment(HOME=str(self.scratch), ANACONDA_API_TOKEN=publishing.TOKEN),
                                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
            wait()
            process.send_signal(signal.SIGABRT)
            self.assertEqual(process.wait(), -signal.SIGABRT)
            found = list(folder.iterdir())
            for path in found:
                path.unlink()
            return len(found)

        if dumps_of(["sleep", "60"], lambda: None) != 1:
            self.skipTest("this machine writes core dumps elsewhere: /proc/sys/kernel/core_pattern")
        for verb, flags in (("publish", ("--to", "anaconda:me")), ("remove", ("--from", "anaconda:me")),
                            ("promote", ("--from", "anaconda:me/dev", "--to", "anaconda:me"))):
            with self.subTest(verb), Target("anaconda", faults=[faults.Hang(30, path="/user/")]) as target:
                def asked(target=target):
                    while not target.server.requests:
                        time.sleep(0.05)
                self.assertEqual(dumps_of([harness.Settings.ptpkg, verb, self.package, *flags, "--server", target.server.url], asked), 0)

    def test_json(self):
        with Target("quetz") as target:
            item, = json.loads(self.ptpkg("publish", self.package, *target.flags(), "--json", **target.variables()).stdout)["artifacts"]
            digest = harness.sha256(self.package)
            self.assertEqual(item, {"name": self.package.name, "sha256": digest, "outcome": "sent", "remote_sha256": digest})

    def test_a_damaged_package_is_not_sent(self):
        damaged = self.scratch / self.package.name
        damaged.write_bytes(self.package.read_bytes()[:-100])
        with Target("anaconda") as target:
            self.publish_to(target, damaged, exit_code=3)
            self.assertEqual(target.server.requests, [])

    def test_kinds_are_told_apart(self):
        with Target("pypi") as target:
            self.assertIn("is not a wheel", self.publish_to(target, self.package, exit_code=7))
        self.assertIn("did you mean 'anaconda:'?", self.publish(self.package, "--to", "anacodna:me", exit_code=2))


class Folders(publishing.Case):
    def test_a_file_is_not_a_target(self):
        file = self.scratch / "file"
        file.write_text("mine")
        for target in (file, file / "below", "/dev/null"):
            for more in ((), ("--dry-run",)):
                with self.subTest(target, more=more):
                    said = self.publish(self.package, "--to", f"file://{target}", *more, exit_code=7)
                    self.assertIn("is not a directory", said)
        self.assertEqual(file.read_text(), "mine")

    def test_all_or_none_and_again(self):
        folder = self.scratch / "channel"
        self.assertIn(": sent", self.publish(self.package, "--to", f"file://{folder}"))
        self.assertIn(": there already", self.publish(self.package, "--to", f"file://{folder}"))
        listed = json.loads((folder / "conda/linux-64/repodata.json").read_text())["packages.conda"]
        self.assertEqual(listed[self.package.name]["sha256"], harness.sha256(self.package))
        self.publish(self.other, "--to", f"file://{folder}", exit_code=7)
        self.assertEqual(harness.sha256(folder / "conda/linux-64" / self.package.name), harness.sha256(self.package))
        self.publish(self.other, "--to", f"file://{folder}", "--force")
        self.assertEqual(harness.sha256(folder / "conda/linux-64" / self.package.name), harness.sha256(self.other))
        self.assertEqual(harness.leftovers(folder), [])

    def test_modes_of_all_files_follow_the_umask(self):
        def modes(folder):
            return {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file() and not path.name.endswith("lock")}

        for umask, mode in ((0o077, 0o600), (0o022, 0o644), (0o002, 0o664)):
            with self.subTest(f"{umask:o}"):
                built, sent = self.scratch / f"built{umask}", self.scratch / f"sent{umask}"
                source = self.scratch / f"{umask}" / self.package.name
                source.parent.mkdir()
                shutil.copyfile(self.package, source)
                source.chmod(0o400)
                before = os.umask(umask)
                try:
                    self.ptpkg("build", self.recipe(umask), "--output", built)
                    self.publish(source, "--to", f"file://{sent}")
                finally:
                    os.umask(before)
                self.assertEqual((modes(built), modes(sent)), ({mode}, {mode}))

    def test_patch_instructions_of_the_output_folder(self):
        """A build publishes nothing that its index would then refuse, and tells what clients cannot install."""
        folder = self.scratch / "dist"
        recipe = self.recipe(1)
        bad = folder / "conda/noarch/patch_instructions.json"
        bad.parent.mkdir(parents=True)
        for make in (lambda: bad.write_text("{}"), lambda: bad.symlink_to("no")):
            make()
            said = self.ptpkg("build", recipe, "--output", folder, exit_code=3 if not bad.is_symlink() else 4).stderr
            self.assertIn("patch_instructions", said)
            self.assertEqual(list(folder.rglob("*.conda")), [])
            bad.unlink()
        # The index does not look into a subdir without packages.
        idle = folder / "conda/win-64/patch_instructions.json"
        idle.parent.mkdir()
        idle.write_text("{}")
        self.ptpkg("build", recipe, "--output", folder)
        package, = (folder / "conda/noarch").glob("*.conda")
        (package.parent / "patch_instructions.json").write_text(json.dumps({"patch_instructions_version": 1, "revoke": [package.name]}))
        self.assertIn(f"clients cannot install '{package.name}'", self.ptpkg("build", recipe, "--output", folder).stderr)

    def test_patch_instructions_meet_the_packages_that_are_there(self):
        """Whatever the cache of an earlier index says."""
        folder = self.scratch / "dist"
        self.ptpkg("build", self.recipe(1), "--output", folder)
        subdir = folder / "conda/noarch"
        package, = subdir.glob("*.conda")
        (subdir / "patch_instructions.json").write_text(json.dumps(
            {"patch_instructions_version": 1, "packages.conda": {package.name: {"build_number": "x"}}}))
        shutil.rmtree(subdir / ".cache")
        self.assertIn("build_number", self.publish(self.package, "--to", f"file://{folder}", exit_code=3))
        self.assertFalse((folder / "conda/linux-64" / self.package.name).exists())
        package.unlink()
        self.publish(self.package, "--to", f"file://{folder}")

    def test_wheels_have_their_rows_though_the_channel_has_no_index(self):
        folder = self.scratch / "dist"
        (folder / "conda/channeldata.json").mkdir(parents=True)
        (folder / "wheels").mkdir()
        wheel = publishing.pure_wheel(self.scratch)
        shutil.copyfile(wheel, folder / "wheels" / wheel.name)
        self.assertIn("channeldata.json", self.ptpkg("build", self.recipe(1), "--output", folder, exit_code=6).stderr)
        self.assertIn(wheel.name, (folder / "wheels/simple/toy-pure/index.html").read_text())

    def test_an_output_folder_gives_what_its_manifest_lists(self):
        source, folder = self.made / "first", self.scratch / "channel"
        stray = source / "conda/linux-64/stray-1.0-0.conda"
        stray.write_bytes(b"x")
        self.addCleanup(stray.unlink)
        self.publish(source, "--to", f"file://{folder}")
        self.assertEqual({path.name for path in (folder / "conda/linux-64").glob("*.conda")}, {self.package.name})
        self.assertTrue((folder / "conda/linux-64" / next(one.name for one in self.both if one != self.package)).exists())
        self.assertIn("no manifest.json", self.publish(source / "conda", "--to", f"file://{folder}", exit_code=4))

    def test_digests_come_from_the_manifest_and_hold(self):
        """A file whose size and time are those in the manifest is not hashed again; what is sent is compared with the digest."""
        source, folder = self.scratch / "source", self.scratch / "channel"
        shutil.copytree(self.made / "first", source)
        manifest = source / "manifest.json"
        text = manifest.read_text()
        wrong = "0" * 64
        manifest.write_text(text.replace(harness.sha256(self.package), wrong))
        self.assertIn(wrong, self.publish(source, "--to", f"file://{folder}", "--dry-run", "--json"))
        self.assertIn("changed while it was published", self.publish(source, "--to", f"file://{folder}", exit_code=7))
        self.assertFalse(list(folder.rglob("*.conda")))
        # Of another time it is read, and is not what the manifest lists.
        os.utime(source / "conda/linux-64" / self.package.name)
        self.assertIn("differs from the digest in", self.publish(source, "--to", f"file://{folder}", exit_code=4))
        manifest.write_text(text)
        self.publish(source, "--to", f"file://{folder}")
        self.assertEqual(harness.sha256(folder / "conda/linux-64" / self.package.name), harness.sha256(self.package))

    def test_output_folders_of_several_builds(self):
        folders = [self.made / "first", self.made / "other"]
        said = self.publish(*folders, "--to", f"file://{self.scratch / 'channel'}", exit_code=2)
        for package in (self.package, self.other):
            self.assertIn(harness.sha256(package), said)
        self.assertFalse((self.scratch / "channel/manifest.json").exists())
        copy = self.scratch / "copy"
        shutil.copytree(folders[0], copy)
        said = self.publish(folders[0], copy, "--to", f"file://{self.scratch / 'channel'}")
        self.assertEqual(said.count(": sent"), 2)

    def test_what_lies_beside_one_of_two_copies_goes_out(self):
        signed, = self.signed(self.package)
        self.publish(self.package, signed, "--to", f"file://{self.scratch / 'channel'}")
        beside = signed.with_name(signed.name + ".sig")
        self.assertEqual((self.scratch / "channel/conda/linux-64" / beside.name).read_bytes(), beside.read_bytes())
        other, = self.signed(self.package)
        other.with_name(beside.name).write_bytes(b"another signature")
        said = self.publish(signed, other, "--to", f"file://{self.scratch / 'other'}", exit_code=2)
        self.assertIn(f"{beside.name}' and", said)

    def test_two_publishers_at_once_lose_nothing(self):
        folder = self.scratch / "channel"
        copies = []
        for number in range(4):
            self.ptpkg("build", self.recipe(number), "--output", self.scratch / f"out{number}")
            copies.append(next((self.scratch / f"out{number}").glob("conda/noarch/*.conda")))
        running = [subprocess.Popen([harness.Settings.ptpkg, "publish", path, "--to", f"file://{folder}"], cwd=self.scratch,
                                    env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True) for path in copies]
        for process in running:
            said = process.communicate()[1]
            self.assertEqual(process.returncode, 0, said)
        listed = json.loads((folder / "conda/noarch/repodata.json").read_text())["packages.conda"]
        self.assertEqual(sorted(listed), sorted(path.name for path in copies))
        manifest = json.loads((folder / "manifest.json").read_text())["artifacts"]
        self.assertEqual(len(manifest), 4)

    def recipe(self, number: int):
        folder = self.scratch / f"recipe{number}"
        folder.mkdir()
        (folder / "recipe.yaml").write_text(
            f"package: {{name: toy{number}, version: '1.0'}}\n"
            "build: {noarch: generic, script: 'mkdir -p $PREFIX/share && echo x > $PREFIX/share/toy'}\n"
            "about: {license: MIT, summary: toy}\n"
            "extra: {ptpkg: {formats: [conda]}}\n")
        return folder


class Index(publishing.Case):
    def wheel(self, code: str = "x = 1\n", tag: str = "py3-none-any", version: str = "1.0"):
        return publishing.pure_wheel(self.scratch, code, tag, version)

    def test_each_style_of_server(self):
        first, other = self.wheel(), self.wheel("x = 2\n")
        for style in ("pypi", "devpi", "pypiserver"):
            with self.subTest(style), Target("pypi", style=style) as target:
                self.assertIn(": sent", self.publish_to(target, first))
                self.assertEqual([str(one) for one in target.server.requests],
                                 ["GET /simple/toy-pure/ -> 404 [Basic]", "POST /legacy/ -> 200 [Basic]",
                                  "GET /simple/toy-pure/ -> 200 [Basic]"])
                self.assertIn(": there already", self.publish_to(target, first))
                self.assertIn(harness.sha256(other), self.publish_to(target, other, exit_code=7))
                self.assertEqual(target.files(), {first.name: harness.sha256(first)})

    def test_what_a_public_index_refuses_is_told_before_anything_is_sent(self):
        for wheel, words in ((self.wheel(tag="py3-none-linux_x86_64"), "linux_x86_64"), (self.wheel(version="1.0+cpu"), "local version")):
            self.assertIn(words, self.publish(wheel, "--to", "pypi:pypi", "--dry-run", exit_code=7))

    def test_trusted_publishing(self):
        made = faults.certificates(self.scratch)
        claims = {"repository": "owner/name"}
        with Issuer(claims=claims) as issuer, \
                Target("pypi", trusts=issuer, publisher=claims, certificate=made["good"]) as target:
            variables = {"SSL_CERT_FILE": str(self.scratch / "ca.crt"), **issuer.environment()}
            wheel = self.wheel()
            self.publish(wheel, *target.flags(), **variables)
            self.assertEqual(len(target.files()), 1)
            # Its token ends with the run, well or ill, and the server that cannot end it is asked once.
            self.assertEqual(list(target.server.tokens), [publishing.TOKEN])
            self.publish(self.wheel("x = 2\n"), *target.flags(), exit_code=7, **variables)
            self.assertEqual(list(target.server.tokens), [publishing.TOKEN])
            self.assertEqual(sum(one.path == "/_/oidc/burn-token" for one in target.server.requests), 2)
            target.server.faults.append(faults.Status(500, path="burn-token", times=None))
            self.assertIn("cannot revoke the token", self.publish(wheel, *target.flags(), **variables))
            target.server.faults[:] = [faults.Status(404, path="burn-token", times=None)]
            self.assertNotIn("cannot revoke the token", self.publish(wheel, *target.flags(), **variables))
            target.server.faults.clear()
            target.server.publisher = {"repository": "owner/other"}
            self.assertIn("trusted publishing", self.publish(self.wheel("x = 2\n"), *target.flags(), exit_code=7, **variables))

    def test_pypirc_is_read_like_by_twine(self):
        """RawConfigParser is the judge. A login of several lines is refused, although twine would send it. Faults of other sections
        are passed over, although they end twine."""
        own = "[ours]\nrepository = URL\n"
        texts = (own + "username = me\npassword = a = b : c\n",
                 "[ours] ; words\nRepository : URL\nUSERNAME=me\npAssword:x%(y)s%%z ; no # comment\n",
                 "[ours]\nrepository =\n    URL\nusername =\n\tme\npassword =\n\n  # a comment\n  ; and one\n  hidden\n\n",
                 own + "password = x\nother = 1\n  [ours]\n  username = you\n",
                 "  [ours]\n  repository = URL\n    \n  username = me\n  password = x\n",
                 "[DEFAULT]\nusername = me\npassword = of all\n[DEFAULT]\nrepository = http://h/\n" + own + "password = own\n",
                 own.replace("\n", "\r\n") + "password = x\r\n \r\n", own.replace("\n", "\r") + "password = x\r",
                 "[distutils]\nindex-servers =\n    ours\n  pypi\n" + own + "password: x\n[pypi]\npassword: y\n",
                 own + "password = one\n  two\n", own + "username = me\n password = x\n",
                 "\xa0 [ours]\xa0\n\xa0 repository = URL\x85\n\x1c\n\xa0 username = \u3000me\xa0\n\xa0 password\xa0=\x1fa\xa0b\u2003\n",
                 own + "= x\n", own + own, own + "password = x\n[other\n", "\ufeff" + own)
        elsewhere = ("username = me\n", "[]\n", "[other]\nno value\n", "[a]\nx=1\nX=2\n", "[a]\n[a]\n", "\ufeff[a]\n")
        home = self.scratch / "home"
        home.mkdir()
        for fault, text in (*(("", text) for text in texts), *((fault, own + "password = x\n") for fault in elsewhere)):
            with self.subTest(fault + text), Target("pypi", faults=[faults.Status(403, when="head", times=None)]) as target:
                text = text.replace("URL", target.server.upload_url)
                (home / ".pypirc").write_bytes((fault + text).encode())
                parser, refused = configparser.RawConfigParser(), None
                try:
                    parser.read_file(io.StringIO(text, newline=None))
                    login = [parser.get("ours", key, fallback=usual).strip() for key, usual in (("username", "__token__"), ("password", ""))]
                    if "\n" in "".join(login):
                        refused = 2
                except configparser.Error:
                    refused = 3
                self.publish(self.wheel(), "--to", "pypi:ours", "--check-url", target.server.simple_url, exit_code=refused or 7)
                sent = [request.headers["Authorization"] for request in target.server.requests[:1]]
                self.assertEqual(sent, [] if refused else ["Basic " + base64.b64encode(":".join(login).encode()).decode()])
        (home / ".pypirc").unlink()

    def test_a_wrong_certificate_ends_it(self):
        made = faults.certificates(self.scratch)
        for name in ("other-name", "self-signed", "expired"):
            with self.subTest(name), Target("pypi", certificate=made[name]) as target:
                self.publish_to(target, self.wheel(), exit_code=8, SSL_CERT_FILE=str(self.scratch / "ca.crt"))
                self.assertEqual(target.server.requests, [])


if __name__ == "__main__":
    harness.main()
