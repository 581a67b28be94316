"""`ptpkg relink` on real libraries, stripped before and used afterwards; and what it does to the tree around them."""

import os
import pathlib
import subprocess
import zipfile

import harness
from real_wheels import real_wheel

USE = ("import numpy as np, scipy.linalg\n"
       "from scipy.linalg import lapack\n"
       "a = np.array([[4.0, 1.0], [1.0, 3.0]])\n"
       "assert np.allclose(a @ scipy.linalg.solve(a, [1, 2]), [1, 2])\n"
       "assert np.allclose(scipy.linalg.eigvalsh(np.diag([1.0, 2.0])), [1, 2])\n"
       "assert lapack.dgetrf(a)[2] == 0\n"
       "print(scipy.__file__)\n"
       "print([line.split()[-1] for line in open('/proc/self/maps') if 'openblas' in line][0])\n")


class StrippedScipy(harness.Case):
    """The extensions of scipy.linalg and the libraries that the wheel bundles, after `strip`."""

    def setUp(self) -> None:
        super().setUp()
        harness.peers_python()
        self.site = self.scratch / "site"
        for name in ("numpy", "scipy"):
            with zipfile.ZipFile(real_wheel(name)) as wheel:
                wheel.extractall(self.site)
        linalg = sorted((self.site / "scipy/linalg").glob("*.so"))
        bundled = sorted((self.site / "scipy.libs").glob("*.so*"))
        self.assertTrue(linalg and bundled)
        self.files = linalg + bundled
        stripped = [file for file in bundled + linalg if self.strip(file)]  # what others need first
        self.assertTrue(set(stripped) & set(linalg) and set(stripped) & set(bundled), stripped)

    @staticmethod
    def strip(file: pathlib.Path) -> bool:
        """strip breaks some of what patchelf edited for the wheel; such a file stays as it was shipped."""
        shipped = file.read_bytes()
        subprocess.run(["strip", "--strip-all", file], check=True)
        load = f"import ctypes; ctypes.CDLL({str(file)!r})"
        loads = subprocess.run(["/usr/bin/python3", "-c", load], capture_output=True, check=False).returncode == 0
        if not loads:
            file.write_bytes(shipped)
        return loads

    def path_of(self, file: pathlib.Path) -> str:
        facts = self.ptpkg_json("relink", file, "--root", self.site, "--set-rpath", "x", "--plan")
        before = facts[0]["before"]
        return before["runpath"] or before["rpath"] or ""

    def use(self) -> None:
        """Imports and calls it in a clean environment; the bundled OpenBLAS must be the one of this tree."""
        printed = self.run_clean("/usr/bin/python3", "-c", f"import sys; sys.path.insert(0, {str(self.site)!r})\n{USE}")
        package, library = printed.split()
        self.assertTrue(package.startswith(str(self.site)), package)
        self.assertTrue(library.startswith(str(self.site)), library)

    def sizes(self) -> list[int]:
        return [file.stat().st_size for file in self.files]

    def relink(self, path: str, *flags: str) -> list[dict]:
        """Gives all files `path`; an extension needs its way to scipy.libs besides."""
        items = []
        for folder, way in (("scipy/linalg", "$ORIGIN/../../scipy.libs"), ("scipy.libs", "$ORIGIN")):
            items += self.ptpkg_json("relink", self.site / folder, "--set-rpath", f"{way}:{path}", *flags)
        return items

    def test_growing_then_in_place_then_growing_again(self):
        self.use()
        before = self.sizes()
        items = self.relink("$ORIGIN/" + "x" * 640)
        changed = {item["file"] for item in items if item["tier"] == "append"}
        self.assertTrue({str(file) for file in self.files} <= changed)
        grown = self.sizes()
        self.assertTrue(all(new > old for new, old in zip(grown, before)))
        self.use()

        items = self.relink("$ORIGIN/short", "--force-rpath", "--verify", "deep")
        self.assertEqual({item["tier"] for item in items}, {"in place"})
        self.assertEqual(self.sizes(), grown)
        self.use()

        for size in (700, 3000, 9000):
            self.relink("$ORIGIN/" + "y" * size)
        self.use()
        self.assertIn("y" * 9000, self.path_of(self.files[0]))
        self.assertEqual(harness.leftovers(self.site), [])

    def test_rerun_touches_nothing(self):
        self.relink("$ORIGIN/" + "x" * 640)
        before = self.states()
        items = self.relink("$ORIGIN/" + "x" * 640)
        self.assertEqual({item["tier"] for item in items}, {"nothing"})
        self.assertEqual(sum(item["bytes_to_write"] for item in items), 0)
        self.assertEqual(self.states(), before)

    def states(self) -> dict[str, tuple[int, ...]]:
        found = {}
        for path in sorted(self.site.rglob("*")):
            stat = path.lstat()
            found[str(path)] = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_mode)
        return found


