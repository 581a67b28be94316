"""`ptpkg wheel UNPACKED --platform auto` gives real wheels of the index the tag that `auditwheel show` gives them: three machines'
worth of glibc and musl. Wheels are kept in the user's cache. Exit 77 is a skip.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import harness

PINS = {"MarkupSafe": "3.0.4", "PyYAML": "6.0.3", "cffi": "2.1.1", "cryptography": "50.0.2", "nh3": "0.3.7", "msgpack": "1.2.4",
        "rpds-py": "2026.9.1", "wrapt": "2.5.2"}
PLATFORMS = {"x86_64": ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"], "musl": ["musllinux_1_2_x86_64"],
             "aarch64": ["manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"]}
# Their libraries need musl as 'libc.so'; on a glibc machine auditwheel opens the linker script of that name and fails.
UNREADABLE = {("nh3", "musl"), ("rpds-py", "musl")}


def wheel_of(name: str, platform: str) -> pathlib.Path:
    folder = harness.real_input() / "platforms" / f"{name}-{PINS[name]}-{platform}"
    if not list(folder.glob("*.whl")):
        folder.mkdir(parents=True, exist_ok=True)
        tags = [word for tag in PLATFORMS[platform] for word in ("--platform", tag)]
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", "3.11",
                        "--implementation", "cp", "--abi", "cp311", "--abi", "abi3", *tags, "--dest", folder, f"{name}=={PINS[name]}"],
                       check=True)
    return next(folder.glob("*.whl"))


class Platform(unittest.TestCase):
    ptpkg: pathlib.Path

    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-peers-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    def ours(self, wheel: pathlib.Path) -> str:
        tree = self.scratch / wheel.stem
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tree)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.scratch), "PTPKG_CACHE_DIR": str(self.scratch / "cache")}
        done = subprocess.run([self.ptpkg, "wheel", tree, "--platform", "auto", "--compression", "store", "--output", self.scratch / "out",
                               "--quiet"], env=env, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip().removesuffix(".whl").rsplit("-", 1)[1]

    def test_each(self):
        agreed = 0
        for name in PINS:
            for platform in PLATFORMS:
                with self.subTest(f"{name} for {platform}"):
                    wheel = wheel_of(name, platform)
                    tag = self.ours(wheel)
                    if (name, platform) in UNREADABLE:
                        self.assertEqual(tag, "musllinux_1_2_x86_64")
                        continue
                    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", "--json", wheel], capture_output=True, text=True,
                                           check=True).stdout
                    self.assertEqual(tag, json.loads(shown)["overall_tag"], wheel.name)
                    agreed += 1
        self.assertGreaterEqual(agreed, 20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True)
    Platform.ptpkg = parser.parse_args().ptpkg.resolve()
    try:
        import auditwheel  # noqa: F401
    except ImportError:
        print("skipped: auditwheel is missing")
        return 77
    result = unittest.main(argv=[sys.argv[0]], exit=False).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
