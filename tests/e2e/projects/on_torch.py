"""What tests of packages on top of our own torch share: the build of torch that PTPKG_TORCH_OUTPUT names, and empty environments with
that torch and a package beside it, as a conda prefix and as a virtual environment.
"""

import os
import pathlib
import shutil
import subprocess
import zipfile

import harness
import installing

RECIPES = harness.REPOSITORY / "recipes"
VERSION = os.environ.get("PTPKG_TORCH_VERSION") or "2.6.0"


def named(variable: str) -> pathlib.Path | None:
    place = os.environ.get(variable, "")
    return pathlib.Path(place).resolve() if place else None


class OnTorch(harness.Case):
    """PTPKG_TORCH_OUTPUT names the output folder of a build of recipes/pytorch/torch.yaml for the CPU, 2.6.0 or what PTPKG_TORCH_VERSION
    says; without it the tests are skipped. The machine's Python is the package's, or stands in PTPKG_PYTHON."""

    def setUp(self) -> None:
        super().setUp()
        self.torch = named("PTPKG_TORCH_OUTPUT")
        if self.torch is None:
            self.skipTest(f"PTPKG_TORCH_OUTPUT does not name the output folder of a build of PyTorch {VERSION}")
        harness.peers_python()
        self.interpreter = (os.environ.get("PTPKG_PYTHON") or "/usr/bin/python3").split(":")[0]
        self.python = subprocess.run([self.interpreter, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], text=True,
                                     capture_output=True, check=True).stdout.strip()
        self.tag = f"cp{self.python.replace('.', '')}"
        self.output = self.scratch / "dist"
        self.channel = self.output / "conda"
        (self.channel / "linux-64").mkdir(parents=True)
        packages = list((self.torch / "conda/linux-64").glob(f"pytorch-{VERSION}-py{self.python}_cpu_*.conda"))
        # The local version is +cpu, or none.
        self.torch_wheels = [path for path in (self.torch / "wheels").glob(f"torch-{VERSION}*-{self.tag}-{self.tag}-*.whl")
                             if path.name.split("-")[1] in (VERSION, f"{VERSION}+cpu")]
        for found in (packages, self.torch_wheels):
            self.assertEqual(len(found), 1, f"not one of torch {VERSION} for the CPU and Python {self.python} in {self.torch}")
        self.torch_version = self.torch_wheels[0].name.split("-")[1]
        os.symlink(packages[0], self.channel / "linux-64" / packages[0].name)
        self.ptpkg("index", self.channel)

    def build(self, recipe: str, source: pathlib.Path, *files: str, exit_code: int = 0, **values: str) -> subprocess.CompletedProcess:
        """`files`: of recipes/pytorch, after variants_torch.yaml."""
        mine = self.scratch / "mine.yaml"
        mine.write_text("".join(f'{key}: ["{value}"]\n' for key, value in {"python": self.python, **values}.items()))
        variants = [RECIPES / "pytorch" / f"{name}.yaml" for name in ("variants_torch", *files)] + [mine]
        return self.ptpkg("build", RECIPES / recipe, *(word for file in variants for word in ("--variants", file)), "--source",
                          f"{recipe}={source}", "--output", self.output, "--env", "auto", exit_code=exit_code)

    def requirements(self, wheel: pathlib.Path) -> list[str]:
        with zipfile.ZipFile(wheel) as archive:
            metadata = archive.read(next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))).decode()
        return [line.removeprefix("Requires-Dist: ") for line in metadata.splitlines()
                if line.startswith("Requires-Dist: ") and "extra ==" not in line]

    def dependencies(self, *more: str) -> pathlib.Path:
        """Wheels of what torch requires, without torch, and of `more`."""
        folder = self.scratch / "wheels"
        subprocess.run([harness.peers_python(), "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--python-version",
                        self.python, "--dest", folder, *self.requirements(self.torch_wheels[0]), *more], check=True)
        return folder

    def conda_prefix(self, wheels: pathlib.Path, *specs: str) -> tuple[pathlib.Path, str]:
        """An environment by rattler, with packages made of `wheels`, and what was installed."""
        others = self.scratch / "others"
        for path in sorted(wheels.glob("*.whl")):
            self.ptpkg("conda", path, "--output", others)
        python = installing.python_channel(self, self.interpreter)
        prefix = self.scratch / "prefix"
        return prefix, installing.rattler_install(self, prefix, [self.channel, others / "conda", python], *specs)

    def virtual_environment(self, wheels: pathlib.Path, *installed) -> pathlib.Path:
        """One by pip, with torch and `installed`, and nothing but `wheels` to take the rest from."""
        prefix = self.scratch / "venv"
        self.run_clean(self.interpreter, "-m", "venv", "--without-pip", prefix)
        self.run_clean(harness.peers_python(), "-m", "pip", "--python", prefix / "bin/python", "install", "--no-index", "--find-links",
                       wheels, self.torch_wheels[0], *installed)
        return prefix

    def assert_finds_torch(self, libraries: list[pathlib.Path], prefix: pathlib.Path, to_torch: str) -> None:
        """By the loader alone, before anything of torch is there: through `to_torch`, relative to each library."""
        for path in libraries:
            found = self.run_clean("ldd", path)
            self.assertIn(f"{path.parent}/{to_torch}/libtorch", found)
            self.assertNotIn("not found", found)
            self.assertTrue(path.is_relative_to(prefix))

    def remove(self, folder: pathlib.Path) -> None:
        shutil.rmtree(folder)
