"""Damaged and hostile input: one error, the right exit code, nothing written, nothing left over."""

import base64
import hashlib
import io
import json
import os
import pathlib
import resource
import signal
import stat
import struct
import subprocess
import tarfile
import warnings
import zipfile

import harness

METADATA = "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def record_row(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def make_wheel(path: pathlib.Path, extra=(), record=True) -> pathlib.Path:
    """A small right wheel, plus `extra` members: (name or ZipInfo, bytes)."""
    members = [("toy/__init__.py", b""), ("toy-1.0.dist-info/METADATA", METADATA.encode()),
               ("toy-1.0.dist-info/WHEEL", WHEEL.encode()), *extra]
    rows = "".join(record_row(getattr(name, "filename", name), data) for name, data in members)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # duplicate names are the point
        for name, data in members:
            archive.writestr(name, data)
        if record:
            archive.writestr("toy-1.0.dist-info/RECORD", rows + "toy-1.0.dist-info/RECORD,,\n")
    return path


class HostileCase(harness.Case):
    def wheel(self) -> pathlib.Path:
        return self.scratch / "toy-1.0-py3-none-any.whl"

    def assert_refused(self, *args, words: str, exit_code: int = 3) -> None:
        output = self.scratch / "dist"
        done = self.ptpkg(*args, "--output", output, exit_code=exit_code)
        errors = [line for line in done.stderr.splitlines() if "error: " in line]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(harness.artifacts(output), {})
        self.assertEqual(harness.leftovers(output, self.cache), [])
        self.assertFalse((self.scratch / "evil").exists())
        self.assertFalse(pathlib.Path("/tmp/ptpkg-evil").exists())


