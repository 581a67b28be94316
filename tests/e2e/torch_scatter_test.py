"""recipes/torch_scatter against our own torch: built, packed both ways, and run in empty environments beside it.

PTPKG_TORCH_OUTPUT names the output folder of a build of recipes/pytorch/torch.yaml for the CPU, 2.6.0 or what PTPKG_TORCH_VERSION
says, such as "dist" in the folder that PTPKG_PYTORCH_WHOLE names for pytorch_test.py: its conda package is what the extension
is compiled against, its wheel what the extension's is installed beside. PTPKG_TORCH_SCATTER_SOURCE names the sources that the
recipe says. Without them the tests are skipped.
The machine's Python is the package's, or stands in PTPKG_PYTHON; what torch needs of others comes from the Python index.
"""

import os
import pathlib
import shutil
import subprocess
import zipfile

import harness
import install_test

RECIPE = harness.REPOSITORY / "recipes/torch_scatter"
VERSION = os.environ.get("PTPKG_TORCH_VERSION") or "2.6.0"


def named(variable: str) -> pathlib.Path | None:
    place = os.environ.get(variable, "")
    return pathlib.Path(place).resolve() if place else None


class TorchScatter(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        self.torch = named("PTPKG_TORCH_OUTPUT")
        self.source = named("PTPKG_TORCH_SCATTER_SOURCE")
        if self.torch is None:
            self.skipTest(f"PTPKG_TORCH_OUTPUT does not name the output folder of a build of PyTorch {VERSION}")
        if self.source is None:
            self.skipTest("PTPKG_TORCH_SCATTER_SOURCE does not name the sources of torch-scatter 2.1.2")
        harness.peers_python()
        self.interpreter = (os.environ.get("PTPKG_PYTHON") or "/usr/bin/python3").split(":")[0]
        self.python = subprocess.run([self.interpreter, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], text=True,
                                     capture_output=True, check=True).stdout.strip()
        self.stem = f"torch_scatter-2.1.2-py{self.python}_torch{VERSION}_cpu_0"
        self.output = self.scratch / "dist"
        self.channel = self.output / "conda"
        (self.channel / "linux-64").mkdir(parents=True)
        packages = list((self.torch / "conda/linux-64").glob(f"pytorch-{VERSION}-py{self.python}_cpu_*.conda"))
        tag = f"cp{self.python.replace('.', '')}"
        self.torch_wheels = list((self.torch / "wheels").glob(f"torch-{VERSION}+cpu-{tag}-{tag}-*.whl"))
        for found in (packages, self.torch_wheels):
            self.assertEqual(len(found), 1, f"not one of torch {VERSION} for the CPU and Python {self.python} in {self.torch}")
        os.symlink(packages[0], self.channel / "linux-64" / packages[0].name)
        self.ptpkg("index", self.channel)

    def build(self, exit_code: int = 0, version: str = VERSION) -> subprocess.CompletedProcess:
        mine = self.scratch / "mine.yaml"
        mine.write_text(f'torch_version: ["{version}"]\npython: ["{self.python}"]\n')
        return self.ptpkg("build", RECIPE, "--variants", harness.REPOSITORY / "recipes/pytorch/variants_torch.yaml", "--variants",
                          mine, "--source", f"torch_scatter={self.source}", "--output", self.output, "--env", "auto",
                          exit_code=exit_code)

    def assert_works(self, prefix: pathlib.Path) -> None:
        """The package's own test, and each library comes from the prefix, without a path of the machine's."""
        printed = self.run_clean(prefix / "bin/python", RECIPE / "tests/works.py")
        self.assertIn(f"torch_scatter 2.1.2+pt{''.join(VERSION.split('.')[:2])}cpu with torch {VERSION}+cpu: 7 sums on cpu", printed)
        print(printed, flush=True)
        libraries = sorted(prefix.glob(f"lib/python{self.python}/site-packages/torch_scatter/*.so"))
        self.assertEqual([path.name for path in libraries],
                         ["_scatter_cpu.so", "_segment_coo_cpu.so", "_segment_csr_cpu.so", "_version_cpu.so"])
        for path in libraries:
            # By the loader alone, before anything of torch is there.
            found = self.run_clean("ldd", path)
            self.assertIn(f"{prefix}/lib/python{self.python}/site-packages/torch_scatter/../torch/lib/libtorch", found)
            self.assertNotIn("not found", found)

    def dependencies(self) -> pathlib.Path:
        """Wheels of what torch requires, without torch."""
        with zipfile.ZipFile(self.torch_wheels[0]) as archive:
            metadata = archive.read(next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))).decode()
        required = [line.removeprefix("Requires-Dist: ") for line in metadata.splitlines()
                    if line.startswith("Requires-Dist: ") and "extra ==" not in line]
        folder = self.scratch / "wheels"
        subprocess.run([harness.peers_python(), "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--python-version",
                        self.python, "--dest", folder, *required], check=True)
        return folder

    def test_built_against_our_torch_and_installed_beside_it(self):
        self.build()
        made = harness.artifacts(self.output)
        tag = f"cp{self.python.replace('.', '')}"
        wheel = f"wheels/torch_scatter-2.1.2+pt{''.join(VERSION.split('.')[:2])}cpu-{tag}-{tag}-linux_x86_64.whl"
        for name in (f"conda/linux-64/{self.stem}.conda", f"conda/linux-64/{self.stem}.tar.bz2", wheel):
            self.assertIn(name, made)
            print(f"{(self.output / name).stat().st_size} {made[name]} {name}", flush=True)
        self.assertIn("7 sums on cpu", (self.output / f"logs/{self.stem}.test.log").read_text(errors="replace"))
        wheels = self.dependencies()

        with self.subTest("conda"):
            others = self.scratch / "others"
            for path in sorted(wheels.glob("*.whl")):
                self.ptpkg("conda", path, "--output", others)
            python = install_test.python_channel(self, self.interpreter)
            prefix = self.scratch / "prefix"
            installed = install_test.rattler_install(self, prefix, [self.channel, others / "conda", python], "torch_scatter")
            self.assertIn(f"pytorch-{VERSION}-py{self.python}_cpu_0", installed)
            self.assert_works(prefix)
            shutil.rmtree(prefix)

        with self.subTest("wheel"):
            prefix = self.scratch / "venv"
            self.run_clean(self.interpreter, "-m", "venv", "--without-pip", prefix)
            self.run_clean(harness.peers_python(), "-m", "pip", "--python", prefix / "bin/python", "install", "--no-index",
                           "--find-links", wheels, self.torch_wheels[0], self.output / wheel)
            self.assert_works(prefix)

    def test_another_torch_than_the_one_that_is_there_is_refused(self):
        done = self.build(exit_code=4, version="2.5.1")
        self.assertIn(f"no package of the output channel satisfies 'pytorch ==2.5.1 py{self.python}_cpu_*'", done.stderr)


if __name__ == "__main__":
    harness.main()
