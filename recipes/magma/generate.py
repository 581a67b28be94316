"""Makes the source files of MAGMA's precisions from their templates, in the source folder of a git checkout.

    generate.py cuda|hip

Upstream's `make generate` starts Python once for each of 1,900 files; here one process makes those of the library and
its headers, byte for byte the same but for the comment with the time, which is SOURCE_DATE_EPOCH here. The list of
files, CMake.src.cuda or CMake.src.hip, is upstream's own makefile's. Where it is there already, in a release archive or a
checkout where somebody ran `make generate`, so are the generated files, and nothing is done.

For HIP, upstream's hipify-perl first converts the templates: interface_cuda to interface_hip, magmablas to magmablas_hip.
"""

import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys


# There while this runs: the list of files appears before the files do, and a run may be killed between.
UNFINISHED = pathlib.Path("ptpkg-generating")


class Clock:
    """What the generator asks for the time."""

    @staticmethod
    def now() -> datetime.datetime:
        seconds = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
        return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).replace(tzinfo=None)


def convert_to_hip() -> None:
    """Runs hipify-perl on the templates of the library, not on the sparse library's."""
    folders = ["interface_hip", "magmablas_hip"]
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)  # a killed run leaves files that are cut short
    jobs = os.environ.get("CPU_COUNT", "1")
    # Looking for what to warn of takes hipify-perl up to 100 times as long as the conversion.
    subprocess.run(["make", "--silent", f"--jobs={jobs}", "--file=make.gen.hipMAGMA",
                    "HIPIFY=perl tools/hipify-perl -quiet-warnings", *folders], check=True, stdout=subprocess.DEVNULL)


def make_list(backend: str) -> None:
    # The makefile wants an architecture, which does not matter for the list. `FORT` empty: no Fortran files.
    target = "sm_80" if backend == "cuda" else "gfx900"
    for name in (f"CMake.src.{backend}", f"Makefile.gen.{backend}", "Makefile.gen"):
        pathlib.Path(name).unlink(missing_ok=True)  # of a run that was killed
    pathlib.Path("make.inc").write_text(f"BACKEND = {backend}\nGPU_TARGET = {target}\nFORT =\n", encoding="utf-8")
    # For HIP the makefile converts all sources itself, with as many processes as there are files: `MAKE=:` prevents that.
    # The list then takes the names of the sparse library's files from `sparse`.
    converted = ["MAKE=:", "SPARSE_DIR=sparse"] if backend == "hip" else []
    subprocess.run(["make", f"CMake.src.{backend}", f"codegen={sys.executable} tools/codegen.py", *converted], check=True,
                   stdout=subprocess.DEVNULL)


def templates(backend: str) -> list[str]:
    """Of the library and its headers: those of testers and of the sparse library are not needed."""
    # Named Makefile.gen until 2.6.
    [made] = [path for path in map(pathlib.Path, (f"Makefile.gen.{backend}", "Makefile.gen")) if path.is_file()]
    names = []
    for part in ("libmagma", "header"):
        found = re.search(rf"^{part}_templates := \\\n((?:\t.*\n)+)", made.read_text(encoding="utf-8"), re.MULTILINE)
        names += found.group(1).replace("\\\n", " ").split()
    return names


def main() -> None:
    backend = sys.argv[1]
    if pathlib.Path(f"CMake.src.{backend}").is_file() and not UNFINISHED.exists():
        print("the precisions are there")
        return
    if not pathlib.Path("tools/codegen.py").is_file():
        raise SystemExit(f"generate.py: neither CMake.src.{backend} nor tools/codegen.py is here: is this MAGMA?")
    UNFINISHED.touch()
    if backend == "hip":
        convert_to_hip()
    make_list(backend)
    names = templates(backend)
    sys.path.insert(0, "tools")
    sys.dont_write_bytecode = True
    sys.argv = ["codegen.py"]  # it reads its arguments when it is imported
    import codegen
    codegen.datetime = Clock
    for name in names:
        codegen.SourceFile(name).generate_files()
    UNFINISHED.unlink()
    print(f"generated the precisions of {len(names)} files")


if __name__ == "__main__":
    main()
