#!/usr/bin/env python3
"""Compares current_repodata.json and a patched channel with those of conda-index.

usage: conda_index_files.py --ptpkg PROGRAM [--seed N]

A channel of a few hundred packages, with versions, builds, features and constraints at random, is indexed by `ptpkg index
--current-repodata --shards`, and again with --patch and instructions at random; then by conda-index. These are equal each time:
repodata.json, repodata_from_packages.json, current_repodata.json, run_exports.json and channeldata.json. The shards have the rows of
repodata.json, and together list what the patch removed.

conda-index selects the packages of current_repodata.json by conda's solver. If conda can be imported, it is used; else py-rattler's match
specs and versions stand in for it.

Exit: 0 equal, 1 not, 77 the peer is missing (its name is printed).
"""
import argparse
import io
import json
import logging
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import conda_index_records
import conda_shards
from peers import SKIPPED, exit_at_once, is_skipped

VERSIONS = ["0.9", "1.0rc1", "1.0", "1.0.post1", "1.1", "1.2", "1.2.0", "1.10", "2.0", "2.0.1", "10.0", "1!0.5"]
FILES = ["repodata.json", "repodata_from_packages.json", "current_repodata.json", "run_exports.json"]


def tar_of(files):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


def write_package(folder, index, extension):
    import bz2
    from backports import zstd
    stem = f"{index['name']}-{index['version']}-{index['build']}"
    info = tar_of({"info/index.json": json.dumps(index), "info/paths.json": '{"paths": [], "paths_version": 1}'})
    if extension == ".tar.bz2":
        (folder / (stem + extension)).write_bytes(bz2.compress(info))
        return
    with zipfile.ZipFile(folder / (stem + extension), "w") as archive:
        archive.writestr("metadata.json", '{"conda_pkg_format_version": 2}')
        archive.writestr(f"pkg-{stem}.tar.zst", zstd.compress(tar_of({})))
        archive.writestr(f"info-{stem}.tar.zst", zstd.compress(info))


def spec(chance, names):
    """A dependency; some are satisfied by old packages only, some by none."""
    name, version, other = chance.choice(names), chance.choice(VERSIONS), chance.choice(VERSIONS)
    return chance.choice([name, f"{name} >={version}", f"{name} <{version}", f"{name} =={version}", f"{name} {version}.*",
                          f"{name} >={version},<{other}", f"{name} <{version}|>={other}", f"{name} {version} b_{chance.randrange(3)}",
                          f"{name} * b_1", f"{name} !={version}", "__glibc >=2.17", "elsewhere 1.*"])


def write_channel(channel, chance):
    names = [f"n{number:02}" for number in range(40)]
    for subdir in ("linux-64", "noarch"):
        (channel / subdir).mkdir(parents=True)
        for name in names if subdir == "linux-64" else names[:5]:
            for version in chance.sample(VERSIONS, chance.randint(1, 6)):
                for build in range(chance.randint(1, 3)):
                    index = {"name": name, "version": version, "build": f"b_{build}", "build_number": build, "subdir": subdir,
                             "license": "MIT", "timestamp": 1700000000000 + chance.randrange(10**9),
                             "depends": [spec(chance, names) for _ in range(chance.randint(0, 3))]}
                    if chance.random() < 0.1:
                        index["track_features"] = "feature"
                    for extension in chance.choice([[".conda"], [".tar.bz2"], [".conda", ".tar.bz2"]]):
                        write_package(channel / subdir, index, extension)


def write_instructions(channel, patch, chance):
    for folder in channel.glob("*/"):
        stems = sorted({path.name.removesuffix(".conda").removesuffix(".tar.bz2") for path in folder.glob("n*")})
        chosen = chance.sample(stems, 12)
        changes = [{"depends": ["n00 >=1"]}, {"constrains": ["n01 <1"], "license": None}, {"extra": {"a": 1}}, {"track_features": "x"}]
        instructions = {"patch_instructions_version": 1,
                        "packages": {f"{stem}.tar.bz2": change for stem, change in zip(chosen, changes)} | {"no-1-0.tar.bz2": {}},
                        "packages.conda": {f"{stem}.conda": change for stem, change in zip(chosen[2:], changes)},
                        "revoke": [f"{chosen[6]}.tar.bz2", f"{chosen[7]}.conda"],
                        "remove": [f"{chosen[8]}.tar.bz2", f"{chosen[9]}.conda", f"{chosen[10]}.tar.bz2"]}
        (patch / folder.name).mkdir(parents=True)
        (patch / folder.name / "patch_instructions.json").write_text(json.dumps(instructions))


