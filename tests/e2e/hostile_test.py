"""Damaged and hostile input: one error, the right exit code, nothing written, nothing left over."""

import hashlib
import base64
import io
import pathlib
import stat
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


class Hostile(harness.Case):
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


if __name__ == "__main__":
    harness.main()
