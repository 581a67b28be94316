"""The torch wheel (539 MB, 1.1 GB unpacked) to conda packages and back. Slow: downloads once, takes minutes.

Prints wall time, the time of every stage, and peak memory.
"""

import collections
import json
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

import harness
import real_wheels


class Torch(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        harness.peers_python()

    def measured(self, label: str, *args) -> dict:
        start = time.monotonic()
        summary = self.ptpkg_json(*args)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"{label}: {time.monotonic() - start:.0f} s wall, {peak / 1000:.0f} MB peak of the children so far",
              file=sys.stderr)
        for stage in summary["stages"]:
            print(f"  {stage['stage']:>8} {stage['seconds']:7.1f} s  {stage['subject']}", file=sys.stderr)
        self.assertLess(peak / 1000, 600, "memory of the first form")
        return summary

    def test_torch_to_conda_and_back(self):
        original = real_wheels.real_wheel("torch")
        output = self.scratch / "dist"
        summary = self.measured("wheel to conda", "conda", original, "--output", output)
        package = next((output / "conda/linux-64").glob("pytorch-*.conda"))
        info = real_wheels.read_conda_info(package)
        index = json.loads(info["info/index.json"])
        self.assertEqual(index["name"], "pytorch")
        self.assertRegex(index["build"], r"^py3\.11_cuda13\.\d+\.\d+_cudnn9[\d.]+_0$")
        for wanted in ("cudnn ==9.26.0.51", "nccl 2.30.7.*", "cuda-version 13.2.*", "libcublas", "sympy >=1.13.3"):
            self.assertIn(wanted, index["depends"])
        self.assertEqual(summary["unknown_requirements"], [])
        about = json.loads(info["info/about.json"])
        self.assertIn("Apache-2.0", about["license"])
        licenses = [name for name in info if name.startswith("info/licenses/")]
        self.assertGreater(len(licenses), 50)

        tree = self.scratch / "tree"
        subprocess.run([harness.peer_program("cph"), "extract", package, "--dest", tree], check=True,
                       stdout=subprocess.DEVNULL)
        site = tree / "lib/python3.11/site-packages/torch"
        patchelf = harness.peer_program("patchelf")
        for path, expected in ((next(site.glob("_C.*.so")), "$ORIGIN:$ORIGIN/lib:$ORIGIN/../../.."),
                               (site / "lib/libtorch_cpu.so", "$ORIGIN:$ORIGIN/../../../..")):
            self.assertEqual(self.run_clean(patchelf, "--print-rpath", path).strip(), expected)
            self.assertIn("(RPATH)", self.run_clean("readelf", "-d", path))

        with tarfile.open(next((output / "conda/linux-64").glob("pytorch-*.tar.bz2"))) as tar:
            self.assertTrue(tar.next().name.startswith("info/"))

        back = self.measured("conda to wheel", "wheel", package, "--output", self.scratch / "back")
        wheel = pathlib.Path(back["artifacts"][0]["path"])
        self.assertEqual(wheel.name, original.name)
        venv = self.scratch / "venv"
        self.run_clean("/usr/bin/python3", "-m", "venv", "--without-pip", venv)
        self.run_clean(harness.peers_python(), "-m", "pip", "--python", venv / "bin/python", "install", "--no-index",
                       "--no-deps", wheel)
        libraries = venv / "lib/python3.11/site-packages/torch/lib"
        load = "; ".join(f"ctypes.CDLL('{libraries}/{name}')" for name in ("libc10.so", "libgomp.so.1", "libgfortran.so.5"))
        self.run_clean(venv / "bin/python", "-c", f"import ctypes; {load}")

    def test_gpu_code_is_what_cuobjdump_lists(self):
        wheel = real_wheels.real_wheel("torch")
        folder = self.scratch / "lib"
        folder.mkdir()
        with zipfile.ZipFile(wheel) as archive, open(folder / "libtorch_cuda.so", "wb") as out:
            with archive.open("torch/lib/libtorch_cuda.so") as member:
                shutil.copyfileobj(member, out, 1 << 20)
        cuobjdump = next(harness.peers_python().parent.parent.glob("lib/python3.*/site-packages/nvidia/cu13/bin/cuobjdump"), None)
        if cuobjdump is None:
            harness.missing("peer 'cuobjdump'")
        listed = {}
        for kind, option, prefix in (("sass", "--list-elf", "sm"), ("ptx", "--list-ptx", "compute")):
            text = self.run_clean(cuobjdump, option, folder / "libtorch_cuda.so")
            numbers = re.findall(r"\.sm_(\w+)\.\w+\s*$", text, re.MULTILINE)
            listed[kind] = dict(collections.Counter(f"{prefix}_{number}" for number in numbers))
        start = time.monotonic()
        done = subprocess.run([harness.Settings.ptpkg, "check", "--profile", "tree", "--json", "--quiet", folder], text=True,
                              env=self.environment(), capture_output=True, check=False)
        told, = json.loads(done.stdout)[0]["device_code"]
        print(f"{told['embedded']} in {time.monotonic() - start:.2f} s", file=sys.stderr)
        for kind, elements in listed.items():
            ours = collections.Counter()
            for name, amount in told["embedded"][kind].items():
                # Its lists name machine code by the cubin, which does not tell sm_100f from sm_100.
                ours[name.removesuffix("f") if kind == "sass" else name] += amount["elements"]
            self.assertEqual(dict(ours), elements)
            self.assertEqual(set(told[kind]), set(told["embedded"][kind]))


if __name__ == "__main__":
    harness.main()
