"""recipes/pytorch/torch.yaml without building it: its matrix, what it refuses, and its table of switches against PyTorch's own files.

PTPKG_PYTORCH_SOURCE names the unpacked sources of PyTorch 2.6.0 (recipes/pytorch/recipe.yaml says which); without it what
needs them is skipped.
"""

import json
import os
import pathlib
import re
import subprocess

import harness

RECIPE = harness.REPOSITORY / "recipes/pytorch"
GOLDEN = harness.REPOSITORY / "fixtures/golden/pytorch"

# A version that has the switch, and one that has not: what the second is told.
REFUSED = {
    "torch_kineto": ("2.6.0", "1.7.1", "which came with 1.8"),
    "torch_gloo": ("1.2.0", "1.1.0", "which came with 1.2"),
    "torch_mpi": ("1.2.0", "1.1.0", "which came with 1.2"),
    "torch_numa": ("1.2.0", "1.1.0", "which came with 1.2"),
    "torch_openmp": ("1.2.0", "1.1.0", "which came with 1.2"),
    "torch_xnnpack": ("1.5.1", "1.4.0", "which came with 1.5"),
    "torch_tensorpipe": ("1.6.0", "1.5.1", "which came with 1.6"),
    "torch_itt": ("1.13.1", "1.12.1", "which came with 1.13"),
    "torch_caffe2_ops": ("1.13.1", "2.6.0", "which went with 2.0"),
}
REFUSED_OF_GPU = {
    "torch_magma": ("1.9.1", "1.8.1", "off, which came with 1.9"),
    "torch_nccl": ("1.2.0", "1.1.0", "off, which came with 1.2"),
    "torch_flash_attention": ("1.13.1", "1.12.1", "which came with 1.13"),
    "torch_mem_efficient_attention": ("2.6.0", "2.5.1", "which came with 2.6 at the latest"),
    "torch_cusparselt": ("2.1.2", "2.0.1", "which came with 2.1"),
    "torch_cufile": ("2.6.0", "2.5.1", "which came with 2.6"),
}


# Which variable names the sources of a version: those of Debian.
SOURCES = {"2.6.0": "PTPKG_PYTORCH_SOURCE", "1.13.1": "PTPKG_PYTORCH_1_13_SOURCE"}


def source(version: str) -> pathlib.Path | None:
    place = os.environ.get(SOURCES[version], "")
    return pathlib.Path(place).resolve() if place else None


def exported(lines: list[str]) -> dict[str, str]:
    """The variables that a rendered script sets."""
    found = {}
    for line in lines:
        if line.startswith("export "):
            found.update(re.findall(r"(\w+)=(\S+)", line))
    return found


