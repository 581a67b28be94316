"""CUDA from the Python index: two toolkits side by side on a machine with g++ and Python alone.

Fetches about 250 MB (two compilers, cmake, ninja) once; the second cache gets a copy and must ask nobody. The test of
all libraries fetches another 2.5 GB.
"""

import json
import re
import shutil
import subprocess

import harness

RECIPE = """\
schema_version: 1
package: {name: devmath, version: "1.0"}
source: {path: src}
build:
  number: 0
  string: cuda${{ detected('cuda_toolkit') }}_0
  script:
    - command -v nvcc cmake ninja
    - nvcc --version | tail -2
    - cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PREFIX"
    - cmake --build build --parallel "$CPU_COUNT"
    - cmake --install build
requirements:
  build:
    - ${{ compiler('cxx') }}
    - ${{ compiler('cuda') }}
    - cmake
    - ninja
about: {license: MIT}
extra: {ptpkg: {formats: [conda]}}
"""

CMAKE = """\
cmake_minimum_required(VERSION 3.24)
project(devmath LANGUAGES CXX CUDA)
set(CMAKE_CUDA_ARCHITECTURES 90)
add_library(devmath SHARED saxpy.cu)
add_library(devmath_static STATIC saxpy.cu)
install(TARGETS devmath devmath_static LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
"""

# A static variable gets a name made of the temporary file's, an assertion holds the name of the source; and
# cuda_fp16.h needs a header of cccl.
SOURCE = """\
#include <cassert>
#include <cuda_fp16.h>
static __device__ int calls;
__global__ void Saxpy(int n, __half a, const __half* x, __half* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(n > 0);
  if (i == 0) atomicAdd(&calls, 1);
  if (i < n) y[i] = __hfma(a, x[i], y[i]);
}
extern "C" int devmath_saxpy(int n, float a, const void* x, void* y) {
  assert(x != y);
  Saxpy<<<(n + 255) / 256, 256>>>(n, __float2half(a), static_cast<const __half*>(x), static_cast<__half*>(y));
  return static_cast<int>(cudaGetLastError());
}
"""

LIBRARIES_RECIPE = """\
schema_version: 1
package: {name: allmath, version: "1.0"}
source: {path: src}
build:
  number: 0
  string: cuda${{ detected('cuda_toolkit') }}_cudnn${{ detected('cudnn') }}_nccl${{ detected('nccl') }}_0
  script:
    - g++ -fPIC -shared -o liball.so all.cpp $CPPFLAGS $LDFLAGS -Wl,--no-undefined
      -lcudnn -lnccl -lcublas -lcusparse -lcusolver -lcufft -lcurand -lcudart
      -Wl,--start-group -lmkl_intel_lp64 -lmkl_sequential -lmkl_core -Wl,--end-group -lm -ldl -lpthread
    - readelf -d liball.so
    - mkdir -p "$PREFIX/lib"
    - cp liball.so "$PREFIX/lib"
requirements:
  build: ["${{ compiler('cxx') }}", "${{ compiler('cuda') }}"]
  host: [cudnn, nccl, libcublas-dev, libcusparse-dev, libcusolver-dev, libcufft-dev, libcurand-dev, mkl-static, mkl-devel]
about: {license: MIT}
extra: {ptpkg: {formats: [conda], allow_unresolved: ["*"]}}
"""

LIBRARIES_SOURCE = """\
#include <cublas_v2.h>
#include <cudnn.h>
#include <cufft.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <mkl_cblas.h>
#include <nccl.h>
extern "C" int allmath(const double* x) {
  int cublas = 0, cufft = 0, curand = 0, cusolver = 0, nccl = 0;
  cublasGetProperty(MAJOR_VERSION, &cublas);
  cufftGetVersion(&cufft);
  curandGetVersion(&curand);
  cusolverGetProperty(MAJOR_VERSION, &cusolver);
  ncclGetVersion(&nccl);
  return cublas + cufft + curand + cusolver + nccl + static_cast<int>(cudnnGetVersion()) +
         (cusparseGetErrorName(CUSPARSE_STATUS_SUCCESS) != nullptr) + (cblas_ddot(3, x, 1, x, 1) > 0);
}
"""

PYTHON_RECIPE = """\
schema_version: 1
package: {name: greet, version: "1.0"}
source: {path: src}
build:
  number: 0
  script:
    - $PYTHON -c "import Cython, setuptools; print('cython in', Cython.__file__); print('setuptools in', setuptools.__file__)"
    - cython --version
    - $PYTHON -m pip install .
requirements:
  build: [cython]
  host: [python, pip, setuptools >=80, wheel]
  run: [python]
about: {license: MIT}
tests: [{python: {imports: [greet]}}]
extra: {ptpkg: {formats: [conda]}}
"""

PYPROJECT = """\
[build-system]
requires = ["setuptools>=80"]
build-backend = "setuptools.build_meta"
[project]
name = "greet"
version = "1.0"
[tool.setuptools]
packages = ["greet"]
"""

# What nobody may find: the machine's own toolkit, and any index.
NO_INDEX = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_NO_INDEX": "1"}