class Hostile(HostileCase):
    def test_the_right_wheel_is_taken(self):
        make_wheel(self.wheel())
        self.ptpkg("conda", self.wheel(), "--output", self.scratch / "dist")
        self.assertEqual(len(harness.artifacts(self.scratch / "dist")), 2)

    def test_source_that_fits_no_recipe(self):
        self.assert_refused("build", harness.FIXTURES / "toymagma", "--source", f"toymagna={self.scratch}",
                            words="did you mean 'toymagma'?", exit_code=2)

    def test_names_that_leave_the_tree(self):
        for name in ("../evil", "toy/../../evil", "/tmp/ptpkg-evil"):
            with self.subTest(name):
                make_wheel(self.wheel(), [(name, b"evil")])
                self.assert_refused("conda", self.wheel(), words="evil")

    def test_duplicate_names(self):
        make_wheel(self.wheel(), [("toy/__init__.py", b"other")])
        self.assert_refused("conda", self.wheel(), words="toy/__init__.py")

    def test_a_symlink_out_of_the_tree(self):
        link = zipfile.ZipInfo("toy/link")
        link.create_system = 3
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        make_wheel(self.wheel(), [(link, b"../../../evil")])
        self.assert_refused("conda", self.wheel(), words="toy/link")

    def test_a_bomb(self):
        make_wheel(self.wheel(), [("toy/zeros", b"\0" * (300 << 20))])
        self.assert_refused("conda", self.wheel(), words="toy")

    def test_truncated_and_empty(self):
        make_wheel(self.wheel())
        whole = self.wheel().read_bytes()
        for size in (0, 10, len(whole) // 2, len(whole) - 1):
            with self.subTest(size):
                self.wheel().write_bytes(whole[:size])
                self.assert_refused("conda", self.wheel(), words="toy-1.0-py3-none-any.whl")

    def test_a_record_that_lies(self):
        make_wheel(self.wheel(), record=False)
        with zipfile.ZipFile(self.wheel(), "a") as archive:
            archive.writestr("toy-1.0.dist-info/RECORD", record_row("toy/__init__.py", b"other")
                             + record_row("toy-1.0.dist-info/METADATA", METADATA.encode())
                             + record_row("toy-1.0.dist-info/WHEEL", WHEEL.encode())
                             + "toy-1.0.dist-info/RECORD,,\n")
        self.assert_refused("conda", self.wheel(), words="toy/__init__.py")

    def test_a_missing_wheel(self):
        self.assert_refused("conda", self.wheel(), words="toy-1.0-py3-none-any.whl", exit_code=4)

    def test_a_conda_package_with_a_climbing_member(self):
        package = self.scratch / "toy-1.0-0.tar.bz2"
        with tarfile.open(package, "w:bz2") as archive:
            for name, data in (("info/index.json", b'{"name": "toy", "version": "1.0", "build": "0", '
                                b'"build_number": 0, "depends": [], "subdir": "noarch"}'),
                               ("info/paths.json", b'{"paths": [], "paths_version": 1}'), ("../evil", b"evil")):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        self.assert_refused("wheel", package, words="evil")

    def test_no_artifact_at_all(self):
        text = self.scratch / "notes.whl"
        text.write_text("not a wheel")
        self.assert_refused("conda", text, words="notes.whl")


def rewrite(path: pathlib.Path, change) -> None:
    path.write_bytes(change(path.read_bytes()))


class ReadersOfZips(HostileCase):
    """What other readers would see as another archive is refused by each verb that reads."""

    def assert_refused_by_all(self, words: str) -> None:
        self.assert_refused("conda", self.wheel(), words=words)
        report = self.ptpkg_json("check", self.wheel(), exit_code=1)[0]
        self.assertTrue(any(words in finding["message"] for finding in report["findings"]), report)
        folder = self.scratch / "folder"
        folder.mkdir(exist_ok=True)
        (folder / self.wheel().name).write_bytes(self.wheel().read_bytes())
        indexed = self.ptpkg("index", folder, exit_code=3)
        self.assertIn(words, indexed.stderr)
        self.assertNotIn("toy", (folder / "simple/index.html").read_text())

    def test_an_end_record_in_the_comment_of_another(self):
        make_wheel(self.wheel(), [("toy/evil.py", b"evil")])
        evil = self.wheel().read_bytes()[:-2] + struct.pack("<H", 99)  # its comment is longer than what follows
        make_wheel(self.wheel())
        rewrite(self.wheel(), lambda good: good[:-2] + struct.pack("<H", len(evil)) + evil)
        with zipfile.ZipFile(self.wheel()) as archive:
            self.assertIn("toy/evil.py", archive.namelist())  # what pip would install
        self.assert_refused_by_all("end-of-central-directory record")

    def test_two_locators(self):
        make_wheel(self.wheel())

        def add(data: bytes) -> bytes:
            end = data[-22:]
            count, size, offset = struct.unpack("<HII", end[10:20])
            at = len(data) - 22
            large = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, offset)
            locator = struct.pack("<IIQI", 0x07064B50, 0, at, 1)
            return data[:-22] + large + locator + locator + end

        rewrite(self.wheel(), add)
        self.assert_refused_by_all("between the ZIP64 end record and its locator")

    def test_a_name_that_is_read_in_two_ways(self):
        make_wheel(self.wheel(), [("toy/caf\u00e9.py", b"x")])

        def clear_utf8_flag(data: bytes) -> bytes:
            changed = bytearray(data)
            for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
                at = data.find(signature)
                while at >= 0:
                    changed[at + flags + 1] &= ~8
                    at = data.find(signature, at + 1)
            return bytes(changed)

        rewrite(self.wheel(), clear_utf8_flag)
        self.assert_refused_by_all("not marked as UTF-8")

    def test_a_version_that_nobody_reads(self):
        make_wheel(self.wheel())
        needed = b"PK\x01\x02\x14\x03"  # what follows is the version that a reader needs
        rewrite(self.wheel(), lambda data: data.replace(needed + b"\x14", needed + b"\x63", 1))
        self.assert_refused_by_all("needs version 9.9")