class Recipe(harness.Case):
    def render(self, version: str, exit_code: int = 0, gpu: str = "", **values: str) -> str:
        mine = self.scratch / "mine.yaml"
        mine.write_text("".join(f'{key}: ["{value}"]\n' for key, value in {"torch_version": version, **values}.items()))
        variants = ["variants_torch.yaml"] + [f"variants_torch_{gpu}.yaml"] * bool(gpu)
        done = self.ptpkg("render", RECIPE / "torch.yaml", *(word for name in variants for word in ("--variants", RECIPE / name)),
                          "--variants", mine, exit_code=exit_code)
        return done.stdout + done.stderr

    def test_names_of_the_matrix(self):
        rendered = self.ptpkg_json("render", RECIPE / "torch.yaml", "--variants", RECIPE / "variants_torch.yaml")
        names = [one["file_stem"] for one in rendered if not one["skip"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("pytorch-2.6.0-py3.11_cpu_0", names)
        self.assertEqual({one["version"] for one in rendered if not one["skip"]}, {one["variant"]["torch_version"] for one in rendered},
                         "a version for which every Python is skipped")

    def test_each_switch_is_refused_where_a_version_has_none(self):
        for gpu, rows in (("", REFUSED), ("cuda", REFUSED_OF_GPU)):
            for key, (new, old, why) in rows.items():
                with self.subTest(key):
                    self.assertIn(f"pytorch-{new}", self.render(new, gpu=gpu, **{key: "off"}))
                    self.assertIn(f"PyTorch {old} has no switch {key}", said := self.render(old, 3, gpu, **{key: "off"}))
                    self.assertIn(why, said)

    def test_values_and_switches_without_their_gpu_are_refused(self):
        for values, why in (({"torch_mkldnn": "maybe"}, "none of them"), ({"torch_gpu": "tpu"}, "not tpu"),
                            ({"torch_nccl": "mine"}, "not mine"), ({"torch_cuda_link": "both"}, "not both"),
                            ({"torch_blas": "blis"}, "not blis"), ({"torch_libtorch": "maybe"}, "not maybe"),
                            ({"torch_libtorch": "3.99"}, "not 3.99"), ({"torch_nccl": "off"}, "torch_nccl is for torch_gpu"),
                            ({"torch_magma": "on"}, "torch_magma is for torch_gpu"),
                            ({"torch_cudnn": "on"}, "torch_cudnn is for torch_gpu"),
                            ({"torch_cufile": "on"}, "torch_cufile is for torch_gpu"),
                            ({"torch_cusparselt": "on"}, "torch_cusparselt is for torch_gpu"),
                            ({"torch_flash_attention": "on"}, "torch_flash_attention is for torch_gpu"),
                            ({"torch_mem_efficient_attention": "on"}, "torch_mem_efficient_attention is for torch_gpu"),
                            ({"torch_cuda_link": "static"}, "static is for torch_gpu")):
            with self.subTest(str(values)):
                self.assertIn(why, self.render("2.6.0", 3, **values))

    def test_one_python_of_several_gives_libtorch(self):
        for value, of in (("default", "3.11"), ("3.12", "3.12"), ("off", None)):
            mine = self.scratch / "mine.yaml"
            mine.write_text(f'torch_version: ["2.6.0"]\npython: ["3.11", "3.12"]\ntorch_libtorch: ["{value}"]\n')
            for one in self.ptpkg_json("render", RECIPE / "torch.yaml", "--variants", RECIPE / "variants_torch.yaml", "--variants", mine):
                self.assertEqual("zip" in one["formats"], one["variant"]["python"] == of, f"{value}: {one['file_stem']}")

    def test_every_switch_of_the_variants_is_in_the_table(self):
        keys = set(re.findall(r"^(torch_\w+):", (RECIPE / "variants_torch.yaml").read_text(encoding="utf-8"), re.MULTILINE))
        table = (RECIPE / "torch.yaml").read_text(encoding="utf-8")
        self.assertEqual({key for key in keys if not re.search(rf"\b{key}\b", table)}, set())

    def test_names_of_1_1_are_those_of_its_time(self):
        one, = json.loads((GOLDEN / "1.1.0_off.json").read_text())
        variables = exported(one["script"])
        self.assertEqual({name for name in variables if name.startswith("USE_")}, {"USE_ROCM"})
        self.assertEqual({variables[name] for name in variables if name.startswith("NO_") and name != "NO_CUDA"}, {"1"})
        self.assertEqual(variables["NO_CUDA"], "0")

    def test_names_are_those_of_the_sources(self):
        """A variable that no file of the build reads would be dropped in silence."""
        for version, golden, least in (("2.6.0", ("off", "cpu", "cuda", "rocm", "debian"), 20), ("1.13.1", ("cpu", "debian"), 10)):
            with self.subTest(version):
                place = source(version)
                if place is None:
                    self.skipTest(f"{SOURCES[version]} does not name the sources of PyTorch {version}")
                files = [place / "CMakeLists.txt", place / "setup.py", *(place / "cmake").rglob("*.cmake"),
                         *(place / "tools/setup_helpers").glob("*.py")]
                known = set(re.findall(r"\b(?:USE|BUILD)_[A-Z0-9_]+\b", "\n".join(path.read_text(errors="replace") for path in files)))
                count = 0
                for name in golden:
                    one, = json.loads((GOLDEN / f"{version}_{name}.json").read_text())
                    variables = {key for key in exported(one["script"]) if key.startswith(("USE_", "BUILD_"))}
                    self.assertEqual(variables - known, set(), name)
                    count = max(count, len(variables))
                self.assertGreater(count, least)

    def test_patches_apply_to_the_sources_and_are_all_used(self):
        rendered = (RECIPE / "torch.yaml").read_text(encoding="utf-8")
        for version, variable in SOURCES.items():
            with self.subTest(version):
                patches = sorted((harness.REPOSITORY / "patches/pytorch" / version).glob("*.patch"))
                self.assertTrue(patches)
                for path in patches:
                    self.assertIn("\nWhy: ", path.read_text(encoding="utf-8"))
                    self.assertIn(str(path.relative_to(harness.REPOSITORY)), rendered)
                if source(version) is None:
                    self.skipTest(f"{variable} does not name the sources of PyTorch {version}")
                for path in patches:
                    subprocess.run([harness.tool("patch"), "-p1", "--dry-run", "-F0", "-i", path], cwd=source(version), check=True,
                                   capture_output=True)

    def test_our_channel_can_have_the_magma_that_is_required(self):
        mine = self.scratch / "mine.yaml"
        mine.write_text('torch_version: ["1.9.1", "1.13.1", "2.9.1", "2.13.0"]\npython: ["3.8", "3.12"]\n')
        required = set()
        for platform in ("cuda", "rocm"):
            variants = (word for file in (RECIPE / "variants_torch.yaml", RECIPE / f"variants_torch_{platform}.yaml", mine)
                        for word in ("--variants", file))
            for one in self.ptpkg_json("render", RECIPE / "torch.yaml", *variants):
                if not one["skip"]:
                    required |= {text.split()[0] for text in one["requirements"]["host"] if text.startswith("magma-")}
        self.assertIn("magma-cuda117", required)
        self.assertIn("magma-rocm62", required)
        magma = harness.REPOSITORY / "recipes/magma"
        made = set()
        for more in ([], ["--variants", magma / "variants_rocm.yaml"]):
            rendered = self.ptpkg_json("render", magma, "--variants", magma / "variants.yaml", *more)
            made |= {one["name"] for one in rendered if not one["skip"]}
        self.assertLessEqual(required, made)

    def test_words_that_are_no_architecture_end_the_build_before_it_is_configured(self):
        """The rows of the script themselves, with bash."""
        for name, given, bad in (("2.6.0_cuda", "5.0;6.0;7.0;7.5;8.0;8.6;9.0", ("sm_90", "90", "8.0,9.0", "10.0f", "90-real", "9")),
                                 ("2.6.0_rocm", "gfx900;gfx906;gfx908;gfx90a;gfx942;gfx1030;gfx1100;gfx1101;gfx1200;gfx1201",
                                  ("8.0", "none"))):
            one, = json.loads((GOLDEN / f"{name}.json").read_text())
            row, = (line for line in one["script"] if line.startswith("for word in "))
            words = given.replace(";", " ")
            self.assertIn(words, row)
            for word in (words, "9.0a 12.0+PTX" if "cuda" in name else "gfx942"):
                subprocess.run(["bash", "-ec", row.replace(words, word)], check=True)
            for word in bad:
                done = subprocess.run(["bash", "-ec", row.replace(words, word)], check=False, capture_output=True, text=True)
                self.assertEqual(done.returncode, 1, word)
                self.assertIn(f"'{word}' is no", done.stderr)


if __name__ == "__main__":
    harness.main()
