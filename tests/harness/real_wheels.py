"""Real wheels of the Python index, downloaded once, and what conda's own reader sees in a package."""

import base64
import json
import pathlib
import subprocess

import harness

PINS = {"numpy": "2.4.6", "scipy": "1.17.1", "torch": "2.15.0"}


def real_wheel(name: str) -> pathlib.Path:
    """Downloads once into the user's cache."""
    cache = harness.real_input()
    pattern = f"{name}-{PINS[name]}-cp311-*.whl"
    if not list(cache.glob(pattern)):
        subprocess.run([harness.peers_python(), "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
                        "--python-version", "3.11", "--platform", "manylinux_2_28_x86_64",
                        "--platform", "manylinux_2_27_x86_64", "--dest", cache, f"{name}=={PINS[name]}"], check=True)
    return next(cache.glob(pattern))


def read_conda_info(package: pathlib.Path) -> dict[str, bytes]:
    """info/ of a .conda or .tar.bz2, by the streaming reader of the conda project."""
    program = ("import sys, json, base64\n"
               "from conda_package_streaming import package_streaming\n"
               "out = {}\n"
               "for tar, member in package_streaming.stream_conda_info(sys.argv[1]):\n"
               "    if member.isfile(): out[member.name] = base64.b64encode(tar.extractfile(member).read()).decode()\n"
               "print(json.dumps(out))\n")
    done = subprocess.run([harness.peers_python(), "-c", program, package], capture_output=True, text=True, check=True)
    return {name: base64.b64decode(text) for name, text in json.loads(done.stdout).items()}
