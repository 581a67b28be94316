"""Real wheels to conda packages and back, used after each installation.

Wheels come from the Python index that pip is configured with and are kept in the user's cache.
"""

import json
import pathlib
import subprocess
import zipfile

import harness
import install_test

PINS = {"numpy": "2.4.6", "scipy": "1.17.1", "torch": "2.15.0"}


def real_wheel(name: str) -> pathlib.Path:
    """Downloads once into the user's cache."""
    cache = harness.real_input()
    pattern = f"{name}-{PINS[name]}-cp311-*.whl"
    if not list(cache.glob(pattern)):
        subprocess.run([harness.peers_python(), "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                        "--python-version", "3.11", "--platform", "manylinux_2_28_x86_64",
                        "--platform", "manylinux_2_27_x86_64", "--dest", cache, f"{name}=={PINS[name]}"], check=True)
    return next(cache.glob(pattern))


def read_conda_info(package: pathlib.Path) -> dict[str, bytes]:
    """info/ of a .conda or .tar.bz2, by the streaming reader of the conda project."""
    program = ("import sys, json, base64\n"
               "from conda_package_streaming import package_streaming\n"
               "out = {}\n"
               "for tar, member in package_streaming.stream_conda_info(sys.argv[1]):\n"
               "    if member.isfile(): out[member.name] = base64.b64encode(tar.extractfile(member).read()).decode()\n"
               "print(json.dumps(out))\n")
    import base64
    done = subprocess.run([harness.peers_python(), "-c", program, package], capture_output=True, text=True, check=True)
    return {name: base64.b64decode(text) for name, text in json.loads(done.stdout).items()}


class RealWheels(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        harness.peers_python()
        self.output = self.scratch / "dist"

    def convert(self, name: str) -> dict:
        return self.ptpkg_json("conda", real_wheel(name), "--output", self.output)

    def test_scipy_and_numpy_to_conda_and_back(self):
        for name in ("numpy", "scipy"):
            summary = self.convert(name)
            self.assertEqual(sorted(item["format"] for item in summary["artifacts"]), ["conda", "tar.bz2"])
        self.assertEqual(harness.leftovers(self.output, self.cache), [])
        info = read_conda_info(next((self.output / "conda/linux-64").glob("scipy-*.conda")))
        index = json.loads(info["info/index.json"])
        self.assertEqual((index["name"], index["version"], index["subdir"]), ("scipy", PINS["scipy"], "linux-64"))
        self.assertIn("numpy <2.7,>=1.26.4", index["depends"])
        self.assertIn("python >=3.11,<3.12.0a0", index["depends"])
        paths = json.loads(info["info/paths.json"])["paths"]
        with zipfile.ZipFile(real_wheel("scipy")) as wheel:
            members = {name for name in wheel.namelist() if not name.endswith("/")}
        shipped = {path["_path"].removeprefix("lib/python3.11/site-packages/") for path in paths}
        self.assertEqual(members - shipped, set())
        self.assertTrue(any(name.startswith("info/licenses/") for name in info))

        prefix = self.scratch / "prefix"
        channel = install_test.python_channel(self)
        install_test.rattler_install(self, prefix, [self.output / "conda", channel], "scipy")
        check = ("import scipy.linalg, scipy.sparse.linalg, scipy.special, numpy as np\n"
                 "a = np.diag([1.0, 2.0, 4.0])\n"
                 "assert np.allclose(scipy.linalg.solve(a, [1, 2, 4]), 1)\n"
                 "assert np.isclose(scipy.special.gamma(5), 24)\n"
                 "print(scipy.__file__)\n")
        self.assertIn(str(prefix), self.run_clean(prefix / "bin/python", "-c", check))

        package = next((self.output / "conda/linux-64").glob("numpy-*.conda"))
        back = self.ptpkg_json("wheel", package, "--output", self.scratch / "back")
        wheel = pathlib.Path(back["artifacts"][0]["path"])
        self.assertEqual(wheel.name, real_wheel("numpy").name)
        self.run_clean("/usr/bin/python3", "-m", "venv", "--without-pip", self.scratch / "venv")
        python = self.scratch / "venv/bin/python"
        self.run_clean(harness.peers_python(), "-m", "pip", "--python", python, "install", "--no-index", "--no-deps",
                       wheel)
        self.run_clean(python, "-c", "import numpy as np; assert np.linalg.det(np.eye(3)) == 1")
        self.assert_same_payload(real_wheel("numpy"), wheel)

    def assert_same_payload(self, original: pathlib.Path, repacked: pathlib.Path) -> None:
        """Every file of the original is there again, byte for byte but for what an installer rewrites."""
        with zipfile.ZipFile(original) as first, zipfile.ZipFile(repacked) as second:
            names = {name for name in first.namelist() if not name.endswith("/")}
            self.assertEqual(names, set(second.namelist()))
            for name in names:
                if name.endswith((".dist-info/RECORD", ".dist-info/WHEEL")) or ".so" in name:
                    continue
                self.assertEqual(first.read(name), second.read(name), name)


if __name__ == "__main__":
    harness.main()
