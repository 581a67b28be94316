"""recipes/torchvision and recipes/torchaudio, unchanged, on stand-ins: a torch and two projects of the same shape that compile in seconds.
What the real ones must keep is looked at here too: search paths, pins, names, and what is refused before anything compiles.

The stand-ins have no setuptools: one is built through PEP 517 by a backend of its own, the other by setup.py, as the recipes call
them. Of the packages that a build against torch wants, the environment has the metadata alone.
"""

import pathlib
import subprocess
import sys
import sysconfig
import zipfile

import harness

RECIPES = harness.REPOSITORY / "recipes"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
# What torch and the libraries import or are built with.
METADATA = {"filelock": "3.16.0", "fsspec": "2024.10.0", "jinja2": "3.1.4", "networkx": "3.4.2", "numpy": "1.26.4", "packaging": "24.2",
            "pillow": "11.1.0", "setuptools": "75.8.0", "sympy": "1.13.1", "typing_extensions": "4.12.2", "wheel": "0.45.1"}
TORCH_RECIPE = """
schema_version: 1
package: {name: pytorch, version: "%(version)s"}
build:
  number: 0
  string: py%(python)s_cpu_0
  script:
    - mkdir -p "$SP_DIR/torch/lib"
    - echo '__version__ = "%(version)s+cpu"' > "$SP_DIR/torch/__init__.py"
    - for name in c10 torch_cpu; do echo "int ${name}_answer() { return 42; }" | g++ -shared -fPIC -x c++ - -o "$SP_DIR/torch/lib/lib$name.so" -Wl,-soname,lib$name.so $LDFLAGS; done
requirements: {build: ["${{ compiler('cxx') }}"], host: [python], run: [python]}
about: {license: BSD-3-Clause, summary: A stand-in}
extra: {ptpkg: {formats: [conda]}}
"""
# Makes what setup.py of the real ones makes: libraries beside torch, and a wheel that requires the torch it was built with.
BUILD = '''
import base64, hashlib, os, pathlib, subprocess, sys, zipfile
import torch


def library(name, *linked):
    """One that is linked to torch's, with the search path that torch's cpp_extension leaves: none."""
    lib = os.path.join(os.path.dirname(torch.__file__), "lib")
    code = "int c10_answer(); int torch_cpu_answer(); int %s() { return c10_answer() + torch_cpu_answer(); }" % pathlib.Path(name).stem
    pathlib.Path(name).parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["g++", "-shared", "-fPIC", "-x", "c++", "-", "-x", "none", "-o", name, "-L" + lib, "-lc10", "-ltorch_cpu", *linked,
                    *os.environ["LDFLAGS"].split()], input=code, text=True, check=True)


def wheel(folder, name, files, requires):
    version = os.environ["BUILD_VERSION"]
    tag = "cp%d%d" % sys.version_info[:2]
    info = f"{name}-{version}.dist-info/"
    contents = {file: pathlib.Path(file).read_bytes() for file in files}
    contents[info + "METADATA"] = "".join([f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n",
                                           *(f"Requires-Dist: {one}\\n" for one in requires)]).encode()
    contents[info + "WHEEL"] = f"Wheel-Version: 1.0\\nGenerator: a stand-in\\nRoot-Is-Purelib: false\\nTag: {tag}-{tag}-linux_x86_64\\n".encode()
    digest = lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    contents[info + "RECORD"] = "".join([*(f"{file},sha256={digest(data)},{len(data)}\\n" for file, data in contents.items()),
                                         info + "RECORD,,\\n"]).encode()
    made = f"{name}-{version}-{tag}-{tag}-linux_x86_64.whl"
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(os.path.join(folder, made), "w") as archive:
        for file, data in contents.items():
            archive.writestr(file, data)
    return made
'''
VISION = BUILD + '''

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    assert os.environ["TORCHVISION_USE_PNG"] == "0" and os.environ["FORCE_CUDA"] == "0" and "-g0" in os.environ["CXXFLAGS"]
    for name in ("_C", "image"):
        library(f"torchvision/{name}.so")
    return wheel(wheel_directory, "torchvision", ["torchvision/__init__.py", "torchvision/_C.so", "torchvision/image.so"],
                 ["numpy", "pillow (!=8.3.*,>=5.3.0)", "torch (==" + os.environ["PYTORCH_VERSION"] + ")"])
'''
AUDIO = BUILD + '''

assert os.environ["USE_FFMPEG"] == "0" and os.environ["BUILD_SOX"] == "0" and os.environ["USE_CUDA"] == "0"
library("torchaudio/lib/libtorchaudio.so")
library("torchaudio/lib/_torchaudio.so", "torchaudio/lib/libtorchaudio.so")
wheel("dist", "torchaudio", ["torchaudio/__init__.py", "torchaudio/lib/libtorchaudio.so", "torchaudio/lib/_torchaudio.so"],
      ["torch (==" + os.environ["PYTORCH_VERSION"] + ")"])
'''
LICENSE = "Redistribution and use in source and binary forms, with or without modification, are permitted.\n"


def source_of(library: str, version: str) -> dict[str, str]:
    """The files of a stand-in's source."""
    files = {"version.txt": version, "LICENSE": LICENSE, f"{library}/__init__.py": f'__version__ = "{version}"\n'}
    if library == "torchaudio":
        return {**files, "setup.py": AUDIO}
    backend = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    return {**files, "pyproject.toml": backend, "backend.py": VISION, "setup.py": ""}


