"""The scripts of recipes/magma on sources that are made here: no MAGMA, no CUDA. tests/e2e/projects/magma_test.py builds the real one."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import harness

RECIPE = harness.REPOSITORY / "recipes/magma"

# What closure.py has to follow: a macro and an inline function of a header, a kernel of another file, a constant, a
# table of functions; and what it must not: comments, texts, prototypes, dead branches, kernels of its own.
SOURCES = {
    "CMake.src.cuda": """\
set( libmagma_all
control/names.F90
src/a.cpp
src/b.cpp
src/c.cpp
src/constant.cpp
src/dead.cpp
src/kernel.cu
src/launch.cu
src/other_kernel.cu
src/table.cpp )

set( libtest_all
testing/t.cpp )
""",
    "include/magma.h": """\
#define magma_a(x) \\
    magma_a_internal( x, __func__ )
int magma_a_internal( int x, const char* where );
int magma_dead( void );
static inline int magma_helper( int x ) { return magma_b( x ); }
static inline int magma_unused( int x ) { return magma_dead( ); }
extern const double MAGMA_NAN;
""",
    "src/a.cpp": """\
#include "magma.h"
int magma_dead( void );  /* magma_dead() */
extern "C" int
magma_a_internal( int x, const char* where )
{
    const char* text = "magma_dead( )";
#ifdef MAGMA_HAVE_HIP
    return magma_dead( );
#elif defined(MAGMA_HAVE_CUDA) || defined(SOMETHING)
    return magma_helper( x ) + (MAGMA_NAN > 0) + launch( x );
#else
    return magma_dead( );
#endif
}
""",
    "src/b.cpp": "int magma_b( int x ) { return (int) functions[ x ]( x ); }\n",
    "src/c.cpp": "extern \"C\" {\nint magma_c( int x ) { return x; }\n}\n",
    "src/constant.cpp": "const double MAGMA_NAN\n    = 0.0;\n",
    "src/dead.cpp": "int magma_dead( void ) { return 0; }\n",
    "src/kernel.cu": "__global__ void shared_kernel( int x ) { }\n__global__ void common_kernel( int x ) { }\n",
    "src/launch.cu": """\
__global__ void common_kernel( int x ) { }
int launch( int x ) { common_kernel<<< 1, 1 >>>( x ); shared_kernel<<< 1, 1 >>>( x ); return x; }
""",
    "src/other_kernel.cu": "__global__ void common_kernel( int x ) { }\n",
    "src/table.cpp": "int (*functions[])( int ) = { magma_c };\n",
}

# A git checkout whose makefile makes the list of files for HIP, as MAGMA's does.
CHECKOUT = {
    "COPYRIGHT": "BSD\n",
    "include/magma_types.h": "#define MAGMA_VERSION_MAJOR 2\n#define MAGMA_VERSION_MINOR 9\n#define MAGMA_VERSION_MICRO 0\n",
    "include/magma_v2.h": "",
    "interface_cuda/alloc.cpp": "int magma_dpotrf_gpu( int x ) { return cudaMalloc( x ); }\n",
    "magmablas/zpotf2.cu": "int cuda_potf2( int x ) { return x; }\n",
    "src/zunused.cpp": "int magma_unused( int x ) { return x; }\n",
    "Makefile": "tmp := $(shell $(MAKE) -j -f make.gen.hipMAGMA sparse_hip)\n"
                "CMake.src.hip:\n\tprintf 'set( libmagma_all\\ninterface_hip/alloc.cpp\\nmagmablas_hip/dpotf2.hip.cpp\\n"
                "src/zunused.cpp )\\n' > $@\n\tprintf 'libmagma_templates := \\\\\\n\\tmagmablas_hip/zpotf2.hip.cpp\\n\\n"
                "header_templates := \\\\\\n\\tinclude/zhead.h\\n\\n' > Makefile.gen.hip\n",
    "include/zhead.h": "",
    "make.gen.hipMAGMA": "interface_hip: interface_hip/alloc.cpp\nmagmablas_hip: magmablas_hip/zpotf2.hip.cpp\n"
                         "sparse_hip:\n\ttouch $@\n"
                         "interface_hip/%: interface_cuda/%\n\tmkdir -p interface_hip\n\t$(HIPIFY) $< > $@\n"
                         "magmablas_hip/%.hip.cpp: magmablas/%.cu\n\tmkdir -p magmablas_hip\n\t$(HIPIFY) $< > $@\n",
    "tools/hipify-perl": "shift @ARGV eq '-quiet-warnings' or die; while (<>) { s/cuda/hip/g; print }\n",
    "tools/codegen.py": """\
