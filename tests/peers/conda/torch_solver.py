"""Which build of PyTorch a solver takes: py-rattler, on machines with and without a GPU, by virtual packages that are overridden.

The channel has a stand-in for each package that recipes/pytorch/torch.yaml renders, with its requirements, constraints and build number;
one for each package that these require; and the packages of recipes/pytorch/selectors.yaml, built. Exit 77 is a skip.
"""

import argparse
import asyncio
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

RECIPE = harness.REPOSITORY / "recipes/pytorch"
# Of the packages that these are required with: the constraints that choose among their versions.
CONSTRAINED = {"cuda-version": lambda version: [f"__cuda >={version.split('.')[0]}"]}


def leaf(spec: str) -> dict:
    """A package that satisfies `spec`: of its lowest version, or 1."""
    name, constraint, build = (spec.split() + ["*", "0"])[:3] if " " in spec else (spec, "*", "0")
    version = "1" if constraint.startswith("<") else (re.findall(r"[0-9][0-9.]*", constraint) or ["1"])[0].rstrip(".")
    return {"name": name, "version": version, "build": build.replace("*", "0"), "build_number": 0, "depends": [],
            "constrains": CONSTRAINED[name](version) if name in CONSTRAINED else []}


class Solver(unittest.TestCase):
    ptpkg: pathlib.Path

    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-peers-")).resolve()
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    def run_ptpkg(self, *arguments, exit_code: int = 0) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.scratch), "LANG": "C.UTF-8", "PTPKG_CACHE_DIR": str(self.scratch / "cache")}
        done = subprocess.run([self.ptpkg, *map(str, arguments)], env=env, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        return done.stdout if exit_code == 0 else done.stderr

    def variants(self, gpu: str = "cpu", **values: str) -> list:
        mine = self.scratch / "mine.yaml"
        mine.write_text("zip_keys: []\n" + "".join(f"{key}: [\"{value}\"]\n" for key, value in {"python": "3.11", **values}.items()))
        files = ["variants_torch.yaml"] + ["variants_torch_cuda.yaml"] * (gpu == "cuda")
        return [word for file in (*(RECIPE / name for name in files), mine) for word in ("--variants", file)]

    def torch(self, gpu: str, toolkit: str = "none", **values: str) -> dict:
        """The record of one build; its string has the version of the toolkit, which only a build detects."""
        archs = {"torch_gpu_archs": "9.0", "torch_wheel_requires": "none", "cuda_compiler_version": toolkit} if gpu == "cuda" else {}
        one, = self.packages(gpu, toolkit, **archs, **values)
        return one

    def packages(self, gpu: str, toolkit: str, **values: str) -> list[dict]:
        """The records of one build."""
        rendered = json.loads(self.run_ptpkg("render", RECIPE / "torch.yaml", *self.variants(gpu, **values), "--json"))
        found = [one for one in rendered if not one["skip"]]
        self.assertTrue(found, values)

        def detected(text: str) -> str:
            return text.replace("cuda0.0.0", f"cuda{toolkit}")

        return [{"name": one["name"], "version": one["version"], "build": detected(one["build_string"]), "build_number": one["build_number"],
                 "depends": [detected(spec) for spec in one["requirements"]["run"]], "constrains": one["requirements"]["run_constraints"]}
                for one in found]

    def channels(self, *builds: dict, more=()) -> list:
        """Of stand-ins, with what they require, and of the packages that choose."""
        self.run_ptpkg("build", RECIPE / "selectors.yaml", *self.variants(torch_version=builds[0]["version"]), "--env", "system",
                       "--output", self.scratch / "dist")
        own = {"pytorch-mutex", "cpuonly", "pytorch-cpu", "pytorch-gpu", *(build["name"] for build in builds)}
        leaves = {json.dumps(leaf(spec), sort_keys=True): leaf(spec) for build in builds for spec in build["depends"]
                  if not spec.startswith("__") and spec.split()[0] not in own}
        folder = self.scratch / "channel/linux-64"
        folder.mkdir(parents=True, exist_ok=True)
        records = {}
        for record in (*builds, *leaves.values(), *more):
            stem = f"{record['name']}-{record['version']}-{record['build']}"
            self.assertNotIn(f"{stem}.conda", records)
            records[f"{stem}.conda"] = {**record, "subdir": "linux-64", "sha256": "0" * 64, "md5": "0" * 32, "size": 1, "timestamp": 1}
        (folder / "repodata.json").write_text(json.dumps({"info": {"subdir": "linux-64"}, "packages": {}, "packages.conda": records}))
        noarch = self.scratch / "channel/noarch"
        noarch.mkdir(exist_ok=True)
        (noarch / "repodata.json").write_text(json.dumps({"info": {"subdir": "noarch"}, "packages": {}, "packages.conda": {}}))
        return [self.scratch / "channel", self.scratch / "dist/conda"]

    def chosen(self, channels: list, *specs: str, cuda: str | None = None) -> dict[str, str]:
        """The build of each package, by name."""
        return asyncio.run(self.solve(channels, specs, cuda))

    async def solve(self, channels: list, specs: tuple[str, ...], cuda: str | None) -> dict[str, str]:
        import rattler
        virtual = [rattler.GenericVirtualPackage(rattler.PackageName("__cuda"), rattler.Version(cuda),
                                                 rattler.BuildString("0"))] if cuda else []
        gateway = rattler.Gateway(cache_dir=pathlib.Path(tempfile.mkdtemp(dir=self.scratch)))
        found = await rattler.solve(sources=[rattler.Channel(place.as_uri()) for place in channels], specs=list(specs), gateway=gateway,
                                    platforms=["linux-64", "noarch"], virtual_packages=virtual)
        return {record.name.normalized: str(record.build) for record in found}

    def test_names_of_conda_forge(self):
        for version, toolkits in (("2.6.0", ("12.4", "13.0")), ("2.9.1", ("12.6", "13.0")), ("1.13.1", ("11.7", "11.8"))):
            builds = [self.torch("cpu", torch_version=version),
                      *(self.torch("cuda", toolkit, torch_version=version) for toolkit in toolkits)]
            channels = self.channels(*builds)
            older, newer = toolkits
            for cuda, wanted in ((None, "_cpu_"), ("10.2", "_cpu_"), ("12.4", newer if newer < "12" else older), ("13.2", newer)):
                with self.subTest(f"{version}, driver {cuda}"):
                    got = self.chosen(channels, "pytorch", cuda=cuda)
                    self.assertIn(wanted, got["pytorch"])
                    libraries = {name for name in got if name.startswith(("libcu", "cuda-", "cudatoolkit", "nccl", "cudnn"))}
                    self.assertEqual(bool(libraries), wanted != "_cpu_", got)
            with self.subTest("by name"):
                self.assertIn("_cpu_", self.chosen(channels, "pytorch-cpu", cuda="13.2")["pytorch"])
                self.assertIn(newer, self.chosen(channels, "pytorch-gpu", cuda="13.2")["pytorch"])
                self.assertIn("_cpu_", self.chosen(channels, "pytorch", "pytorch * *cpu*", cuda="13.2")["pytorch"])
                with self.assertRaisesRegex(Exception, "__cuda"):
                    self.chosen(channels, "pytorch-gpu")
            shutil.rmtree(self.scratch / "channel")

    def test_pytorch_takes_exactly_its_own_libtorch(self):
        values = {"torch_version": "2.6.0", "torch_split": "on"}
        gpu = {"torch_gpu_archs": "9.0", "torch_wheel_requires": "none"}
        builds = self.packages("cpu", "none", **values)
        for toolkit in ("12.4", "13.0"):
            builds += self.packages("cuda", toolkit, **values, **gpu, cuda_compiler_version=toolkit)
        self.assertEqual([build["name"] for build in builds], ["libtorch", "pytorch"] * 3)
        # A newer build that no pytorch was made with
        stranger = {**builds[4], "build": f"{builds[4]['build']}1", "build_number": 999}
        channels = self.channels(*builds, stranger)
        for cuda, wanted in ((None, "cpu_"), ("12.4", "cuda12.4_"), ("13.2", "cuda13.0_")):
            got = self.chosen(channels, "pytorch", cuda=cuda)
            self.assertIn(wanted, got["pytorch"])
            self.assertRegex(got["libtorch"], f"^{wanted}h[0-9a-f]{{7}}_0$")
        self.assertEqual(self.chosen(channels, "libtorch", cuda="13.2")["libtorch"], stranger["build"])
        with self.assertRaises(Exception):
            self.chosen(channels, "pytorch", f"libtorch * {stranger['build']}", cuda="13.2")

    def test_lowest_versions_and_triton(self):
        """By release and names: what a build for CUDA requires, and what it does not."""
        for version, toolkit, names, wanted, python in (
                ("2.6.0", "12.4", "conda-forge", {"cudnn >=9.1,<10", "nccl >=2.21.5,<3", "triton ==3.2.0", "numpy <3"}, "3.11"),
                ("2.9.1", "13.0", "conda-forge", {"cudnn >=9.10.2,<10", "nccl >=2.27.5,<3", "triton ==3.5.1"}, "3.14"),
                ("2.1.2", "12.1", "conda-forge", {"cudnn >=8.9.2,<9", "numpy <2"}, "3.11"),
                ("2.5.1", "12.4", "pytorch", {"torchtriton ==3.1.0"}, "3.12"), ("2.2.2", "12.1", "pytorch", {"torchtriton ==2.2.0"}, "3.11"),
                ("2.2.2", "12.1", "pytorch", set(), "3.12"), ("1.8.1", "11.1", "pytorch", {"numpy >=1.11"}, "3.8"),
                ("1.7.1", "11.0", "conda-forge", {"dataclasses", "cudnn >=8,<9"}, "3.6"), ("1.10.2", "11.3", "machine", {"dataclasses"}, "3.6"),
                ("1.10.2", "11.3", "machine", set(), "3.7")):
            with self.subTest(f"{version}, Python {python}, {names}"):
                got = set(self.torch("cuda", toolkit, torch_version=version, torch_conda_requires=names, python=python)["depends"])
                self.assertLessEqual(wanted, got)
                rest = {spec for spec in got - wanted if spec.split()[0] in ("triton", "torchtriton", "dataclasses")}
                self.assertEqual(rest, set())
        named = self.torch("cuda", "13.0", torch_version="2.6.0", torch_cudnn_version="9.14", torch_nccl_version="2.28")["depends"]
        self.assertLessEqual({"cudnn >=9.14,<10", "nccl >=2.28,<3"}, set(named))
        self.assertFalse([spec for spec in self.torch("cpu", torch_version="2.6.0")["depends"] if spec.startswith(("cud", "nccl", "trit"))])

    def test_libraries_of_the_machine(self):
        values = {"torch_version": "2.6.0", "torch_conda_requires": "machine"}
        builds = [self.torch("cpu", **values), self.torch("cuda", "13.0", **values)]
        channels = self.channels(*builds)
        self.assertIn("cuda13.0", (got := self.chosen(channels, "pytorch", cuda="13.0"))["pytorch"])
        self.assertEqual({name for name in got if "cu" in name or "blas" in name}, set())
        self.assertIn("_cpu_", self.chosen(channels, "pytorch", cuda="12.9")["pytorch"])

    def test_names_of_the_channel_of_upstream(self):
        """There no driver is looked at: a package chooses."""
        values = {"torch_version": "2.5.1", "torch_conda_requires": "pytorch", "torch_blas": "MKL"}
        builds = [self.torch("cpu", **values), self.torch("cuda", "12.1", **values), self.torch("cuda", "12.4", **values)]
        self.assertIn("blas * mkl", builds[0]["depends"])
        channels = self.channels(*builds)
        self.assertIn("_cpu_", (got := self.chosen(channels, "pytorch", "cpuonly"))["pytorch"])
        self.assertEqual(got["pytorch-mutex"], "cpu")
        for toolkit in ("12.1", "12.4"):
            got = self.chosen(channels, "pytorch", f"pytorch-cuda={toolkit}")
            self.assertIn(f"cuda{toolkit}", got["pytorch"])
            self.assertEqual(got["pytorch-mutex"], "cuda")
        self.assertIn("cuda12.4", self.chosen(channels, "pytorch")["pytorch"])
        old = self.torch("cuda", "11.1", torch_version="1.8.1", python="3.8", torch_conda_requires="pytorch")
        self.assertIn("cudatoolkit 11.1.*", old["depends"])

    def test_what_there_is_not_is_refused(self):
        for values, why in (({"torch_version": "2.6.0", "torch_conda_requires": "pytorch"}, "has PyTorch up to 2.5"),
                            ({"torch_version": "2.6.0", "torch_conda_requires": "forge"}, "is conda-forge, pytorch or machine")):
            self.assertIn(why, self.run_ptpkg("render", RECIPE / "torch.yaml", *self.variants(**values), exit_code=3))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    Solver.ptpkg = options.ptpkg.resolve()
    try:
        import rattler  # noqa: F401
    except ImportError as missing:
        print(f"skipped: {missing}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest])
