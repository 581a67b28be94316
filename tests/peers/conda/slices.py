"""Slices as installers choose among them: py-rattler solves for machines with other GPUs, by virtual packages that are overridden;
variantlib reads the labels and properties of variant wheels, and makes the same index of them. Exit 77 is a skip.
"""

import argparse
import asyncio
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import gpu_library
import harness
from gpu_library import CUBIN, PTX

VARIANTLIB = pathlib.Path(sys.executable).parent / "variantlib"
FAT = [[(CUBIN, "80"), (CUBIN, "86"), (CUBIN, "90"), (CUBIN, "120"), (PTX, "120")]]


class Slices(unittest.TestCase):
    ptpkg: pathlib.Path

    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-peers-")).resolve()
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)

    def run_ptpkg(self, *arguments) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.scratch), "LANG": "C.UTF-8", "PTPKG_CACHE_DIR": str(self.scratch / "cache")}
        done = subprocess.run([self.ptpkg, *map(str, arguments)], env=env, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


class CondaSlices(Slices):
    def setUp(self) -> None:
        super().setUp()
        root = self.scratch / "recipe"
        (root / "files").mkdir(parents=True)
        gpu_library.make(root / "files/libtoy.so", FAT)
        (root / "recipe.yaml").write_text(
            'package: {name: toy, version: "1.0"}\nsource: {path: files}\n'
            'build:\n  number: 2\n  script: mkdir -p "$PREFIX/lib" && cp lib* "$PREFIX/lib"\n'
            'requirements:\n  run: ["__cuda >=13"]\n'
            "about: {license: MIT}\nextra:\n  ptpkg:\n    formats: [conda]\n    device_code: any\n")
        self.run_ptpkg("build", root, "--env", "system", "--output", self.scratch / "dist")
        self.channel = self.scratch / "dist/conda"
        self.fat, = (self.channel / "linux-64").glob("*.conda")
        self.run_ptpkg("slice", self.fat, "--gpu", "8.0", "--gpu", "9.0", "--gpu", "8.6+12.0")
        self.run_ptpkg("index", self.channel)

    def chosen(self, spec: str = "toy", cuda: str | None = "13.1", gpu: str | None = None) -> str:
        """The end of the build string that a machine gets."""
        return asyncio.run(self.solve(spec, cuda, gpu))

    async def solve(self, spec: str, cuda: str | None, gpu: str | None) -> str:
        import rattler
        overrides = {"CONDA_OVERRIDE_CUDA": cuda or "", "CONDA_OVERRIDE_CUDA_ARCH": gpu or ""}
        before = dict(os.environ)
        os.environ.update(overrides)
        try:
            machine = rattler.VirtualPackage.detect(rattler.VirtualPackageOverrides.from_env())
        finally:
            os.environ.clear()
            os.environ.update(before)
        names = {str(one.into_generic()).split("=")[0] for one in machine}
        self.assertEqual("__cuda_arch" in names, gpu is not None)
        record, = await rattler.solve(sources=[rattler.Channel(self.channel.as_uri())], specs=[spec],
                                      gateway=rattler.Gateway(cache_dir=self.scratch / "gateway"),
                                      platforms=["linux-64", "noarch"], virtual_packages=machine)
        return str(record.build).partition("_2")[2]

    def test_each_machine_gets_its_slice(self):
        self.assertEqual({gpu: self.chosen(gpu=gpu) for gpu in ("8.0", "8.6", "9.0", "12.0")},
                         {"8.0": "_sm80", "8.6": "_sm86_sm120", "9.0": "_sm90", "12.0": "_sm86_sm120"})

    def test_the_whole_package_is_for_all_others(self):
        for gpu in (None, "7.5", "8.9", "10.0", "12.1"):
            self.assertEqual(self.chosen(gpu=gpu), "", gpu)

    def test_a_slice_by_name_and_the_requirements_of_the_package(self):
        from rattler.exceptions import SolverError
        self.assertEqual(self.chosen("toy 1.0.* *_sm90", gpu="9.0"), "_sm90")
        with self.assertRaises(SolverError):
            self.chosen("toy 1.0.* *_sm90", gpu="8.0")
        with self.assertRaises(SolverError):
            self.chosen(cuda="12.9", gpu="9.0")

    def test_what_is_installed(self):
        import rattler

        async def install() -> None:
            machine = [rattler.GenericVirtualPackage(rattler.PackageName(name), rattler.Version(version), rattler.BuildString("0"))
                       for name, version in (("__cuda", "13.1"), ("__cuda_arch", "8.6"))]
            records = await rattler.solve(sources=[rattler.Channel(self.channel.as_uri())], specs=["toy"],
                                          gateway=rattler.Gateway(cache_dir=self.scratch / "gateway"),
                                          platforms=["linux-64", "noarch"], virtual_packages=machine)
            await rattler.install(records, target_prefix=self.scratch / "prefix", cache_dir=self.scratch / "packages",
                                  show_progress=False)
        asyncio.run(install())
        self.assertEqual(gpu_library.names(self.scratch / "prefix/lib/libtoy.so"), [[(CUBIN, "86"), (CUBIN, "120")]])


def with_providers(document: dict) -> dict:
    """variantlib 0.2.2 reads the format of PEP 817, which names a provider of each namespace; PEP 825 left these out."""
    names = document["default-priorities"]["namespace"]
    return {**document, "providers": {name: {"requires": [f"{name}-provider"]} for name in names}}


def add_providers(wheel: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            if name.endswith("/variant.json"):
                data = json.dumps(with_providers(json.loads(data))).encode()
            archive.writestr(name, data)


class VariantWheels(Slices):
    NAME = "toy-1.0+cu130-cp311-cp311-linux_x86_64"

    def wheel(self, folder: pathlib.Path, tag: str = "cp311-cp311-linux_x86_64") -> pathlib.Path:
        """A wheel with one fat library, which needs processors of level 3."""
        library = gpu_library.make(self.scratch / f"libtoy-{tag}.so", FAT, options=["-Wl,-z,x86-64-v3"])
        info = "toy-1.0+cu130.dist-info"
        files = {"toy/lib/libtoy.so": library.read_bytes(), "toy/__init__.py": b"",
                 f"{info}/METADATA": b"Metadata-Version: 2.1\nName: toy\nVersion: 1.0+cu130\n",
                 f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()}
        rows = [f"{name},sha256={harness.base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n"
                for name, data in files.items()]
        folder.mkdir(exist_ok=True)
        path = folder / f"toy-1.0+cu130-{tag}.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
            archive.writestr(f"{info}/RECORD", "".join([*rows, f"{info}/RECORD,,\n"]))
        return path

    def document(self, wheel: pathlib.Path) -> dict:
        with zipfile.ZipFile(wheel) as archive:
            return json.loads(archive.read("toy-1.0+cu130.dist-info/variant.json"))

    def test_variantlib_reads_what_ptpkg_writes(self):
        from variantlib.models.variant import VariantDescription, VariantProperty
        from variantlib.variant_dist_info import VariantDistInfo
        output = self.scratch / "out"
        self.run_ptpkg("slice", self.wheel(self.scratch / "in"), "--gpu", "9.0", "--gpu", "8.0+8.6", "--variant", "--output", output)
        wheels = {path.name for path in output.glob("*.whl")}
        self.assertEqual(wheels, {f"{self.NAME}-{label}.whl" for label in ("sm90.x86_64_v3", "sm80.sm86.x86_64_v3", "null")})
        common = ["nvidia :: cuda_version_lower_bound :: 13.0", "x86_64 :: level :: v3"]
        for label, own in (("sm90.x86_64_v3", ["nvidia :: sm_arch :: 90_real"]),
                           ("sm80.sm86.x86_64_v3", ["nvidia :: sm_arch :: 80_real", "nvidia :: sm_arch :: 86_real"])):
            wheel = output / f"{self.NAME}-{label}.whl"
            expected = VariantDescription([VariantProperty.from_str(text) for text in common + own], label=label)
            document = self.document(wheel)
            self.assertEqual(set(document), {"$schema", "default-priorities", "variants"})
            read = VariantDistInfo(json.dumps(with_providers(document)), label)
            self.assertEqual(read.variant_desc, expected)
            # The same properties, written by the library.
            self.assertEqual(document["variants"], {label: expected.to_dict()})
            add_providers(wheel)
            done = subprocess.run([VARIANTLIB, "analyze-wheel", "-i", wheel], text=True, capture_output=True,
                                  check=True)
            for text in common + own:
                self.assertIn(text, done.stdout)
        self.assertEqual(self.document(output / f"{self.NAME}-null.whl")["variants"], {"null": {}})

    def test_the_index_has_the_document_that_variantlib_makes(self):
        output = self.scratch / "out"
        for tag in ("cp311-cp311-linux_x86_64", "cp312-cp312-linux_x86_64"):
            self.run_ptpkg("slice", self.wheel(self.scratch / "in", tag), "--all-archs", "--variant", "--output", output)
        self.run_ptpkg("index", output)
        ours = json.loads((output / "toy-1.0+cu130-variants.json").read_text())
        for wheel in output.glob("*.whl"):
            add_providers(wheel)
        (output / "toy-1.0+cu130-variants.json").unlink()
        done = subprocess.run([VARIANTLIB, "generate-index-json", "-d", output], text=True, capture_output=True,
                              check=True)
        self.assertNotIn("ERROR", done.stderr)
        theirs = json.loads((output / "toy-1.0+cu130-variants.json").read_text())
        self.assertEqual(ours["variants"], theirs["variants"])
        self.assertEqual(ours["default-priorities"], theirs["default-priorities"])
        self.assertEqual(len(ours["variants"]), 5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True)
    known, rest = parser.parse_known_args()
    Slices.ptpkg = known.ptpkg.resolve()
    for module, name in (("rattler", "py-rattler"), ("variantlib", "variantlib")):
        try:
            __import__(module)
        except ImportError:
            print(f"skipped: peer '{name}' is missing")
            return 77
    if shutil.which("gcc") is None:
        print("skipped: 'gcc' is missing")
        return 77
    result = unittest.main(argv=[sys.argv[0], *rest], exit=False).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