import pathlib
class SourceFile:
    def __init__(self, name): self.name = name
    def generate_files(self):
        text = pathlib.Path(self.name).read_text()
        pathlib.Path(self.name.replace("/z", "/d")).write_text(text)
""",
}

# AMD's compiler, and a CMake that writes one object with code for the architectures of COMPILED, or of the variant.
HIPCC = "#!/bin/sh\necho 'HIP version: 5.7.31921-0'\necho 'Debian clang version 17.0.6'\n"
CMAKE = f"""#!{sys.executable}
import os, pathlib, shutil, struct, subprocess, sys
build, prefix = pathlib.Path("build"), pathlib.Path(os.environ.get("PREFIX", ""))
if "--version" in sys.argv:
    print("cmake version 3.31.6")
elif "--install" in sys.argv:
    for folder in ("lib", "include"):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy("build/libmagma.a", prefix / "lib")
    for name in ("magma_v2.h", "magma_types.h", "magma_config.h"):
        shutil.copy("include/magma_types.h", prefix / "include" / name)
elif "--build" in sys.argv:
    entries = [("host-x86_64-unknown-linux--", b"")]
    for name in (build / "archs").read_text().split(";"):
        entries.append(("hipv4-amdgcn-amd-amdhsa--" + name, bytes(range(256)) * 8))
    head, body = b"", b""
    begin = 32 + sum(24 + len(name) for name, _ in entries)
    for name, code in entries:
        head += struct.pack("<QQQ", begin + len(body), len(code), len(name)) + name.encode()
        body += code
    (build / "bundle").write_bytes(b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)) + head + body)
    (build / "a.c").write_text("int magma_dpotrf_gpu_code;\\n")
    for command in ("gcc -c a.c", "objcopy --add-section .hip_fatbin=bundle a.o", "ar rcs libmagma.a a.o"):
        subprocess.run(command.split(), cwd=build, check=True)
else:
    build.mkdir(exist_ok=True)
    given = dict(word[2:].split("=", 1) for word in sys.argv if word.startswith("-D"))
    (build / "archs").write_text(os.environ.get("COMPILED") or given["MAGMA_ARCHS"])
    print("compiler", os.environ["HIPCXX"])
    print("flags", os.environ["HIPFLAGS"])
    print("sources", pathlib.Path(given["MAGMA_SOURCE_LIST"]).read_text().split())
