"""--ccache: what is compiled again, and that the bytes are those of a build without it, with the real ccache and the real nvcc.

ccache 4.7 gives wrong objects in some cases (docs/decisions/0014-compiler-cache.md); each of them is a test here.
With make all steps are tried. With cmake, whose every configuration compiles too, the first ones; ccache_all tries the rest as well.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import harness

RECIPE = """\
schema_version: 1
context: {{number: 0}}
package: {{name: toy, version: "1.0"}}
source: {{path: src}}
build:
  number: ${{{{ number }}}}
  string: "${{{{ number }}}}"
  script: {{file: build.sh, env: {{SCRATCH: {scratch}}}}}
requirements:
  build: [{tools}]
about: {{license: MIT}}
extra: {{ptpkg: {{formats: [conda]}}}}
"""

COMPILERS = "\"${{ compiler('c') }}\", \"${{ compiler('cxx') }}\""

# PKG_BUILDNUM: a new number is a new build.
SCRIPT = """\
echo "build $PKG_BUILDNUM" >> "$SCRATCH/runs"
while [ -e "$SCRATCH/hold" ]; do touch "$SCRATCH/held"; sleep 0.1; done
{build}
mkdir -p "$PREFIX/lib"
cp libtoy.so "$PREFIX/lib/"
"""

BUILDS = {
    "make": "make -j2",
    "cmake": 'cmake -G Ninja -S . -B build && cmake --build build && cp build/libtoy.so .',
}

MAKEFILE = """\
objects = one.o two.o three.o plain.o
libtoy.so: $(objects)
\t$(CXX) -shared $(LDFLAGS) $^ -o $@
%.o: %.cpp
\t$(CXX) $(CXXFLAGS) -g -fPIC -c $< -o $@
%.o: %.c
\t$(CC) $(CFLAGS) -g -fPIC -c $< -o $@
"""

CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.18)
project(toy C CXX)
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("int main() { return 0; }" WORKS)
add_library(toy SHARED one.cpp two.cpp three.cpp plain.c)
target_compile_options(toy PRIVATE -g)
"""

# The path of the source in the object comes from -ffile-prefix-map, which names the version.
SOURCE = """\
#include <vector>
#if __has_include("{name}_extra.h")
#include "{name}_extra.h"
#else
#define EXTRA 1
#endif
const char* {name}_file() {{ return __FILE__; }}
const char* {name}_built() {{ return __builtin_FILE(); }}
int {name}() {{ return static_cast<int>(std::vector<int>(EXTRA).size()); }}
"""

FILES = 4