class Wheels(harness.Case):
    def setUp(self):
        super().setUp()
        has_pip = subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True, check=False)
        if has_pip.returncode != 0:
            self.skipTest("'/usr/bin/python3' has no pip: apt-get install python3-pip")
        self.recipe = self.scratch / "devmath"
        (self.recipe / "src").mkdir(parents=True)
        (self.recipe / "recipe.yaml").write_text(RECIPE)
        (self.recipe / "variants.yaml").write_text('cuda_compiler_version: ["13.0", "13.5"]\n')
        (self.recipe / "src/CMakeLists.txt").write_text(CMAKE)
        (self.recipe / "src/saxpy.cu").write_text(SOURCE)

    def build(self, output, *args, **extra):
        variables = {"PATH": "/usr/bin:/bin", "PTPKG_PYTHON": "", **extra}
        return self.ptpkg("build", self.recipe, "--env", "wheels", "--output", output, "--explain", *args, **variables)

    def check_origins(self, explained):
        """That g++ alone is the machine's, in each of the two builds: each line of tools names these four and no other."""
        lines = re.findall(r"^tools of devmath-1\.0-cuda(13\.\d)\S*: (.*)$", explained, re.MULTILINE)
        self.assertEqual(sorted(version for version, _ in lines), ["13.0", "13.5"], explained)
        for version, tools in lines:
            origins = {tool.split()[0]: tool for tool in tools.split(", ")}
            self.assertEqual(sorted(origins), ["cmake", "cuda_linux-64", "gxx_linux-64", "ninja"])
            self.assertRegex(origins["gxx_linux-64"], r"^\S+ [\d.]+ from system$")
            self.assertRegex(origins["cuda_linux-64"], rf"^\S+ {re.escape(version)}\.\d+ from wheels$")
            for name in ("cmake", "ninja"):
                self.assertRegex(origins[name], r"^\S+ \d[\d.]+ from wheels$")

    def check_places(self, log):
        """That the programs which the script finds first lie below its build environment."""
        folder = re.search(r"^# BUILD_PREFIX=(/.+)$", log, re.MULTILINE)[1]
        for below in ("cuda/bin/nvcc", "bin/cmake", "bin/ninja"):
            self.assertRegex(log, rf"(?m)^{re.escape(folder)}/{below}$")

    def test_two_toolkits_side_by_side_and_equal_bytes_in_two_caches(self):
        first = self.scratch / "first"
        done = self.build(first)
        made = harness.artifacts(first)
        names = sorted(path.rsplit("/", 1)[1] for path in made)
        self.assertEqual(len(names), 2)
        self.assertRegex(names[0], r"^devmath-1\.0-cuda13\.0\.\d+_0\.conda$")
        self.assertRegex(names[1], r"^devmath-1\.0-cuda13\.5\.\d+_0\.conda$")
        self.check_origins(done.stderr)
        for log in sorted((first / "logs").glob("*.build.log")):
            text = log.read_text()
            self.check_places(text)
            self.assertNotIn("/usr/local/cuda", text)
            self.assertIn("release 13.0" if "cuda13.0" in log.name else "release 13.5", text)
        self.assertIn("everything was already there", self.build(first, **NO_INDEX).stderr)
        plan = json.loads(self.build(first, "--plan", "--json", **NO_INDEX).stdout)
        builds = [node for node in plan["nodes"] if node["stage"] == "build"]
        self.assertEqual([node["inputs"]["env"] for node in builds], ["wheels", "wheels"])
        for node in builds:
            self.assertIn("cuda_linux-64", node["inputs"]["wheels"]["requirements"])
            self.assertTrue(all(len(wheel["sha256"]) == 64 for wheel in node["inputs"]["wheels"]["wheels"]))

        # Another machine: another cache in a folder of another length, what was fetched, and no index.
        old = self.cache
        self.cache = self.scratch / "a-cache-of-another-length"
        self.cache.mkdir()
        for name in ("downloads", "wheels"):
            shutil.copytree(old / name, self.cache / name)
        second = self.scratch / "second"
        self.build(second, **NO_INDEX)
        self.assertEqual(harness.artifacts(second), made)

        kinds = {item["kind"] for item in self.ptpkg_json("cache")["items"]}
        self.assertLessEqual({"download", "answer", "result"}, kinds)

        # And one that has fetched nothing yet.
        self.ptpkg("cache", "clean")
        failed = self.build(self.scratch / "third", exit_code=4, **NO_INDEX)
        self.assertIn("the Python index", failed.stderr)

    def test_a_version_that_does_not_exist_is_refused_before_a_file_is_copied(self):
        (self.recipe / "variants.yaml").write_text('cuda_compiler_version: ["13.9"]\n')
        (self.recipe / "recipe.yaml").write_text(RECIPE.replace("- ninja\n", "- ninja ==99\n"))
        done = self.build(self.scratch / "out", exit_code=4)
        self.assertIn("'cuda-toolkit==13.9.*' is not on the Python index: available versions:", done.stderr)
        self.assertIn("'ninja==99' is not on the Python index", done.stderr)
        self.assertIn("13.0.", done.stderr)
        self.assertFalse((self.scratch / "out").exists())
        self.assertFalse((self.cache / "work").exists(), "no work folder, so no source was copied")
        self.assertEqual(list((self.cache / "downloads").rglob("nvidia*")), [], "no part of a toolkit was fetched")

    def test_doctor_looks_for_what_tests_need_where_the_build_would(self):
        """Also when the build lacks something."""
        (self.recipe / "recipe.yaml").write_text(PYTHON_RECIPE.replace("build: [cython]", "build: [no-such-compiler]").replace(
            "tests: [{python: {imports: [greet]}}]", "tests: [{script: 'true', requirements: {run: [ninja ==1.13.0]}}]"))
        (self.recipe / "variants.yaml").unlink()
        done = self.ptpkg("doctor", self.recipe, "--env", "wheels", exit_code=1, PATH="/usr/bin:/bin", PTPKG_PYTHON="")
        self.assertIn("'no-such-compiler'", done.stdout)
        self.assertNotIn("the tests need it", done.stdout)

    def test_tests_of_an_output_take_tools_from_where_its_staging_output_did(self):
        (self.recipe / "recipe.yaml").write_text("""\
schema_version: 1
recipe: {version: "1.0"}
outputs:
  - staging: {name: native}
    build: {script: "mkdir -p $PREFIX/share && ninja --version > $PREFIX/share/said"}
    requirements: {build: [ninja ==1.13.0]}
  - package: {name: heir}
    inherit: native
    tests: [{script: "true", requirements: {run: [ninja ==1.13.0]}}]
about: {license: MIT}
extra: {ptpkg: {formats: [conda]}}
""")
        (self.recipe / "variants.yaml").unlink()
        options = {"PATH": "/usr/bin:/bin", "PTPKG_PYTHON": ""}
        plan = self.ptpkg_json("build", self.recipe, "--env", "wheels", "--output", self.scratch / "out", "--plan", **options)
        self.assertEqual([node["inputs"]["env"] for node in plan["nodes"] if node["stage"] == "test"], ["wheels"])
        self.ptpkg("doctor", self.recipe, "--env", "wheels", **options)

    def test_parts_of_two_toolkits_are_refused(self):
        text = RECIPE.replace("about:", "  host: [cuda-cudart-dev 13.1.*]\nabout:")
        (self.recipe / "recipe.yaml").write_text(text)
        done = self.build(self.scratch / "out", exit_code=3)
        self.assertIn("belong to different CUDA toolkits", done.stderr)

    def test_libraries_of_a_toolkit_cudnn_nccl_and_mkl(self):
        (self.recipe / "recipe.yaml").write_text(LIBRARIES_RECIPE)
        (self.recipe / "variants.yaml").write_text('cuda_compiler_version: ["13.0"]\n')
        (self.recipe / "src/all.cpp").write_text(LIBRARIES_SOURCE)
        self.build(self.scratch / "out")
        made = [path.name for path in (self.scratch / "out/conda/linux-64").glob("allmath-*.conda")]
        self.assertEqual(len(made), 1)
        self.assertRegex(made[0], r"^allmath-1\.0-cuda13\.0\.\d+_cudnn9(\.\d+)+_nccl2(\.\d+)+_0\.conda$")
        log = next((self.scratch / "out/logs").glob("*.build.log")).read_text()
        for library in ("cudnn", "nccl", "cublas", "cusparse", "cusolver", "cufft", "curand"):
            self.assertRegex(log, rf"\(NEEDED\) .*\[lib{library}\.so\.\d+\]")

    def test_python_packages_of_the_build_and_of_the_host(self):
        (self.recipe / "recipe.yaml").write_text(PYTHON_RECIPE)
        (self.recipe / "variants.yaml").unlink()
        (self.recipe / "src/pyproject.toml").write_text(PYPROJECT)
        (self.recipe / "src/greet").mkdir()
        (self.recipe / "src/greet/__init__.py").write_text("word = 'hello'\n")
        done = self.build(self.scratch / "out")
        self.assertRegex(done.stderr, r"python 3\.\d+\.\d+ from system, .*cython [\d.]+ from wheels")
        log = next((self.scratch / "out/logs").glob("*.build.log")).read_text()
        self.assertRegex(log, r"cython in .*/build_env/wheels/lib/python3\.\d+/site-packages/Cython")
        self.assertRegex(log, r"setuptools in .*/h_env_placehold.*/site-packages/setuptools")
        made = list((self.scratch / "out/conda/linux-64").glob("greet-*.conda"))
        self.assertEqual(len(made), 1)
        listed = subprocess.run(["/usr/bin/python3", "-m", "zipfile", "-l", str(made[0])], capture_output=True, text=True,
                                check=True).stdout
        self.assertIn("pkg-greet", listed)
        self.assertLess(made[0].stat().st_size, 20_000, "setuptools of the host is no part of the package")


if __name__ == "__main__":
    harness.main()
