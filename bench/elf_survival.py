#!/usr/bin/env python3
"""Counts the ELF files that die when they are edited and then stripped, and prints the tally.

    bench/elf_survival.py [--patchelf build/release/bin/patchelf] WHEEL… | DIRECTORY… | FILE…

Each dynamic ELF file gets a search path of 600 characters in front of its own one, is stripped, gets a path of 9,000
characters, is stripped again, and grows once more. After each step ld.so maps and relocates it (`ldd -r`; nothing is
run): it must print what it printed for the original, addresses aside. Files that `strip` alone breaks are counted and
left out, as are those that ptpkg refuses, by reason. --strippers all tries eu-strip, llvm-strip and objcopy as well.
Wheels, also those directly in a DIRECTORY, are unpacked into a temporary directory; no input is written. Exit 1: a file died;
2: no file was edited.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent"}
STRIPPERS = {"strip": ["strip"], "eu-strip": ["eu-strip"], "llvm-strip": ["llvm-strip"], "objcopy": ["objcopy"]}
PATHS = ["/opt/" + "x" * 595, "/opt/" + "y" * 8995, "/opt/" + "z" * 29995]


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), env=CLEAN, text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", timeout=600)


def is_elf(path: pathlib.Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def is_dynamic(path: pathlib.Path) -> bool:
    headers = run("readelf", "-hlW", path).stdout
    return " DYNAMIC " in headers and re.search(r"Type: +(DYN|EXEC)", headers) is not None


def loads(path: pathlib.Path) -> tuple[int, tuple[str, ...]]:
    """What ld.so says when it maps and relocates the file and all that it needs."""
    loader = "/lib64/ld-linux-x86-64.so.2"
    environment = {**CLEAN, "LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "yes", "LD_BIND_NOW": "yes"}
    done = subprocess.run([loader, path], env=environment, text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, errors="replace", timeout=600)
    # The version of an undefined symbol is not printed the same each time.
    noise = re.compile(r" \(0x[0-9a-f]+\)|, version [^\t]*")
    lines = {noise.sub("", line).strip() for line in done.stdout.splitlines()}
    return done.returncode, tuple(sorted(lines))


def own_path(path: pathlib.Path) -> tuple[str, bool]:
    """The search path of the file, and whether DT_RPATH holds it."""
    found = re.findall(r"\((RPATH|RUNPATH)\) .*\[(.*)\]", run("readelf", "-dW", path).stdout)
    if not found:
        return "", False
    tag, text = next((pair for pair in found if pair[0] == "RUNPATH"), found[0])
    return text, tag == "RPATH"


class Survival:
    def __init__(self, options: argparse.Namespace) -> None:
        self.patchelf = options.patchelf.resolve()
        self.strippers = list(STRIPPERS) if options.strippers == "all" else ["strip"]
        self.strippers = [name for name in self.strippers if shutil.which(name)]
        self.tally: collections.Counter[str] = collections.Counter()
        self.dead: list[str] = []

    def edit(self, file: pathlib.Path, front: str, path: str, is_rpath: bool) -> str:
        """Returns the refusal or the warning, "" if there is none."""
        text = f"{front}:{path}" if path else front
        force = ["--force-rpath"] if is_rpath else []
        done = run(self.patchelf, "--set-rpath", text, *force, file)
        if done.returncode != 0:
            return f"refused: {done.stdout.strip().splitlines()[0]}"
        return "edited, with the warning not to strip it" if "must not be stripped any more" in done.stdout else ""

    def cycle(self, file: pathlib.Path, stripper: str, before: tuple) -> str:
        """Edits and strips in turn. Returns what went wrong: "" if nothing did."""
        path, is_rpath = own_path(file)
        for turn, front in enumerate(PATHS, 1):
            refusal = self.edit(file, front, path, is_rpath)
            if refusal:
                return re.sub("0x[0-9a-f]+", "N", refusal)[:140]
            if loads(file) != before:
                return f"died of edit {turn}"
            if turn == len(PATHS):
                return ""
            done = run(*STRIPPERS[stripper], file)
            if done.returncode != 0:
                return f"{stripper} fails after edit {turn}"
            if loads(file) != before:
                return f"died of {stripper} after edit {turn}"
        return ""

    def try_file(self, file: pathlib.Path, name: str) -> None:
        """`file` is a copy that may be changed."""
        self.tally["dynamic ELF files"] += 1
        before = loads(file)
        if before[0] != 0:
            self.tally["left out: ld.so does not load it as it is"] += 1
            return
        original = file.read_bytes()
        results = set()
        for stripper in self.strippers:
            file.write_bytes(original)
            if run(*STRIPPERS[stripper], file).returncode != 0 or loads(file) != before:
                results.add(f"left out: {stripper} alone breaks it")
                continue
            file.write_bytes(original)
            results.add(self.cycle(file, stripper, before) or "alive")
        file.write_bytes(original)
        for result in results:
            self.tally[result] += 1
            if result.startswith(("died", "strip fails")) or " fails after" in result:
                self.dead.append(f"{name}: {result}")
                print(self.dead[-1], flush=True)

    def try_tree(self, root: pathlib.Path, name: str, copies: pathlib.Path | None) -> None:
        """Files of `root` are edited where they are, or as copies in `copies`."""
        files = [root] if root.is_file() else sorted(root.rglob("*"))
        for file in files:
            if file.is_symlink() or not file.is_file() or not os.access(file, os.R_OK) or not is_elf(file):
                continue
            if not is_dynamic(file):
                continue
            target = file
            if copies is not None:
                target = copies / file.name
                shutil.copyfile(file, target)
            target.chmod(0o755)
            self.try_file(target, f"{name}:{file.relative_to(root)}" if file != root else str(file))
            if copies is not None:
                target.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--patchelf", type=pathlib.Path, default=pathlib.Path("build/release/bin/patchelf"))
    parser.add_argument("--strippers", choices=["strip", "all"], default="strip")
    options = parser.parse_args()
    survival = Survival(options)
    for path in options.paths:
        if not path.exists():
            parser.error(f"'{path}' does not exist")
    wheels = [wheel for path in options.paths if path.is_dir() for wheel in sorted(path.glob("*.whl"))]
    for path in [*options.paths, *wheels]:
        with tempfile.TemporaryDirectory() as scratch:
            if path.suffix == ".whl":
                with zipfile.ZipFile(path) as wheel:
                    wheel.extractall(scratch)
                survival.try_tree(pathlib.Path(scratch), path.name, None)
            else:
                survival.try_tree(path, str(path), pathlib.Path(scratch))
    for what, count in sorted(survival.tally.items(), key=lambda item: -item[1]):
        print(f"{count:6}  {what}")
    print(f"{len(survival.dead):6}  dead")
    if not survival.tally["alive"] and not survival.dead:
        print("error: no dynamic ELF file was edited", file=sys.stderr)
        return 2
    return 1 if survival.dead else 0


if __name__ == "__main__":
    sys.exit(main())
