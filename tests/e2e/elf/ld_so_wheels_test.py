"""`ptpkg check` and ld.so agree on every ELF file of public wheels of many layouts.

Wheels come from the Python index that pip is configured with, 500 MB, and are kept in the user's cache.
"""

import fnmatch
import json
import pathlib
import subprocess
import sys
import zipfile

import harness
import ld_so

WHEELS = [
    "av==18.1.0", "cryptography==50.0.2", "faiss-cpu==1.15.1", "grpcio==1.85.1", "h5py==3.16.0", "intel-openmp==2026.2.0",
    "lightgbm==4.7.0", "lxml==6.1.3", "matplotlib==3.11.2", "netcdf4==1.7.5.1.post1", "ninja==1.13.2", "numpy==2.4.6",
    "nvidia-cuda-runtime-cu12==12.9.79", "onnxruntime==1.31.1", "opencv-python-headless==5.0.0.93", "pandas==3.1.1",
    "pillow==13.0.0", "psycopg2-binary==2.9.13", "pyarrow==26.0.1", "pymupdf==2.0", "pyproj==3.7.2", "pyzmq==27.3.0",
    "rasterio==1.4.4", "scikit-learn==1.9.1", "scipy==1.17.1", "sentencepiece==0.2.3", "shapely==2.2.0", "soundfile==0.14.0",
    "tables==3.11.1", "tbb==2023.2.0", "torchcodec==0.17.0"]

# Disagreements that are right, and why. All else fails.
ON_THIS_MACHINE = "ld.so finds the library in a folder of this system; a package cannot count on it"
ON_EVERY_MACHINE = "the manylinux policies count on the library; this machine lacks it"

# Wheels whose files cannot all be loaded by ld.so alone, as it says too, and why.
INCOMPLETE = {
    "tbb": "libtbbmalloc_proxy.so, for LD_PRELOAD, has no search path to libtbbmalloc.so.2 beside it",
    "torchcodec": "Python opens libtorchcodec_core by path before the libraries that need it by name",
}


def policy_libraries() -> list[str]:
    """Globs of what every machine offers, as src/verify has them."""
    lines = (harness.REPOSITORY / "src/verify/data/system_libraries.txt").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def reason(difference: ld_so.Disagreement, outcome: dict, judge: ld_so.Judge) -> str | None:
    key = (difference.file, difference.name)
    found = judge.found.get(key, set())
    if key in ld_so.verdicts(outcome) and found and all(path.startswith("/") for path in found):
        return ON_THIS_MACHINE
    if key in judge.missing and any(fnmatch.fnmatch(difference.name, glob) for glob in policy_libraries()):
        return ON_EVERY_MACHINE
    return None


def download(requirement: str) -> pathlib.Path:
    cache = harness.real_input()
    name, version = requirement.split("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(cache.glob(pattern)):
        platforms = [word for policy in ("2_28", "2_27", "2014", "2_17") for word in
                     ("--platform", f"manylinux{'' if policy == '2014' else '_'}{policy}_x86_64")]
        subprocess.run([harness.peers_python(), "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                        "--python-version", "3.11", *platforms, "--dest", cache, requirement], check=True)
    return next(cache.glob(pattern))


class LdSoWheels(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        harness.peers_python()
        if not ld_so.available():
            self.skipTest("ld.so of x86-64 is missing")

    def check(self, wheel: pathlib.Path) -> dict:
        done = subprocess.run([harness.Settings.ptpkg, "check", "--json", "--quiet", wheel], text=True, cwd=self.scratch,
                              env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)[0]

    def test_every_file_of_public_wheels(self):
        empty = self.scratch / "empty"
        empty.mkdir()
        files = processes = 0
        allowed: dict[str, set[str]] = {}
        for requirement in WHEELS:
            name = requirement.split("==")[0]
            wheel = download(requirement)
            root = self.scratch / name
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(root)
            outcome, judge = self.check(wheel), ld_so.Judge(root, empty)
            files, processes = files + len(judge.files), processes + len(judge.entries) * len(judge.levels)
            left = []
            for difference in ld_so.disagreements(outcome, judge, False):
                if why := reason(difference, outcome, judge):
                    allowed.setdefault(why, set()).add(difference.name)
                else:
                    left.append(difference)
            with self.subTest(name):
                self.assertEqual(left, [])
                self.assertEqual({file for file in judge.files} - {entry["file"] for entry in outcome["files"]}, set())
                # Of what makes a library not load; an absolute search path that nothing needs is an error too.
                errors = [finding for finding in outcome["findings"]
                          if finding["severity"] == "error" and finding["id"] in ld_so.NOT_LOADED]
                self.assertEqual(bool(errors), name in INCOMPLETE, errors)
        print(f"{len(WHEELS)} wheels, {files} files, {processes} processes", file=sys.stderr)
        for why, names in allowed.items():
            print(f"  {why}: {', '.join(sorted(names))}", file=sys.stderr)


if __name__ == "__main__":
    harness.main()
