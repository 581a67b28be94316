#!/usr/bin/env python3
"""Has wheels read by the tools that read them in the field.

usage: wheel_read.py [--ptpkg PROGRAM] [--import MODULE]... FILE...

Each FILE is a wheel, or with --ptpkg whatever `PROGRAM wheel FILE` makes a wheel of (a recipe, a conda package, an
unpacked wheel, another wheel). Run it with the Python of the peers' environment. What happens to each wheel:

  zipfile, unzip         test every member
  installer              validate_record with contents
  wheel                  unpack, which checks digests
  check-wheel-contents   without the layout lints that say nothing about the archive
  twine                  check
  pip, uv                install into an empty environment each, compare with RECORD, import, uninstall

Exit: 0 all accepted, 1 not, 77 a peer is missing (its name is printed).
"""
import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

SKIPPED = 77
PROGRAMS = ("uv", "wheel", "twine", "check-wheel-contents")
# Layout lints that real projects trip on purpose: duplicate files, odd module places, several top-level names.
IGNORED_LINTS = "W002,W003,W004,W005,W006,W009,W010,W101,W102,W201,W202"


class Rejected(Exception):
    """A peer said no."""


def peer(name):
    """The program of that name in this Python's environment."""
    return str(Path(sys.prefix) / "bin" / name)


def missing_peers():
    missing = [name for name in PROGRAMS if not Path(peer(name)).exists()]
    for module in ("installer", "pip"):
        try:
            __import__(module)
        except ImportError:
            missing.append(module)
    if shutil.which("unzip") is None:
        missing.append("unzip")
    return missing


def call(*argv, **options):
    done = subprocess.run([str(arg) for arg in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    if done.returncode != 0:
        raise Rejected(f"{' '.join(str(arg) for arg in argv)}\n{done.stdout}")
    return done.stdout


def read_containers(wheel, scratch):
    with zipfile.ZipFile(wheel) as archive:
        bad = archive.testzip()
        if bad is not None:
            raise Rejected(f"zipfile: {bad} does not match its CRC")
        names = archive.namelist()
    if len(names) != len(set(names)) or not names[-1].endswith(".dist-info/RECORD"):
        raise Rejected("zipfile: duplicate names, or RECORD is not the last member")
    call("unzip", "-tqq", wheel)
    call(peer("wheel"), "unpack", "--dest", scratch / "unpacked", wheel)
    call(peer("check-wheel-contents"), "--ignore", IGNORED_LINTS, wheel)
    call(peer("twine"), "check", wheel)
    from installer.sources import WheelFile
    with WheelFile.open(wheel) as source:
        source.validate_record(validate_contents=True)


def record_of(wheel):
    """Installed path (relative to site-packages) → size, for the payload outside .data."""
    with zipfile.ZipFile(wheel) as archive:
        name = archive.namelist()[-1]
        rows = csv.reader(archive.read(name).decode().splitlines())
        data = name.split("/")[0].removesuffix(".dist-info") + ".data/"
        return {path: int(size) for path, _, size in rows if size and not path.startswith(data)}


def compare_installed(wheel, site_packages):
    for path, size in record_of(wheel).items():
        installed = site_packages / path
        if not installed.is_file() or installed.stat().st_size != size:
            raise Rejected(f"{path} is not installed as RECORD says")


def import_modules(python, modules, environment):
    for module in modules:
        call(python, "-c", f"import {module}", env=environment, cwd="/")


def install(wheel, modules, scratch):
    """With each installer into an environment of its own; imports, then removes again."""
    clean = {"PATH": os.environ["PATH"], "HOME": str(scratch), "UV_CACHE_DIR": str(scratch / "uv-cache")}
    name = re.split("-", wheel.name)[0]
    for installer in ("pip", "uv"):
        prefix = scratch / installer
        venv.create(prefix, with_pip=False, symlinks=True)
        python = prefix / "bin" / "python"
        if installer == "pip":
            command = [sys.executable, "-m", "pip", "--python", python]
            no = ["--yes"]
        else:
            command = [peer("uv"), "pip"]
            clean["VIRTUAL_ENV"] = str(prefix)
            no = []
        call(*command, "install", "--no-index", "--no-deps", wheel, env=clean)
        site_packages = next(prefix.glob("lib/python*/site-packages"))
        compare_installed(wheel, site_packages)
        import_modules(python, modules, clean)
        call(*command, "uninstall", *no, name, env=clean)
        left = [path for path in record_of(wheel) if (site_packages / path).exists()]
        if left:
            raise Rejected(f"{installer} left {left[0]} behind")


def make_wheel(program, source, scratch):
    """What ptpkg makes of `source`."""
    output = scratch / "made"
    call(program, "wheel", source, "--output", output)
    wheels = sorted(output.rglob("*.whl"))
    if len(wheels) != 1:
        raise Rejected(f"{program} wheel made {len(wheels)} wheels of {source} instead of one")
    return wheels[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ptpkg", metavar="PROGRAM", help="makes the wheels to be read")
    parser.add_argument("--import", metavar="MODULE", dest="modules", action="append", default=[],
                        help="imported after each installation")
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    arguments = parser.parse_args()
    missing = missing_peers()
    if missing:
        print(f"skipped: {', '.join(missing)} is not installed")
        return SKIPPED
    for file in arguments.files:
        with tempfile.TemporaryDirectory(prefix="wheel-read-") as folder:
            scratch = Path(folder)
            try:
                wheel = make_wheel(arguments.ptpkg, file, scratch) if arguments.ptpkg else file.resolve()
                read_containers(wheel, scratch)
                install(wheel, arguments.modules, scratch)
            except Exception as error:  # a peer may raise anything; all of it means no
                print(f"rejected: {file}: {type(error).__name__}: {error}")
                return 1
        print(f"accepted: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