# One header is read for sm_90 alone.
KERNEL = """\
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#include "ninety.h"
#else
#define VALUE 1
#endif
__global__ void kernel(float* x) { *x = VALUE; }
void run(float* x) { kernel<<<1, 1>>>(x); }
"""
CUDA_BUILDS = {
    "make": '"$CUDACXX" $FLAGS -Xcompiler -fPIC -c kernel.cu -o kernel.o && g++ -shared kernel.o $LDFLAGS -o libtoy.so',
    "cmake": 'cmake -G Ninja -S . -B build -DCMAKE_CUDA_FLAGS="$FLAGS" && cmake --build build && cp build/libtoy.so .',
}
CUDA_CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.18)
project(toy CUDA)
set(CMAKE_CUDA_ARCHITECTURES OFF)
add_library(toy SHARED kernel.cu)
"""
ARCHS = "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90"


class Ccache(harness.Case):
    def setUp(self):
        super().setUp()
        for name in ("ccache", "gcc", "g++", "make", "cmake", "ninja"):
            harness.tool(name)

    def project(self, tool="make", build=None, **files):
        """`files`: text by name, "." as "__"."""
        recipe = self.scratch / "toy"
        shutil.rmtree(recipe, ignore_errors=True)
        source = recipe / "src"
        source.mkdir(parents=True)
        tools = {"make": COMPILERS + ", make", "cmake": COMPILERS + ", cmake, ninja"}[tool]
        (recipe / "recipe.yaml").write_text(RECIPE.format(tools=tools, scratch=self.scratch))
        (recipe / "build.sh").write_text(SCRIPT.format(build=build or BUILDS[tool]))
        (source / "Makefile").write_text(MAKEFILE)
        (source / "CMakeLists.txt").write_text(CMAKE_LISTS)
        for name in ("one", "two", "three"):
            (source / f"{name}.cpp").write_text(SOURCE.format(name=name))
        (source / "plain.c").write_text("const char* plain(void) { return __FILE__; }\n")
        for name, text in files.items():
            (source / name.replace("__", ".")).write_text(text)
        return recipe

    def edit(self, path, old, new):
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new))

    def number(self, recipe, number):
        old = (recipe / "recipe.yaml").read_text().split("number: ")[1].split("}")[0]
        self.edit(recipe / "recipe.yaml", f"number: {old}}}", f"number: {number}}}")

    def cached(self, recipe, *args, env=("--env", "system"), **extra):
        """(hits, misses) of a build with --ccache, in dist."""
        output = self.scratch / "dist"
        shutil.rmtree(output, ignore_errors=True)
        summary = self.ptpkg_json("build", recipe, "--ccache", *env, "--output", output, *args, **extra)
        counts = [stage["counts"] for stage in summary["stages"] if "counts" in stage]
        self.assertEqual(len(counts), 1, summary)
        return counts[0]["ccache_hits"], counts[0]["ccache_misses"]

    def assert_as_without(self, recipe, **extra):
        """What the last build made is what a build without the cache makes elsewhere."""
        output = self.scratch / "plain"
        shutil.rmtree(output, ignore_errors=True)
        cache = self.scratch / "another-cache"
        shutil.rmtree(cache, ignore_errors=True)
        self.ptpkg("build", recipe, "--env", "system", "--output", output, PTPKG_CACHE_DIR=str(cache), **extra)
        self.assertEqual(harness.artifacts(self.scratch / "dist"), harness.artifacts(output))
        self.assertEqual(list((self.cache / "work").iterdir()), [])

    def test_what_is_compiled_again(self):
        for tool in ("make", "cmake"):
            with self.subTest(tool=tool):
                shutil.rmtree(self.cache, ignore_errors=True)
                recipe = self.project(tool)
                self.assertEqual(self.cached(recipe), (0, FILES))
                self.assert_as_without(recipe)
                self.number(recipe, 1)
                self.assertEqual(self.cached(recipe), (FILES, 0))
                self.assert_as_without(recipe)
                with open(recipe / "src/two.cpp", "a", encoding="utf-8") as file:
                    file.write("int more() { return 7; }\n")
                self.assertEqual(self.cached(recipe), (FILES - 1, 1))
                self.assert_as_without(recipe)
                # Every object holds the version, in the name of its source.
                self.edit(recipe / "recipe.yaml", 'version: "1.0"', 'version: "1.1"')
                self.assertEqual(self.cached(recipe), (0, FILES))
                self.assert_as_without(recipe)
                if tool == "cmake" and not harness.EXHAUSTIVE:
                    continue
                # A header that was not there when the object was made.
                (recipe / "src/three_extra.h").write_text("#define EXTRA 3\n")
                self.assertEqual(self.cached(recipe), (FILES - 1, 1))
                self.assert_as_without(recipe)
                # Comments and blanks inside a line: the preprocessor drops them, the debugger sees columns.
                for added in ("/* why */ ", "  "):
                    self.edit(recipe / "src/two.cpp", "return static_cast", f"return {added}static_cast")
                    self.assertEqual(self.cached(recipe), (FILES - 1, 1))
                    self.assert_as_without(recipe)
                    self.edit(recipe / "src/two.cpp", f"return {added}static_cast", "return static_cast")
                (recipe / "src/three_extra.h").write_text("#define EXTRA /* more */ 3\n")
                self.assertEqual(self.cached(recipe), (FILES - 1, 1))
                self.assert_as_without(recipe)

    def test_the_summary_tells(self):
        recipe = self.project()
        self.cached(recipe)
        self.number(recipe, 1)
        done = self.ptpkg("build", recipe, "--env", "system", "--output", self.scratch / "dist", PTPKG_CCACHE="1")
        self.assertIn(f"; ccache: {FILES} of {FILES} found; ", done.stderr)
        done = self.ptpkg("build", recipe, "--env", "system", "--output", self.scratch / "dist", "--ccache")
        self.assertNotIn("ccache", done.stderr)

    def test_another_compiler(self):
        programs = self.scratch / "bin"
        programs.mkdir()
        for name in ("gcc", "g++"):
            (programs / name).write_text(f'#!/bin/sh\nexec /usr/bin/{name} "$@"\n')
            (programs / name).chmod(0o755)
        path = {"PATH": f"{programs}:{os.environ['PATH']}"}
        recipe = self.project()
        self.assertEqual(self.cached(recipe, **path), (0, FILES))
        old = (programs / "g++").stat()
        (programs / "g++").write_text('#!/bin/sh\nexec /usr/bin/g++ "$@" -O2\n')
        os.utime(programs / "g++", (old.st_atime, old.st_mtime))
        self.number(recipe, 1)
        self.assertEqual(self.cached(recipe, **path), (1, FILES - 1))
        self.assert_as_without(recipe, **path)

    def test_nvcc_behind_a_ccache_of_the_script_is_never_cached(self):
        # Only the real ccache knows what an nvcc is; any object will do for the test.
        stand_in = ('#!/bin/sh\necho "nvcc $*" >> "$SCRATCH/nvcc-runs"\n'
                    'for word; do [ "$out" = next ] && out=$word; [ "$word" = -o ] && out=next; done\n'
                    'echo object > "$out"\n')
        recipe = self.project("make", build='chmod +x nvcc\nccache "$PWD/nvcc" -c kernel.cu -o kernel.o\n'
                              '"$(command -v ccache)" "$PWD/nvcc" -dc kernel.cu -o kernel.o\n'
                              '"$CXX" -x cuda -fsyntax-only -c kernel.cu -o k.o 2>&1 | cat\nmake -j2',
                              nvcc=stand_in, kernel__cu="__global__ void k();\n")
        for number in (0, 1):
            self.number(recipe, number)
            self.assertEqual(self.cached(recipe), (FILES * number, FILES * (1 - number)))
        self.assertEqual(len((self.scratch / "nvcc-runs").read_text().splitlines()), 4)

    def nvcc_lies_in_its_toolkit(self):
        return (pathlib.Path(shutil.which("nvcc")).resolve().parent / "nvcc.profile").exists()

    def cuda_project(self, tool):
        nvcc = shutil.which("nvcc")
        said = subprocess.run([nvcc, "--list-gpu-code"], capture_output=True, text=True, check=False).stdout if nvcc else ""
        if not {"sm_80", "sm_90"} <= set(said.split()):
            self.skipTest("PATH has no nvcc that compiles for sm_80 and sm_90: CUDA 11.8 or later")
        recipe = self.project(build=f'export FLAGS="{ARCHS}"\n{CUDA_BUILDS[tool]}', kernel__cu=KERNEL, ninety__h="#define VALUE 9\n")
        (recipe / "src/CMakeLists.txt").write_text(CUDA_CMAKE_LISTS)
        tools = COMPILERS + ", \"${{ compiler('cuda') }}\"" + ", cmake, ninja" * (tool == "cmake")
        (recipe / "recipe.yaml").write_text(RECIPE.format(tools=tools, scratch=self.scratch))
        return recipe

    def test_nvcc(self):
        """What it compiles again, and that the bytes are its own."""
        for tool in ("make", "cmake"):
            with self.subTest(tool=tool):
                recipe = self.cuda_project(tool)
                if tool == "make" and not self.nvcc_lies_in_its_toolkit():
                    self.skipTest("nvcc.profile is not beside nvcc: CUDACXX stays as it is")
                shutil.rmtree(self.cache, ignore_errors=True)
                self.assertEqual(self.cached(recipe), (0, 1), shutil.which("nvcc"))
                self.number(recipe, 1)
                self.assertEqual(self.cached(recipe), (1, 0))
                self.assert_as_without(recipe)
                # What one architecture alone reads, the architectures, and flags that the environment adds.
                (recipe / "src/ninety.h").write_text("#define VALUE 7\n")
                self.assertEqual(self.cached(recipe), (0, 1))
                if tool == "cmake" and not harness.EXHAUSTIVE:
                    continue
                self.edit(recipe / "build.sh", "code=sm_90", "code=[sm_90,compute_90]")
                self.assertEqual(self.cached(recipe), (0, 1))
                self.edit(recipe / "build.sh", "export FLAGS", "export NVCC_APPEND_FLAGS=-use_fast_math FLAGS")
                self.assertEqual(self.cached(recipe), (0, 1))

    def test_another_nvcc(self):
        recipe = self.cuda_project("cmake")
        programs = self.scratch / "bin"
        programs.mkdir()
        path = {"PATH": f"{programs}:{os.environ['PATH']}"}
        for number, flag in enumerate(("", " --fmad=false")):
            (programs / "nvcc").write_text(f'#!/bin/sh\nexec {shutil.which("nvcc")} "$@"{flag}\n')
            (programs / "nvcc").chmod(0o755)
            self.number(recipe, 2 * number)
            self.assertEqual(self.cached(recipe, **path), (0, 1))
            self.number(recipe, 2 * number + 1)
            self.assertEqual(self.cached(recipe, **path), (1, 0))
        # Without CUDA_HOME a makefile looks for the toolkit beside $CUDACXX, so this nvcc is called itself.
        self.assertEqual(self.cached(self.cuda_project("make"), **path), (0, 0))

    def test_settings_of_the_user(self):
        recipe = self.project()
        home = self.scratch / "home"
        (home / ".config/ccache").mkdir(parents=True)
        (home / ".config/ccache/ccache.conf").write_text("sloppiness = include_file_mtime\ndirect_mode = true\n")
        elsewhere = self.scratch / "elsewhere"
        remote = self.scratch / "remote"
        extra = {"HOME": str(home), "CCACHE_DIR": str(elsewhere), "CCACHE_DISABLE": "1", "CCACHE_READONLY": "1",
                 "CCACHE_REMOTE_STORAGE": f"file:{remote}"}
        self.edit(recipe / "build.sh", "make -j2", "export CCACHE_DISABLE=1 CCACHE_DIR=/nonexistent\nmake -j2")
        self.assertEqual(self.cached(recipe, **extra), (0, FILES))
        self.assertFalse(elsewhere.exists())
        self.assertTrue([path for path in remote.rglob("*") if path.is_file()])  # a second cache, as on another machine, is filled from there
        shutil.rmtree(self.cache)
        self.assertEqual(self.cached(recipe, **extra), (FILES, 0))
        self.assert_as_without(recipe)

    def test_another_user_with_other_sources(self):
        """Two users, whose recipes lie elsewhere. Each has a cache of its own, at the same path, and one storage serves both."""
        if os.geteuid() != 0:
            self.skipTest("another user needs root")
        group, remote = 3000, self.scratch / "remote"
        self.scratch.chmod(0o755)
        for folder in (self.cache, remote):
            folder.mkdir()
        os.chown(remote, -1, group)
        remote.chmod(0o2775)
        (self.scratch / "runs").touch()
        (self.scratch / "runs").chmod(0o666)
        made = self.project()
        counts, libraries = [], []
        for user, place in ((1001, "alpha"), (1002, "beta/deeper")):
            home = self.scratch / place
            shutil.copytree(made, home / "toy")
            (home / "own").mkdir()
            for path in (home, *home.rglob("*")):
                os.chown(path, user, group)
            mounted = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && umask 002 && exec "$@"', "sh", home / "own", self.cache]
            as_user = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
            done = subprocess.run([*mounted, *as_user, harness.Settings.ptpkg, "build", home / "toy", "--ccache", "--env", "system",
                                   "--output", home / "dist", "--json", "--no-config"], text=True, capture_output=True, check=False,
                                  env=self.environment(HOME=str(home), CCACHE_REMOTE_STORAGE=f"file:{remote}|umask=002"))
            self.assertEqual(done.returncode, 0, done.stderr)
            [build] = [stage for stage in json.loads(done.stdout)["stages"] if stage["stage"] == "build"]
            counts.append((build["counts"]["ccache_hits"], build["counts"]["ccache_misses"]))
            libraries.append(harness.artifacts(home / "dist"))
        self.assertEqual(counts, [(0, FILES), (FILES, 0)])
        self.assertEqual(libraries[0], libraries[1])

    def refused(self, recipe, exit_code, *texts, **extra):
        done = self.ptpkg("build", recipe, "--ccache", "--env", "system", "--output", self.scratch / "dist",
                          exit_code=exit_code, **extra)
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assertFalse((self.scratch / "runs").exists())
        self.assertEqual(list((self.cache / "work").glob("*")), [])

    def test_what_ccache_cannot_work_with_is_told_before_a_source_is_copied(self):
        recipe = self.project()
        self.refused(recipe, 2, 'invalid size: "lots"', CCACHE_MAXSIZE="lots")
        self.refused(recipe, 2, "unknown remote storage URL: (CCACHE_REMOTE_STORAGE)", CCACHE_REMOTE_STORAGE="gopher://x")
        shutil.rmtree(self.cache / "ccache/tmp")
        (self.cache / "ccache/tmp").write_text("a file")  # root may write to any folder
        self.refused(recipe, 6, f"Failed to create directory {self.cache / 'ccache/tmp'}")
        shutil.rmtree(self.cache / "ccache")
        (self.cache / "ccache").write_text("a file")
        self.refused(recipe, 7, f"'{self.cache / 'ccache'}' is not a directory")

    def test_without_ccache_on_path(self):
        programs = self.scratch / "bin"
        programs.mkdir()
        for folder in ("/usr/bin", "/bin"):
            for program in pathlib.Path(folder).iterdir():
                if program.name != "ccache" and not os.path.lexists(programs / program.name):
                    (programs / program.name).symlink_to(program)
        self.refused(self.project(), 4, "program 'ccache' is not on PATH", "apt-get install ccache",
                     PATH=str(programs))

    def test_damaged_objects_are_compiled_again(self):
        recipe = self.project()
        self.cached(recipe)
        damaged = 0
        for path in (self.cache / "ccache").rglob("*R"):
            data = bytearray(path.read_bytes())
            data[len(data) // 2] ^= 0xff
            path.chmod(0o644)
            path.write_bytes(data)
            damaged += 1
        self.assertEqual(damaged, FILES)
        self.number(recipe, 1)
        self.assertEqual(self.cached(recipe), (0, FILES))
        self.assert_as_without(recipe)

    def start(self, recipe, output):
        with open(f"{output}.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen([harness.Settings.ptpkg, "build", recipe, "--ccache", "--env", "system", "--output",
                                        output], env=self.environment(), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=log, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def await_held(self):
        self.wait_for((self.scratch / "held").exists)
        (self.scratch / "held").unlink()

    def test_two_builds_of_one_name_at_once(self):
        recipe = self.project()
        (self.scratch / "hold").touch()
        outputs = [self.scratch / name for name in ("dist", "dist1", "dist2")]
        first = self.start(recipe, outputs[0])
        self.await_held()
        other = self.scratch / "other"
        shutil.copytree(recipe, other)
        self.number(other, 1)
        second = self.start(other, outputs[1])
        same = self.start(recipe, outputs[2])

        def said(output):
            return pathlib.Path(f"{output}.log").read_text()

        self.wait_for(lambda: len((self.scratch / "runs").read_text().splitlines()) == 2)
        self.wait_for(lambda: "another run is building" in said(outputs[2]))
        (self.scratch / "hold").unlink()
        self.assertEqual([process.wait() for process in (first, second, same)], [0, 0, 0], [said(one) for one in outputs])
        self.assertIn("in a separate directory", said(outputs[1]))
        self.assertEqual((self.scratch / "runs").read_text(), "build 0\nbuild 1\n")
        self.assert_as_without(recipe)

    def test_kill_9_and_again(self):
        for tool in ("make", "cmake"):
            with self.subTest(tool=tool):
                shutil.rmtree(self.cache, ignore_errors=True)
                shutil.rmtree(self.scratch / "dist", ignore_errors=True)
                (self.scratch / "runs").unlink(missing_ok=True)
                wait = '\nwhile [ -e "$SCRATCH/hold" ]; do touch "$SCRATCH/held"; sleep 0.1; done'
                recipe = self.project(tool, build=BUILDS[tool] + wait)
                self.edit(recipe / "build.sh", '"$SCRATCH/runs"\nwhile', '"$SCRATCH/runs"\nfalse && while')
                (self.scratch / "hold").touch()
                process = self.start(recipe, self.scratch / "dist")
                self.await_held()
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                (self.scratch / "hold").unlink()
                done = self.ptpkg("build", recipe, "--ccache", "--env", "system", "--output", self.scratch / "dist")
                self.assertIn("resuming the interrupted build of", done.stderr)
                self.assertRegex(done.stderr, "ccache: (nothing to compile|([0-9]) of \\2 found)")
                self.assert_as_without(recipe)
                if tool == "cmake" and not harness.EXHAUSTIVE:
                    continue
                # Of what was left with other inputs of the same recipe nothing is of use.
                (self.scratch / "hold").touch()
                self.number(recipe, 1)
                process = self.start(recipe, self.scratch / "dist")
                self.await_held()
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                (self.scratch / "hold").unlink()
                (recipe / "src/plain.c").write_text("int plain(void) { return 2; }\n")
                done = self.ptpkg("build", recipe, "--ccache", "--env", "system", "--output", self.scratch / "dist")
                self.assertIn("removing an interrupted build of 'toy-1.0-1'", done.stderr)
                self.assertEqual(list((self.cache / "work").iterdir()), [])
                # Of another version it is left alone.
                (self.scratch / "hold").touch()
                self.number(recipe, 3)
                process = self.start(recipe, self.scratch / "dist")
                self.await_held()
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                (self.scratch / "hold").unlink()
                self.number(recipe, 4)
                done = self.ptpkg("build", recipe, "--ccache", "--env", "system", "--output", self.scratch / "dist")
                self.assertIn("an interrupted build of 'toy-1.0-3'", done.stderr)
                self.number(recipe, 3)
                done = self.ptpkg("build", recipe, "--ccache", "--env", "system", "--output", self.scratch / "dist")
                self.assertIn("resuming the interrupted build of", done.stderr)

    def test_a_result_that_names_the_compiler(self):
        recipe = self.project(build='make -j2\nmkdir -p "$PREFIX/share"\necho "cc=$CC" > "$PREFIX/share/toy.conf"')
        done = self.ptpkg("build", recipe, "--ccache", "--env", "system", "--output", self.scratch / "dist", exit_code=3)
        self.assertIn("'share/toy.conf' contains the path of a --ccache compiler wrapper", done.stderr)
        self.assertIn("without --ccache", done.stderr)
        for _ in range(2):  # the second removes what the refused one left
            self.ptpkg("build", recipe, "--env", "system", "--output", self.scratch / "dist")
        self.assert_as_without(recipe)

    def test_compilers_of_a_conda_channel(self):
        client = self.scratch / "conda"
        # Of "create --yes --prefix PREFIX specs…"; a dry run says nothing.
        client.write_text(f"""#!/bin/sh
