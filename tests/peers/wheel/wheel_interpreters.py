"""Which interpreters install a wheel, by pip's rules and by uv. wheel_differential.py asks.

pip says which tags an interpreter has, on each of the usual platforms, and whether a release of it is one of Requires-Python. uv is asked
for one CPython, which pip has found where there is one.
"""
import contextlib
import functools
import itertools
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path
from unittest import mock

from wheel_mutations import APPLE_MACHINES, MACHINES

PLATFORMS = (["linux_x86_64", "manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64", "win_amd64", "win32"]
             + [f"manylinux_2_{minor}_x86_64" for minor in range(5, 41)] + [f"musllinux_1_{minor}_x86_64" for minor in range(6)]
             + ["macosx_15_0_arm64", "macosx_15_0_x86_64"])
RELEASES = 40  # more than any series of Python has
UV_PLATFORMS = {"musllinux": "x86_64-unknown-linux-musl", "manylinux": "x86_64-manylinux_2_40", "linux": "x86_64-manylinux_2_40", "macosx": "aarch64-apple-darwin",
                "win": "x86_64-pc-windows-msvc", "any": "x86_64-manylinux_2_40"}
UV_MINORS = range(8, 15)


@functools.cache
def interpreters():
    """(version in digits, whether uv can be asked for it, its tags). Of the versions to come as well, and of odd builds."""
    from pip._internal.utils.compatibility_tags import get_supported
    known = [("cp", "27", abi, False) for abi in ("cp27mu", "cp27m")]
    for minor in range(17):
        flags = [""] if minor > 7 else ["", "m", "mu"] if minor < 3 else ["", "m"]
        known += [("cp", f"3{minor}", f"cp3{minor}{flag}", minor in UV_MINORS) for flag in flags]
        known += [("cp", f"3{minor}", f"cp3{minor}{flag}", False) for flag in ("d", "dm")]
        known += [("cp", f"3{minor}", f"cp3{minor}{flag}", False) for flag in ("t", "td") if minor > 12]
        known += [("pp", f"3{minor}", f"pypy3{minor}_pp73", False)]
    every_pypy = ["pp3-none-any"]  # where PyPy itself asks
    return [(digits, by_uv, frozenset([*map(str, get_supported(digits, PLATFORMS, implementation, [abi])), *(every_pypy if implementation == "pp" else [])]))
            for implementation, digits, abi, by_uv in known]


@functools.cache
def possible_platforms():
    """Every platform tag that packaging generates, on the machines that wheel_mutations.py names."""
    from packaging import _manylinux, _musllinux, tags
    found = {"win32", "win_amd64", "win_arm64"}
    for machine in MACHINES:
        for musl in (None, _musllinux._MuslVersion(1, 5)):
            with contextlib.ExitStack() as stack:
                for place, name, value in ((tags.sysconfig, "get_platform", f"linux-{machine}"), (_manylinux, "_get_glibc_version", (2, 50)),
                                           (_manylinux, "_is_linux_armhf", True), (_manylinux, "_is_linux_i686", True), (_musllinux, "_get_musl_version", musl)):
                    stack.enter_context(mock.patch.object(place, name, return_value=value))
                found.update(tags._linux_platforms(is_32bit=False))
    for version, machine in itertools.product([(10, minor) for minor in range(17)] + [(26, 0)], ("x86_64", "arm64", "i386", "ppc", "ppc64")):
        found.update(tags.mac_platforms(version, machine))
    for machine in APPLE_MACHINES:
        if "_iphone" in machine:
            found.update(tags.ios_platforms((26, 0), machine))
    for abi in ("arm64_v8a", "armeabi_v7a", "x86", "x86_64"):
        found.update(tags.android_platforms(36, abi))
    return found


def answers_of_platforms(wheel):
    """Consumer → something where some system takes the wheel. uv, which is not asked, reads numbers with leading zeros, and pip does not."""
    name = Path(wheel).stem.rsplit("-", 1)[1].lower()
    return {"pip": {} if name in possible_platforms() else None, "uv": {}}


def requires_python(wheel):
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read("toy-1.0.dist-info/METADATA").decode()
    return next((line.partition(": ")[2] for line in text.splitlines() if line.startswith("Requires-Python: ")), "")


def takers(wheel):
    """(release, whether uv can be asked for it) of the interpreters that take the wheel; none for a name that pip refuses."""
    from pip._internal.exceptions import InvalidWheelFilename
    from pip._internal.models.wheel import Wheel
    from pip._vendor.packaging.specifiers import SpecifierSet
    try:
        tags = {str(tag) for tag in Wheel(Path(wheel).name).file_tags}
    except InvalidWheelFilename:
        return []
    allowed = SpecifierSet(requires_python(wheel))
    found = []
    for digits, by_uv, own in interpreters():
        releases = (f"{digits[0]}.{digits[1:]}.{micro}" for micro in range(RELEASES))
        release = next((one for one in releases if allowed.contains(one, prereleases=True)), None)
        if release and not tags.isdisjoint(own):
            found.append((release, by_uv))
    return found


def answers_of_interpreters(wheel, environment):
    """Consumer → something where it takes the wheel, None where not."""
    found = takers(wheel)
    rng = random.Random(wheel)
    for_uv = [release for release, by_uv in found if by_uv]
    if found and not for_uv:
        return {"pip": {}, "uv": {}}  # nobody whom uv can be asked for
    release = rng.choice(for_uv or [f"3.{minor}.1" for minor in UV_MINORS])
    platform = Path(wheel).stem.rsplit("-", 1)[1]
    name = next((key for key in UV_PLATFORMS if key in platform), "any")
    command = [Path(sys.prefix) / "bin/uv", "pip", "install", "--quiet", "--offline", "--no-index", "--no-deps", "--dry-run", "--python-version", release,
               "--python-platform", UV_PLATFORMS[name], "--target", os.devnull + "-none", wheel]
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return {"pip": {} if found else None, "uv": {} if done.returncode == 0 else None}
