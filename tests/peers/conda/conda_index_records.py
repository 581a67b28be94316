#!/usr/bin/env python3
"""Compares our repodata.json and run_exports.json with those of conda-index, record by record.

usage: conda_index_records.py --sample PROGRAM | CHANNEL

As conda_read.py, but the peer is conda-index, the program that writes the index of public channels. It takes three names from
conda, which is on no Python index; they are stood in for here: the list of platforms, and the version order.

Exit: 0 equal, 1 not, 77 the peer is missing (its name is printed).
"""
import argparse
import json
import logging
import shutil
import subprocess
import sys
import tempfile
import types
from pathlib import Path

SKIPPED = 77


def stand_in_for_conda():
    """conda_index imports these at load time; only the order of versions is used, for channeldata.json."""
    import rattler

    def module(name, **members):
        made = types.ModuleType(name)
        made.__dict__.update(members)
        sys.modules[name] = made

    module("conda")
    module("conda.base")
    module("conda.base.constants", PLATFORM_DIRECTORIES=("noarch", "linux-64", "linux-aarch64", "osx-64", "osx-arm64", "win-64"))
    module("conda.base.context", context=None)
    module("conda.core")
    module("conda.core.subdir_data", SubdirData=None)
    module("conda.exports", MatchSpec=None, Resolve=None, VersionOrder=rattler.Version)
    module("conda.models")
    module("conda.models.channel", Channel=None)
    module("conda.models.version", VersionOrder=rattler.Version)


def index_copy(channel, copy):
    from conda_index.index import ChannelIndex
    for package in channel.glob("*/*"):
        if package.name.endswith((".conda", ".tar.bz2")):
            target = copy / package.parent.name / package.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(package, target)
    (copy / "noarch").mkdir(parents=True, exist_ok=True)
    index = ChannelIndex(copy, None, threads=1, write_bz2=False, write_current_repodata=False,
                         write_run_exports=True)
    index.index(None)
    index.update_channeldata()


def differences(ours, theirs, where):
    """The places in which two JSON values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(set(ours) | set(theirs)):
            if key not in ours or key not in theirs:
                yield f"{where}/{key}: only {'ours' if key in ours else 'theirs'}"
            else:
                yield from differences(ours[key], theirs[key], f"{where}/{key}")
    elif ours != theirs:
        yield f"{where}: ours {ours!r}, theirs {theirs!r}"


def compare(channel, copy):
    found = []
    ours = sorted(str(path.relative_to(channel)) for path in channel.glob("*/repodata.json"))
    theirs = sorted(str(path.relative_to(copy)) for path in copy.glob("*/repodata.json"))
    found += [f"subdirs: ours {ours}, theirs {theirs}"] if ours != theirs else []
    for name in ours:
        for file in (name, name.replace("repodata.json", "run_exports.json")):
            found += differences(json.loads((channel / file).read_text()), json.loads((copy / file).read_text()), file)
    found += differences(json.loads((channel / "channeldata.json").read_text())["packages"],
                         json.loads((copy / "channeldata.json").read_text())["packages"], "channeldata.json")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sample", metavar="PROGRAM", help="writes the channel to be indexed")
    parser.add_argument("channel", metavar="CHANNEL", nargs="?", type=Path)
    arguments = parser.parse_args()
    if (arguments.sample is None) == (arguments.channel is None):
        parser.error("give --sample PROGRAM or a CHANNEL")
    try:
        stand_in_for_conda()
        import conda_index.index  # noqa: F401
    except ImportError as error:
        print(f"skipped: conda-index is not installed ({error})")
        return SKIPPED
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="conda-index-") as folder:
        scratch = Path(folder).resolve()
        channel = arguments.channel.resolve() if arguments.channel else scratch / "made" / "channel"
        if arguments.sample:
            subprocess.run([arguments.sample, str(scratch / "made")], check=True)
        index_copy(channel, scratch / "copy")
        found = compare(channel, scratch / "copy")
    for line in found:
        print(f"differs: {line}")
    print("differs" if found else "equal")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
