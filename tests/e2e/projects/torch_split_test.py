"""recipes/pytorch/torch.yaml with torch_split "on", unchanged, on a stand-in of PyTorch that compiles in seconds: the native part is
compiled once for two Pythons, conda gets libtorch and pytorch, and each wheel is whole.

The stand-in's build backend does what PyTorch's setup.py does: it configures only without a CMake cache, builds and installs into
torch/, and packs that. Of the packages that the build requires the environment has the metadata alone.
"""

import json
import pathlib
import re
import subprocess
import zipfile

import domain_standin_test
import harness
import installing

RECIPE = harness.REPOSITORY / "recipes/pytorch"
METADATA = {**domain_standin_test.METADATA, "pyyaml": "6.0.2"}
# Requirements of the Python part, which no channel of the test has
LEAVES = {"filelock": "3.16.0", "fsspec": "2024.10.0", "jinja2": "3.1.4", "networkx": "3.4.2", "sympy": "1.13.1",
          "typing_extensions": "4.12.2"}
CMAKE = """\
cmake_minimum_required(VERSION 3.18)
project(Torch CXX)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
file(WRITE ${CMAKE_BINARY_DIR}/python.txt "${Python_EXECUTABLE}")
configure_file(config.h.in ${CMAKE_BINARY_DIR}/config.h)
include_directories(${CMAKE_BINARY_DIR})
execute_process(COMMAND ${Python_EXECUTABLE} -c "import sysconfig; print(sysconfig.get_path('include'), end='')" OUTPUT_VARIABLE include)
foreach(name c10 torch_cpu torch torch_global_deps torch_python)
  add_library(${name} SHARED ${name}.cpp)
endforeach()
target_link_libraries(torch_cpu c10)
target_link_libraries(torch torch_cpu)
target_include_directories(torch_python PRIVATE ${include})
target_link_libraries(torch_python torch)
add_executable(torch_shm_manager manager.cpp)
target_link_libraries(torch_shm_manager c10)
install(TARGETS c10 torch_cpu torch torch_global_deps torch_python LIBRARY DESTINATION lib)
install(TARGETS torch_shm_manager DESTINATION bin)
install(FILES c10.h DESTINATION include/c10)
install(FILES TorchConfig.cmake DESTINATION share/cmake/Torch)
"""
# setuptools keeps modes, which torch/bin needs.
WITH_MODES = """info = zipfile.ZipInfo(file, (2020, 1, 1, 0, 0, 0))
            info.external_attr = (os.stat(file).st_mode if os.path.exists(file) else 0o100644) << 16
            archive.writestr(info, data)"""