class LinksAndModes(harness.Case):
    """What else lies in a tree."""

    def setUp(self) -> None:
        super().setUp()
        self.tree = self.scratch / "tree"
        self.tree.mkdir()
        source = self.scratch / "a.c"
        source.write_text("int answer(void) { return 42; }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", self.tree / "liba.so", source], check=True)
        self.original = (self.tree / "liba.so").read_bytes()

    def answer(self, library: pathlib.Path) -> None:
        self.run_clean("/usr/bin/python3", "-c", f"import ctypes; assert ctypes.CDLL({str(library)!r}).answer() == 42")

    def test_hard_links_are_split_and_modes_kept(self):
        outside = self.scratch / "outside.so"
        os.link(self.tree / "liba.so", outside)
        os.chmod(self.tree / "liba.so", 0o555)
        self.ptpkg("relink", self.tree, "--set-rpath", "$ORIGIN/" + "x" * 300)
        self.assertEqual(outside.read_bytes(), self.original)
        self.assertNotEqual((self.tree / "liba.so").read_bytes(), self.original)
        self.assertEqual((self.tree / "liba.so").stat().st_mode & 0o7777, 0o555)
        self.assertEqual((self.tree / "liba.so").stat().st_nlink, 1)
        self.answer(self.tree / "liba.so")
        self.answer(outside)

    def test_symlinks_are_not_followed(self):
        outside = self.scratch / "outside.so"
        outside.write_bytes(self.original)
        (self.tree / "link.so").symlink_to(outside)
        (self.tree / "liba.so.1").symlink_to("liba.so")
        (self.tree / "nowhere.so").symlink_to("missing")
        items = self.ptpkg_json("relink", self.tree, "--set-rpath", "$ORIGIN/deps")
        self.assertEqual([pathlib.Path(item["file"]).name for item in items], ["liba.so"])
        self.assertEqual(outside.read_bytes(), self.original)
        self.assertTrue((self.tree / "liba.so.1").is_symlink())
        done = self.ptpkg("relink", self.tree / "link.so", "--set-rpath", "$ORIGIN/deps", exit_code=3)
        self.assertIn("is not a regular file", done.stderr)
        self.assertEqual(outside.read_bytes(), self.original)

    def test_text_scripts_and_headers_are_passed_over(self):
        (self.tree / "libtext.so").write_text("INPUT(-lm)\n")
        (self.tree / "run").write_text("#!/bin/sh\n")
        (self.tree / "empty.so").touch()
        (self.tree / "a.h").write_text("int answer(void);\n")
        items = self.ptpkg_json("relink", self.tree, "--set-rpath", "$ORIGIN/deps")
        self.assertEqual([pathlib.Path(item["file"]).name for item in items], ["liba.so"])
        self.assertEqual((self.tree / "libtext.so").read_text(), "INPUT(-lm)\n")

    def test_damaged_file_is_named_and_nothing_is_changed(self):
        (self.tree / "libcut.so").write_bytes(self.original[:600])
        done = self.ptpkg("relink", self.tree, "--set-rpath", "$ORIGIN/deps", exit_code=3)
        self.assertIn("libcut.so", done.stderr)
        self.assertIn("the file ends at 600", done.stderr)
        self.assertEqual((self.tree / "liba.so").read_bytes(), self.original)
        self.assertEqual((self.tree / "libcut.so").read_bytes(), self.original[:600])

    def test_static_programs_are_passed_over_in_a_tree_and_refused_alone(self):
        source = self.scratch / "main.c"
        source.write_text("int main(void) { return 0; }\n")
        static = self.tree / "static"
        subprocess.run(["gcc", "-static", "-o", static, source], check=True)
        before = static.read_bytes()
        items = self.ptpkg_json("relink", self.tree, "--set-rpath", "$ORIGIN/deps")
        self.assertEqual([pathlib.Path(item["file"]).name for item in items], ["liba.so"])
        done = self.ptpkg("relink", static, "--set-rpath", "$ORIGIN/deps", exit_code=3)
        self.assertIn("is not a dynamically linked ELF file", done.stderr)
        self.assertEqual(static.read_bytes(), before)


if __name__ == "__main__":
    harness.main()