case "$*" in *--dry-run*) exit 0 ;; esac
prefix=$4
mkdir -p "$prefix/bin" "$prefix/etc/conda/activate.d"
case "$prefix" in */build_env) ;; *) exit 0 ;; esac
for name in gcc g++; do
  printf '#!/bin/sh\\nexec /usr/bin/%s "$@"\\n' $name > "$prefix/bin/x86_64-conda-linux-gnu-$name"
  chmod +x "$prefix/bin/x86_64-conda-linux-gnu-$name"
done
cat > "$prefix/etc/conda/activate.d/gcc.sh" <<'END'
export CC=$CONDA_PREFIX/bin/x86_64-conda-linux-gnu-gcc
export CXX=x86_64-conda-linux-gnu-g++
END
""")
        client.chmod(0o755)
        conda = ("--env", "conda", "--conda-exe", client)
        for tool in ("make", "cmake"):
            with self.subTest(tool=tool):
                shutil.rmtree(self.cache, ignore_errors=True)
                recipe = self.project(tool)
                self.assertEqual(self.cached(recipe, env=conda), (0, FILES))
                self.number(recipe, 1)
                self.assertEqual(self.cached(recipe, env=conda), (FILES, 0))
                plain = self.scratch / "plain"
                shutil.rmtree(plain, ignore_errors=True)
                self.ptpkg("build", recipe, *conda, "--output", plain,
                           PTPKG_CACHE_DIR=str(self.scratch / f"another-{tool}"))
                self.assertEqual(harness.artifacts(self.scratch / "dist"), harness.artifacts(plain))

    def test_what_inherits_from_a_cached_build(self):
        """CMake's files of the staging output name the launcher; the output is built without it."""
        recipe = self.scratch / "staged"
        shutil.copytree(self.project("cmake") / "src", recipe / "src")
        (recipe / "recipe.yaml").write_text(f"""\
schema_version: 1
recipe: {{name: toys, version: "1.0"}}
source: {{path: src}}
outputs:
  - staging: {{name: native}}
    requirements: {{build: [{COMPILERS}, cmake, ninja]}}
    build: {{script: ["cmake -G Ninja -S . -B build && cmake --build build"]}}
  - package: {{name: toy}}
    inherit: native
    requirements: {{build: [{COMPILERS}, cmake, ninja]}}
    build:
      script: ["touch two.cpp && cmake --build build && mkdir -p $PREFIX/lib && cp build/libtoy.so $PREFIX/lib/"]
about: {{license: MIT}}
extra: {{ptpkg: {{formats: [conda]}}}}
""")
        output = self.scratch / "dist"
        summary = self.ptpkg_json("build", recipe, "--ccache", "--env", "system", "--output", output)
        counts = [stage["counts"] for stage in summary["stages"] if "counts" in stage]
        self.assertEqual([count["ccache_misses"] for count in counts], [FILES, FILES])  # ninja sees other paths
        self.assert_as_without(recipe)
        self.edit(recipe / "recipe.yaml", "touch two.cpp", "touch one.cpp two.cpp")
        shutil.rmtree(output)
        self.ptpkg("build", recipe, "--env", "system", "--output", output)
        self.assert_as_without(recipe)
        # An output that names the launcher is refused, and what the error advises helps.
        self.edit(recipe / "recipe.yaml", "cp build/libtoy.so $PREFIX/lib/",
                  "{ echo toy; grep COMPILER_LAUNCHER build/CMakeCache.txt || true; } > $PREFIX/lib/toy.conf")
        shutil.rmtree(output)
        done = self.ptpkg("build", recipe, "--env", "system", "--output", output, exit_code=3)
        self.assertIn("'lib/toy.conf' contains the path of a --ccache compiler wrapper", done.stderr)
        result = pathlib.Path(re.search('with "rm -r ([^"]+)"', done.stderr)[1])
        self.assertTrue((result / "files/work.tar").exists(), result)
        shutil.rmtree(result)
        self.ptpkg("build", recipe, "--env", "system", "--output", output)
        self.assert_as_without(recipe)

    def test_the_cache_verb(self):
        recipe = self.project()
        self.cached(recipe)
        items = [item for item in self.ptpkg_json("cache")["items"] if item["kind"] == "ccache"]
        self.assertEqual([(item["path"], item["state"]) for item in items], [(str(self.cache / "ccache"), "free")])
        self.assertGreater(items[0]["size_bytes"], 1000)
        (self.scratch / "hold").touch()
        self.number(recipe, 1)
        process = self.start(recipe, self.scratch / "dist")
        self.await_held()
        in_use = self.ptpkg_json("cache", "clean")["in_use"]
        self.assertIn("ccache", [item["kind"] for item in in_use])
        (self.scratch / "hold").unlink()
        self.assertEqual(process.wait(timeout=harness.HANGS_AFTER_S), 0)
        removed = self.ptpkg_json("cache", "clean")["removed"]
        self.assertIn("ccache", [item["kind"] for item in removed])
        self.assertFalse((self.cache / "ccache").exists())
        self.number(recipe, 2)
        self.assertEqual(self.cached(recipe), (0, FILES))


if __name__ == "__main__":
    harness.main()
