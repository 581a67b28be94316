"""recipes/magma on the real sources: generated, compiled for a real GPU, packed, checked, linked against, and run.

PTPKG_MAGMA_SOURCE names MAGMA: its release archive, unpacked or not, or a git checkout of the tag (recipes/magma says where
they are). Without it the tests are skipped. PTPKG_MAGMA_VERSION says which version that is: 2.6.1, 2.10.0 or, by default,
2.9.0, whose files are counted here, as closure.py prints them. PTPKG_MAGMA_CLOSURE is what to build: potrf, the default,
is 16 files; pytorch 420; all 1450. PTPKG_MAGMA_ARCHS: for which GPUs, 9.0 by default. Wanted are CUDA 13.0, by PATH or by the Python
index, and OpenBLAS. Where there is a GPU the programs solve systems on it.

PTPKG_MAGMA_REPOSITORY names a git clone of MAGMA with its tags, and PTPKG_CUDA_HOME the toolkits 11.8 and 12.4 (and 13.0, unless PATH
has it): then one command makes a package for each toolkit.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import harness

RECIPE = harness.REPOSITORY / "recipes/magma"
VERSION = os.environ.get("PTPKG_MAGMA_VERSION") or "2.9.0"


class Magma(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        place = os.environ.get("PTPKG_MAGMA_SOURCE", "")
        if not place:
            self.skipTest(f"PTPKG_MAGMA_SOURCE does not name the sources of MAGMA {VERSION}")
        self.source = pathlib.Path(place).resolve()
        self.closure = os.environ.get("PTPKG_MAGMA_CLOSURE", "potrf")
        self.archs = os.environ.get("PTPKG_MAGMA_ARCHS", "9.0")
        self.variants = self.scratch / "variants.yaml"
        self.variants.write_text(f'magma_version: ["{VERSION}"]\ncuda_compiler_version: ["13.0"]\n'
                                 f'magma_archs: ["{self.archs}"]\nmagma_closure: [{self.closure}]\n')
        build = "1" if self.closure == "all" else f"{self.closure}_1"
        self.stem = f"magma-cuda130-{VERSION}-{build}"

    def build(self, output: pathlib.Path, **options) -> subprocess.CompletedProcess:
        return self.ptpkg("build", RECIPE, "--variants", RECIPE / "variants.yaml", "--variants", self.variants, "--source",
                          f"magma={self.source}", "--output", output, **options)

    def test_from_source_to_package(self):
        output = self.scratch / "dist"
        self.build(output)
        made = harness.artifacts(output)
        self.assertEqual(sorted(made), [f"conda/linux-64/{self.stem}.conda", f"conda/linux-64/{self.stem}.tar.bz2"])
        log = (output / f"logs/{self.stem}.build.log").read_text(errors="replace")
        tested = (output / f"logs/{self.stem}.test.log").read_text(errors="replace")
        self.assertIn(f"magma {VERSION}", tested)
        self.assertRegex(tested, r"linked: \d+ symbols")
        self.assertRegex(tested, r"residual \d|no GPU here")
        with tarfile.open(output / f"conda/linux-64/{self.stem}.tar.bz2") as archive:
            names = archive.getnames()
        self.assertIn("lib/libmagma.a", names)
        self.assertIn("include/magma_v2.h", names)
        self.assertIn("include/magma_config.h", names)
        self.assertFalse([name for name in names if name.endswith((".so", ".pc", ".F90", ".o"))])
        self.assertFalse([name for name in names if name.startswith("lib/") and name != "lib/libmagma.a"])
        facts, _ = self.ptpkg_json("check", *(output / name for name in made))
        code, = facts["device_code"]
        self.assertEqual(code["file"], "lib/libmagma.a")
        for line in re.findall(r"^(?:closure .*|generated .*)", log, re.MULTILINE) + tested.splitlines():
            if line and line[0] not in "+#":
                print(line)
        for name, digest in made.items():
            print(f"{(output / name).stat().st_size} {digest} {name}", flush=True)

        # Objects of nvcc hold neither folders nor process ids: another folder, another day, the same bytes.
        if self.closure == "potrf":
            for name in ("downloads", "wheels"):
                if (self.cache / name).exists():
                    shutil.copytree(self.cache / name, self.scratch / "other-cache" / name)
            self.cache = self.scratch / "other-cache"
            self.build(self.scratch / "again")
            self.assertEqual(harness.artifacts(self.scratch / "again"), made)

    def test_other_architectures_are_not_published(self):
        """The gate: a library for one GPU does not pass for another."""
        if self.closure != "potrf":
            self.skipTest("the gate is shown with the smallest closure")
        recipe = self.scratch / "recipes/magma"
        shutil.copytree(RECIPE, recipe)
        shutil.copytree(harness.REPOSITORY / "patches/magma", self.scratch / "patches/magma")
        text = (recipe / "recipe.yaml").read_text()
        (recipe / "recipe.yaml").write_text(text.replace("ARCHS: ${{ magma_archs }}", 'ARCHS: "8.0"'))
        done = self.ptpkg("build", recipe, "--variants", recipe / "variants.yaml", "--variants", self.variants, "--source",
                          f"magma={self.source}", "--output", self.scratch / "dist", exit_code=1)
        self.assertIn("lib/libmagma.a [device-code-mismatch] machine code for sm_90 is missing; machine code for sm_80 was "
                      "not asked for", done.stderr)
        self.assertEqual(list((self.scratch / "dist/conda").rglob("magma-*")), [])


class Toolkits(harness.Case):
    def test_one_command(self):
        repository, toolkits = (os.environ.get(name, "") for name in ("PTPKG_MAGMA_REPOSITORY", "PTPKG_CUDA_HOME"))
        if not repository or not toolkits:
            self.skipTest("PTPKG_MAGMA_REPOSITORY and PTPKG_CUDA_HOME do not name MAGMA's tags and the toolkits 11.8 and 12.4")
        closure = os.environ.get("PTPKG_MAGMA_CLOSURE", "potrf")
        (self.scratch / "closure.yaml").write_text(f"magma_closure: [{closure}]\n")
        files = [RECIPE / "variants.yaml", RECIPE / "variants_toolkits.yaml", self.scratch / "closure.yaml"]
        releases = {"118": "2.6.1", "124": "2.9.0", "130": "2.9.0"}
        sources = [f"magma-cuda{cuda}={repository}@v{version}" for cuda, version in releases.items()]
        output = self.scratch / "dist"
        self.ptpkg("build", RECIPE, *(word for path in files for word in ("--variants", path)),
                   *(word for one in sources for word in ("--source", one)), "--env", "system", "--output", output)
        made = harness.artifacts(output)
        build = "1" if closure == "all" else f"{closure}_1"
        self.assertEqual(sorted(made), [f"conda/linux-64/magma-cuda{cuda}-{version}-{build}.{ending}"
                                        for cuda, version in releases.items() for ending in ("conda", "tar.bz2")])
        for name, digest in made.items():
            print(f"{(output / name).stat().st_size} {digest} {name}", flush=True)


if __name__ == "__main__":
    harness.main()
