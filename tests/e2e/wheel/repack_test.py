"""Real wheels to conda packages and back, used after each installation.

Wheels come from the Python index that pip is configured with and are kept in the user's cache.
"""

import base64
import hashlib
import json
import pathlib
import subprocess
import zipfile

import harness
import installing
import real_wheels

class RealWheels(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        harness.peers_python()
        self.output = self.scratch / "dist"

    def convert(self, name: str) -> dict:
        return self.ptpkg_json("conda", real_wheels.real_wheel(name), "--output", self.output)

    def test_scipy_and_numpy_to_conda_and_back(self):
        for name in ("numpy", "scipy"):
            summary = self.convert(name)
            self.assertEqual(sorted(item["format"] for item in summary["artifacts"]), ["conda", "tar.bz2"])
        self.assertEqual(harness.leftovers(self.output, self.cache), [])
        info = real_wheels.read_conda_info(next((self.output / "conda/linux-64").glob("scipy-*.conda")))
        index = json.loads(info["info/index.json"])
        self.assertEqual((index["name"], index["version"], index["subdir"]), ("scipy", real_wheels.PINS["scipy"], "linux-64"))
        self.assertIn("numpy <2.7,>=1.26.4", index["depends"])
        self.assertIn("python >=3.11,<3.12.0a0", index["depends"])
        paths = json.loads(info["info/paths.json"])["paths"]
        with zipfile.ZipFile(real_wheels.real_wheel("scipy")) as wheel:
            members = {name for name in wheel.namelist() if not name.endswith("/")}
        shipped = {path["_path"].removeprefix("lib/python3.11/site-packages/") for path in paths}
        self.assertEqual(members - shipped, set())
        self.assertTrue(any(name.startswith("info/licenses/") for name in info))

        prefix = self.scratch / "prefix"
        channel = installing.python_channel(self)
        installing.rattler_install(self, prefix, [self.output / "conda", channel], "scipy")
        check = ("import scipy.linalg, scipy.sparse.linalg, scipy.special, numpy as np\n"
                 "a = np.diag([1.0, 2.0, 4.0])\n"
                 "assert np.allclose(scipy.linalg.solve(a, [1, 2, 4]), 1)\n"
                 "assert np.isclose(scipy.special.gamma(5), 24)\n"
                 "print(scipy.__file__)\n")
        self.assertIn(str(prefix), self.run_clean(prefix / "bin/python", "-c", check))

        package = next((self.output / "conda/linux-64").glob("numpy-*.conda"))
        back = self.ptpkg_json("wheel", package, "--output", self.scratch / "back")
        wheel = pathlib.Path(back["artifacts"][0]["path"])
        self.assertEqual(wheel.name, real_wheels.real_wheel("numpy").name)
        self.run_clean("/usr/bin/python3", "-m", "venv", "--without-pip", self.scratch / "venv")
        python = self.scratch / "venv/bin/python"
        self.run_clean(harness.peers_python(), "-m", "pip", "--python", python, "install", "--no-index", "--no-deps",
                       wheel)
        self.run_clean(python, "-c", "import numpy as np; assert np.linalg.det(np.eye(3)) == 1")
        self.assert_same_payload(real_wheels.real_wheel("numpy"), wheel)

    def assert_same_payload(self, original: pathlib.Path, repacked: pathlib.Path) -> None:
        """Every file of the original is there again, byte for byte but for what an installer rewrites."""
        with zipfile.ZipFile(original) as first, zipfile.ZipFile(repacked) as second:
            names = {name for name in first.namelist() if not name.endswith("/")}
            self.assertEqual(names, set(second.namelist()))
            for name in names:
                if name.endswith((".dist-info/RECORD", ".dist-info/WHEEL")) or ".so" in name:
                    continue
                self.assertEqual(first.read(name), second.read(name), name)


class RoundTrip(harness.Case):
    def test_a_wheel_that_installers_refuse_is_not_converted(self):
        info = "toy-1.0.dist-info/"
        files = {info + "METADATA": "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
                 info + "WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
        for extra in ("evil-1.0.data/purelib/e.py", "toy-1.0.data/unknown/e.py"):
            wheel = self.scratch / "toy-1.0-py3-none-any.whl"
            with zipfile.ZipFile(wheel, "w") as archive:
                for name, text in {**files, extra: "", info + "RECORD": harness.record_of({**files, extra: ""})}.items():
                    archive.writestr(name, text)
            done = self.ptpkg("conda", wheel, "--output", self.scratch / "none", exit_code=3)
            self.assertIn(extra.split("/")[0], done.stderr)
            self.assertEqual(list((self.scratch / "none").rglob("*.conda")), [])

    def test_metadata_stays_and_a_search_path_that_goes_is_told(self):
        """METADATA that names no license file stays without; of a path into the build machine nothing is left."""
        info = "toy-1.0.dist-info/"
        files = {
            info + "METADATA": "Metadata-Version: 2.4\nName: toy\nVersion: 1.0\nLicense-Expression: MIT\n",
            info + "WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n",
            info + "licenses/LICENSE.md": "MIT\n",
        }
        library = self.scratch / "libtoy.so"
        subprocess.run([harness.tool("gcc"), "-shared", "-x", "c", "-", "-o", library, "-Wl,-rpath,/usr/local/lib64"],
                       input="int toy;", text=True, check=True)
        wheel = self.scratch / "toy-1.0-cp311-cp311-linux_x86_64.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.write(library, "toy/libtoy.so")
            digest = base64.urlsafe_b64encode(hashlib.sha256(library.read_bytes()).digest()).decode().rstrip("=")
            for name, text in files.items():
                archive.writestr(name, text)
            archive.writestr(info + "RECORD",
                             f"toy/libtoy.so,sha256={digest},{library.stat().st_size}\n" + harness.record_of(files))
        done = self.ptpkg("conda", wheel, "--output", self.scratch / "dist", "--format", "conda")
        self.assertNotIn("in WHEEL", done.stderr)
        other = wheel.with_name("toy-1.0-cp311-cp311-manylinux2014_x86_64.whl")
        other.write_bytes(wheel.read_bytes())
        told = self.ptpkg("conda", other, "--output", self.scratch / "other", "--format", "conda").stderr
        self.assertIn("has the tag cp311-cp311-manylinux2014_x86_64 in its name but cp311-cp311-linux_x86_64 in WHEEL", told)
        self.assertIn("note: changed the search path of 'lib/python3.11/site-packages/toy/libtoy.so' from '/usr/local/lib64' "
                      "to none", done.stderr)
        package, = (self.scratch / "dist/conda/linux-64").glob("toy-*.conda")
        self.ptpkg("wheel", package, "--output", self.scratch / "back")
        with zipfile.ZipFile(self.scratch / "back/wheels" / wheel.name) as back:
            self.assertEqual(back.read(info + "METADATA").decode(), files[info + "METADATA"])
            self.assertEqual(back.read(info + "licenses/LICENSE.md").decode(), "MIT\n")
        lines = self.ptpkg("diff", wheel, self.scratch / "back/wheels" / wheel.name, exit_code=1).stdout
        self.assertIn("search path: RUNPATH, /usr/local/lib64 -> none", lines)
        self.assertNotIn("only packaging differs", lines)


if __name__ == "__main__":
    harness.main()