"""


def write(root: pathlib.Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


class Scripts(harness.Case):
    def run_script(self, name: str, *args, exit_code: int = 0) -> str:
        done = subprocess.run([sys.executable, RECIPE / name, *map(str, args)], cwd=self.scratch, text=True,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, check=False)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        return done.stdout if exit_code == 0 else done.stderr

    def closure(self, *functions: str) -> list[str]:
        write(self.scratch, {**SOURCES, "wanted.txt": "# what is wanted\n" + "\n".join(functions) + "  # this\n"})
        return self.run_script("closure.py", "CMake.src.cuda", "wanted.txt").split()

    def test_closure(self):
        self.assertEqual(self.closure("magma_c"), ["src/c.cpp"])
        self.assertEqual(self.closure("magma_b"), ["src/b.cpp", "src/c.cpp", "src/table.cpp"])
        self.assertEqual(self.closure("magma_a"), ["src/a.cpp", "src/b.cpp", "src/c.cpp", "src/constant.cpp", "src/kernel.cu",
                                                   "src/launch.cu", "src/table.cpp"])

    def test_closure_of_branches_that_are_not_known(self):
        for text, dead in (
                ("#ifdef SOMETHING\n#define ON\n#endif\n#ifndef ON", True),  # ON may be defined or not
                ("#ifdef SOMETHING\n#undef MAGMA_HAVE_CUDA\n#endif\n#ifndef MAGMA_HAVE_CUDA", True),
                ("#ifdef SOMETHING\n#elif defined(MAGMA_HAVE_CUDA)\n#define ON\n#endif\n#ifndef ON", True),
                ("#ifdef MAGMA_HAVE_HIP\n#else\n#define ON\n#endif\n#ifndef ON", False),
                ("#ifndef GUARD\n#define GUARD\n#define ON\n#endif\n#ifndef ON", False),
                ("#if !(defined(MAGMA_HAVE_CUDA) || defined(SOMETHING))", True),
                ("#if !defined(MAGMA_HAVE_CUDA) || defined(MAGMA_HAVE_HIP)", False),
                ("#if defined(MAGMA_HAVE_CUDA) && defined(SOMETHING)", True)):
            with self.subTest(text):
                write(self.scratch, {**SOURCES, "wanted.txt": "magma_c\n", "src/c.cpp":
                                     f"{text}\nint magma_c( int x ) {{ return magma_dead( ); }}\n#else\n"
                                     "int magma_c( int x ) { return x; }\n#endif\n"})
                found = self.run_script("closure.py", "CMake.src.cuda", "wanted.txt").split()
                self.assertEqual(found, ["src/c.cpp"] + ["src/dead.cpp"] * dead)

    def test_closure_of_a_name_that_no_file_defines(self):
        write(self.scratch, {**SOURCES, "wanted.txt": "magma_gone\n"})
        said = self.run_script("closure.py", "CMake.src.cuda", "wanted.txt", exit_code=1)
        self.assertEqual(said, "closure.py: no file defines 'magma_gone'\n")

    def test_lists_of_functions_name_each_once(self):
        for path in (RECIPE / "closures").glob("*.txt"):
            names = [line for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
            self.assertEqual(len(names), len(set(names)), path)
            self.assertTrue(all(name.startswith("magma") for name in names), path)

    def test_generation(self):
        # The generator's interface, and makefile rules of both layouts, without MAGMA's own text.
        codegen = """\
import argparse, os
from datetime import datetime
parser = argparse.ArgumentParser(); parser.add_argument("files", nargs="*"); opts = parser.parse_args()
class SourceFile:
    def __init__(self, name): self.name = name
    def generate_files(self):
        open(self.name.replace("/z", "/d"), "w").write(f"from {self.name}, {datetime.now().ctime()}, {os.getpid()}\\n")
