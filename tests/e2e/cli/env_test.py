"""`ptpkg env`: environments from files and recipes, their activation, exports, and the order of headers and libraries."""

import json
import pathlib
import shutil
import subprocess
import sys
import zipfile

import harness

FILE = """name: torch
channels: [nvidia/label/cuda-12.4.1, conda-forge]
dependencies:
  - make
  - "nvidia::cuda-nvcc 12.4.*"
  - cuda-version=12.4
  - magma-cuda124
  - "numpy >=1.21,<3"
  - pip:
      - rich ==13.0
variables: {USE_MKLDNN: "0"}
"""
# A conda client that says what it was asked for, and makes a prefix with an activation script of a package.
CLIENT = """#!/bin/sh
for word in "$@"; do echo "$word"; done > "{log}"
prefix=
while [ $# -gt 0 ]; do [ "$1" = --prefix ] && prefix=$2; shift; done
mkdir -p "$prefix/bin" "$prefix/etc/conda/activate.d"
ln -s "{python}" "$prefix/bin/python"
echo 'export GCC_OF_CONDA="$CONDA_PREFIX/bin/gcc"' > "$prefix/etc/conda/activate.d/gcc.sh"
"""


class Case(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        self.prefix = self.scratch / "env"

    def file(self, text: str, name="environment.yml") -> pathlib.Path:
        path = self.scratch / name
        path.write_text(text)
        return path

    def refused(self, exit_code: int, words: str, *arguments, **variables) -> str:
        said = self.ptpkg("env", *arguments, exit_code=exit_code, **variables).stderr
        self.assertIn(words, said)
        return said

    def activated(self, command: str) -> subprocess.CompletedProcess:
        done = subprocess.run(["bash", "-euc", f". {self.prefix}/activate.sh; {command}"], text=True, capture_output=True, check=False,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.scratch)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done


class Create(Case):
    def wheel(self) -> pathlib.Path:
        """A package that pip can install without an index."""
        files = {"toy_pure.py": "x = 7\n",
                 "toy_pure-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: toy-pure\nVersion: 1.0\n",
                 "toy_pure-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
        path = self.scratch / "toy_pure-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in {**files, "toy_pure-1.0.dist-info/RECORD": harness.record_of(files)}.items():
                archive.writestr(name, text)
        return path

    def test_tools_of_the_machine_and_packages_of_pip(self):
        """The virtual environment is real, and so is pip; the activation prints each variable."""
        text = f"dependencies: [gxx, make, pip: ['toy-pure @ file://{self.wheel()}']]\nvariables: {{TOY: \"it's\"}}\n"
        document = self.ptpkg_json("env", "create", self.file(text), "--prefix", self.prefix, "--env", "system", PIP_NO_INDEX="1")
        self.assertEqual(document, {"prefix": str(self.prefix), "activate": f"{self.prefix}/activate.sh", "provider": "system"})
        done = self.activated('python -c "import toy_pure; print(toy_pure.x, toy_pure.__file__)"; echo "$CXX $TOY $VIRTUAL_ENV"')
        self.assertIn(f"7 {self.prefix}/", done.stdout)
        self.assertRegex(done.stdout, f"/g\\+\\+ it's {self.prefix}\n")
        for variable in ("CXX=", "CMAKE_PREFIX_PATH=", "PATH=", "TOY=it's", "VIRTUAL_ENV="):
            self.assertRegex(done.stderr, f"(?m)^{variable}")
        self.assertNotIn("LDFLAGS", done.stderr)
        self.assertEqual(harness.leftovers(self.scratch), [])

    def test_a_recipe_and_a_file_for_pip(self):
        wheel = self.wheel()
        self.ptpkg("env", "create", harness.FIXTURES / "toymagma", "--select", "toy_backend=cpu", self.file(f"./{wheel.name}\n", "requirements.txt"),
                   "--prefix", self.prefix, "--env", "system", PIP_NO_INDEX="1")
        self.assertIn("7", self.activated('python -c "import toy_pure; print(toy_pure.x)"').stdout)

    def test_a_conda_client_gets_all_packages_and_channels(self):
        """A double, because no client is on the package registries that CI has."""
        client, log = self.scratch / "mamba", self.scratch / "asked"
        client.write_text(CLIENT.format(log=log, python=sys.executable))
        client.chmod(0o755)
        text = FILE.replace("  - pip:\n      - rich ==13.0\n", "").replace("conda-forge]", "conda-forge, nodefaults]")
        self.ptpkg("env", "create", self.file(text), "--prefix", self.prefix, "--env", "conda", "--conda-exe", client, "--cuda", "12.6.2",
                   "--channel", "mine")
        asked = log.read_text().splitlines()
        self.assertEqual(asked[:4], ["create", "--yes", "--prefix", str(self.prefix)])
        self.assertEqual(asked[asked.index("--channel"):], ["--channel", "mine", "--channel", "nvidia/label/cuda-12.6.2", "--channel",
                                                            "conda-forge", "--override-channels"])
        # A part has its own third field, such as 12.6.77.
        self.assertEqual(set(asked[4:asked.index("--channel")]), {"make", "nvidia::cuda-nvcc 12.6.*", "cuda-version 12.6.*", "magma-cuda126",
                                                                  "numpy >=1.21,<3"})
        done = self.activated('echo "$GCC_OF_CONDA $USE_MKLDNN"')
        self.assertEqual(done.stdout, f"{self.prefix}/bin/gcc 0\n")
        self.assertRegex(done.stderr, f"(?m)^GCC_OF_CONDA={self.prefix}/bin/gcc$")

    def test_two_runs_for_one_directory(self):
        """The client is a double, as above, and waits."""
        client, log, go = (self.scratch / name for name in ("mamba", "asked", "go"))
        client.write_text(CLIENT.format(log=log, python=sys.executable) + f'until [ -e "{go}" ]; do sleep 0.02; done\n')
        client.chmod(0o755)
        file = self.file("dependencies: [make]\n")
        command = ("env", "create", file, "--prefix", self.prefix, "--env", "conda", "--conda-exe", client)
        first = subprocess.Popen([harness.Settings.ptpkg, *map(str, command)], env=self.environment(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        self.wait_for((self.prefix / "etc/conda/activate.d/gcc.sh").exists)
        self.assertIn("hint: wait", self.refused(7, f"another 'ptpkg env create' is making '{self.prefix}'", *command[1:]))
        go.touch()
        self.assertEqual(first.wait(), 0)
        self.assertIn(f"{self.prefix}/bin/gcc", self.activated('echo "$GCC_OF_CONDA"').stdout)
        self.assertFalse(pathlib.Path(f"{self.prefix}.env-create.log").exists())
        self.refused(7, "' is not empty", *command[1:])
        self.assertFalse(pathlib.Path(f"{self.prefix}.env-create.log").exists())

    def test_variables_that_the_shell_reads(self):
        """As in conda, activation replaces the shell's value, and bash expands nothing in the new one."""
        variables = {"LD_LIBRARY_PATH": "/none", "PYTHONPATH": "/none", "HOME": "/none", "LANG": "C", "TOY": "$PATH"}
        self.ptpkg("env", "create", self.file(f"dependencies: [make]\nvariables: {json.dumps(variables)}\n"), "--prefix", self.prefix,
                   "--env", "system")
        done = self.activated('ls / >/dev/null; echo "$LD_LIBRARY_PATH $PYTHONPATH $HOME $LANG $TOY"')
        self.assertEqual(done.stdout, "/none /none /none C $PATH\n")
        for name in ("PATH", "UID", "IFS", "GROUPS", "RANDOM", "EPOCHSECONDS", "CONDA_PREFIX", "file"):
            with self.subTest(name):
                said = self.refused(3, f"the variable '{name}' belongs to bash or activate.sh", "create",
                                    self.file(f"dependencies: [make]\nvariables: {{{name}: /none}}\n"), "--prefix", self.scratch / "none")
                self.assertIn("environment.yml:2:", said)

    def test_a_failure_leaves_nothing_but_the_log(self):
        said = self.refused(5, "pip could not install the requirements", "create", self.file("dependencies: [pip: [no-such-name-1]]\n"),
                            "--prefix", self.prefix, "--env", "system", PIP_NO_INDEX="1")
        self.assertIn(f"full output: '{self.prefix}.env-create.log'", said)
        self.assertIn("no-such-name-1", pathlib.Path(f"{self.prefix}.env-create.log").read_text())
        self.assertFalse(self.prefix.exists())
        pathlib.Path(f"{self.prefix}.env-create.log").unlink()
        foreign = pathlib.Path(f"{self.prefix}.env-create.log/notes")
        foreign.parent.mkdir()
        foreign.write_text("mine")
        self.refused(7, "is in the way of the log", "create", self.file("dependencies: [make]\n"), "--prefix", self.prefix, "--env", "system")
        self.assertEqual(foreign.read_text(), "mine")
        shutil.rmtree(foreign.parent)
        said = self.refused(4, "'no-such-tool'", "create", self.file("dependencies: [no-such-tool]\n"), "--prefix", self.prefix, "--env", "system")
        self.assertIn("hint: list Python packages below 'pip:'", said)
        self.assertNotIn("output", said)
        self.assertFalse(self.prefix.exists())
        self.assertFalse(foreign.parent.exists())
        # Before the call, DIR was a link to an empty directory.
        self.prefix.symlink_to("real")
        real = self.scratch / "real"
        real.mkdir()
        self.refused(5, "pip could not install", "create", self.file("dependencies: [pip: [no-such-name-1]]\n"), "--prefix", self.prefix, "--env",
                     "system", PIP_NO_INDEX="1")
        self.assertEqual((self.prefix.is_symlink(), list(real.iterdir())), (True, []))
        self.prefix.unlink()
        self.prefix.mkdir()
        (self.prefix / "mine").touch()
        self.refused(7, "' is not empty", "create", self.file("dependencies: [make]\n"), "--prefix", self.prefix)
        self.assertTrue((self.prefix / "mine").exists())

    def test_command_lines(self):
        file = self.file("dependencies: [make]\n")
        self.refused(2, "--prefix is missing", "create", file)
        self.refused(2, "INPUT is missing", "export")
        self.refused(2, "'ptpkg env check' takes no INPUT", "check", file)
        self.refused(2, "'ptpkg env export' does not take --prefix", "export", file, "--prefix", self.prefix)
        self.refused(2, "'ptpkg env check' does not take --cuda", "check", "--cuda", "12.4")
        self.refused(2, "'ptpkg env create' does not take --header", "create", file, "--prefix", self.prefix, "--header", "x.h")
        self.refused(2, "'12' is not a version of CUDA", "export", file, "--cuda", "12")
        self.refused(2, "names no CUDA toolkit", "export", file, "--cuda", "12.4")
        self.refused(2, "--channel is for a conda client", "create", file, "--prefix", self.prefix, "--env", "system", "--channel", "x")
        (self.scratch / "ptpkg.toml").write_text('[env]\nchannel = ["a"]\n')
        said = self.ptpkg("env", "create", file, "--prefix", self.prefix, "--env", "system").stderr
        self.assertIn("conda channels are not used", said)
        self.refused(2, "the environment would be empty", "create", self.file("dependencies: []\n"), "--prefix", self.prefix)
        self.refused(3, "a blank", "create", file, "--prefix", self.scratch / "a b")


class Export(Case):
    def test_a_file_with_another_toolkit(self):
        text = self.ptpkg("env", "export", self.file(FILE), "--cuda", "12.6.0").stdout
        again = self.ptpkg("env", "export", self.file(text, "again.yml")).stdout
        self.assertEqual(text, again)
        for line in ("name: \"torch\"", "  - \"nvidia/label/cuda-12.6.0\"", "  - \"nvidia::cuda-nvcc 12.6.*\"", "  - \"magma-cuda126\"",
                     "  - \"pip\"", "      - \"rich ==13.0\"", "  \"USE_MKLDNN\": \"0\""):
            self.assertIn(line + "\n", text)
        text = self.ptpkg("env", "export", self.file(FILE), "--as", "requirements.txt").stdout
        self.assertIn("# no package of the Python index is known for: nvidia::cuda-nvcc 12.4.*\n", text)
        self.assertIn("\nnumpy>=1.21,<3\nrich ==13.0\n", text)
        text = self.ptpkg("env", "export", self.file("dependencies: ['numpy=1.26=*_cpu']\n"), "--as", "requirements.txt").stdout
        self.assertIn("  # conda's numpy =1.26 *_cpu\n", text)
        text = self.ptpkg("env", "export", self.file("dependencies: []\n")).stdout
        self.assertEqual(self.ptpkg("env", "export", self.file(text, "again.yml")).stdout, text)

    def test_versions_of_a_toolkit(self):
        """Of the channels' packages: cuda-toolkit 12.4.1 has cuda-nvcc 12.4.131, and cuda-version 12.4."""
        for cuda, text, became in (
                ("12.6.2", "cuda-toolkit =12.4.1", "cuda-toolkit 12.6.2.*"), ("12.6", "cuda-toolkit", "cuda-toolkit 12.6.*"),
                ("12.6", "cuda-cudart-dev 12.4.127", "cuda-cudart-dev 12.6.*"), ("12.6", "pytorch-cuda =12.4", "pytorch-cuda 12.6.*"),
                ("12.6", "cuda-nvcc_linux-64 12.4.*", "cuda-nvcc_linux-64 12.6.*"), ("11.8.0", "cudatoolkit 11.3.1", "cudatoolkit 11.8.0.*"),
                ("12.4", "nvidia/label/cuda-12.4.1::cuda", "nvidia/label/cuda-12.4.1::cuda 12.4.*"),
                ("12.4.0", "nvidia/label/cuda-12.4.1::cuda-nvcc", "nvidia/label/cuda-12.4.0::cuda-nvcc 12.4.*")):
            with self.subTest(text):
                text = self.ptpkg("env", "export", self.file(f"dependencies: ['{text}', cuda-pathfinder >=1]\n"), "--cuda", cuda).stdout
                self.assertIn(f'  - "{became}"\n  - "cuda-pathfinder >=1"\n', text)
        for cuda, text, words in (
                ("12.6", "nvidia/label/cuda-12.4.1::cuda", "the channel 'nvidia/label/cuda-12.4.1' is for a release with its patch version"),
                ("12.6.2", "cuda-nvcc", "' has a patch version"), ("12.6", "cudatoolkit 11.8.*", "'cudatoolkit' ends with CUDA 11"),
                ("12.6", "libcublas-dev 12.4.*", "'libcublas-dev 12.4.*' has the version of one toolkit"),
                ("12.6", "pytorch * *cuda124*", "'pytorch * *cuda124*' is a build for one toolkit"),
                ("12.6", "pytorch=2.4.0=py3.10_cuda12.4_cudnn9.1.0_0", "is a build for one toolkit")):
            with self.subTest(text):
                said = self.refused(2, words, "export", self.file(f"dependencies: ['{text}', make]\n"), "--cuda", cuda)
                self.assertIn(f"--cuda {cuda}: ", said)
                self.assertIn("hint: ", said)
        self.refused(2, "'torch ==2.4.0+cu124' is a build for one toolkit", "export",
                     self.file("dependencies: [cuda-toolkit, pip: [torch ==2.4.0+cu124]]\n"), "--cuda", "12.6")
        for text in ("nvidia-cuda-runtime-cu12 ==12.4.127", "nvidia-cublas-cu12 ==12.4.5.8", "cupy-cuda11x", "cuda-python <12.5", "jax[cuda11_pip]",
                     "torch @ https://example.org/torch-2.4.0%2Bcu124-cp312-cp312-linux_x86_64.whl"):
            with self.subTest(text):
                self.refused(2, f"'{text}' ", "export", self.file(f"dependencies: [cuda-toolkit, pip: ['{text}']]\n"), "--cuda", "12.6.1")
                self.refused(2, f"'{text}' ", "create", self.file("dependencies: [cuda-toolkit]\n"), self.file(text + "  # x\n", "requirements.txt"),
                             "--cuda", "12.6.1", "--prefix", self.prefix)
        fits = "dependencies: [cuda-toolkit, pip: [nvidia-cuda-runtime-cu12 ==12.6.77, nvidia-cublas-cu12, cupy-cuda12x, 'cuda-python >=12', nvidia-cudnn-cu12 ==9.1]]"
        self.ptpkg("env", "export", self.file(fits), "--cuda", "12.6.1")
        self.refused(2, "only conda's packages have the patch version", "create", self.file("dependencies: [cuda-toolkit]\n"), "--cuda", "12.6.2",
                     "--prefix", self.prefix, "--env", "system")

    def test_a_recipe_with_another_toolkit(self):
        magma = harness.REPOSITORY / "recipes/magma"
        arguments = ("env", "export", magma, "--variants", magma / "variants.yaml", "--select", "magma_version=2.9.0")
        said = self.ptpkg(*arguments, exit_code=2).stderr
        self.assertIn("an environment is for one variant", said)
        text = self.ptpkg(*arguments, "--cuda", "12.8").stdout
        self.assertIn("name: \"magma-cuda128\"\n", text)
        self.assertIn('  - "cuda_linux-64 12.8.*"\n', text)
        self.assertIn('  - "cuda_linux-64 13.0.*"\n', self.ptpkg("env", "export", self.file(text), "--cuda", "13.0").stdout)
        self.refused(2, "takes a toolkit without its patch version", *arguments[1:], "--cuda", "12.8.1")
        self.refused(2, "--cuda 12.8 sets 'cuda_compiler_version'", "export", harness.FIXTURES / "toyops", "--cuda", "12.8")

    def test_mistakes_in_a_file(self):
        for text, words in (("dependencies: [a]\nprefix: /x\n", "'prefix' is a directory of one machine"),
                            ("dependencies: [a]\nname: [x]\n", "expected text for 'name', found a list"),
                            ("dependencies: [a]\nchannel: x\n", "unknown key 'channel' in an environment file"),
                            ("dependencies: a\n", "expected a list for 'dependencies', found text"),
                            ("dependencies: [{conda: [x]}]\n", "expected text for 'dependencies', found a mapping"),
                            ("dependencies: [pip: ['-r other.txt']]\n", "'-r other.txt' is an option of pip"),
                            ("dependencies: [a]\nvariables: {'A B': x}\n", "'A B' is not a name for a variable"),
                            ("dependencies: ['a ==']\n", "environment.yml:1:"), ("name: x\n", "neither a recipe nor a conda environment file")):
            with self.subTest(text):
                said = self.refused(3, words, "export", self.file(text))
                self.assertIn("environment.yml:", said)
        self.refused(4, "none.yml", "export", "none.yml")
        self.refused(2, "is for pip alone", "export", self.file("rich\n", "requirements.txt"))
        self.refused(2, "gives the variable 'A' another value", "export", self.file("dependencies: [a]\nvariables: {A: '1'}\n", "1.yml"),
                     self.file("dependencies: [a]\nvariables: {A: '2'}\n", "2.yml"))


class Check(Case):
    """Real compilers; hipcc is a stand-in that adds a system directory, as AMD's does."""

    def order(self, *arguments, exit_code=0, **variables):
        path = f"{self.scratch}/bin:/usr/bin:/bin"
        done = self.ptpkg("env", "check", *arguments, "--json", exit_code=exit_code, PATH=path, **variables)
        return {one["compiler"]: {f"{file['kind']} {file['name']}": (file["path"], file["wanted"]) for file in one["files"]} |
                {"": one["directories"]} for one in json.loads(done.stdout)}

    def header(self, folder: str, name="order.h") -> pathlib.Path:
        path = self.scratch / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#pragma once\n")
        return path

    def program(self, name: str, command: str) -> pathlib.Path:
        path = self.scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{command}\n")
        path.chmod(0o755)
        return path

    def library(self, folder: str) -> pathlib.Path:
        path = self.scratch / folder / "liborder.so"
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([harness.tool("gcc"), "-shared", "-o", path, "-x", "c", "/dev/null"], check=True)
        return path

    def test_a_header_and_a_library_from_elsewhere(self):
        own, other = self.header("env/include"), self.header("other/include")
        own_library, other_library = self.library("env/lib"), self.library("other/lib")
        flags = {"CPPFLAGS": f"-I{other.parent} -I{own.parent}", "LDFLAGS": f"-L{other_library.parent} -L{own_library.parent}",
                 "PREFIX": str(self.prefix)}
        wanted = ("--header", "order.h", "--library", "order")
        order = self.order(*wanted, exit_code=1, **flags)["c++"]
        self.assertEqual(order["header order.h"], (str(other), str(own)))
        self.assertEqual(order["library order"], (str(other_library), str(own_library)))
        self.assertEqual(order[""][:2], [str(other.parent), str(own.parent)])
        self.assertTrue(order["header stdlib.h"][0].endswith("/stdlib.h"))
        said = self.ptpkg("env", "check", *wanted, exit_code=1, PATH="/usr/bin:/bin", **flags).stdout
        self.assertIn(f"but the environment has {own}\n", said)
        self.assertIn("2 files not as wanted\n", said)
        flags |= {"CPPFLAGS": f"-I{own.parent} -I{other.parent}", "LDFLAGS": f"-L{own_library.parent}"}
        order = self.order(*wanted, **flags)["c++"]
        self.assertEqual(order["header order.h"], (str(own), ""))
        # A name that no directory has
        order = self.order("--header", "order.h", "--header", "none/at/all.h", exit_code=1, **flags)["c++"]
        self.assertEqual(order["header none/at/all.h"], ("", ""))

    def test_a_copied_include_directory_comes_before_that_of_hipcc(self):
        """Why recipes/pytorch copies it: a -I for the system directory itself has no effect."""
        rocm, conda = self.header("rocm/include", "thrust/version.h"), self.header("env/include", "thrust/version.h")
        self.program("bin/hipcc", f'exec g++ -x c++ "$@" -isystem {self.scratch}/env/include -isystem {self.scratch}/rocm/include')
        place = {"ROCM_PATH": str(self.scratch / "rocm")}
        order = self.order(exit_code=1, HIPFLAGS=f"-I{self.scratch}/rocm/include", **place)["hipcc"]
        self.assertEqual(order["header thrust/version.h"], (str(conda), str(rocm)))
        copy = self.header("rocm/rocm-include", "thrust/version.h")
        order = self.order(HIPFLAGS=f"-I{copy.parent.parent}", **place)["hipcc"]
        self.assertEqual(order["header thrust/version.h"], (str(copy), ""))
        # CUDA has a Thrust, too, which is not for hipcc.
        self.header("cuda/include", "thrust/version.h")
        order = self.order(HIPFLAGS=f"-I{copy.parent.parent}", CUDA_HOME=str(self.scratch / "cuda"), **place)["hipcc"]
        self.assertEqual(order["header thrust/version.h"], (str(copy), ""))

    def test_a_compiler_of_the_machine_although_the_environment_has_one(self):
        own = self.scratch / "env/bin/x86_64-conda-linux-gnu-g++"
        own.parent.mkdir(parents=True)
        own.touch()
        order = self.order(exit_code=1, CONDA_PREFIX=str(self.prefix))["c++"]
        self.assertEqual(order["compiler g++"][1], str(own))

    def test_a_wrapper_elsewhere_starts_the_compiler_of_the_environment(self):
        """As a script in /usr/local/bin does, or ccache. nvcc is a stand-in that prints its directory, as NVIDIA's does."""
        own_nvcc = self.program("env/bin/nvcc", f'echo "#$ _HERE_={self.prefix}/bin"; exec g++ -x c++ $(echo "$*" | sed "s/-X[a-z]* //g")')
        own = self.prefix / "bin/g++"
        own.symlink_to(harness.tool("g++"))
        self.program("bin/g++", f'exec {own} "$@"')
        self.program("bin/nvcc", f'exec {own_nvcc} "$@"')
        starter = self.program("bin/ccache", 'exec "$@"')
        for compiler in ("g++", f"{starter} {own}"):
            with self.subTest(compiler):
                order = self.order(CONDA_PREFIX=str(self.prefix), CXX=compiler)
                self.assertEqual(order["c++"]["compiler g++"], (str(own), ""))
                self.assertEqual(order["nvcc"]["compiler nvcc"], (str(own_nvcc), ""))

    def test_without_a_compiler(self):
        self.refused(4, "no compiler found", "check", PATH="/nonexistent")
        self.refused(4, "$CXX: program 'no-such-g++' does not exist", "check", PATH="/usr/bin", CXX="no-such-g++ -m64")
        self.refused(5, "' failed: ", "check", PATH="/usr/bin:/bin", CXX="/bin/false")

    def test_flags_with_blanks_and_the_cause_of_a_failure(self):
        self.order(CXXFLAGS="-DX=\"a b\" -DY='c  d' -DZ=e\\ f")
        self.refused(5, " failed: <command-line>: fatal error: nosuch.h", "check", PATH="/usr/bin:/bin", CPPFLAGS="-include nosuch.h")


if __name__ == "__main__":
    harness.main()
