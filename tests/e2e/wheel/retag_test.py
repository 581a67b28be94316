"""`ptpkg retag` beside `wheel tags`: the same wheel comes out, its payload is not touched, and installers take it."""

import base64
import hashlib
import json
import pathlib
import shutil
import subprocess
import tempfile
import zipfile

import harness
from wheel_maker import contents, stored

NEXT = "manylinux_2_36_x86_64"  # the C library of Debian 12, where these tests run


def written(wheel: pathlib.Path, members: dict[str, str]) -> pathlib.Path:
    """A wheel of these members, and the RECORD that fits."""
    rows = []
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            rows.append(f"{name},sha256={digest},{len(text)}\n")
        record = f"{wheel.name.rsplit('-', 3)[0]}.dist-info/RECORD"
        archive.writestr(record, "".join(rows) + f"{record},,\n")
    return wheel


class Retag(harness.Case):
    @classmethod
    def setUpClass(cls) -> None:
        """One wheel with libraries for all tests."""
        super().setUpClass()
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        case = cls("ptpkg")
        case.scratch, case.cache = cls.shared, cls.shared / "cache"
        case.ptpkg("build", harness.FIXTURES / "toymagma", harness.FIXTURES / "toytorch", "--select", "toy_backend=cpu",
                   "--output", cls.shared / "dist", "--quiet")
        cls.wheel, = (cls.shared / "dist/wheels").glob("toytorch*.whl")

    def retag(self, *arguments, **options) -> pathlib.Path:
        self.output = self.scratch / "out"
        done = self.ptpkg("retag", self.wheel, "--output", self.output, *arguments, **options)
        return pathlib.Path(done.stdout.strip())

    def check_with_installer(self, wheel: pathlib.Path) -> None:
        code = ("import sys\nfrom installer.sources import WheelFile\nwith WheelFile.open(sys.argv[1]) as wheel:\n"
                "    wheel.validate_record(validate_contents=True)\n")
        subprocess.run([harness.peers_python(), "-c", code, wheel], check=True)

    def test_wheel_tags_makes_the_same(self):
        # Its module is for 3.11 alone: the names are what counts here.
        ours = self.retag("--platform", NEXT, "--build", "3", "--python", "cp311.cp312", "--abi", "abi3", "--no-check")
        copy = shutil.copy(self.wheel, self.scratch)
        subprocess.run([harness.peer_program("wheel"), "tags", "--platform-tag", NEXT, "--build", "3", "--python-tag", "cp311.cp312",
                        "--abi-tag", "abi3", copy], check=True, stdout=subprocess.DEVNULL, cwd=self.scratch)
        theirs = self.scratch / ours.name
        self.assertTrue(theirs.exists(), list(self.scratch.iterdir()))
        mine, other = contents(ours), contents(theirs)
        self.assertEqual(sorted(mine), sorted(other))
        for name, text in mine.items():
            if name.endswith(".dist-info/WHEEL"):
                # They write the fields in another order.
                self.assertEqual(sorted(text.split()), sorted(other[name].split()))
            elif not name.endswith("/RECORD"):
                self.assertEqual(text, other[name], name)
        self.check_with_installer(ours)

    def test_what_went_well_is_told_so(self):
        done = self.ptpkg("retag", self.wheel, "--build", "3", "--platform", NEXT, "--output", self.scratch / "out", "--log-format", "json")
        events = [json.loads(line) for line in done.stderr.splitlines()]
        ends = {one["stage"]: one["outcome"] for one in events if one["event"] == "finished"}
        self.assertEqual(ends["zip"], "done")
        self.assertEqual(set(ends.values()), {"done"})

    def test_no_payload_is_compressed_again_and_the_old_wheel_stays(self):
        before, digest = stored(self.wheel), harness.sha256(self.wheel)
        after = stored(self.retag("--no-local", "--requires", "numpy>=2"))
        kept = [name for name in before if ".dist-info/" not in name]
        self.assertTrue(kept)
        for name in kept:
            self.assertEqual(before[name], after[name], name)
        self.assertEqual(harness.sha256(self.wheel), digest)
        self.assertEqual(harness.leftovers(self.scratch), [])

    def test_pip_and_uv_install_it(self):
        wheel = self.retag("--platform", NEXT, "--local", "ours.2", "--build", "7", "--requires", "toymagma-is-not-there; sys_platform == 'win32'")
        self.assertIn("+ours.2-7-", wheel.name)
        self.check_with_installer(wheel)
        self.ptpkg("check", wheel, "--profile", "wheel")
        for name, install in (("pip", [harness.peers_python(), "-m", "pip", "install", "--no-deps", "--no-index", "-q", "--target"]),
                              ("uv", [harness.peer_program("uv"), "pip", "install", "--no-deps", "--no-index", "-q", "--python",
                                      harness.peers_python(), "--target"])):
            with self.subTest(name):
                self.run_clean(*install, self.scratch / name, wheel)
                metadata, = (self.scratch / name).glob("toytorch-*+ours.2.dist-info/METADATA")
                self.assertIn("Requires-Dist: toymagma-is-not-there ; sys_platform == 'win32'\n", metadata.read_text())

    def test_tags_that_the_files_do_not_deserve_are_refused(self):
        done = self.ptpkg("retag", self.wheel, "--platform", "manylinux_2_5_x86_64", "--output", self.scratch / "out", exit_code=1)
        self.assertIn("elf-glibc-floor", done.stderr)
        self.assertIn("GLIBC", done.stderr)
        self.assertEqual(list((self.scratch / "out").iterdir()), [])
        done = self.ptpkg("retag", self.wheel, "--platform", "manylinux_2_39_aarch64", "--output", self.scratch / "out", exit_code=1)
        self.assertIn("elf-machine-mismatch", done.stderr)
        self.assertTrue(self.retag("--platform", "manylinux_2_5_x86_64", "--no-check").exists())
        for arguments, why in ((("--platform", "win_amd64"), "'win_amd64'"), (("--python", "cp312", "--abi", "cp312"), "wheel-extension-tag"),
                               (("--python", "py3", "--abi", "none"), "wheel-extension-tag")):
            for more in ((), ("--dry-run",)):
                with self.subTest(arguments, more=more):
                    done = self.ptpkg("retag", self.wheel, *arguments, *more, "--output", self.scratch / "no", exit_code=1)
                    self.assertIn(why, done.stderr)
        for platform in ("auto", "linux", "manylinux_2_36"):
            done = self.ptpkg("retag", self.wheel, "--platform", platform, exit_code=2)
            self.assertIn("is not a platform tag", done.stderr)
        done = self.ptpkg("retag", self.wheel, "--python", "3.11", exit_code=3)
        self.assertIn("'3.11' is not a valid python tag", done.stderr)

    def test_a_check_finds_tags_that_were_not_checked(self):
        wheel = self.retag("--python", "cp312", "--abi", "cp312", "--platform", NEXT, "--no-check")
        done = self.ptpkg("check", wheel, exit_code=1)
        self.assertIn("wheel-extension-tag", done.stdout + done.stderr)

    def test_what_is_written_when_another_one_fails_is_told(self):
        """What vouches for the second one is a folder, which is not removed."""
        folders = [self.scratch / name for name in ("a", "b")]
        copies = []
        for folder, build in zip(folders, ("1", "2")):
            folder.mkdir()
            copies.append(pathlib.Path(shutil.copy(self.retag("--build", build), folder)))
        bad = self.scratch / "bb-1.0-py3-none-any.whl"
        bad.write_text("no zip")
        done = self.ptpkg("retag", *copies, bad, "--local", "x", "--remove", "--output", self.scratch / "new", "--json", exit_code=3)
        self.assertNotIn("outcomes", json.loads(done.stdout))
        self.assertTrue(all(copy.exists() for copy in copies))
        copies[1].with_name(copies[1].name + ".sig").mkdir()
        (copies[1].with_name(copies[1].name + ".sig") / "x").write_text("x")
        done = self.ptpkg("retag", *copies, "--local", "x", "--remove", "--output", self.scratch / "new", "--json", exit_code=6)
        told = json.loads(done.stdout)
        self.assertEqual(sorted(pathlib.Path(one["to"]).name for one in told["outcomes"]), sorted(path.name for path in (self.scratch / "new").iterdir()))
        self.assertFalse(copies[0].exists())
        self.assertTrue(copies[1].exists())

    def test_installers_find_scripts_of_a_name_that_was_not_in_normal_form(self):
        wheel = written(self.scratch / "Foo_Bar-1.0-py3-none-any.whl",
                        {"foo_bar.py": "x = 1\n", "Foo_Bar-1.0.data/scripts/foo-run": "#!python\n",
                         "Foo_Bar-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: Foo_Bar\nVersion: 1.0\n",
                         "Foo_Bar-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"})
        for verb in (("retag", wheel, "--requires", "numpy", "--output", self.scratch / "out"), ("check", wheel, "--fix", "--output", self.scratch / "fixed")):
            self.ptpkg(*verb)
        for folder in ("out", "fixed"):
            new, = (self.scratch / folder).iterdir()
            self.assertEqual(new.name, "foo_bar-1.0-py3-none-any.whl")
            self.check_with_installer(new)
            self.run_clean(harness.peers_python(), "-m", "installer", "--destdir", self.scratch / (folder + "-root"), "--prefix", "/", new)
            self.assertTrue(list((self.scratch / (folder + "-root")).rglob("foo-run")), folder)
            subprocess.run([harness.peer_program("wheel"), "unpack", new, "--dest", self.scratch / (folder + "-unpacked")], check=True,
                           stdout=subprocess.DEVNULL)

    def test_what_it_refuses(self):
        self.assertIn("nothing to change", self.ptpkg("retag", self.wheel, exit_code=2).stderr)
        self.assertIn("no.whl", self.ptpkg("retag", "no.whl", "--build", "1", exit_code=4).stderr)
        first = self.retag("--build", "1")
        again = self.ptpkg("retag", self.wheel, "--build", "1", "--output", self.output, exit_code=7)
        self.assertIn("--force", again.stderr)
        self.ptpkg("retag", self.wheel, "--build", "1", "--output", self.output, "--force")
        two = self.ptpkg("retag", self.wheel, first, "--build", "1", "--output", self.scratch / "two", exit_code=2)
        self.assertIn("two files would become", two.stderr)
        self.assertFalse((self.scratch / "two").exists())

    def test_dry_run_and_remove(self):
        copy = pathlib.Path(shutil.copy(self.wheel, self.scratch))
        planned, = self.ptpkg_json("retag", copy, "--build", "4", "--dry-run")
        self.assertEqual(planned["from"], str(copy))
        self.assertFalse(pathlib.Path(planned["to"]).exists())
        self.ptpkg("retag", copy, "--build", "4", "--remove")
        self.assertTrue(pathlib.Path(planned["to"]).exists())
        self.assertFalse(copy.exists())

    def test_remove_leaves_the_result_whatever_path_leads_to_it(self):
        folder, link = self.scratch / "a", self.scratch / "b"
        folder.mkdir()
        link.symlink_to(folder)
        copy = pathlib.Path(shutil.copy(self.wheel, folder))
        self.ptpkg("retag", copy, "--requires", "numpy", "--output", link, "--force", "--remove")
        self.assertEqual(list(folder.iterdir()), [copy])
        self.assertNotEqual(harness.sha256(copy), harness.sha256(self.wheel))
        self.ptpkg("retag", copy, "--requires", "numpy>=2", "--force", "--remove")
        self.assertEqual(list(folder.iterdir()), [copy])
        self.ptpkg("retag", copy, "--build", "2", "--output", link, "--remove")
        self.assertEqual([path.name for path in folder.iterdir()], [copy.name.replace("-cp311-", "-2-cp311-", 1)])

    def test_what_vouched_for_bytes_goes_with_them(self):
        endings = (".sig", ".asc", ".intoto.jsonl", ".publish.attestation")

        def vouched(wheel: pathlib.Path) -> pathlib.Path:
            for ending in endings:
                wheel.with_name(wheel.name + ending).write_text("x")
            return wheel

        def names(folder: pathlib.Path) -> list[str]:
            return sorted(path.name for path in folder.iterdir())

        folder = self.scratch / "in"
        folder.mkdir()
        copy = vouched(pathlib.Path(shutil.copy(self.wheel, folder)))
        kept = copy.with_name("notes.sig")
        kept.write_text("x")
        output = self.scratch / "out"
        written = vouched(self.retag("--build", "4"))
        self.ptpkg("retag", copy, "--build", "4", "--output", output, exit_code=7)
        self.assertEqual(len(names(output)), 5, "a refusal removes nothing")
        self.ptpkg("retag", copy, "--build", "4", "--output", output, "--force")
        self.assertEqual(names(output), [written.name])
        self.assertEqual(len(names(copy.parent)), 6, "the old wheel stays, and what vouches for it")
        self.ptpkg("retag", copy, "--build", "5", "--output", output, "--remove")
        self.assertEqual(names(copy.parent), [kept.name])


if __name__ == "__main__":
    harness.main()
