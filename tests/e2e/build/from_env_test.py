"""--from-env: what the variables of PyTorch's scripts become, contradictions, and that they are part of a build's key."""

import tarfile

import harness

RECIPES = harness.REPOSITORY / "recipes"

RECIPE = """package: {name: toy, version: "1.0"}
source: {path: source}
build:
  number: 0
  string: "${{ mkl }}_0"
  script:
    - ${{ "export " ~ extra if extra != "none" }}
    - mkdir -p $PREFIX/share
    - echo "$USE_TOY $CPU_COUNT" > $PREFIX/share/toy
about: {license: MIT}
extra: {ptpkg: {formats: [conda, tar.bz2]}}
"""
VARIANTS = """mkl: ["on", "off"]
extra: [none]
"""
TABLE = """variables:
  USE_MKL: [{switch: mkl}]
  USE_TOY: [{environment: extra}]
"""


class FromEnv(harness.Case):
    def render(self, recipe, *arguments, exit_code=0, **variables) -> str:
        done = self.ptpkg("render", recipe, "--from-env", *arguments, exit_code=exit_code, **variables)
        return done.stderr + done.stdout

    def variants(self, recipe, *arguments, **variables) -> list[dict]:
        rendered = self.ptpkg_json("render", recipe, "--from-env", *arguments, **variables)
        return [one["variant"] for one in rendered if not one["skip"]]

    def toy(self, table=TABLE, recipe=RECIPE):
        folder = self.scratch / "toy"
        (folder / "source").mkdir(parents=True, exist_ok=True)
        (folder / "recipe.yaml").write_text(recipe)
        (folder / "variants.yaml").write_text(VARIANTS)
        (folder / "from_env.yaml").write_text(table)
        return folder

    def test_variables_of_pytorchs_scripts(self):
        """The directory stands for torch.yaml; each variable has a line that says what it became."""
        said = self.render(RECIPES / "pytorch", DESIRED_CUDA="cu118", DESIRED_PYTHON="3.10", PACKAGE_TYPE="conda", MAX_JOBS="3",
                           PYTORCH_BUILD_VERSION="2.6.0+cu118", OVERRIDE_PACKAGE_VERSION="2.6.0+cu118", PYTORCH_BUILD_NUMBER="1",
                           USE_FBGEMM="0", USE_VULKAN="it's on", BUILD_TEST="1", BUILD_ID="7", CMAKE_PREFIX_PATH="/opt/x")
        for line in ("BUILD_ID=7: not used: the recipe does not name it in from_env.yaml",
                     "BUILD_TEST=1: build environment, by variant key torch_environment",
                     "CMAKE_PREFIX_PATH=/opt/x: not used: the build sees its own prefix alone, which --env fills",
                     "DESIRED_CUDA=cu118: variant key cuda_compiler_version=11.8, variant key torch_gpu=cuda, --variants variants_torch_cuda.yaml",
                     "DESIRED_PYTHON=3.10: variant key python=3.10", "MAX_JOBS=3: --jobs 3", "PACKAGE_TYPE=conda: --format conda",
                     "OVERRIDE_PACKAGE_VERSION=2.6.0+cu118: variant key torch_local_version=cu118, variant key torch_version=2.6.0",
                     "PYTORCH_BUILD_NUMBER=1: not used: the recipe makes the first build of a version",
                     "USE_FBGEMM=0: variant key torch_fbgemm=off"):
            self.assertIn(f"{line}\n", said)
        self.assertIn("\npytorch-2.6.0-py3.10_cuda0.0.0_cudnn0.0.0_0 ", said)
        self.assertIn(" torch_environment=BUILD_TEST=1 USE_VULKAN='it'\\''s on' ", said)
        self.assertIn(" torch_gpu_archs=3.7;5.0;6.0;7.0;7.5;8.0;8.6;9.0 ", said)

    def test_forms_of_a_value(self):
        torch = {"PYTORCH_BUILD_VERSION": "2.6.0", "DESIRED_PYTHON": "cp312-cp312"}
        one, = self.variants(RECIPES / "pytorch", DESIRED_CUDA="cpu", **torch)
        self.assertEqual((one["torch_gpu"], one["python"], one["torch_local_version"]), ("cpu", "3.12", "none"))
        for archs, listed in (({"TORCH_CUDA_ARCH_LIST": "8.0 9.0+PTX"}, "8.0;9.0+PTX"), ({"GPU_CC": "8.6"}, "8.6"),
                              ({"TORCH_CUDA_ARCH_LIST": "Ampere;Hopper"}, "Ampere;Hopper"),
                              ({"CUDA_ARCH_LIST": "-gencode arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90]",
                                "TORCH_CUDA_ARCH_LIST": "9.0+PTX;8.0"}, "8.0;9.0+PTX")):
            with self.subTest(str(archs)):
                one, = self.variants(RECIPES / "pytorch", DESIRED_CUDA="12.8", **torch, **archs)
                self.assertEqual((one["cuda_compiler_version"], one["torch_gpu_archs"]), ("12.8", listed))
        one, = self.variants(RECIPES / "pytorch", DESIRED_CUDA="cu121", TORCH_CUDA_ARCH_LIST="8.0", **torch)
        self.assertEqual((one["cuda_compiler_version"], one["torch_gpu_archs"]), ("12.1", "8.0"))
        one, = self.variants(RECIPES / "pytorch", DESIRED_CUDA="rocm6.2", PYTORCH_ROCM_ARCH="gfx942", **torch)
        self.assertEqual((one["torch_gpu"], one["rocm_version"], one["torch_gpu_archs"]), ("rocm", "6.2", "gfx942"))
        # Scripts for ROCm switch CUDA off, which contradicts nothing.
        for rocm in ({"USE_ROCM": "1"}, {"USE_ROCM": "true", "USE_CUDA": "off", "USE_NCCL": "no"}, {"DESIRED_CUDA": "rocm6.2"}, {"PYTORCH_ROCM_ARCH": "gfx942"}):
            with self.subTest(str(rocm)):
                self.assertEqual({one["torch_gpu"] for one in self.variants(RECIPES / "pytorch", **{"USE_CUDA": "0", **torch, **rocm})}, {"rocm"})
        one, = self.variants(RECIPES / "magma", DESIRED_CUDA="cu128", MAGMA_VERSION="2.9.0",
                             CUDA_ARCH_LIST="-gencode arch=compute_100,code=sm_100")
        self.assertEqual((one["cuda_compiler_version"], one["magma_archs"]), ("12.8", "10.0"))

    def test_variables_of_the_domain_libraries(self):
        torch = {"PYTORCH_VERSION": "2.6.0", "DESIRED_PYTHON": "3.11"}
        cuda = {"torch_gpu": "cuda", "cuda_compiler_version": "12.6"}
        for name, variables, keys in (
                ("torchvision", {"BUILD_VERSION": "0.21.0", "TORCHVISION_USE_PNG": "0", "TORCHVISION_USE_FFMPEG": "1", "TORCHVISION_USE_VIDEO_CODEC": "1"},
                 {"torch_version": "2.6.0", "torch_gpu": "cpu", "torchvision_png": "off", "torchvision_video": "on"}),
                ("torchvision", {**torch, "CU_VERSION": "cu126", "FORCE_CUDA": "1", "TORCH_CUDA_ARCH_LIST": "9.0", "TORCHVISION_USE_NVJPEG": "1"},
                 {**cuda, "torchvision_version": "0.21.0", "torch_gpu_archs": "9.0", "torchvision_nvjpeg": "on"}),
                ("torchaudio", {"BUILD_VERSION": "2.6.0+cu126", "BUILD_SOX": "0", "USE_FFMPEG": "1", "BUILD_RNNT": "0", "USE_CUDA": "1"},
                 {**cuda, "torch_version": "2.6.0", "torchaudio_sox": "off", "torchaudio_ffmpeg": "on", "torchaudio_rnnt": "off"}),
                ("torchaudio", {**torch, "PYTORCH_ROCM_ARCH": "gfx942", "FORCE_CUDA": "1", "BUILD_VERSION": "2.6.0+rocm6.2", "USE_CUDA": "0"},
                 {"torch_gpu": "rocm", "rocm_version": "6.2", "torch_gpu_archs": "gfx942"}),
                ("torchtext", {"PYTORCH_VERSION": "2.3.1", "DESIRED_CUDA": "cpu"}, {"torchtext_version": "0.18.0", "torch_gpu": "cpu"}),
                ("torch_scatter", {**torch, "DESIRED_CUDA": "cu126", "FORCE_ONLY_CPU": "0"}, cuda)):
            with self.subTest(name, **variables):
                one, = self.variants(RECIPES / name, **{"DESIRED_PYTHON": "3.11", "MAX_JOBS": "2", **variables})
                self.assertEqual({key: one.get(key) for key in keys}, keys)
        for name, variables, why in (("torchvision", {"BUILD_VERSION": "0.22.0a0+1234"}, "only releases are listed"),
                                     ("torchvision", {"TORCHVISION_USE_VIDEO_CODEC": "1"}, "it needs TORCHVISION_USE_FFMPEG=1"),
                                     ("torchaudio", {"BUILD_VERSION": "2.6.0+cpu", "FORCE_CUDA": "1"}, "contradict each other"),
                                     ("torch_scatter", {"FORCE_CUDA": "1", "FORCE_ONLY_CPU": "1"}, "contradict each other"),
                                     ("torchtext", {"PYTORCH_VERSION": "2.6.0a0+git"}, "only releases of torch are listed")):
            with self.subTest(name, **variables):
                self.assertIn(why, self.render(RECIPES / name, exit_code=2, **variables))

    def test_contradictions_and_values_without_a_meaning(self):
        for variables, why in (
                ({"DESIRED_CUDA": "cpu", "TORCH_CUDA_ARCH_LIST": "8.0"}, "DESIRED_CUDA=cpu and TORCH_CUDA_ARCH_LIST=8.0 contradict each other"),
                ({"DESIRED_CUDA": "cu128", "TORCH_CUDA_ARCH_LIST": "8.0", "CUDA_ARCH_LIST": "sm_90"}, "'torch_gpu_archs' would be both '9.0' and '8.0'"),
                ({"MAX_JOBS": "8", "CMAKE_BUILD_PARALLEL_LEVEL": "4"}, "contradict each other"),
                ({"DESIRED_CUDA": "cu128", "USE_CUDA": "0"}, "DESIRED_CUDA=cu128 and USE_CUDA=0 contradict each other"),
                ({"USE_ROCM": "1", "USE_CUDA": "1"}, "USE_CUDA=1 and USE_ROCM=1 contradict each other"),
                ({"PYTORCH_BUILD_VERSION": "2.6.0", "OVERRIDE_PACKAGE_VERSION": "2.7.0"}, "'torch_version' would be both"),
                ({"PACKAGE_TYPE": "libtorch"}, "PACKAGE_TYPE=libtorch: build recipes/pytorch with --format zip for libtorch"),
                ({"PACKAGE_TYPE": "deb"}, "PACKAGE_TYPE=deb means nothing here"),
                ({"DESIRED_PYTHON": "2.7mu"}, "ptpkg supports Python 3.5 and later"), ({"DESIRED_PYTHON": "cp310-cp311"}, "means nothing here"),
                ({"DESIRED_CUDA": "cu999x"}, "from_env.yaml:"), ({"DESIRED_CUDA": "xpu"}, "DESIRED_CUDA=xpu means nothing here"),
                ({"GPU_CC": "86"}, "write it with a point"), ({"USE_MKLDNN": "maybe"}, "USE_MKLDNN=maybe is neither on nor off"),
                ({"PYTORCH_BUILD_NUMBER": "2"}, "PYTORCH_BUILD_NUMBER=2: the recipe makes the first build"),
                ({"PYTORCH_BUILD_VERSION": "2.7.0.dev20250101"}, "a nightly has no tag"), ({"MAX_JOBS": "many"}, "MAX_JOBS=many means nothing here"),
                ({"DESIRED_CUDA": "cu121"}, "list no '12.1' of 'cuda_compiler_version', and pair its values with 'torch_gpu_archs'"),
                ({"TORCH_CUDA_ARCH_LIST": "8.0"}, "list no '8.0' of 'torch_gpu_archs'"),
                ({"DESIRED_CUDA": "cu128", "CUDA_ARCH_LIST": "-gencode arch=compute_80,code=sm_86"}, "one GPU architecture"),
                ({"DESIRED_CUDA": "cu128", "CUDA_ARCH_LIST": "compute_80"}, "cannot express 'compute_80' alone"),
                ({"USE_VULKAN": "1\n2"}, "USE_VULKAN has control characters")):
            with self.subTest(str(variables)):
                code = 3 if "CUDA_ARCH_LIST" in variables and "GPU architecture" in why or "express" in why else 2
                said = self.render(RECIPES / "pytorch", exit_code=code, **variables)
                self.assertIn(why, said)
                self.assertIn("hint: ", said)

    def test_a_recipe_without_a_table(self):
        folder = self.toy()
        (folder / "from_env.yaml").unlink()
        self.assertIn("--from-env: none of its variables is set\n", self.render(folder))
        self.assertIn("USE_MKL=1: not used: ", self.render(folder, USE_MKL="1"))
        # As Azure exports the message of a commit
        self.assertIn("BUILD_SOURCEVERSIONMESSAGE=…: not used: ", self.render(folder, BUILD_SOURCEVERSIONMESSAGE="a\nb"))
        self.assertIn("DESIRED_CUDA=cu130: the recipe does not use it", self.render(folder, DESIRED_CUDA="cu130", exit_code=2))
        said = self.render(folder, DESIRED_PYTHON="3.12", exit_code=2)
        self.assertIn("DESIRED_PYTHON=3.12 sets 'python', but the recipe does not use it", said)
        self.assertIn("hint: unset DESIRED_PYTHON", said)
        # A table beside the recipe that names another recipe
        self.assertIn("DESIRED_CUDA=cu130: the recipe does not use it",
                      self.render(RECIPES / "pytorch/c10_cuda.yaml", DESIRED_CUDA="cu130", exit_code=2))
        said = self.ptpkg("render", RECIPES / "pytorch", RECIPES / "magma", "--from-env", exit_code=2).stderr
        self.assertIn("each have a from_env.yaml", said)
        # The variant files of a table would replace those of the other recipe.
        said = self.ptpkg("render", folder, RECIPES / "pytorch", "--from-env", exit_code=2).stderr
        self.assertIn("is not for the other recipes of this run", said)

    def test_mistakes_in_a_table(self):
        for text, why in (("variables: {A: [{set: {x: 1}}, {sett: {x: 1}}]}", "unknown key 'sett' in a rule"),
                          ("variables: {A: [{match: x}]}", "a rule needs an action"), ("variables: {'A(': [{jobs: 1}]}", "not a regular expression"),
                          ("variables: {A: [{match: '[', jobs: 1}]}", "not a regular expression"), ("recipe: a.yaml", "a mapping 'variables'"),
                          ("variables: {A: []}", "'A' has no list of rules"), ("variable: {}", "'variable' is not 'recipe'"),
                          ("variables: {A: [{set: {x: [1]}}]}", "expected text, found a list"), ("variants: x", "expected a list, found text"),
                          ("variables: {A: [{set: x}]}", "expected a mapping for 'set', found text"),
                          ("variables: {A: [{with: [B], jobs: 1}]}", "expected a mapping for 'with', found a list"),
                          ("variables: {A: [{with: {B: '('}, jobs: 1}]}", "not a regular expression"),
                          ("variables: {A: [{refuse: no, jobs: 1}]}", "a rule with 'refuse' has no other action"),
                          ("variables: {A: [{unused: no, set: {x: 1}}]}", "a rule with 'unused' has no other action"),
                          ("variables: {A: [{refuse: no, variants: [v.yaml]}]}", "a rule with 'refuse' has no other action"),
                          ("variables: {A: [{jobs: x}]}", "'x' is not a number of jobs")):
            with self.subTest(text):
                said = self.render(self.toy(table=text), exit_code=3, A="1")
                self.assertIn(why, said)
                self.assertIn("from_env.yaml:1:", said)
        for key in ("variants: [v.yaml]", "recipe: other.yaml", "include: third.yaml"):
            (self.scratch / "toy/more.yaml").write_text(f"{key}\nvariables: {{A: [{{jobs: 1}}]}}\n")
            self.assertIn("more.yaml' is included, so it has 'variables' only",
                          self.render(self.toy(table="include: more.yaml\nvariables: {B: [{jobs: 1}]}"), exit_code=3, A="1"))
        self.render(self.toy(table="include: none.yaml\nvariables: {B: [{jobs: 1}]}"), exit_code=4, A="1")
        self.assertIn("'deb' is not a package format", self.render(self.toy(table="variables: {A: [{format: deb}]}"), exit_code=3, A="1"))

    def test_a_variable_of_the_build_environment_is_part_of_the_key(self):
        folder = self.toy()
        for value, runs in (("1", True), ("1", False), ("2", True)):
            summary = self.ptpkg_json("build", folder, "--from-env", "--format", "tar.bz2", USE_MKL="OFF", USE_TOY=value, MAX_JOBS="3")
            self.assertEqual(self.stage_states(summary)["build", "toy-1.0-off_0"], runs, value)
            package, = (one["path"] for one in summary["artifacts"])
            with tarfile.open(package) as archive:
                self.assertEqual(archive.extractfile("share/toy").read().decode(), f"{value} 3\n")
        self.ptpkg("rebuild", package, "--source", f"toy={folder / 'source'}", "--jobs", "3")
        summary = self.ptpkg_json("build", folder, "--from-env", USE_MKL="OFF", PACKAGE_TYPE="conda")
        self.assertEqual([one["path"].rsplit("/", 1)[1] for one in summary["artifacts"]], ["toy-1.0-off_0.conda"])

    def test_groups_and_contradicting_formats(self):
        folder = self.toy(table="variables: {A: [{match: 'cu([0-9]+)', set: {extra: $10.$$0$2}}], B: [{format: conda}], C: [{format: $0}]}")
        self.assertEqual({one["extra"] for one in self.variants(folder, A="cu12")}, {"120.$cu12"})
        self.assertIn("B=1 and C=wheel contradict each other: '--format' would be both 'conda' and 'wheel'",
                      self.render(folder, B="1", C="wheel", exit_code=2))
        self.render(folder, B="1", C="conda")

    def test_a_secret_is_neither_shown_nor_passed_on(self):
        folder = self.toy(table="variables:\n  SET_.+: [{match: '(.*)', set: {extra: $1}}]\n  USE_TOKENS: [{switch: mkl}]\n"
                                "  USE_KEPT_TOKEN: [{unused: the script gets it}]\n  USE_.+: [{environment: extra}]\n")
        for name, value in (("USE_API_TOKEN", "hunter2"), ("SET_PASSWORD", "hunter2"), ("USE_INDEX", "https://me:" + "hunter2@example.org")):
            with self.subTest(name):
                said = self.render(folder, exit_code=2, **{name: value})
                self.assertIn(f"{name}=**** is a secret, and the package would contain it", said)
                self.assertIn("build.script.secrets", said)
                self.assertNotIn("hunter2", said)
        for name in ("USE_KEPT_TOKEN", "BUILD_API_TOKEN"):
            self.assertIn(f"{name}=****: not used: ", self.render(folder, **{name: "hunter2"}))
        self.assertEqual([one["mkl"] for one in self.variants(folder, USE_TOKENS="1")], ["on"])
        self.assertIn("USE_TOKENS=**** is neither on nor off", self.render(folder, USE_TOKENS="hunter2", exit_code=2))

    def test_options_of_the_line_win(self):
        folder = self.toy()
        (folder / "ptpkg.toml").write_text('jobs = 2\n[build]\nformat = ["tar.bz2"]\n')
        said = self.ptpkg("build", folder, "--from-env", "--plan", PACKAGE_TYPE="conda", MAX_JOBS="3").stderr
        self.assertIn("PACKAGE_TYPE=conda: --format conda\n", said)
        self.assertIn("MAX_JOBS=3: --jobs 3\n", said)
        (folder / "ptpkg.toml").unlink()
        said = self.ptpkg("build", self.scratch / "toy", "--from-env", "--plan", "--format", "tar.bz2", "--jobs", "2",
                          PACKAGE_TYPE="conda", MAX_JOBS="3").stderr
        self.assertIn("PACKAGE_TYPE=conda: not used, because --format is given\n", said)
        self.assertIn("MAX_JOBS=3: not used, because --jobs is given\n", said)
        folder = self.toy(table="variants: [on.yaml, off.yaml]\n" + TABLE)
        for value in ("on", "off"):
            (folder / f"{value}.yaml").write_text(f'mkl: ["{value}"]\n')
        self.assertEqual([one["mkl"] for one in self.variants(folder, USE_TOY="1")], ["off"])
        self.assertEqual([one["mkl"] for one in self.variants(folder, "--variants", folder / "on.yaml", USE_TOY="1")], ["on"])
        self.toy()
        self.assertIn("no variant has the value 'off' of 'mkl'",
                      self.render(self.scratch / "toy", "--select", "mkl=off", USE_MKL="1", exit_code=2))


if __name__ == "__main__":
    harness.main()
