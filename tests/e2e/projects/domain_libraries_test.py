"""recipes/torchvision and recipes/torchaudio against our own torch: built, packed both ways, and used in empty environments beside it,
there with their projects' own tests.

PTPKG_TORCH_OUTPUT names a build of torch (on_torch.py). PTPKG_TORCHVISION_SOURCE and PTPKG_TORCHAUDIO_SOURCE name the sources of the
releases that recipes/pytorch/variants_domain.yaml gives that torch, such as Debian's pytorch-vision 0.21.0 and pytorch-audio 2.6.0 for
2.6.0. A test without its sources is skipped. The machine needs libpng, libjpeg and libwebp to build torchvision with; what else the
libraries and their tests require comes from the Python index.
"""

import dataclasses
import pathlib
import re
import shutil
import subprocess

import domain_recipe_test
import harness
import on_torch

# What the projects' tests need: of the time of torch 2.6, and NumPy 1 as our torch is built with.
TEST_PACKAGES = ("numpy<2", "pillow<12", "scipy<1.12", "pytest<9", "pytest-mock", "expecttest", "hypothesis", "parameterized",
                 "requests", "setuptools<82", "soundfile")


@dataclasses.dataclass(frozen=True)
class Library:
    name: str
    words: tuple[str, ...]  # of tests/works.py
    printed: str
    to_torch: str  # from each of its libraries
    # Files below the project's folder of tests, and tests by words of pytest: a minute or two on two cores.
    tests: tuple[str, ...]
    chosen: str
    least: int  # tests that passed


VISION = Library("torchvision", ("png", "jpeg"), "cpu png jpeg", "../torch/lib", ("test_ops.py", "test_image.py"),
                 # GIFs are downloaded; AVIF and HEIC have a package of their own.
                 "(test_image or TestNMS or TestRoIAlign) and not gif and not avif and not heic", 500)
AUDIO = Library("torchaudio", (), "filter, spectrogram, resampling, WAV", "../../torch/lib",
                ("torchaudio_unittest/backend/dispatcher/soundfile", "torchaudio_unittest/functional/functional_cpu_test.py"),
                "soundfile or Resample or resample or spectrogram or lfilter", 100)


class DomainLibraries(on_torch.OnTorch):
    def setUp(self) -> None:
        super().setUp()
        table = domain_recipe_test.lists_of(on_torch.RECIPES / "pytorch/variants_domain.yaml")
        row = table["torch_version"].index(on_torch.VERSION)
        self.versions = {key: table[key][row] for key in table if key.endswith("_version")}

    def build_library(self, library: Library, source: pathlib.Path, exit_code: int = 0, **values: str) -> subprocess.CompletedProcess:
        return self.build(library.name, source, "variants_domain", exit_code=exit_code, **{**self.versions, **values})

    def assert_works(self, library: Library, prefix: pathlib.Path) -> None:
        printed = self.run_clean(prefix / "bin/python", on_torch.RECIPES / library.name / "tests/works.py", *library.words)
        version = self.versions[f"{library.name}_version"]
        self.assertIn(f"{library.name} {version}+cpu with torch {self.torch_version}: {library.printed}", printed)
        print(printed, flush=True)
        libraries = sorted((prefix / f"lib/python{self.python}/site-packages" / library.name).rglob("*.so"))
        self.assertGreaterEqual(len(libraries), 2)
        self.assert_finds_torch(libraries, prefix, library.to_torch)

    def run_tests_of_the_project(self, library: Library, source: pathlib.Path, python: pathlib.Path) -> None:
        tests = self.scratch / "tests"
        shutil.copytree(source / "test", tests)
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.scratch), "LANG": "C.UTF-8"}
        # torchaudio's tests fail, and are not skipped, where a program or package is missing that they want.
        for lack in re.findall(r'"((?:NO|CMD|ON)_[A-Z0-9_]+)"', (tests / "torchaudio_unittest/common_utils/case_utils.py").read_text()
                               if library is AUDIO else ""):
            env[f"TORCHAUDIO_TEST_ALLOW_SKIP_IF_{lack}"] = "1"
        done = subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *library.tests, "-k", library.chosen], cwd=tests,
                              env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        last = done.stdout.splitlines()[-1]
        passed = re.search(r"(\d+) passed", last)
        self.assertTrue(done.returncode == 0 and passed, done.stdout[-4000:])
        self.assertGreaterEqual(int(passed[1]), library.least, last)
        print(f"{library.name}, its own tests: {last}", flush=True)

    def check(self, library: Library) -> None:
        source = on_torch.named(f"PTPKG_{library.name.upper()}_SOURCE")
        version = self.versions[f"{library.name}_version"]
        if source is None:
            self.skipTest(f"PTPKG_{library.name.upper()}_SOURCE does not name the sources of {library.name} {version}")
        self.build_library(library, source)
        stem = f"{library.name}-{version}-py{self.python}_cpu_0"
        wheel = f"wheels/{library.name}-{version}+cpu-{self.tag}-{self.tag}-linux_x86_64.whl"
        made = harness.artifacts(self.output)
        for name in (f"conda/linux-64/{stem}.conda", f"conda/linux-64/{stem}.tar.bz2", wheel):
            self.assertIn(name, made)
            print(f"{(self.output / name).stat().st_size} {made[name]} {name}", flush=True)
        for facts in self.ptpkg_json("check", *(self.output / name for name in made if f"/{library.name}-" in name)):
            self.assertFalse([one for one in facts["findings"] if one["severity"] == "error"], facts["findings"])
        self.assertIn(f"torch (=={on_torch.VERSION})", self.requirements(self.output / wheel))
        wheels = self.dependencies(*TEST_PACKAGES)

        with self.subTest("conda"):
            prefix, installed = self.conda_prefix(wheels, library.name, "numpy", "soundfile")
            self.assertIn(f"pytorch-{on_torch.VERSION}-py{self.python}_cpu_0", installed)
            self.assert_works(library, prefix)
            self.remove(prefix)

        with self.subTest("wheel"):
            names = [re.split("[<>=]", name)[0] for name in TEST_PACKAGES]
            prefix = self.virtual_environment(wheels, self.output / wheel, *names)
            self.assert_works(library, prefix)
            self.run_tests_of_the_project(library, source, prefix / "bin/python")

    def test_torchvision(self):
        self.check(VISION)

    def test_torchaudio(self):
        self.check(AUDIO)

    def test_a_torch_that_the_library_does_not_belong_to_is_refused(self):
        source = self.scratch / "source"
        source.mkdir()
        (source / "setup.py").touch()
        for library in (VISION, AUDIO):
            done = self.build_library(library, source, exit_code=4, torch_version="2.5.1")
            self.assertIn(f"no package of the output channel satisfies 'pytorch ==2.5.1 py{self.python}_cpu_*'", done.stderr)


if __name__ == "__main__":
    harness.main()