BACKEND = domain_standin_test.BUILD.replace("import torch\n", "").replace("archive.writestr(file, data)", WITH_MODES) + '''

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    assert os.environ["USE_CUDA"] == "0" and os.environ["USE_NINJA"] == "0" and os.environ["PYTORCH_BUILD_VERSION"] == "2.6.0+cpu"
    os.environ["BUILD_VERSION"] = os.environ["PYTORCH_BUILD_VERSION"]
    here = os.getcwd()
    if not os.path.exists("build/CMakeCache.txt"):
        subprocess.run(["cmake", "-S", here, "-B", "build", "-DCMAKE_INSTALL_PREFIX=" + here + "/torch", "-DPython_EXECUTABLE=" + sys.executable],
                       check=True)
    subprocess.run(["cmake", "--build", "build", "--target", "install"], check=True)
    include = subprocess.run([sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('include'))"], text=True, check=True,
                             stdout=subprocess.PIPE).stdout.strip()
    subprocess.run(["g++", "-shared", "-fPIC", "-I" + include, "-o", "torch/_C.so", "stub.cpp", "-Ltorch/lib", "-ltorch_python",
                    *os.environ["LDFLAGS"].split()], check=True)
    files = sorted(str(path) for path in pathlib.Path("torch").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return wheel(wheel_directory, "torch", files, ["filelock"])
'''
SOURCES = {
    "CMakeLists.txt": CMAKE, "backend.py": BACKEND, "setup.py": "", "LICENSE": domain_standin_test.LICENSE, "NOTICE": "none\n",
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
    "config.h.in": "#define ANSWER 42\n", "c10.h": "int c10_answer();\n", "TorchConfig.cmake": "set(TORCH_FOUND ON)\n",
    "c10.cpp": '#include "config.h"\nint c10_answer() { return ANSWER; }\n',
    "torch_cpu.cpp": "int c10_answer();\nint cpu_answer() { return c10_answer(); }\n",
    "torch.cpp": "int cpu_answer();\nint torch_answer() { return cpu_answer(); }\n",
    "torch_global_deps.cpp": "",
    "torch_python.cpp": "#include <Python.h>\nint torch_answer();\n"
                        "PyObject* answer(PyObject*, PyObject*) { return PyLong_FromLong(torch_answer()); }\n"
                        "extern const char built_for[] = PY_VERSION;\n",
    "manager.cpp": "int c10_answer();\nint main() { return c10_answer() != 42; }\n",
    "stub.cpp": "#include <Python.h>\nPyObject* answer(PyObject*, PyObject*);\n"
                'static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};\n'
                'static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C", "", -1, methods};\n'
                'extern "C" PyObject* PyInit__C() { return PyModule_Create(&module); }\n',
    "torch/__init__.py": "import ctypes, os\nctypes.CDLL(os.path.dirname(__file__) + '/lib/libtorch_global_deps.so', ctypes.RTLD_GLOBAL)\n"
                         "from torch._C import answer\n",
}
USE = """
import os, torch
assert torch.answer() == 42
print("\\n".join(sorted({line.split()[-1] for line in open("/proc/self/maps") if "libtorch" in line or "libc10" in line})))
assert os.path.exists(os.path.dirname(torch.__file__) + "/include/c10/c10.h")
assert os.path.exists(os.path.dirname(torch.__file__) + "/share/cmake/Torch/TorchConfig.cmake")
assert os.system(os.path.dirname(torch.__file__) + "/bin/torch_shm_manager") == 0
"""
NATIVE = ("c10", "torch_cpu", "torch")
PYTHONS = ("3.10", "3.11")