def stand_in_for_solver():
    """What current_repodata.py of conda-index takes from conda: groups of packages, newest first, and the matches of a spec."""
    import rattler

    class MatchSpec:
        def __init__(self, text):
            self.spec = rattler.MatchSpec(text)
            self.name = self.spec.name.normalized

    class Record:
        def __init__(self, fn, row):
            self.fn, self.name, self.version, self.depends = fn, row["name"], row["version"], row["depends"]
            self.track_features, self.features = row.get("track_features"), row.get("features")
            self.key = (rattler.Version(row["version"]), row["build_number"], row.get("timestamp", 0), row["build"])
            self.record = rattler.PackageRecord(name=row["name"], version=rattler.VersionWithSource(row["version"]),
                                                build=rattler.BuildString(row["build"]), build_number=row["build_number"],
                                                subdir=row["subdir"])

        def __deepcopy__(self, _memo):
            return self

    class SubdirData:
        _cache_: dict = {}

        def __init__(self, _channel):
            self._package_records = []

        def _process_raw_repodata(self, repodata):
            new = repodata["packages.conda"]
            rows = dict(new)
            rows.update({fn: row for fn, row in repodata["packages"].items() if fn.replace(".tar.bz2", ".conda") not in new})
            self._package_records = [Record(fn, row) for fn, row in rows.items()]

    class Resolve:
        def __init__(self, index, channels):
            del channels
            self.groups = {}
            for record in sorted(index.values(), key=lambda record: record.key, reverse=True):
                self.groups.setdefault(record.name, []).append(record)

        def find_matches(self, wanted):
            return tuple(record for record in self.groups.get(wanted.name, ()) if wanted.spec.matches(record.record))

    class Channel:
        def __init__(self, url):
            self.text = url

        def url(self, **_):
            return self.text

    class Context:
        arch_name = platform = None

    for module, members in (("conda.base.context", {"context": Context}), ("conda.core.subdir_data", {"SubdirData": SubdirData}),
                            ("conda.exports", {"MatchSpec": MatchSpec, "Resolve": Resolve}), ("conda.models.channel", {"Channel": Channel})):
        sys.modules[module].__dict__.update(members)


def index_by_conda_index(channel, patch, copy):
    from conda_index.index import ChannelIndex
    for package in channel.glob("*/n*-*"):
        (copy / package.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(package, copy / package.parent.name / package.name)
    if patch:
        shutil.copytree(patch, copy, dirs_exist_ok=True)
    index = ChannelIndex(copy, None, threads=1, write_bz2=False, write_current_repodata=True, write_run_exports=True)
    index.index(None)
    index.update_channeldata()


def read(path):
    return json.loads(path.read_text())


def compare_shards(folder):
    repodata, removed = read(folder / "repodata.json"), []
    shards = conda_shards.shards_of(folder)
    for shard in shards.values():
        removed += shard["removed"]
        shard["removed"] = []
    for kind, rows in conda_shards.rows_of(shards).items():
        for row in rows.values():
            row.pop("run_exports")
        conda_shards.equal(rows, repodata[kind], f"{folder.name}, {kind} of the shards")
    conda_shards.equal(sorted(removed), repodata["removed"], f"{folder.name}, removed of the shards")


def compare(channel, patch, scratch):
    """The places in which the files of the two indexers differ."""
    index_by_conda_index(channel, patch, scratch)
    for folder in sorted(path for path in channel.glob("*/") if (path / "repodata.json").exists()):
        for name in FILES:
            if name != "repodata_from_packages.json" or patch:
                yield from conda_index_records.differences(read(folder / name), read(scratch / folder.name / name), f"{folder.name}/{name}")
        compare_shards(folder)
    # The timestamp of a package: the newest of all versions here, and of the version that conda-index looked at last.
    ours, theirs = ({name: {**entry, "timestamp": 0} for name, entry in read(folder / "channeldata.json")["packages"].items()}
                    for folder in (channel, scratch))
    yield from conda_index_records.differences(ours, theirs, "channeldata.json")
    rows, current = read(channel / "linux-64/repodata.json"), read(channel / "linux-64/current_repodata.json")
    print(", ".join(f"{len(document['packages']) + len(document['packages.conda'])} in {name}"
                    for document, name in ((rows, "repodata.json"), (current, "current_repodata.json"))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ptpkg", required=True)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if is_skipped([("rattler", "py-rattler"), ("backports.zstd", "backports.zstd"), "msgpack", ("conda_index", "conda-index")]):
        return SKIPPED
    try:
        from conda.resolve import Resolve  # noqa: F401
    except ImportError:
        conda_index_records.stand_in_for_conda()
        stand_in_for_solver()
    logging.disable(logging.WARNING)
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="conda-index-files-") as folder:
        scratch = Path(folder).resolve()
        channel, patch = scratch / "channel", scratch / "patch"
        write_channel(channel, chance)
        write_instructions(channel, patch, chance)
        command = [arguments.ptpkg, "index", "--quiet", channel]
        try:
            subprocess.run([*command, "--current-repodata", "--shards"], check=True, stdout=subprocess.DEVNULL)
            found = list(compare(channel, None, scratch / "plain"))
            subprocess.run([*command, "--patch", patch], check=True, stdout=subprocess.DEVNULL)
            found += compare(channel, patch, scratch / "patched")
        except (conda_shards.Differs, subprocess.CalledProcessError) as error:
            found = [error]
    for difference in found:
        print(f"differs: {difference}")
    print("differs" if found else "equal")
    return 1 if found else 0


if __name__ == "__main__":
    exit_at_once(main())
