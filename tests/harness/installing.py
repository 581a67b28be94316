"""What a test installs into: a channel with an interpreter of this machine, and rattler's solver and linker."""

import os
import pathlib
import shutil
import subprocess

import harness

PYTHON_RECIPE = """
schema_version: 1
package: {name: python, version: "%(version)s"}
build: {number: 0, string: host_0, script: {file: build.sh}}
about: {license: Python-2.0, summary: "A copy of the machine's interpreter"}
extra: {ptpkg: {formats: [conda], allow_unresolved: ["*"]}}
"""
# A venv in all but name: the copied interpreter finds its library through pyvenv.cfg.
PYTHON_SCRIPT = """
mkdir -p "$PREFIX/bin" "$PREFIX/lib/python%(minor)s/site-packages"
cp %(executable)s "$PREFIX/bin/python%(minor)s"
ln -s python%(minor)s "$PREFIX/bin/python"
printf 'home = %(home)s\\ninclude-system-site-packages = false\\n' > "$PREFIX/pyvenv.cfg"
"""

INSTALL = """
import asyncio, os, pathlib, sys
import rattler
async def main(prefix, channels, cuda, specs):
    machine = {"__glibc": "2.36", **({"__cuda": cuda} if cuda else {})}
    records = await rattler.solve([rattler.Channel(f"file://{c}") for c in channels], [rattler.MatchSpec(s) for s in specs],
                                  platforms=["linux-64", "noarch"],
                                  virtual_packages=[rattler.GenericVirtualPackage(
                                      rattler.PackageName(name), rattler.Version(version), rattler.BuildString("0"))
                                      for name, version in machine.items()])
    await rattler.install(records, target_prefix=prefix, show_progress=False,
                          cache_dir=pathlib.Path(prefix).parent / "pkgs")
    print("\\n".join(sorted(record.file_name for record in records)))
asyncio.run(main(sys.argv[1], sys.argv[2].split(","), sys.argv[3], sys.argv[4:]))
# Its threads now and then crash the interpreter while it shuts down, when all work is done.
sys.stdout.flush()
os._exit(0)
"""


def python_channel(case: harness.Case, program: str = "/usr/bin/python3", name: str = "python") -> pathlib.Path:
    """A channel with one package: an interpreter of this machine."""
    executable = pathlib.Path(program).resolve()
    version = subprocess.run([executable, "-c", "import platform; print(platform.python_version())"], text=True,
                             capture_output=True, check=True).stdout.strip()
    folder = case.scratch / f"{name}-recipe"
    folder.mkdir()
    values = {"version": version, "minor": ".".join(version.split(".")[:2]), "executable": executable,
              "home": executable.parent}
    (folder / "recipe.yaml").write_text(PYTHON_RECIPE % values)
    (folder / "build.sh").write_text(PYTHON_SCRIPT % values)
    output = case.scratch / f"{name}-dist"
    case.ptpkg("build", folder, "--output", output)
    return output / "conda"


def rattler_install(case: harness.Case, prefix: pathlib.Path, channels: list[pathlib.Path], *specs: str, cuda: str = "") -> str:
    """`cuda`: the newest CUDA of the machine's driver; "": it has none."""
    program = case.scratch / "install.py"
    program.write_text(INSTALL)
    return case.run_clean(harness.peers_python(), program, prefix, ",".join(map(str, channels)), cuda, *specs)


def interpreters(wanted: tuple[str, ...]) -> dict[str, str]:
    """Those of the `wanted` interpreters that this machine has with headers and venv, by version."""
    found = {}
    versions = pathlib.Path.home() / ".pyenv/versions"
    candidates = [path for path in map(shutil.which, ("python3", *(f"python{name}" for name in wanted))) if path]
    candidates += ["/usr/bin/python3", *map(str, sorted(versions.glob("3.*/bin/python3")))]
    code = ("import ensurepip, os, sysconfig; os.stat(sysconfig.get_path('include') + '/Python.h');"
            "print(sysconfig.get_python_version())")
    for python in candidates:
        if not os.path.exists(python):
            continue
        done = subprocess.run([python, "-c", code], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=False)
        if done.returncode == 0 and done.stdout.strip() in wanted:
            found.setdefault(done.stdout.strip(), python)
    return found