class Names(HostileCase):
    COMPOSED, DECOMPOSED = "toy/caf\u00e9.txt", "toy/cafe\u0301.txt"

    def test_both_forms_of_a_letter_are_packed_checked_and_unpacked(self):
        make_wheel(self.wheel(), [(self.COMPOSED, b"one"), (self.DECOMPOSED, b"two")])
        output = self.scratch / "dist"
        self.ptpkg("conda", self.wheel(), "--output", output)
        packages = [output / name for name in harness.artifacts(output)]
        self.assertEqual(len(packages), 2)
        for package in packages:
            with self.subTest(package.name):
                self.assertEqual([f for f in self.ptpkg_json("check", package)[0]["findings"]
                                  if f["severity"] == "error"], [])
                back = self.scratch / f"back-{package.suffix[1:]}"
                self.ptpkg("wheel", package, "--output", back)
                [wheel] = harness.artifacts(back)
                with zipfile.ZipFile(back / wheel) as archive:
                    self.assertEqual(archive.read(self.COMPOSED), b"one")
                    self.assertEqual(archive.read(self.DECOMPOSED), b"two")

    def test_names_that_no_file_system_takes(self):
        for name, words in (("toy/" + "x" * 300, "has a component of 300 bytes"),
                            ("toy/" + "d/" * 128 + "f", "is 129 directories deep"),
                            ("toy/a\x1b[31m", "has a control character in its name"),
                            ("toy/__init__.py/x", "which is a file")):
            with self.subTest(words):
                make_wheel(self.wheel(), [(name, b"x")])
                self.assert_refused("conda", self.wheel(), words=words)
                report = self.ptpkg_json("check", self.wheel(), exit_code=1)[0]
                self.assertTrue(any(words in finding["message"] for finding in report["findings"]), report)