"""
        makefile = ("CMake.src.cuda:\n\t@test '$(codegen)' != ''\n\t@echo 'set( libmagma_all a )' > $@\n"
                    "\t@printf 'libmagma_templates := \\\\\\n\\tsrc/zone.cpp \\\\\\n\\tsrc/ztwo.cpp\\n\\n"
                    "header_templates := \\\\\\n\\tsrc/zhead.h\\n\\n' > {made}\n")
        for made in ("Makefile.gen.cuda", "Makefile.gen"):
            with self.subTest(made):
                write(self.scratch, {"tools/codegen.py": codegen, "Makefile": makefile.replace("{made}", made),
                                     "src/zone.cpp": "", "src/ztwo.cpp": "", "src/zhead.h": ""})
                self.assertEqual(self.run_script("generate.py", "cuda"), "generated the precisions of 3 files\n")
                texts = [(self.scratch / f"src/{name}").read_text() for name in ("done.cpp", "dtwo.cpp", "dhead.h")]
                self.assertEqual({text.split(",")[1] for text in texts}, {" Thu Jan  1 00:00:00 1970"})
                self.assertEqual(len({text.split(",")[2] for text in texts}), 1, "one process")
                self.assertEqual(self.run_script("generate.py", "cuda"), "the precisions are there\n")
                write(self.scratch, {"ptpkg-generating": ""})
                self.assertEqual(self.run_script("generate.py", "cuda"), "generated the precisions of 3 files\n",
                                 "where a run was killed")
                for name in ("CMake.src.cuda", made):
                    (self.scratch / name).unlink()

    def test_closure_for_hip(self):
        listed = SOURCES["CMake.src.cuda"].replace(".cu\n", ".hip.cpp\n")
        write(self.scratch, {name.replace(".cu", ".hip.cpp"): text for name, text in SOURCES.items()})
        write(self.scratch, {"CMake.src.hip": listed, "wanted.txt": "magma_from_cuda\nmagma_get_cublas\n", "src/c.cpp":
                             "#ifdef MAGMA_HAVE_HIP\nint magma_from_hip( int x ) { return x; }\n#endif\n",
                             "src/kernel.hip.cpp": "int magma_get_hipblas( int x ) { return x; }\n"})
        self.assertEqual(self.run_script("closure.py", "CMake.src.hip", "wanted.txt").split(), ["src/c.cpp", "src/kernel.hip.cpp"])

    def test_generation_for_hip(self):
        harness.tool("perl")
        write(self.scratch, {**CHECKOUT, "interface_hip/alloc.cpp": "cut sh", "ptpkg-generating": ""})
        self.assertEqual(self.run_script("generate.py", "hip"), "generated the precisions of 2 files\n")
        self.assertEqual((self.scratch / "magmablas_hip/dpotf2.hip.cpp").read_text(), "int hip_potf2( int x ) { return x; }\n")
        self.assertIn("hipMalloc", (self.scratch / "interface_hip/alloc.cpp").read_text(), "what a killed run left is made again")
        self.assertFalse((self.scratch / "sparse_hip").exists(), "the makefile converts with one process per file")
        self.assertEqual(self.run_script("generate.py", "hip"), "the precisions are there\n")

    def test_generation_without_a_generator(self):
        said = self.run_script("generate.py", "cuda", exit_code=1)
        self.assertEqual(said, "generate.py: neither CMake.src.cuda nor tools/codegen.py is here: is this MAGMA?\n")

    def test_architectures(self):
        cmake = harness.tool("cmake")
        # The function alone: it is called before any compiler is looked for.
        text = (RECIPE / "CMakeLists.txt").read_text(encoding="utf-8")
        script = self.scratch / "archs.cmake"
        script.write_text(text[text.index("function("):text.index("endfunction()")] + "endfunction()\n"
                          "magma_cuda_architectures(found)\nmessage(\"${found}\")\n", encoding="utf-8")

        def architectures(words: str) -> str:
            done = subprocess.run([cmake, f"-DMAGMA_ARCHS={words}", "-P", script], capture_output=True, text=True, check=False)
            return " ".join(done.stderr.split())

        self.assertEqual(architectures("8.0;9.0a+PTX"), "80-real;90a")
        self.assertEqual(architectures("8.0, 10.0f 12.0+PTX"), "80-real;100f-real;120")
        self.assertEqual(architectures("sm_90 compute_90 86 87-real 89-virtual"), "90-real;90-virtual;86;87-real;89-virtual")
        self.assertEqual(architectures("native"), "native")
        self.assertIn("'Hopper' of MAGMA_ARCHS '8.0 Hopper' is no GPU architecture: write 8.0, 9.0a, 9.0+PTX or native",
                      architectures("8.0 Hopper"))
        self.assertIn("MAGMA_ARCHS is empty", architectures(""))

    def test_a_library_that_lacks_a_symbol(self):
        harness.tool("g++")
        harness.tool("ar")
        write(self.scratch, {"a.cpp": "int magma_b( int ); extern \"C\" int dpotrf_( int );\n"
                                      "int magma_a( int x ) { return magma_b( x ) + dpotrf_( x ); }\n",
                             "b.cpp": "extern int magma_table[]; int magma_b( int x ) { return magma_table[ x ]; }\n",
                             "c.cpp": "int magma_table[] = { 1 };\n"})

        def missing(*members: str) -> str:
            (self.scratch / "lib.a").unlink(missing_ok=True)
            for name in members:
                subprocess.run(["g++", "-c", f"{name}.cpp"], cwd=self.scratch, check=True)
            subprocess.run(["ar", "rcs", "lib.a", *(f"{name}.o" for name in members)], cwd=self.scratch, check=True)
            done = subprocess.run(["bash", "-e", RECIPE / "missing_symbols.sh", "lib.a"], cwd=self.scratch, text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 1 if done.stderr else 0)
            return done.stderr

        self.assertEqual(missing("a", "b", "c"), "")
        self.assertEqual(missing("a", "c"), "lib.a lacks what its own files use: _Z7magma_bi\n")
        self.assertEqual(missing("a", "b"), "lib.a lacks what its own files use: magma_table\n")

    def test_a_build_for_hip(self):
        for name in ("gcc", "g++", "ar", "objcopy", "perl", "make", "ninja"):
            harness.tool(name)
        write(self.scratch, {f"magma/{name}": text for name, text in CHECKOUT.items()})
        write(self.scratch, {"bin/hipcc": HIPCC, "bin/clang++-17": HIPCC, "bin/cmake": CMAKE,
                             "bin/hipconfig": f"#!/bin/sh\nprintf {self.scratch / 'bin'}\n"})
        for path in (self.scratch / "bin").iterdir():
            path.chmod(0o755)
        # A copy with a closure of the sources above, without packages of HIP; /usr/bin comes first in a build's PATH.
        recipe = self.scratch / "recipes/magma"
        shutil.copytree(RECIPE, recipe)
        shutil.copytree(harness.REPOSITORY / "patches/magma", self.scratch / "patches/magma")
        text = (recipe / "versions.yaml").read_text(encoding="utf-8")
        script = f"export PATH={self.scratch / 'bin'}:$PATH\n" + (recipe / "build.sh").read_text(encoding="utf-8")
        write(recipe, {"build.sh": script, "versions.yaml": text.replace("[libhipblas-dev, libhipsparse-dev]", "[libc6-dev]"),
                       "closures/potrf.txt": "magma_dpotrf_gpu\n", "potrf.yaml": "magma_closure: [potrf]\n"})
        command = ["build", recipe, "--env", "system", "--test", "skip", "--source", f"magma-rocm57={self.scratch / 'magma'}"]
        for name in ("variants", "variants_rocm_debian", "potrf"):
            command += ["--variants", recipe / f"{name}.yaml"]
        path = f"{self.scratch / 'bin'}:{os.environ['PATH']}"

        self.ptpkg(*command, "--output", self.scratch / "dist", PATH=path)
        made = harness.artifacts(self.scratch / "dist")
        self.assertEqual(sorted(made), [f"conda/linux-64/magma-rocm57-2.9.0-potrf_1.{ending}" for ending in ("conda", "tar.bz2")])
        log = (self.scratch / "dist/logs/magma-rocm57-2.9.0-potrf_1.build.log").read_text()
        self.assertIn(f"compiler {self.scratch / 'bin/clang++-17'}\n", log)
        self.assertRegex(log, "flags .*-ffile-prefix-map=")
        self.assertIn("sources ['interface_hip/alloc.cpp']\n", log)
        self.assertIn("gfx90a", self.ptpkg("inspect", self.scratch / "dist" / sorted(made)[0]).stdout)

        write(recipe, {"potrf.yaml": "magma_closure: [potrf]\nmagma_archs: [gfx90a;gfx942]\n",
                       "build.sh": "export COMPILED=gfx90a\n" + script})
        done = self.ptpkg(*command, "--output", self.scratch / "refused", PATH=path, exit_code=1)
        self.assertIn("gfx942 is missing", done.stderr)

    def test_patches_are_all_used(self):
        rendered = (RECIPE / "versions.yaml").read_text(encoding="utf-8")
        for path in (harness.REPOSITORY / "patches/magma").rglob("*.patch"):
            self.assertIn(str(path.relative_to(harness.REPOSITORY)), rendered)
            self.assertIn("\nWhy: ", path.read_text(encoding="utf-8"))

    def test_all_variants_render(self):
        names = [one["file_stem"] for one in self.ptpkg_json("render", RECIPE)]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("magma-cuda130-2.9.0-1", names)
        digests = {json.dumps(one["sources"]) for one in self.ptpkg_json("render", RECIPE)}
        self.assertEqual(len(digests), 3, "one archive for each version")

    def test_one_variant_for_each_toolkit(self):
        files = [RECIPE / "variants.yaml", RECIPE / "variants_toolkits.yaml"]
        rendered = self.ptpkg_json("render", RECIPE, "--variants", files[0], "--variants", files[1])
        self.assertEqual(sorted(one["file_stem"] for one in rendered),
                         ["magma-cuda118-2.6.1-1", "magma-cuda124-2.9.0-1", "magma-cuda130-2.9.0-1"])
        # Each with the architectures that variants.yaml has for that toolkit.
        all_of_them = self.ptpkg_json("render", RECIPE, "--variants", files[0])
        lists = {(one["variant"]["cuda_compiler_version"], one["variant"]["magma_archs"]) for one in all_of_them}
        for one in rendered:
            self.assertIn((one["variant"]["cuda_compiler_version"], one["variant"]["magma_archs"]), lists)

    def test_a_version_that_is_not_known_is_refused(self):
        """It had the digest of another release."""
        variants = self.scratch / "variants.yaml"
        for version, reason in {"2.5.2": ": releases before 2.6 have no list of files for CMake", "2.8.0": "\n"}.items():
            variants.write_text(f"magma_version: ['{version}']\n")
            done = self.ptpkg("render", RECIPE, "--variants", RECIPE / "variants.yaml", "--variants", variants, exit_code=3)
            self.assertIn(f"magma_version '{version}' is not one of 2.6.1, 2.9.0 and 2.10.0{reason}", done.stderr)

    def test_sources_of_another_version_are_refused(self):
        write(self.scratch, {"include/magma_types.h": "#define MAGMA_VERSION_MAJOR 2\n#define MAGMA_VERSION_MINOR 10\n"
                                                      "#define MAGMA_VERSION_MICRO 0\n"})
        done = subprocess.run(["bash", "-e", RECIPE / "build.sh"], cwd=self.scratch, text=True, capture_output=True, check=False,
                              env={"PATH": os.environ["PATH"], "PKG_NAME": "magma-cuda130", "PKG_VERSION": "2.9.0"})
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "the sources are MAGMA 2.10.0, and the variant is 2.9.0: name that release with --source "
                                      "magma-cuda130=PATH\n")

    def test_doctor(self):
        """Three versions on a machine with CUDA 13.0, which is made here."""
        for name in ("g++", "cmake", "ninja", "make", "perl"):
            harness.tool(name)
        toolkit = self.scratch / "cuda"
        write(toolkit, {"bin/nvcc": "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n",
                        "bin/nvcc.profile": "", "include/cuda.h": "#define CUDA_VERSION 13000\n",
                        **{f"include/{name}.h": "" for name in ("cuda_runtime", "cuda_runtime_api", "cublas_v2", "cublas_api",
                                                             "cusparse", "openblas_config")}})
        (toolkit / "bin/nvcc").chmod(0o755)
        path = f"{toolkit}/bin:{os.environ['PATH']}"
        command = ("doctor", RECIPE, "--env", "system", "--select")
        said = self.ptpkg(*command, "cuda_compiler_version=13.0", PATH=path).stdout
        for version in ("2.6.1", "2.9.0", "2.10.0"):
            self.assertIn(f"magma-cuda130-{version}-1: g++ ", said)
        self.assertIn("CUDA 13.0.88", said)
        self.assertNotIn("error:", said)
        said = self.ptpkg(*command, "cuda_compiler_version=12.8", exit_code=1, PATH=path).stdout
        self.assertIn("'cuda_linux-64 12.8.*'", said)
        (toolkit / "include/cublas_v2.h").unlink()
        said = self.ptpkg(*command, "cuda_compiler_version=13.0", exit_code=1, PATH=path).stdout
        self.assertIn("'libcublas-dev' (header 'cublas_v2.h' is not installed; --env wheels takes it", said)


if __name__ == "__main__":
    harness.main()
