"""auditwheel with our patchelf as its patcher: the repaired wheel installs, loads and computes.

scipy's wheel is taken back to what it was before its makers repaired it (its bundled libraries outside, a plain
linux tag), and repaired again, once with each patcher. Exit 77 is a skip.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import real_wheels

BIN = pathlib.Path(sys.executable).parent
PROGRAM = """
import numpy, scipy.linalg, scipy.optimize, scipy.sparse.linalg, scipy
assert "site" in scipy.__file__, scipy.__file__
a = numpy.array([[4.0, 1.0], [1.0, 3.0]])
assert numpy.allclose(scipy.linalg.cholesky(a).T @ scipy.linalg.cholesky(a), a)
assert abs(scipy.optimize.brentq(lambda x: x * x - 2, 0, 2) ** 2 - 2) < 1e-9
maps = open("/proc/self/maps").read()
assert "scipy.libs/libscipy_openblas" in maps, "the bundled library is not the one in use"
print("computed")
"""


class AuditwheelRepair(unittest.TestCase):
    patchelf: pathlib.Path

    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-peers-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    def run_tool(self, *command, **variables) -> str:
        env = {"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(self.scratch), "LANG": "C.UTF-8", **variables}
        done = subprocess.run([str(word) for word in command], env=env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, f"\n$ {' '.join(map(str, command))}\n{done.stdout}")
        return done.stdout

    def unrepaired(self) -> tuple[pathlib.Path, pathlib.Path]:
        """A wheel tagged linux_x86_64 that bundles nothing, and the folder of its libraries."""
        wheel = real_wheels.real_wheel("scipy")
        self.run_tool(BIN / "wheel", "unpack", wheel, "--dest", self.scratch)
        tree = next(self.scratch.glob("scipy-*"))
        libraries = self.scratch / "outside"
        shutil.move(tree / "scipy.libs", libraries)
        info = next(tree.glob("*.dist-info/WHEEL"))
        lines = [line for line in info.read_text().splitlines() if line and not line.startswith("Tag:")]
        info.write_text("\n".join(lines + ["Tag: cp311-cp311-linux_x86_64"]) + "\n")
        (self.scratch / "plain").mkdir()
        self.run_tool(BIN / "wheel", "pack", tree, "--dest-dir", self.scratch / "plain")
        return next((self.scratch / "plain").glob("*.whl")), libraries

    def test_repaired_scipy_computes(self):
        plain, libraries = self.unrepaired()
        tools = self.scratch / "tools"
        tools.mkdir()
        (tools / "patchelf").symlink_to(self.patchelf)
        output = self.run_tool(BIN / "python", "-m", "auditwheel", "repair", plain, "--plat", "manylinux_2_28_x86_64",
                               "--wheel-dir", self.scratch / "fixed",
                               PATH=f"{tools}:/usr/bin:/bin", LD_LIBRARY_PATH=str(libraries))
        self.assertIn("Fixed-up wheel written", output)
        fixed = next((self.scratch / "fixed").glob("*.whl"))
        bundled = [name for name in zipfile.ZipFile(fixed).namelist() if name.startswith("scipy.libs/")]
        self.assertGreaterEqual(len(bundled), 1)
        self.assertEqual([name for name in zipfile.ZipFile(fixed).namelist() if "ptpkg" in name], [])
        shutil.rmtree(libraries)

        site = self.scratch / "site"
        self.run_tool(BIN / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
                      "--target", site, fixed, real_wheels.real_wheel("numpy"))
        computed = self.run_tool(BIN / "python", "-c", PROGRAM, PYTHONPATH=str(site))
        self.assertIn("computed", computed)
        shown = self.run_tool(BIN / "python", "-m", "auditwheel", "show", fixed)
        self.assertIn("manylinux_2_28_x86_64", shown)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--patchelf", type=pathlib.Path, required=True)
    known, rest = parser.parse_known_args()
    AuditwheelRepair.patchelf = known.patchelf.absolute()
    os.environ.setdefault("PTPKG_PEERS", str(BIN.parent))
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