class OnStandIn(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        if not (3, 9) <= sys.version_info[:2] <= (3, 13):
            self.skipTest(f"the recipes of torch 2.6.0 skip Python {PYTHON}")
        self.output = self.scratch / "dist"
        venv = self.scratch / "venv"
        done = subprocess.run([sys.executable, "-m", "venv", venv], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            harness.missing("python3-venv")
        self.interpreter = venv / "bin/python"
        packages = pathlib.Path(sysconfig.get_path("purelib", "venv", {"base": str(venv), "platbase": str(venv)}))
        for name, version in METADATA.items():
            for old in packages.glob(f"{name}-*.dist-info"):
                old.rename(packages / f"{old.name}.left")
            info = packages / f"{name}-{version}.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")

    def write(self, name: str, files: dict[str, str]) -> pathlib.Path:
        folder = self.scratch / name
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
        return folder

    def build_torch(self, version: str = "2.6.0") -> None:
        recipe = self.write("torch", {"recipe.yaml": TORCH_RECIPE % {"version": version, "python": PYTHON}})
        self.ptpkg("build", recipe, "--output", self.output, "--env", "system", PTPKG_PYTHON=str(self.interpreter))

    def build(self, library: str, version: str, exit_code: int = 0, torch: str = "2.6.0") -> subprocess.CompletedProcess:
        source = self.write(f"{library}-{version}", source_of(library, version))
        mine = self.scratch / "mine.yaml"
        row = {"torch_version": torch, "torchvision_version": "0.21.0", "torchaudio_version": "2.6.0", "torchtext_version": "none"}
        # The machine needs no libpng, libjpeg and libwebp for this.
        values = {**row, "python": PYTHON, "torchvision_png": "off", "torchvision_jpeg": "off", "torchvision_webp": "off"}
        mine.write_text("".join(f'{key}: ["{value}"]\n' for key, value in values.items()))
        files = [RECIPES / "pytorch/variants_torch.yaml", RECIPES / "pytorch/variants_domain.yaml", mine]
        return self.ptpkg("build", RECIPES / library, *(word for file in files for word in ("--variants", file)), "--source",
                          f"{library}={source}", "--output", self.output, "--env", "system", "--test", "skip",
                          PTPKG_PYTHON=str(self.interpreter), exit_code=exit_code)

    def assert_finds_torch(self, site_packages: pathlib.Path, libraries: tuple[str, ...], to_torch: str) -> None:
        for name in libraries:
            found = self.run_clean("ldd", site_packages / name)
            for needed in ("c10", "torch_cpu"):
                self.assertIn(f"{(site_packages / name).parent}/{to_torch}/lib{needed}.so", found)
            self.assertNotIn("not found", found)

    def check(self, library: str, version: str, libraries: tuple[str, ...], to_torch: str, requires: list[str]) -> None:
        self.build_torch()
        done = self.build(library, version)
        self.assertNotIn("matches no file", done.stderr)
        site_packages = self.scratch / "installed/wheel"
        made = self.output / f"wheels/{library}-{version}+cpu-{TAG}-{TAG}-linux_x86_64.whl"
        torch, = (self.output / "conda/linux-64").glob("pytorch-2.6.0-*.conda")
        stem = f"{library}-{version}-py{PYTHON}_cpu_0"
        with zipfile.ZipFile(made) as archive:
            archive.extractall(site_packages)
            metadata = archive.read(f"{library}-{version}+cpu.dist-info/METADATA").decode()
        self.assertEqual([line.removeprefix("Requires-Dist: ") for line in metadata.splitlines() if line.startswith("Requires-Dist")],
                         requires)
        prefix = self.scratch / "installed/conda"
        prefix.mkdir(parents=True)
        self.unpack(torch, prefix)
        (site_packages / "torch").symlink_to(prefix / f"lib/python{PYTHON}/site-packages/torch")
        self.assert_finds_torch(site_packages, libraries, to_torch)
        self.unpack(self.output / f"conda/linux-64/{stem}.conda", prefix)
        self.assert_finds_torch(prefix / f"lib/python{PYTHON}/site-packages", libraries, to_torch)
        facts = self.ptpkg_json("inspect", self.output / f"conda/linux-64/{stem}.tar.bz2")
        self.assertIn(f"pytorch ==2.6.0 py{PYTHON}_cpu_*", str(facts))

    def unpack(self, package: pathlib.Path, prefix: pathlib.Path) -> None:
        code = "import sys; from conda_package_handling import api; api.extract(sys.argv[1], sys.argv[2])"
        folder = self.scratch / package.stem
        subprocess.run([harness.peers_python(), "-c", code, package, folder], check=True)
        subprocess.run(["cp", "-r", f"{folder}/.", prefix], check=True)

    def test_torchvision(self):
        self.check("torchvision", "0.21.0", ("torchvision/_C.so", "torchvision/image.so"), "../torch/lib",
                   ["numpy", "pillow (!=8.3.*,>=5.3.0)", "torch (==2.6.0)"])

    def test_torchaudio(self):
        self.check("torchaudio", "2.6.0", ("torchaudio/lib/libtorchaudio.so", "torchaudio/lib/_torchaudio.so"), "../../torch/lib",
                   ["torch (==2.6.0)"])

    def test_another_torch_is_refused_before_anything_compiles(self):
        self.build_torch("2.5.1")
        for library, version in (("torchvision", "0.21.0"), ("torchaudio", "2.6.0")):
            done = self.build(library, version, exit_code=4)
            self.assertIn(f"no package of the output channel satisfies 'pytorch ==2.6.0 py{PYTHON}_cpu_*'", done.stderr)

    def test_sources_of_another_release_are_refused_before_anything_compiles(self):
        self.build_torch()
        for library, version, wanted in (("torchvision", "0.14.1a0", "0.21.0"), ("torchaudio", "2.11.0a0", "2.6.0")):
            done = self.build(library, version, exit_code=5)
            self.assertIn(f"the sources are those of {library} {version}, not of {wanted} - name others with --source {library}=PATH",
                          done.stderr)


if __name__ == "__main__":
    harness.main()
