"""`ptpkg check --fix`: what is mechanical is mended, all else is listed, and the result runs."""

import json
import pathlib
import shutil
import zipfile

import harness
import json_schema
import wheel_maker
from wheel_maker import SUFFIX, TAG


class Fix(wheel_maker.WheelCase):
    def sick(self, name: str, *paths: str) -> None:
        """toy/<name>, whose search path has these entries, and toy/lib with what it needs."""
        inside = self.library("libown.so.1", "int value(void) { return 9; }")
        (self.tree / "toy/lib").mkdir(exist_ok=True)
        shutil.copy(inside, self.tree / "toy/lib")
        self.module(name, inside, options=[f"-Wl,-rpath,{':'.join(paths)}"])

    def changed(self, wheel: pathlib.Path, edits: dict[str, bytes | None], extra: dict[str, bytes] | None = None, name: str = "") -> pathlib.Path:
        """The wheel with members replaced (None: left out) and added, RECORD as it was."""
        target = self.scratch / "sick" / (name or wheel.name)
        target.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
            for info in old.infolist():
                if info.filename.endswith("/"):
                    continue
                content = edits.get(info.filename, old.read(info))
                if content is not None:
                    new.writestr(zipfile.ZipInfo(info.filename, info.date_time), content)
            for path, content in (extra or {}).items():
                new.writestr(path, content)
        return target

    def fix(self, wheel: pathlib.Path, *arguments, **options) -> dict:
        outcome, = self.ptpkg_json("check", wheel, "--profile", "pytorch-index", "--fix", "--output", self.scratch / "mended",
                                   *arguments, **options)
        return outcome

    def fixed(self, outcome: dict) -> set[str]:
        return {finding["id"] for finding in outcome["fixed"]}

    def test_what_a_killed_run_left_goes(self):
        """Each verb that writes beside a file begins with it, also when nothing is to be done."""
        self.module("one", call="9")
        wheel = self.wheel(platform="manylinux_2_28_x86_64")
        folder = wheel.parent
        library = folder / "tree/one.so"
        library.parent.mkdir()
        shutil.copy(self.tree / f"toy/one{SUFFIX}", library)
        token = "0123456789ab"
        for command in (("check", wheel, "--fix"), ("retag", wheel, "--build", "7"), ("repair", wheel, "--force"),
                        ("relink", library, "--set-rpath", "$ORIGIN"), ("relink", library.parent, "--set-rpath", "$ORIGIN/lib")):
            with self.subTest(command[0]):
                beside = library.parent if command[0] == "relink" else folder
                half = beside / f"edited-{token}.ptpkg-tmp/d" / wheel.name
                half.parent.mkdir(parents=True)
                half.write_bytes(b"half")
                (half.parents[1] / ".lease").touch()
                (beside / f".{wheel.name}.{token}.ptpkg-tmp").write_bytes(b"half")
                copy = beside / f".ptpkg-edit-{token}.ptpkg-tmp/d/one.so"
                copy.parent.mkdir(parents=True)
                copy.write_bytes(library.read_bytes()[:-100])
                (copy.parents[1] / ".lease").touch()
                self.ptpkg(*command)
                self.assertEqual(harness.leftovers(beside), [])

    def test_search_paths(self):
        self.sick("one", "/opt/build/lib", "$ORIGIN/lib", "", "relative", "$ORIGIN/none", "/usr/local/cuda/lib64/stubs")
        outcome = self.fix(self.wheel())
        self.assertLessEqual({"elf-search-path-absolute", "elf-search-path-empty", "elf-search-path-relative", "elf-search-path-stubs",
                              "elf-search-path-dead"}, self.fixed(outcome))
        self.assertEqual([finding for finding in outcome["findings"] if finding["id"].startswith("elf-")], [])
        self.assertTrue(outcome["ok"])
        self.assertIn("[$ORIGIN/lib]", self.dynamic(outcome["written"], f"toy/one{SUFFIX}"))
        self.assertEqual(self.get(self.installed(outcome["written"]), "toy.one"), "9")
        self.sound(outcome["written"])

    def test_what_a_dependency_may_fill_stays(self):
        self.library("libcudart.so.12", "int value(void) { return 1; }")
        self.module("one", self.outside / "libcudart.so.12", options=["-Wl,-rpath,$ORIGIN/../nvidia/cuda_runtime/lib"])
        wheel = self.wheel(requires="Requires-Dist: nvidia-cuda-runtime-cu12\n")
        outcome = self.fix(wheel)
        self.assertIsNone(outcome["written"])
        self.assertEqual(outcome["fixed"], [])

    def test_record_becomes_true(self):
        self.sick("one", "$ORIGIN/lib")
        (self.tree / "toy/gone.py").write_text("x = 1\n")
        wheel = self.wheel()
        sick = self.changed(wheel, {"toy/__init__.py": b"changed = True\n", "toy/gone.py": None}, {"toy/new.py": b"y = 2\n"})
        outcome = self.fix(sick)
        self.assertEqual(self.fixed(outcome), {"wheel-record-digest", "wheel-record-missing", "wheel-record-unlisted"})
        self.sound(outcome["written"])
        for record in (b"not,a,record,at,all\n", None):
            with self.subTest(record=record):
                shutil.rmtree(self.scratch / "mended")
                broken = self.changed(wheel, {"toy-1.0.dist-info/RECORD": record})
                outcome = self.fix(broken)
                self.assertTrue(outcome["ok"])
                self.sound(outcome["written"])

    def test_wheel_says_what_the_file_name_says(self):
        self.sick("one", "$ORIGIN/lib")
        wheel = self.wheel()
        named = f"toy-1.0-3-{TAG}-{TAG}-manylinux_2_36_x86_64.whl"
        sick = self.changed(wheel, {}, name=named)
        outcome = self.fix(sick)
        self.assertLessEqual({"wheel-tag-mismatch", "wheel-build-mismatch"}, self.fixed(outcome))
        self.assertEqual(pathlib.Path(outcome["written"]).name, named)
        with zipfile.ZipFile(outcome["written"]) as archive:
            text = archive.read("toy-1.0.dist-info/WHEEL").decode()
        self.assertIn(f"Tag: {TAG}-{TAG}-manylinux_2_36_x86_64\n", text)
        self.assertIn("Build: 3\n", text)
        self.sound(outcome["written"])

    def test_in_place(self):
        self.sick("one", "/opt/build/lib", "$ORIGIN/lib")
        wheel = self.wheel()
        vouched = wheel.with_name(wheel.name + ".sig")
        vouched.write_text("x")
        done = self.ptpkg("check", wheel, "--profile", "pytorch-index", "--fix")
        self.assertIn("fixed: toy/one", done.stdout)
        self.assertFalse(vouched.exists())
        self.assertIn("[$ORIGIN/lib]", self.dynamic(wheel, f"toy/one{SUFFIX}"))
        digest = harness.sha256(wheel)
        again = self.ptpkg("check", wheel, "--profile", "pytorch-index", "--fix")
        self.assertIn("nothing to fix automatically", again.stderr)
        self.assertEqual(harness.sha256(wheel), digest)
        self.assertEqual(harness.leftovers(self.scratch), [])

    def test_in_place_under_the_normal_form_of_the_name(self):
        self.sick("one", "/opt/build/lib", "$ORIGIN/lib")
        wheel = self.wheel()
        old = wheel.rename(wheel.with_name(wheel.name.replace("toy-", "Toy-")))
        old.with_name(old.name + ".sig").write_text("x")
        outcome, = self.ptpkg_json("check", old, "--profile", "pytorch-index", "--fix")
        self.assertEqual(outcome["written"], str(wheel))
        self.assertEqual([path.name for path in wheel.parent.iterdir()], [wheel.name])
        self.sound(wheel)
        old = wheel.rename(old)  # with --output nothing of it goes
        self.fix(old)
        self.assertEqual(harness.sha256(old), harness.sha256(self.scratch / "mended" / wheel.name))

    def test_through_a_link(self):
        self.sick("one", "/opt/build/lib", "$ORIGIN/lib")
        wheel = self.wheel()
        kept = self.scratch / "kept"
        kept.mkdir()
        real = wheel.rename(kept / wheel.name)
        sick = real.read_bytes()
        wheel.symlink_to(real)
        outcome, = self.ptpkg_json("check", wheel, "--profile", "pytorch-index", "--fix")
        self.assertEqual(outcome["written"], str(real))
        self.assertTrue(wheel.is_symlink())
        self.assertNotEqual(real.read_bytes(), sick)
        self.sound(wheel)
        for name, code, said in ((wheel.name.replace("toy-", "Toy-"), 7, "leave the link dangling"), ("blob", 2, "is not named like a wheel")):
            with self.subTest(name=name):
                target = kept / name
                target.write_bytes(sick)
                wheel.unlink()
                wheel.symlink_to(target)
                done = self.ptpkg("check", wheel, "--profile", "pytorch-index", "--fix", exit_code=code)
                self.assertIn(said, done.stderr)
                self.assertEqual(target.read_bytes(), sick)
        self.assertIsNotNone(self.fix(wheel)["written"])

    def test_what_was_done_before_one_that_fails_is_told(self):
        self.sick("one", "/opt/build/lib", "$ORIGIN/lib")
        first = self.wheel()
        sick = first.read_bytes()
        strange = self.scratch / "strange" / first.name
        strange.parent.mkdir()
        with zipfile.ZipFile(first) as old, zipfile.ZipFile(strange, "w") as new:
            for info in old.infolist():
                if not info.is_dir():
                    new.writestr(zipfile.ZipInfo(info.filename, info.date_time), old.read(info),
                                 zipfile.ZIP_LZMA if info.filename == "toy/__init__.py" else zipfile.ZIP_DEFLATED)
        stuck = self.scratch / "stuck" / first.name.replace("toy-", "Toy-")
        stuck.parent.mkdir()
        stuck.write_bytes(sick)
        (stuck.parent / first.name).write_bytes(b"in the way")
        last = self.scratch / "last" / first.name
        last.parent.mkdir()
        last.write_bytes(sick)
        done = self.ptpkg("check", strange, first, stuck, last, "--profile", "pytorch-index", "--fix", exit_code=7)
        self.assertIn(f"cannot fix '{strange}'", done.stderr)
        self.assertIn("fixed: toy/one", done.stdout)
        self.assertIn(f"while fixing '{stuck}'", done.stderr)
        self.assertNotEqual(first.read_bytes(), sick)
        self.assertEqual(last.read_bytes(), sick)
        first.write_bytes(sick)
        done = self.ptpkg("check", first, stuck, last, "--profile", "pytorch-index", "--fix", "--json", exit_code=7)
        document = json.loads(done.stdout)
        self.assertEqual(json_schema.complaints(self, [document], "error"), "")
        self.assertEqual(document["error"]["code"], "already_exists")
        self.assertEqual([outcome["written"] for outcome in document["outcomes"]], [str(first)])

    def test_what_it_cannot_mend_is_listed(self):
        self.module("one", self.library("libnowhere.so.1", "int value(void) { return 1; }"))
        outcome = self.fix(self.wheel(), exit_code=1)
        self.assertIn("elf-unresolved-needed", {finding["id"] for finding in outcome["findings"]})
        self.assertEqual(self.fixed(outcome), {"elf-search-path-absolute"})

    def test_what_it_refuses(self):
        folder = self.ptpkg("check", self.tree, "--fix", exit_code=2)
        self.assertIn("--fix works on wheels", folder.stderr)
        lost = self.ptpkg("check", self.tree, "--output", "x", exit_code=2)
        self.assertIn("--fix", lost.stderr)
        self.sick("one", "/opt/build/lib", "$ORIGIN/lib")
        wheel = self.wheel()
        self.fix(wheel)
        taken = self.ptpkg("check", wheel, "--fix", "--output", self.scratch / "mended", exit_code=7)
        self.assertIn("already exists", taken.stderr)
        junk = self.scratch / wheel.name
        junk.write_bytes(b"no zip")
        done = self.ptpkg("check", junk, "--fix", exit_code=1)
        self.assertIn("cannot fix ", done.stderr)
        self.assertEqual(junk.read_bytes(), b"no zip")


if __name__ == "__main__":
    harness.main()