def small_memory(megabytes: int):
    """For preexec_fn: an allocation beyond that fails."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


class Paths(HostileCase):
    ODD = os.fsdecode(b"o\xff")

    def test_folders_that_no_document_can_name_are_refused_before_any_work(self):
        wheel, odd = make_wheel(self.wheel()), self.scratch / self.ODD
        output = ("--output", odd / "dist")
        for words, arguments in (("the output directory: ", output),
                                 ("the output directory: ", (*output, "--json")),
                                 ("the output directory: ", (*output, "--dry-run")),
                                 ("the plan: ", (*output, "--plan", "--json")),
                                 ("the cache directory: ", ("--cache-dir", odd, "--output", "dist"))):
            done = self.ptpkg("conda", wheel, *arguments, exit_code=2)
            self.assertIn(words, done.stderr)
            self.assertIn("is not UTF-8", done.stderr)
            self.assertIn("hint: use a directory whose full path is UTF-8", done.stderr)
            self.assertFalse(odd.exists())
        done = self.ptpkg("conda", wheel, "--output", "dist", PTPKG_CACHE_DIR=str(odd), exit_code=2)
        self.assertIn("o\\xff", done.stderr)
        self.assertFalse((self.scratch / "dist").exists())

    def test_what_is_only_printed_is_printed(self):
        odd = self.scratch / self.ODD
        odd.mkdir()
        wheel = make_wheel(odd / self.wheel().name)
        [item] = json.loads(self.ptpkg("check", "--json", wheel).stdout)
        self.assertIn("o\ufffd", item["subject"])
        self.assertIn("written", self.ptpkg_json("index", odd))
        self.assertIn("o\ufffd", self.ptpkg_json("cache", "--cache-dir", odd)["cache"])
        self.assertEqual(self.ptpkg_json("relink", odd, "--dry-run"), [])

    def test_input_of_such_a_folder_is_taken(self):
        odd = self.scratch / self.ODD
        odd.mkdir()
        made = self.ptpkg_json("conda", make_wheel(odd / self.wheel().name), "--output", "dist")
        self.assertEqual(len(made["artifacts"]), 2)


class Growth(HostileCase):
    """Small input that asks for much memory, time or output."""

    def run_small(self, *args, megabytes: int, exit_code: int) -> subprocess.CompletedProcess:
        done = subprocess.run([harness.Settings.ptpkg, *map(str, args)], env=self.environment(), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, cwd=self.scratch, check=False,
                              preexec_fn=small_memory(megabytes))
        self.assertEqual(done.returncode, exit_code, done.stderr[-3000:])
        return done

    def recipe(self, text: str) -> pathlib.Path:
        folder = self.scratch / "recipe"
        folder.mkdir(exist_ok=True)
        (folder / "recipe.yaml").write_text('schema_version: 1\npackage: {name: toy, version: "1"}\n' + text)
        return folder

    def package(self, channel: pathlib.Path, name: str, about: bytes) -> None:
        path = channel / "noarch" / f"{name}-1.0-0.tar.bz2"
        path.parent.mkdir(parents=True, exist_ok=True)
        index = {"name": name, "version": "1.0", "build": "0", "build_number": 0, "depends": [], "subdir": "noarch"}
        with tarfile.open(path, "w:bz2") as archive:
            for member_name, data in (("info/index.json", json.dumps(index).encode()),
                                      ("info/about.json", about),
                                      ("info/paths.json", b'{"paths": [], "paths_version": 1}')):
                member = tarfile.TarInfo(member_name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))

    def test_deep_json_leaves_one_package_out_of_the_index(self):
        channel = self.scratch / "channel"
        self.package(channel, "good", b"{}")
        for depth in (60_000, 1_000_000):
            self.package(channel, f"deep{depth}", b"[" * depth + b"]" * depth)
        done = self.run_small("index", channel, "--jobs", "2", megabytes=1000, exit_code=3)
        self.assertEqual(done.stderr.count("warning: skipped '"), 2, done.stderr)
        self.assertIn("nested deeper than 64 levels", done.stderr)
        repodata = json.loads((channel / "noarch/repodata.json").read_text())
        self.assertEqual(list(repodata["packages"]), ["good-1.0-0.tar.bz2"])
        deep = channel / "noarch/deep60000-1.0-0.tar.bz2"
        self.run_small("wheel", deep, "--output", self.scratch / "dist", megabytes=1000, exit_code=3)

    def test_a_recipe_on_one_line(self):
        folder = self.recipe("requirements: {run: [" + "a," * 20_000 + "]}\n")
        self.run_small("render", folder, megabytes=500, exit_code=0)
        long_line = self.run_small("render", self.recipe("requirements: {run: [" + "a," * 20_000 + "~[]]}\n"),
                                   megabytes=500, exit_code=3)
        self.assertLess(len(long_line.stderr), 2000)

    def test_values_that_double(self):
        lines = ["context:", "  a0: xxxxxxxxxx"]
        lines += [f"  a{i}: ${{{{ {' ~ '.join([f'a{i - 1}'] * 10)} }}}}" for i in range(1, 12)]
        done = self.run_small("render", self.recipe("\n".join(lines) + "\n"), megabytes=500, exit_code=3)
        self.assertIn("the value grows above 1 MiB", done.stderr)
        self.assertIn("recipe.yaml:10:", done.stderr)

    def test_findings_without_number(self):
        make_wheel(self.wheel(), record=False)
        metadata = (METADATA + "Requires-Dist: a b\n" * 500_000).encode()
        with warnings.catch_warnings(), zipfile.ZipFile(self.wheel(), "w", zipfile.ZIP_DEFLATED) as archive:
            warnings.simplefilter("ignore")
            for name, data in (("toy-1.0.dist-info/METADATA", metadata), ("toy-1.0.dist-info/WHEEL", WHEEL.encode()),
                               ("toy-1.0.dist-info/RECORD",
                                (record_row("toy-1.0.dist-info/METADATA", metadata)
                                 + record_row("toy-1.0.dist-info/WHEEL", WHEEL.encode())
                                 + "toy-1.0.dist-info/RECORD,,\n").encode())):
                archive.writestr(name, data)
        done = self.run_small("check", self.wheel(), "--verbose", megabytes=1000, exit_code=1)
        self.assertIn("and 499800 more of this kind [wheel-requirement-invalid]", done.stderr)
        self.assertLess(len(done.stderr), 200_000)

    def test_metadata_of_sixty_megabytes(self):
        make_wheel(self.wheel(), [("toy-1.0.dist-info/entry_points.txt", b"#" * (60 << 20))])
        self.assert_refused("conda", self.wheel(), words="more than the limit of 16777216")

    def cpu_seconds(self, *args) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.ptpkg(*args)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def test_ten_times_the_files_cost_ten_times_the_time(self):
        cost = {}
        for count in (2_000, 20_000):
            make_wheel(self.wheel(), [(f"toy/{i % 100}/f{i}", b"") for i in range(count)])
            cost[count] = [self.cpu_seconds("check", self.wheel()),
                           self.cpu_seconds("conda", self.wheel(), "--output", self.scratch / f"dist{count}")]
        for small, large in zip(cost[2_000], cost[20_000]):
            self.assertLess(large, 30 * small, cost)  # 100 if it were quadratic


class Machine(HostileCase):
    def script_recipe(self, script: str) -> pathlib.Path:
        recipe = self.scratch / "recipe"
        recipe.mkdir(exist_ok=True)
        (recipe / "recipe.yaml").write_text(
            'schema_version: 1\npackage: {name: toy, version: "1"}\n'
            'build: {number: 0, string: "0", script: {file: build.sh}}\n'
            'about: {license: MIT}\nextra: {ptpkg: {formats: [conda]}}\n')
        (recipe / "build.sh").write_text(script)
        return recipe

    def test_nothing_of_a_script_acts_on_the_terminal(self):
        recipe = self.script_recipe("printf '\\033[2J\\033]0;owned\\007visible\\n'\n"
                                    "head -c 400000 /dev/zero | tr '\\0' x\necho\n"
                                    "printf '\\033[31mfailing\\033[0m\\n'\nexit 1\n")
        for form in ("plain", "terminal", "json"):
            with self.subTest(form):
                done = self.ptpkg("build", recipe, "--output", self.scratch / "dist", "--verbose", "--log-format", form,
                                  "--color", "never", exit_code=5)
                self.assertNotIn("\x1b[2J", done.stderr)
                self.assertNotIn("\x1b[31m", done.stderr)
                self.assertNotIn("\x07", done.stderr)
                self.assertIn("visible", done.stderr)
                self.assertIn("failing", done.stderr)
                self.assertLess(max(map(len, done.stderr.splitlines())), 5_000)

    def test_a_low_limit_of_open_files_is_named(self):
        recipe = self.script_recipe("mkdir -p $PREFIX/share && echo x > $PREFIX/share/x\n")
        for limit in (8, 12, 16, 20):
            with self.subTest(limit):
                command = [harness.tool("prlimit"), f"--nofile={limit}", harness.Settings.ptpkg, "build", recipe, "--output", self.scratch / "dist"]
                done = subprocess.run([str(word) for word in command], env=self.environment(), text=True, stdin=subprocess.DEVNULL,
                                      capture_output=True, check=False)
                self.assertNotIn("was killed", done.stderr)
                if done.returncode != 0:
                    self.assertIn("Too many open files", done.stderr)
                    self.assertIn("ulimit -n", done.stderr)

    def ended_by(self, sign: int) -> int:
        recipe = self.script_recipe(f"touch {self.scratch}/started\nsleep 300\n")
        (self.scratch / "started").unlink(missing_ok=True)
        process = subprocess.Popen([harness.Settings.ptpkg, "build", recipe, "--output", self.scratch / "dist"],
                                   env=self.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, text=True)
        with process:
            self.wait_for((self.scratch / "started").exists)
            process.send_signal(sign)
            self.assertIn("interrupted", process.stderr.read())
        return process.returncode

    def test_the_exit_code_names_the_signal(self):
        self.assertEqual(self.ended_by(signal.SIGTERM), 143)
        self.assertEqual(self.ended_by(signal.SIGINT), 130)

    def test_a_machine_without_threads(self):
        make_wheel(self.wheel(), [(f"toy/f{i}", os.urandom(1000)) for i in range(200)])
        self.ptpkg("conda", self.wheel(), "--output", self.scratch / "plain")

        user = os.geteuid() or 64999  # the limit does not hold for root; that user has no processes
        own = 0 if os.geteuid() == 0 else sum(len(os.listdir(f"/proc/{pid}/task")) for pid in os.listdir("/proc")
                                              if pid.isdigit() and os.stat(f"/proc/{pid}").st_uid == user)
        self.cache = self.scratch / "cache-of-that-user"
        self.cache.mkdir()
        for folder in (self.scratch, self.cache):
            folder.chmod(0o777)

        def few_threads():
            if os.geteuid() == 0:
                os.setgid(user)
                os.setuid(user)
            resource.setrlimit(resource.RLIMIT_NPROC, (own + 4, own + 4))

        output = self.scratch / "dist"
        done = subprocess.run([harness.Settings.ptpkg, "conda", self.wheel(), "--output", output, "--jobs", "200"],
                              env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, preexec_fn=few_threads)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(harness.artifacts(output), harness.artifacts(self.scratch / "plain"))


if __name__ == "__main__":
    harness.main()
