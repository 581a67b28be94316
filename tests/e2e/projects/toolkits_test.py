"""Several CUDA toolkits on one machine: a build takes the one of each variant, and refuses what does not go together.

The toolkits are made here: an nvcc that is a script, headers and libraries of a line each. No CUDA is needed.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import harness

NVCC = f"""#!{sys.executable}
import pathlib, sys
if "--version" in sys.argv:
    sys.exit(print("Cuda compilation tools, release @SHORT@, V@FULL@"))
sys.path.insert(0, {str(harness.MODULES)!r})
import gpu_library
architectures, library = sys.argv[1:]
gpu_library.make(pathlib.Path(library).resolve(),
                 [[(gpu_library.CUBIN, one.replace(".", "")) for one in architectures.split(";")]])
"""

RECIPE = """
schema_version: 1
package:
  name: kernels-cuda${{ cuda_compiler_version | version_to_buildstring }}
  version: "1.0"
build:
  string: "1"
  script:
    - echo "compiling with $CUDA_HOME"
    - '"$CUDACXX" "${{ compiled }}" libkernels.so'
    - install -D libkernels.so "$PREFIX/lib/libkernels.so"
requirements:
  build: ["${{ compiler('cuda') }}"]
  host: [cuda-cudart-dev, @HOST@]
extra:
  ptpkg:
    formats: [conda, tar.bz2]
    device_code: ${{ archs }}
"""

VARIANTS = """
cuda_compiler_version: ["11.8", "12.4", "13.0"]
archs: ["3.7;8.0", "5.0;9.0", "8.0;12.0"]
compiled: ["3.7;8.0", "5.0;9.0", "8.0;12.0"]
zip_keys: [[cuda_compiler_version, archs, compiled]]
"""

# The packages that a solver takes on a machine with the driver of CONDA_OVERRIDE_CUDA.
SOLVE = """
import asyncio, os, sys, rattler
channel, cache, *specs = sys.argv[1:]
async def solve():
    machine = rattler.VirtualPackage.detect(rattler.VirtualPackageOverrides.from_env())
    records = await rattler.solve(sources=[rattler.Channel(channel)], specs=specs, gateway=rattler.Gateway(cache_dir=cache),
                                  platforms=["linux-64", "noarch"], virtual_packages=machine)
    print(*sorted(f"{one.name.normalized}-{one.version}-{one.build}" for one in records), flush=True)
    os._exit(0)  # rattler's threads may crash an interpreter that ends
asyncio.run(solve())
"""


def write(path: pathlib.Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def make_toolkit(root: pathlib.Path, version: str, gcc: str = "") -> pathlib.Path:
    """NVIDIA's layout. `gcc`: the version of one that lies beside nvcc."""
    major, minor, _ = version.split(".")
    write(root / "bin/nvcc", NVCC.replace("@SHORT@", f"{major}.{minor}").replace("@FULL@", version), 0o755)
    write(root / "bin/nvcc.profile", "")
    number = int(major) * 1000 + int(minor) * 10
    for name, text in {"cuda": f"#define CUDA_VERSION {number}\n", "cuda_runtime": "",
                       "cuda_runtime_api": f"#define CUDART_VERSION  {number}\n", "nvml": ""}.items():
        write(root / f"include/{name}.h", text)
    write(root / f"lib64/libcudart.so.{version}", "")
    (root / "lib64/libcudart.so").symlink_to(f"libcudart.so.{version}")
    if gcc:
        for name in ("gcc", "g++"):
            write(root / "bin" / name, f"#!/bin/sh\necho '{name} (Debian) {gcc}'\n", 0o755)
    return root


def assert_choices(case: harness.Case, channel: pathlib.Path) -> None:
    """The builds of libc10_cuda that a solver takes from a channel with three of them, by driver and by build string."""
    def taken(cuda: str, *specs: str) -> str:
        done = subprocess.run([harness.peers_python(), "-c", SOLVE, channel.as_uri(), case.scratch / "gateway", *specs], text=True,
                              env=case.environment(CONDA_OVERRIDE_CUDA=cuda), capture_output=True, check=False)
        if done.returncode != 0:
            case.assertIn("Cannot solve the request", done.stderr)
            return "none"
        return re.sub(r"_h[0-9a-f]{7}_\d+", "", done.stdout.strip())

    def both(build: str) -> str:
        return f"libc10-{build} libc10_cuda-{build}"

    case.assertEqual(taken("13.0", "libc10_cuda"), both("2.6.0-cuda130"))
    case.assertEqual(taken("12.6", "libc10_cuda"), both("2.6.0-cuda124"))
    case.assertEqual(taken("11.8", "libc10_cuda"), both("1.13.1-cuda118"))
    case.assertEqual(taken("13.0", "libc10_cuda 2.6.* cuda124*"), both("2.6.0-cuda124"), "by its build string")
    case.assertEqual(taken("13.0", "libc10_cuda * cuda118*"), both("1.13.1-cuda118"))
    case.assertEqual(taken("11.8", "libc10_cuda 2.6.*"), "none")
    case.assertEqual(taken("", "libc10_cuda"), "none", "no GPU")
    case.assertRegex(taken("", "libc10"), r"^libc10-2\.6\.0-cuda130$")


