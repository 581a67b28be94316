"""recipes/pytorch/torch.yaml without building it: its matrix, what it refuses, and its table of switches against PyTorch's own files.

PTPKG_PYTORCH_SOURCE names the unpacked sources of PyTorch 2.6.0 (recipes/pytorch/recipe.yaml says which); without it what
needs them is skipped.
"""

import json
import os
import pathlib
import re
import shutil
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
    "torch_cupti_so": ("1.8.1", "1.7.1", "which came with 1.8"),
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

    def test_a_version_outside_the_table_is_refused(self):
        for version in ("1.0.1", "2.16.0"):
            with self.subTest(version):
                self.assertIn(f"version '{version}' is outside the table, which has rows for >=1.1,<1.2 to ",
                              self.render(version, 3))
        # A release candidate has the row of its release.
        self.assertIn("pytorch-2.15.0rc1-", self.render("2.15.0rc1", python="3.12"))

    def test_a_new_release_is_a_row(self):
        """As docs/tutorials/pytorch.md says: no line of torch.yaml or of a domain library is edited."""
        copy = self.scratch / "recipes"
        for name in ("pytorch", "torch_scatter"):
            shutil.copytree(harness.REPOSITORY / "recipes" / name, copy / name, symlinks=True)
        table = copy / "pytorch/torch_versions.yaml"
        rows, rest = table.read_text(encoding="utf-8").split("\n# The end of a refusal", 1)
        table.write_text(rows + """
  - versions: ">=2.16,<2.17"
    python: ">=3.12,<3.17"
    cuda: ">=13.1"
    requires: [typing_extensions >=5]
    switches:
      mkldnn: {"on": export USE_ONEDNN=1, "off": export USE_ONEDNN=0}
      itt: {"on": null, "off": null}

# The end of a refusal""" + rest, encoding="utf-8")
        mine = self.scratch / "mine.yaml"

        def render(recipe, *files, exit_code=0, **values):
            mine.write_text("".join(f"{key}: {value}\n" for key, value in values.items()))
            words = [word for name in (*files, mine) for word in ("--variants", copy / "pytorch" / name)]
            if exit_code:
                return self.ptpkg("render", copy / recipe, *words, exit_code=exit_code).stderr
            return [one for one in self.ptpkg_json("render", copy / recipe, *words) if not one["skip"]]

        new = {"torch_version": '["2.16.0"]', "python": '["3.11", "3.12", "3.16"]'}
        built = render("pytorch/torch.yaml", "variants_torch.yaml", **new)
        self.assertEqual([one["file_stem"] for one in built], ["pytorch-2.16.0-py3.12_cpu_0", "pytorch-2.16.0-py3.16_cpu_0"])
        self.assertIn("typing_extensions >=5", built[0]["requirements"]["run"])
        self.assertIn("has no switch torch_itt", render("pytorch/torch.yaml", "variants_torch.yaml", **new, torch_itt="[on]", exit_code=3))
        gpu = {"torch_gpu_archs": '["9.0", "9.0"]', "cuda_compiler_version": '["13.0", "13.1"]'}
        for recipe in ("pytorch/torch.yaml", "torch_scatter"):
            built = render(recipe, "variants_torch.yaml", "variants_torch_cuda.yaml", **new, **gpu)
            self.assertEqual({one["variant"]["cuda_compiler_version"] for one in built}, {"13.1"})

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
                            ({"torch_nccl_root": "/opt/nccl"}, "torch_nccl_root is for torch_gpu cuda with torch_nccl system"),
                            ({"torch_cuda_link": "static"}, "static is for torch_gpu")):
            with self.subTest(str(values)):
                self.assertIn(why, self.render("2.6.0", 3, **values))

    def test_requirements_of_the_wheel_for_cuda_are_those_of_the_index(self):
        """By release and toolkit: how many there are, and some of them."""
        for version, toolkit, count, some in (
                ("1.13.1", "11.7", 4, "nvidia-cudnn-cu11==8.5.0.96"), ("2.0.1", "11.7", 12, "nvidia-nccl-cu11==2.14.3"),
                ("2.3.1", "12.1", 12, "triton==2.3.1"), ("2.5.1", "12.4", 13, "nvidia-nvjitlink-cu12==12.4.127"),
                ("2.6.0", "12.4", 14, "nvidia-cusparselt-cu12==0.6.2"), ("2.6.0", "12.6", 0, ""), ("2.7.1", "12.6", 15, "nvidia-cublas-cu12==12.6.4.1"),
                ("2.9.1", "12.8", 16, "nvidia-nvshmem-cu12==3.3.20"), ("2.11.0", "13.0", 7, "nvidia-cudnn-cu13==9.19.0.56"),
                ("2.15.0", "13.2", 7, "nvidia-cudnn-cu13==9.26.0.51"), ("2.6.0", "11.8", 0, ""), ("2.15.0", "12.8", 0, "")):
            with self.subTest(f"{version} for CUDA {toolkit}"):
                python = "3.10" if version == "1.13.1" else "3.11"
                plan = self.plan(*self.variants("cuda", torch_version=version, python=python, torch_gpu_archs="9.0",
                                                cuda_compiler_version=toolkit), *self.stand_in())
                wheel, = (node["inputs"] for node in plan["nodes"] if node["stage"] == "wheel")
                found = wheel["output"]["wheel_requires"]
                self.assertEqual(len(found), count, found)
                self.assertTrue(not some or any(one.startswith(f"{some}; platform_system == 'Linux'") for one in found), found)

    def script(self, *arguments) -> str:
        """The build script of one variant, as a plan has it."""
        plan = self.plan(*arguments, *self.stand_in())
        script, = (node["inputs"]["script"] for node in plan["nodes"] if node["stage"] == "build")
        return script + "\n"

    def stand_in(self) -> list:
        """An option that names a source which holds nothing."""
        source = self.scratch / "source"
        source.mkdir(exist_ok=True)
        (source / "setup.py").touch()
        return ["--source", f"pytorch={source}"]

    def plan(self, *arguments) -> dict:
        """Of the recipe without what a plan would look for on this machine."""
        text = (RECIPE / "torch.yaml").read_text(encoding="utf-8")
        trimmed = self.scratch / "trimmed"
        trimmed.mkdir(exist_ok=True)
        shutil.copy(RECIPE / "torch_versions.yaml", trimmed)
        of_wheel = re.search(r"(?m)^      requires:\n(?:        - .*\n)+", text)[0]
        text = re.sub("(?m)^  string: .*\n", "", text[:text.index("\noutputs:")])
        text = text.replace("\nrecipe:\n", "\npackage:\n")
        (trimmed / "recipe.yaml").write_text(re.sub(r"(?ms)^source:.*?^build:", "source:\n  path: source\nbuild:", text)
                                             + f"\nextra:\n  ptpkg:\n    formats: [wheel]\n    wheel:\n{of_wheel}", encoding="utf-8")
        return self.ptpkg_json("build", trimmed, *arguments, "--output", self.scratch / "dist", "--plan")

    def test_options_of_nvcc_and_switches_of_the_releases(self):
        values = {"torch_version": "2.9.1", "python": "3.11", "torch_gpu_archs": "9.0", "cuda_compiler_version": "13.0",
                  "torch_compress": "size", "torch_nvcc_threads": "2", "torch_binary_build": "on", "torch_install_test": "off",
                  "torch_cupti_so": "off"}
        script = self.script(*self.variants("cuda", **values))
        for line in ('TORCH_NVCC_FLAGS="-compress-mode=size --threads 2"', "TH_BINARY_BUILD=1", "INSTALL_TEST=0", "USE_CUPTI_SO=0"):
            self.assertIn(f"export {line}\n", script)
        script = self.script(*self.variants("cuda", **{**values, "torch_compress": "off", "torch_nvcc_threads": "1"}))
        self.assertIn('export TORCH_NVCC_FLAGS=""\n', script)
        for wrong, why in (({"cuda_compiler_version": "12.6"}, "is for CUDA 12.8 and later"),
                           ({"torch_compress": "most"}, "torch_compress is all, size or off"),
                           ({"torch_nvcc_threads": "many"}, "'many' is not a whole number"),
                           ({"torch_binary_build": "maybe"}, "none of them")):
            said = self.ptpkg("render", RECIPE / "torch.yaml", *self.variants("cuda", **{**values, **wrong}), exit_code=3).stderr
            self.assertIn(why, said)

    def test_the_directory_of_nccl(self):
        values = {"torch_version": "2.6.0", "python": "3.11", "torch_gpu_archs": "9.0", "cuda_compiler_version": "12.6"}
        for root, named in (("default", False), ("/opt/nccl", True)):
            arguments = self.variants("cuda", **values, torch_nccl_root=root)
            line = 'export NCCL_ROOT_DIR="/opt/nccl" NCCL_INCLUDE_DIR="/opt/nccl/include" NCCL_LIB_DIR="/opt/nccl/lib"\n'
            self.assertEqual(line in self.script(*arguments), named)
            one, = (one for one in self.ptpkg_json("render", RECIPE / "torch.yaml", *arguments) if not one["skip"])
            self.assertEqual("nccl" in one["requirements"]["host"], not named)
            self.assertIn("nccl >=2.21.5,<3", one["requirements"]["run"])
        said = self.ptpkg("render", RECIPE / "torch.yaml", *self.variants("cuda", **values, torch_nccl="off", torch_nccl_root="/opt/nccl"),
                          exit_code=3).stderr
        self.assertIn("torch_nccl_root is for torch_gpu cuda with torch_nccl system", said)

    def test_a_candidate_a_branch_and_a_commit_are_sources(self):
        rendered = self.ptpkg_json("render", RECIPE / "torch.yaml", *self.variants("", torch_version="2.7.0rc1", python="3.11"))
        one, = (one for one in rendered if not one["skip"])
        self.assertEqual(one["sources"][0]["tag"], "v2.7.0-rc1")
        self.assertEqual(one["version"], "2.7.0rc1")
        clone = self.scratch / "clone"
        clone.mkdir()
        (clone / "setup.py").write_text("one")
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
        for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"], ["checkout", "-q", "-b", "release/2.4"],
                      ["commit", "-q", "--allow-empty", "-m", "two"]):
            subprocess.run([*git, *words], cwd=clone, check=True, capture_output=True)
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True).stdout.strip()
        for name in ("release/2.4", commit):
            plan = self.plan(*self.variants("", torch_version="2.4.2", python="3.11"), "--source", f"pytorch={clone}@{name}")
            self.assertIn(commit, json.dumps(plan))

    def variants(self, gpu: str, **values: str) -> list:
        mine = self.scratch / "mine.yaml"
        mine.write_text("zip_keys: []\n" + "".join(f'{key}: ["{value}"]\n' for key, value in values.items()))
        files = ["variants_torch.yaml"] + [f"variants_torch_{gpu}.yaml"] * bool(gpu)
        return [word for file in (*(RECIPE / name for name in files), mine) for word in ("--variants", file)]

    def test_one_python_of_several_gives_libtorch(self):
        for value, of in (("default", "3.11"), ("3.12", "3.12"), ("off", None)):
            mine = self.scratch / "mine.yaml"
            mine.write_text(f'torch_version: ["2.6.0"]\npython: ["3.11", "3.12"]\ntorch_libtorch: ["{value}"]\n')
            for one in self.ptpkg_json("render", RECIPE / "torch.yaml", "--variants", RECIPE / "variants_torch.yaml", "--variants", mine):
                if one["skip"]:
                    continue
                self.assertEqual("zip" in one["formats"], one["variant"]["python"] == of, f"{value}: {one['file_stem']}")

    def test_every_switch_of_the_variants_is_in_the_table(self):
        keys = set(re.findall(r"^(torch_\w+):", (RECIPE / "variants_torch.yaml").read_text(encoding="utf-8"), re.MULTILINE))
        table = (RECIPE / "torch.yaml").read_text(encoding="utf-8")
        values = set(re.findall(r"\bsw\.(\w+)", table))
        rows = (RECIPE / "torch_versions.yaml").read_text(encoding="utf-8")
        self.assertEqual(set(re.findall(r"(?m)^      (\w+): ", rows)) & values, values)
        self.assertEqual({key for key in keys if not re.search(rf"\b{key}\b", table)}, set())

    def test_names_of_1_1_are_those_of_its_time(self):
        one, = json.loads((GOLDEN / "1.1.0_off.json").read_text())
        variables = exported(one["script"])
        self.assertEqual({name for name in variables if name.startswith("USE_")}, {"USE_ROCM"})
        self.assertEqual({variables[name] for name in variables if name.startswith("NO_") and name != "NO_CUDA"}, {"1"})
        self.assertEqual(variables["NO_CUDA"], "0")

    def test_names_are_those_of_the_sources(self):
        """A variable that no file of the build reads would be dropped in silence."""
        for version, golden, least in (("2.6.0", ("off", "cpu", "cuda", "nccl_root", "rocm", "debian"), 20), ("1.13.1", ("cpu", "debian"), 10)):
            with self.subTest(version):
                place = source(version)
                if place is None:
                    self.skipTest(f"{SOURCES[version]} does not name the sources of PyTorch {version}")
                files = [place / "CMakeLists.txt", place / "setup.py", *(place / "cmake").rglob("*.cmake"),
                         *(place / "tools/setup_helpers").glob("*.py")]
                known = set(re.findall(r"\b(?:USE|BUILD|NCCL)_[A-Z0-9_]+\b", "\n".join(path.read_text(errors="replace") for path in files)))
                count = 0
                for name in golden:
                    one, = json.loads((GOLDEN / f"{version}_{name}.json").read_text())
                    variables = {key for key in exported(one["script"]) if key.startswith(("USE_", "BUILD_", "NCCL_"))}
                    self.assertEqual(variables - known, set(), name)
                    count = max(count, len(variables))
                self.assertGreater(count, least)

    def test_patches_apply_to_the_sources_and_are_all_used(self):
        rendered = (RECIPE / "torch_versions.yaml").read_text(encoding="utf-8")
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

    def test_rocm_with_a_compiler_of_conda(self):
        """The commands run; hipcc and conda's compiler are stand-ins, as neither is on the registries that CI has."""
        rocm, build, work = self.scratch / "rocm", self.scratch / "build", self.scratch / "work"
        for folder in (rocm / "include/thrust", build / "bin", work):
            folder.mkdir(parents=True)
        (rocm / "include/thrust/version.h").write_text("1")
        os.utime(rocm / "include/thrust/version.h", (1_000_000_000, 1_000_000_000))
        for name, says in (("hipcc", "  --gcc-install-dir=<arg>"), ("g++", f"{build}/lib/gcc/x/13/libgcc.a")):
            (build / "bin" / name).write_text(f"#!/bin/sh\necho '{says}'\n")
            (build / "bin" / name).chmod(0o755)
        one, = json.loads((GOLDEN / "2.6.0_rocm.json").read_text())
        lines = [line for line in one["script"] if "ROCM_PATH" in line or "rocm_in_conda" in line]
        self.assertEqual(len(lines), 2)

        def run(compiler) -> list[str]:
            script = "\n".join([*lines, 'echo "$HIPCC_COMPILE_FLAGS_APPEND|$HIPCC_LINK_FLAGS_APPEND|$CXXFLAGS|$HIP_PLATFORM"'])
            env = {"PATH": f"{build}/bin:/usr/bin:/bin", "ROCM_PATH": str(rocm), "CXX": str(compiler), "BUILD_PREFIX": str(build), "PREFIX": "/none",
                   "SRC_DIR": str(work), "RECIPE_DIR": str(RECIPE), "HIPCC_COMPILE_FLAGS_APPEND": "-maps", "CXXFLAGS": "-O2"}
            done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=work, env=env, text=True, capture_output=True, check=True)
            return done.stdout.strip().split("|")

        self.assertEqual(run("/usr/bin/g++"), ["-maps", "", "-O2", "amd"])
        self.assertEqual(list(work.iterdir()), [])
        gcc = f"--gcc-install-dir={build}/lib/gcc/x/13"
        copied = [f"-I{work}/rocm-include -maps {gcc}", gcc, f"-I{work}/rocm-include -O2", "amd"]
        self.assertEqual(run(build / "bin/g++"), copied)
        header = work / "rocm-include/thrust/version.h"
        self.assertEqual(header.stat().st_mtime, 1_000_000_000)
        header.write_text("kept")
        self.assertEqual(run(build / "bin/g++"), copied)
        self.assertEqual(header.read_text(), "kept")
        (build / "bin/hipcc").write_text("#!/bin/sh\n")  # clang before 16
        self.assertEqual(run(build / "bin/g++")[:2], [f"-I{work}/rocm-include -maps", ""])

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

    def test_a_split_build(self):
        """One native part, which reads no Python, and which releases have it."""
        rendered = [one for one in self.ptpkg_json("render", RECIPE / "torch.yaml", *self.split("2.6.0")) if not one["skip"]]
        self.assertEqual([re.sub("h[0-9a-f]{7}", "hHASH", one["file_stem"]) for one in rendered],
                         ["libtorch-2.6.0-cpu_hHASH_0", "pytorch-2.6.0-py3.10_cpu_0", "pytorch-2.6.0-py3.12_cpu_0"])
        self.assertEqual(len({json.dumps(one["inherits"], sort_keys=True) for one in rendered}), 1)
        for one in rendered:
            self.assertNotIn("python", one["inherits"]["variant"])
            self.assertEqual(f"libtorch ==2.6.0 {rendered[0]['build_string']}" in one["requirements"]["run"], one["name"] == "pytorch")
        self.assertNotIn("python", rendered[0]["variant"])
        said = self.ptpkg("render", RECIPE / "torch.yaml", *self.split("2.15.0"), exit_code=3).stderr
        self.assertIn("torch_split on is for releases up to 2.13", said)

    def split(self, version: str) -> list:
        options = self.variants("", torch_version=version, torch_split="on")
        with open(self.scratch / "mine.yaml", "a", encoding="utf-8") as file:
            file.write('python: ["3.10", "3.12"]\n')
        return options

    def test_sources_of_another_version_end_the_build_before_it_is_configured(self):
        """The first commands of the script themselves, with bash."""
        for wanted, file, text, status in (("2.6.0", "version.txt", "2.6.0", 0), ("2.6.0", "version.txt", "2.5.0a0", 1),
                                           ("2.6.0", "version.txt", "2.60.0", 1), ("1.13.1", "version.txt", "1.13.0a0", 0),
                                           ("2.6.0+cu130", "version.txt", "2.6.1a0+git1", 0), ("2.15.0rc1+cpu", "version.txt", "2.15.0a0", 0),
                                           ("1.1.0", "setup.py", "version = '1.1.0a0'", 0), ("1.1.0", "setup.py", "version = '1.2.0a0'", 1),
                                           ("2.6.0", "setup.py", "version = get_torch_version()", 0)):
            with self.subTest(f"{wanted} from {text}"):
                one, = json.loads((GOLDEN / "2.6.0_cpu.json").read_text())
                place = self.scratch / f"{wanted} {text}"
                place.mkdir()
                (place / "setup.py").write_text("import os\n")
                (place / file).write_text(f"{text}\n")
                done = subprocess.run(["bash", "-ec", "\n".join(one["script"][:2])], env={**os.environ, "PYTORCH_BUILD_VERSION": wanted},
                                      cwd=place, text=True, capture_output=True, check=False)
                self.assertEqual(done.returncode, status, done.stderr)
                plain = wanted.split("+")[0]
                self.assertEqual(f"and the variant is {plain} - name that release with --source pytorch=PATH" in done.stderr, status == 1)

    def test_words_that_are_no_architecture_end_the_build_before_it_is_configured(self):
        """The rows of the script themselves, with bash."""
        rocm = "gfx900;gfx906;gfx908;gfx90a;gfx942;gfx1030;gfx1100;gfx1101;gfx1200;gfx1201"
        for name, given, more, bad in (
                ("2.6.0_cuda", "5.0;6.0;7.0;7.5;8.0;8.6;9.0", "9.0a 12.0+PTX", ("sm_90", "90", "8.0,9.0", "10.0f", "90-real", "9", "Hopper")),
                ("2.6.0_names", "7.5;8.0;8.6 9.0+PTX", "9.0a 12.0+PTX", ("10.0f",)),
                ("2.15.0_cuda", "7.5;8.0;8.6;9.0;10.0;12.0+PTX", "9.0a 10.0f 12.0f+PTX", ("10.0af", "10.0b")),
                ("2.6.0_rocm", rocm, "gfx942", ("8.0", "none"))):
            one, = json.loads((GOLDEN / f"{name}.json").read_text())
            row, = (line for line in one["script"] if line.startswith("for word in "))
            words = given.replace(";", " ")
            self.assertIn(words, row)
            for word in (words, more):
                subprocess.run(["bash", "-ec", row.replace(words, word)], check=True)
            for word in bad:
                done = subprocess.run(["bash", "-ec", row.replace(words, word)], check=False, capture_output=True, text=True)
                self.assertEqual(done.returncode, 1, word)
                self.assertIn(f"'{word}' is no", done.stderr)

    def test_names_of_gpus_are_those_of_the_release(self):
        for version, python, toolkit, given, listed in (
                ("1.13.1", "3.10", "11.7", "Volta;Ampere+PTX", "7.0;8.0+PTX"), ("2.0.1", "3.10", "11.8", "Ada Ampere", "8.9 8.0;8.6"),
                ("2.6.0", "3.11", "12.8", "Hopper;Blackwell", "9.0;10.0"),
                ("2.9.1", "3.11", "13.0", "Blackwell+PTX", "10.0+PTX;12.0+PTX"), ("2.10.0", "3.11", "13.0", "10.0f", "10.0f")):
            with self.subTest(f"{given} of {version}"):
                values = {"torch_version": version, "python": python, "torch_gpu_archs": given, "cuda_compiler_version": toolkit}
                self.assertIn(f'export TORCH_CUDA_ARCH_LIST="{listed}"\n', self.script(*self.variants("cuda", **values)))
        for version, toolkit, given, why in (("2.5.1", "12.4", "Blackwell", "unknown GPU architecture 'Blackwell'"),
                                             ("2.6.0", "12.8", "9.0;10.0f", "takes no code for families of GPUs"),
                                             ("2.6.0", "12.8", "Hoper", "unknown GPU architecture 'Hoper'")):
            values = {"torch_version": version, "python": "3.11", "torch_gpu_archs": given, "cuda_compiler_version": toolkit}
            said = self.ptpkg("render", RECIPE / "torch.yaml", *self.variants("cuda", **values), exit_code=3).stderr
            self.assertIn(why, said)


if __name__ == "__main__":
    harness.main()