class Split(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        for name in ("cmake", "make", "g++"):
            harness.tool(name)
        found = installing.interpreters(PYTHONS)
        if set(found) != set(PYTHONS):
            self.skipTest(f"this machine has Python {', '.join(sorted(found))} with headers, {' and '.join(PYTHONS)} are needed")
        self.base = found
        self.pythons = {version: self.environment_of(version, python) for version, python in found.items()}
        self.output = self.scratch / "dist"

    def environment_of(self, version: str, python: str) -> pathlib.Path:
        venv = self.scratch / f"venv{version}"
        subprocess.run([python, "-m", "venv", venv], check=True, capture_output=True)
        packages = venv / f"lib/python{version}/site-packages"
        for name, release in METADATA.items():
            for old in packages.glob(f"{name}-*.dist-info"):
                old.rename(packages / f"{old.name}.left")
            (packages / f"{name}-{release}.dist-info").mkdir()
            (packages / f"{name}-{release}.dist-info/METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {release}\n")
        return venv / "bin/python"

    def build(self, *options: str, exit_code: int = 0, **files: str) -> subprocess.CompletedProcess:
        source = self.scratch / "source"
        for name, text in {**SOURCES, **files}.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        mine = self.scratch / "mine.yaml"
        values = {"torch_version": ["2.6.0"], "python": list(PYTHONS), "torch_split": ["on"], "torch_blas": ["default"],
                  "torch_conda_requires": ["machine"]}
        mine.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items()))
        return self.ptpkg("build", RECIPE / "torch.yaml", "--variants", RECIPE / "variants_torch.yaml", "--variants", mine,
                          "--source", f"pytorch={source}", "--output", self.output, "--env", "system", "--test", "skip", *options,
                          exit_code=exit_code, PTPKG_PYTHON=":".join(map(str, self.pythons.values())))

    def leaves(self) -> pathlib.Path:
        recipe = self.scratch / "leaves"
        recipe.mkdir()
        outputs = "".join(f'  - package: {{name: {name}, version: "{version}"}}\n' for name, version in LEAVES.items())
        (recipe / "recipe.yaml").write_text(f"schema_version: 1\nrecipe: {{name: leaves}}\nbuild: {{noarch: generic}}\noutputs:\n{outputs}"
                                            "about: {license: MIT}\nextra: {ptpkg: {formats: [conda]}}\n")
        self.ptpkg("build", recipe, "--output", self.scratch / "leaves-dist")
        return self.scratch / "leaves-dist/conda"

    def test_sources_of_another_version_are_refused_before_anything_compiles(self):
        done = self.build(exit_code=5, **{"version.txt": "2.5.0a0\n"})
        self.assertIn("the sources are PyTorch 2.5.0a0, and the variant is 2.6.0 - name that release with --source pytorch=PATH", done.stderr)

    def test_one_native_build_for_two_pythons(self):
        self.build()
        text = "\n".join(path.read_text() for path in (self.output / "logs").glob("*.build.log"))
        compiled = re.findall(r"Building CXX object CMakeFiles/(\w+)\.dir", text)
        self.assertEqual({name: compiled.count(name) for name in set(compiled)},
                         {"c10": 1, "torch_cpu": 1, "torch": 1, "torch_global_deps": 1, "torch_shm_manager": 1, "torch_python": 2})
        packages = [re.sub("h[0-9a-f]{7}", "hHASH", path.name) for path in sorted((self.output / "conda").rglob("*.conda"))]
        self.assertEqual(packages, ["libtorch-2.6.0-cpu_hHASH_0.conda", *(f"pytorch-2.6.0-py{version}_cpu_0.conda" for version in PYTHONS)])
        self.check_wheels()
        self.check_conda()
        again = json.loads(self.build("--json").stdout)
        self.assertEqual([stage for stage, ran in self.stage_states(again).items() if ran], [])

    def check_wheels(self) -> None:
        """Whole, and with one native part."""
        natives = set()
        for version, python in self.base.items():
            tag = f"cp{version.replace('.', '')}"
            with zipfile.ZipFile(self.output / f"wheels/torch-2.6.0+cpu-{tag}-{tag}-linux_x86_64.whl") as wheel:
                natives.add(tuple(wheel.read(f"torch/lib/lib{name}.so") for name in NATIVE))
                self.assertIn("torch/include/c10/c10.h", wheel.namelist())
            place = self.scratch / f"target{version}"
            subprocess.run([self.pythons[version], "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", place, wheel.filename],
                           check=True)
            self.run_clean("/usr/bin/env", f"PYTHONPATH={place}", python, "-c", USE)
        self.assertEqual(len(natives), 1)

    def check_conda(self) -> None:
        leaves = self.leaves()
        for version, python in self.base.items():
            channel = installing.python_channel(self, python, f"python{version}")
            prefix = self.scratch / f"env{version}"
            names = installing.rattler_install(self, prefix, [self.output / "conda", leaves, channel], "pytorch", f"python {version}.*").split()
            self.assertIn("libtorch", [name.split("-")[0] for name in names])
            site = prefix / f"lib/python{version}/site-packages"
            loaded = self.run_clean("/usr/bin/env", f"PYTHONPATH={site}", python, "-c", USE).split()
            self.assertEqual([path for path in loaded if not path.startswith(f"{prefix}/lib/")], [])
            for name in NATIVE:
                self.assertTrue((site / f"torch/lib/lib{name}.so").is_symlink())
                self.assertFalse((prefix / f"lib/lib{name}.so").is_symlink())
            owned = {name: {entry["_path"] for entry in json.loads(record.read_text())["paths_data"]["paths"]}
                     for record in (prefix / "conda-meta").glob("*torch-*.json") for name in [record.name.split("-")[0]]}
            self.assertEqual({path for path in owned["libtorch"] if "python" in path}, set())
            self.assertEqual(owned["libtorch"] & owned["pytorch"], set())
            self.assertIn("share/cmake/Torch/TorchConfig.cmake", owned["libtorch"])


if __name__ == "__main__":
    harness.main()