class Toolkits(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        harness.tool("gcc")
        self.toolkits = [make_toolkit(self.scratch / "cuda-11.8", "11.8.89", gcc="11.3.0"),
                         make_toolkit(self.scratch / "cuda-12.4", "12.4.131", gcc="12.2.0"),
                         make_toolkit(self.scratch / "cuda-13.0", "13.0.88", gcc="12.2.0")]
        self.output = self.scratch / "dist"
        self.recipe()

    def recipe(self, host: str = "") -> None:
        write(self.scratch / "kernels/recipe.yaml", RECIPE.replace("@HOST@", host))
        write(self.scratch / "kernels/variants.yaml", VARIANTS)

    def run_it(self, verb: str, *options, **more):
        named = ":".join(map(str, self.toolkits))
        output = () if verb == "doctor" else ("--output", self.output)
        return self.ptpkg(verb, self.scratch / "kernels", "--env", "system", "--cuda-home", named, *output, *options, **more)

    def assert_refused(self, message: str, hint: str, *options) -> None:
        """By doctor and by build, before the script runs."""
        said = self.run_it("doctor", *options, exit_code=1).stdout
        self.assertIn(message, said)
        self.assertIn(hint, said)
        done = self.run_it("build", *options, exit_code=7)
        self.assertIn(message, done.stderr)
        self.assertIn(hint, done.stderr)
        self.assertEqual([*self.output.rglob("*.build.log")], [], "something was compiled")

    def test_one_command_for_three_toolkits(self):
        self.run_it("build")
        made = harness.artifacts(self.output)
        self.assertEqual(sorted(made), [f"conda/linux-64/kernels-cuda{version}-1.0-1.{ending}"
                                        for version in ("118", "124", "130") for ending in ("conda", "tar.bz2")])
        lists = {"118": "sm_37 sm_80", "124": "sm_50 sm_90", "130": "sm_80 sm_120"}
        for toolkit, (version, architectures) in zip(self.toolkits, lists.items()):
            log = (self.output / f"logs/kernels-cuda{version}-1.0-1.build.log").read_text()
            self.assertIn(f"compiling with {toolkit}\n", log)
            text = self.ptpkg("inspect", self.output / f"conda/linux-64/kernels-cuda{version}-1.0-1.conda").stdout
            for architecture in architectures.split():
                self.assertIn(architecture, text)

    def test_the_gate_holds_each_list(self):
        write(self.scratch / "kernels/variants.yaml", VARIANTS.replace('compiled: ["3.7;8.0"', 'compiled: ["8.0"'))
        done = self.run_it("build", exit_code=1)
        self.assertIn("machine code for sm_37 is missing", done.stderr)
        self.assertEqual([*self.output.rglob("kernels-cuda118*.conda")], [])

    def test_toolkits_named_by_the_environment(self):
        named = ":".join(map(str, self.toolkits))
        said = self.ptpkg("doctor", self.scratch / "kernels", "--env", "system", PTPKG_CUDA_HOME=named).stdout
        for version in ("11.8.89", "12.4.131", "13.0.88"):
            self.assertIn(f"CUDA {version}", said)

    def test_a_version_that_no_toolkit_has(self):
        write(self.scratch / "kernels/variants.yaml", VARIANTS.replace("12.4", "12.3"))
        done = self.run_it("build", exit_code=4)
        self.assertIn("'cuda_linux-64 12.3.*' (", done.stderr)
        self.assertIn("cuda-12.4/bin/nvcc' 12.4.131", done.stderr)
        self.assertIn("give its directory with --cuda-home", done.stderr)

    def test_a_directory_that_is_not_a_toolkit(self):
        self.toolkits.append(self.scratch / "kernels")
        self.assertIn("kernels' is not a CUDA toolkit: it has no 'bin/nvcc'", self.run_it("build", exit_code=4).stderr)

    def test_a_compiler_that_is_too_new(self):
        for name in ("gcc", "g++"):
            write(self.scratch / "cuda-11.8/bin" / name, f"#!/bin/sh\necho '{name} (Debian) 12.2.0'\n", 0o755)
        self.assert_refused("nvcc 11.8.89 does not support g++ 12.2.0", "install an older g++")
        self.run_it("build", "--select", "cuda_compiler_version=12.4")

    def test_headers_of_another_toolkit(self):
        header = self.scratch / "cuda-12.4/include/cuda_runtime_api.h"
        shutil.copy(self.scratch / "cuda-11.8/include/cuda_runtime_api.h", header)
        self.assert_refused(f"nvcc is 12.4.131, but '{header}' belongs to CUDA 11.8", "--cuda-home")

    def test_a_library_of_another_toolkit(self):
        library = self.scratch / "cuda-12.4/lib64/libcudart.so"
        library.unlink()
        library.symlink_to(self.scratch / "cuda-11.8/lib64/libcudart.so.11.8.89")
        self.assert_refused(f"nvcc is 12.4.131, but '{library}' belongs to CUDA 11.8", "--cuda-home")

    def test_cudnn_for_another_cuda(self):
        for toolkit, cublas in zip(self.toolkits, (11, 11, 13)):
            for name in ("cudnn", "cudnn_version"):
                write(toolkit / f"include/{name}.h", "")
            write(toolkit / "lib64/libcudnn_adv.so.9", f"\0libcublasLt.so.{cublas}\0")
            (toolkit / "lib64/libcudnn.so").symlink_to("libcudnn_adv.so.9")
        self.recipe(host="cudnn")
        library = self.scratch / "cuda-12.4/lib64/libcudnn_adv.so.9"
        self.assert_refused(f"nvcc is 12.4.131, but '{library}' is for CUDA 11", "install the cuDNN for CUDA 12")
        self.recipe()
        self.run_it("build")


class C10Cuda(harness.Case):
    """recipes/pytorch/c10_cuda.yaml with sources of its shape: three builds in one channel, and the one that a solver takes."""

    FILES = {
        "LICENSE": "", "NOTICE": "", "third_party/googletest/CMakeLists.txt": "",
        "torch/csrc/jit/serialization/mobile_bytecode.fbs": "",
        "CMakeLists.txt": "cmake_minimum_required(VERSION 3.18)\nproject(Torch CXX)\nadd_subdirectory(c10)\n",
        "c10/CMakeLists.txt": """\
add_library(c10 SHARED core/Device.cpp)
install(TARGETS c10 DESTINATION lib)
install(FILES core/Device.h DESTINATION include/c10/core)
add_library(c10_cuda SHARED cuda/CUDAFunctions.cpp)
target_link_libraries(c10_cuda c10)
install(TARGETS c10_cuda DESTINATION lib)
install(FILES cuda/CUDACachingAllocator.h DESTINATION include/c10/cuda)
""",
        "c10/core/Device.h": "int device();\n", "c10/core/Device.cpp": "int device() { return 1; }\n",
        "c10/cuda/CUDACachingAllocator.h": "",
        "c10/cuda/CUDAFunctions.cpp": "int device();\nint devices() { return device() + 1; }\n",
    }
    BUILDS = {"11.8": ("1.13.1", "11.8.89"), "12.4": ("2.6.0", "12.4.131"), "13.0": ("2.6.0", "13.0.88")}

    def setUp(self) -> None:
        super().setUp()
        for name in ("g++", "cmake", "ninja"):
            harness.tool(name)
        write(self.scratch / "bin/flatc", "#!/bin/sh\n", 0o755)
        recipe = self.scratch / "pytorch"
        shutil.copytree(harness.REPOSITORY / "recipes/pytorch", recipe)
        text = (recipe / "c10_cuda.yaml").read_text()
        # The libraries of the machine that these sources do not need.
        text = re.sub(r"      host:\n(?:        - .*\n)+", "      host: [cuda-cudart-dev, cuda-nvml-dev]\n", text)
        text = re.sub(r"    system_packages:\n(?:      - .*\n)+", "", text)
        text = re.sub(r"        - (pyyaml|typing_extensions)\n", "", text)
        (recipe / "c10_cuda.yaml").write_text(text)

    def build(self, cuda: str, sources: str, **more):
        _, full = self.BUILDS[cuda]
        toolkit = self.scratch / f"cuda-{cuda}"
        if not toolkit.exists():
            make_toolkit(toolkit, full, gcc="11.3.0")
        for name, content in {**self.FILES, "version.txt": f"{sources}\n"}.items():
            write(self.scratch / f"source-{sources}" / name, content)
        recipe = self.scratch / "pytorch"
        return self.ptpkg("build", recipe / "c10_cuda.yaml", "--variants", recipe / "variants_c10_cuda.yaml", "--select",
                          f"cuda_compiler_version={cuda}", "--env", "system", "--cuda-home", toolkit, "--source",
                          f"pytorch={self.scratch / f'source-{sources}'}", "--output", self.scratch / "dist", "--test", "skip",
                          PATH=f"{self.scratch / 'bin'}:/usr/bin:/bin", **more)

    def test_side_by_side(self):
        harness.peers_python()
        for cuda, (version, _) in self.BUILDS.items():
            self.build(cuda, version)
        channel = self.scratch / "dist/conda"
        names = sorted(re.sub(r"_h[0-9a-f]{7}_", "_h_", path.name) for path in channel.rglob("*.conda"))
        self.assertEqual(names, [f"{name}-{build}.conda" for name in ("libc10", "libc10_cuda")
                                 for build in ("1.13.1-cuda118_h_11", "2.6.0-cuda124_h_12", "2.6.0-cuda130_h_13")])

        assert_choices(self, channel)

    def test_sources_of_another_version(self):
        done = self.build("11.8", "2.6.0", exit_code=5)
        self.assertIn("the sources are PyTorch 2.6.0, and the variant is 1.13.1", done.stderr)


if __name__ == "__main__":
    harness.main()
