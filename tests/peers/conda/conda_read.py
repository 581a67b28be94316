#!/usr/bin/env python3
"""Has a conda channel read by the tools that read it in the field.

usage: conda_read.py --sample PROGRAM | CHANNEL

PROGRAM FOLDER writes a channel to FOLDER/channel (tests/peers/conda/conda_sample.cpp); CHANNEL is a folder with subdirs, such
as the output folder's conda/. Run it with the Python of the peers' environment. What happens to each package:

  conda-package-streaming   streams info and payload; names, order and owners are checked
  conda-package-handling    extracts; every file is compared with paths.json
  py-rattler                extracts; parses index, paths and about; its digests are compared with repodata.json

and to the channel:

  py-rattler                indexes a copy, records are compared; solves and installs every package from a file://
                            channel into an empty prefix, where no placeholder is left; sample tools are run

Exit: 0 all accepted, 1 not, 77 a peer is missing (its name is printed).
"""
import argparse
import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from peers import SKIPPED, exit_at_once, is_skipped

# rattler's indexer adds these fields, or keeps them where conda-index drops them. ptpkg writes conda-index's records.
NOT_COMPARED = {"arch", "platform", "indexed_timestamp", "run_exports"}


class Rejected(Exception):
    """A peer said no."""


def packages_of(channel):
    return sorted(path for path in channel.glob("*/*") if path.name.endswith((".conda", ".tar.bz2")))


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def compare_tree(root):
    """Every file of the unpacked package is what its paths.json says, and nothing else is there."""
    paths = json.loads((root / "info/paths.json").read_text())["paths"]
    for entry in paths:
        path = root / entry["_path"]
        if entry["path_type"] == "softlink":
            if not path.is_symlink():
                raise Rejected(f"{entry['_path']} is no symlink")
            content = path.read_bytes() if path.is_file() else b""
        else:
            if path.is_symlink() or not path.is_file():
                raise Rejected(f"{entry['_path']} is no file")
            content = path.read_bytes()
        if len(content) != entry["size_in_bytes"] or hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise Rejected(f"{entry['_path']} differs from paths.json")
    listed = {entry["_path"] for entry in paths}
    held = {str(Path(folder, name).relative_to(root)) for folder, folders, files in os.walk(root)
            for name in files + [f for f in folders if Path(folder, f).is_symlink()]}
    held = {name for name in held if not name.startswith("info/")}
    if held != listed:
        raise Rejected(f"paths.json and the files differ in {sorted(held ^ listed)}")


def read_with_streaming(package):
    from conda_package_streaming.package_streaming import CondaComponent, stream_conda_component
    names = []
    components = [CondaComponent.info]
    if package.name.endswith(".conda"):
        components.append(CondaComponent.pkg)
    for component in components:
        for _, member in stream_conda_component(package, component=component):
            names.append(member.name)
            if (member.uid, member.gid, member.uname, member.gname) != (0, 0, "", ""):
                raise Rejected(f"{member.name} has an owner")
            if not (member.isfile() or member.issym()):
                raise Rejected(f"{member.name} is neither a file nor a symlink")
    info = [name for name in names if name.startswith("info/")]
    if names[:len(info)] != info or info != sorted(info) or len(names) != len(set(names)):
        raise Rejected("members are twice there, or not in order")


def read_with_handling(package, scratch):
    import conda_package_handling.api
    folder = scratch / "handling"
    conda_package_handling.api.extract(str(package), str(folder))
    compare_tree(folder)
    other = ".tar.bz2" if package.name.endswith(".conda") else ".conda"
    failed = conda_package_handling.api.transmute(str(package), other, out_folder=str(scratch))
    if failed:
        raise Rejected(f"cph transmute: {failed}")


def read_with_rattler(package, record, scratch):
    import rattler
    import rattler.package_streaming
    folder = scratch / "rattler"
    digest, md5 = rattler.package_streaming.extract(package, folder)
    compare_tree(folder)
    if digest.hex() != record["sha256"] or md5.hex() != record["md5"] or package.stat().st_size != record["size"]:
        raise Rejected("repodata.json has other digests than py-rattler")
    index = rattler.IndexJson.from_package_directory(folder)
    if (index.name.normalized, str(index.version), str(index.build)) != (record["name"], record["version"], record["build"]):
        raise Rejected("py-rattler reads another name")
    rattler.AboutJson.from_package_directory(folder)
    paths = rattler.PathsJson.from_package_directory(folder)
    if len(paths.paths) != len(json.loads((folder / "info/paths.json").read_text())["paths"]):
        raise Rejected("py-rattler reads other paths")


def records_of(channel):
    records = {}
    for file in channel.glob("*/repodata.json"):
        repodata = json.loads(file.read_text())
        for key in ("packages", "packages.conda"):
            for name, record in repodata[key].items():
                if name.endswith(".conda") != (key == "packages.conda"):
                    raise Rejected(f"{name} is in the map '{key}'")
                records[f"{file.parent.name}/{name}"] = record
    return records


def comparable(record):
    """Without empty values: one indexer writes them, another leaves them out."""
    return {key: value for key, value in record.items() if key not in NOT_COMPARED and value not in ([], None, "")}


async def index_with_rattler(channel, scratch):
    import rattler.index
    copy = scratch / "copy"
    for package in packages_of(channel):
        target = copy / package.parent.name / package.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(package, target)
    (copy / "noarch").mkdir(exist_ok=True)
    await rattler.index.index_fs(copy, write_zst=False, write_shards=False, force=True)
    ours, theirs = records_of(channel), records_of(copy)
    if set(ours) != set(theirs):
        raise Rejected(f"indexes differ in {sorted(set(ours) ^ set(theirs))}")
    for name, record in ours.items():
        if comparable(record) != comparable(theirs[name]):
            raise Rejected(f"{name}: ours {comparable(record)}, py-rattler's {comparable(theirs[name])}")


def check_prefix(prefix):
    """Nothing in the installed files still names a placeholder."""
    for meta in (prefix / "conda-meta").glob("*.json"):
        installed = json.loads(meta.read_text())
        for entry in installed["paths_data"]["paths"]:
            placeholder = entry.get("prefix_placeholder")
            path = prefix / entry["_path"]
            if not os.path.lexists(path):
                raise Rejected(f"{entry['_path']} is not installed")
            if placeholder and placeholder.encode() in path.read_bytes():
                raise Rejected(f"{entry['_path']} still holds its placeholder")
            if placeholder and str(prefix).encode() not in path.read_bytes():
                raise Rejected(f"{entry['_path']} does not hold the prefix")


async def install_with_rattler(channel, name, scratch):
    import rattler
    records = await rattler.solve(sources=[rattler.Channel(channel.as_uri())], specs=[name],
                                  gateway=rattler.Gateway(cache_dir=scratch / "gateway"),
                                  platforms=["linux-64", "noarch"],
                                  virtual_packages=rattler.VirtualPackage.detect())
    prefix = scratch / f"prefix-{name}"
    await rattler.install(records, target_prefix=prefix, cache_dir=scratch / "packages", show_progress=False)
    check_prefix(prefix)
    return prefix


def run_sample_tools(name, prefix):
    """What the sample packages promise to do once they are installed."""
    clean = {"PATH": f"{prefix}/bin:{os.environ['PATH']}", "PYTHONPATH": f"{prefix}/lib/python3.11/site-packages"}
    expected = {"sample-prefix": ("where", str(prefix)), "sample-noarch": ("sample-tool", "tool runs")}
    if name not in expected:
        return
    tool, output = expected[name]
    done = subprocess.run([str(prefix / "bin" / tool)], env=clean, capture_output=True, text=True, check=False)
    if done.stdout.strip() != output:
        raise Rejected(f"{tool} says {done.stdout!r} {done.stderr!r} instead of {output!r}")


def only_tar_bz2(channel, scratch):
    """A copy of the channel that offers no .conda, which installers would prefer."""
    copy = scratch / "tar-bz2"
    for file in channel.glob("*/repodata.json"):
        repodata = json.loads(file.read_text())
        repodata["packages.conda"] = {}
        target = copy / file.parent.name
        target.mkdir(parents=True)
        (target / "repodata.json").write_text(json.dumps(repodata))
        for name in repodata["packages"]:
            shutil.copyfile(file.parent / name, target / name)
    return copy


async def install_all(channel, scratch):
    scratch.mkdir()
    for name in sorted({record["name"] for record in records_of(channel).values()}):
        prefix = await install_with_rattler(channel, name, scratch)
        run_sample_tools(name, prefix)
        print(f"installed: {name}")


async def check_channel(channel, scratch):
    records = records_of(channel)
    packages = packages_of(channel)
    if not packages or {f"{p.parent.name}/{p.name}" for p in packages} != set(records):
        raise Rejected("repodata.json does not list exactly the packages that are there")
    for package in packages:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            try:
                read_with_streaming(package)
                read_with_handling(package, Path(folder))
                read_with_rattler(package, records[f"{package.parent.name}/{package.name}"], Path(folder))
            except Exception as error:  # a peer may raise anything; all of it means no
                raise Rejected(f"{package.name}: {type(error).__name__}: {error}") from error
        print(f"accepted: {package.name}")
    await index_with_rattler(channel, scratch)
    await install_all(channel, scratch / "any")
    if any(package.name.endswith(".tar.bz2") for package in packages):
        await install_all(only_tar_bz2(channel, scratch), scratch / "old")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sample", metavar="PROGRAM", help="writes the channel to be read")
    parser.add_argument("channel", metavar="CHANNEL", nargs="?", type=Path)
    arguments = parser.parse_args()
    if (arguments.sample is None) == (arguments.channel is None):
        parser.error("give --sample PROGRAM or a CHANNEL")
    if is_skipped([("rattler", "py-rattler"), ("conda_package_handling", "conda-package-handling"),
                   ("conda_package_streaming", "conda-package-streaming")]):
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="conda-read-") as folder:
        scratch = Path(folder).resolve()
        channel = arguments.channel.resolve() if arguments.channel else scratch / "made" / "channel"
        try:
            if arguments.sample:
                subprocess.run([arguments.sample, str(scratch / "made")], check=True)
            asyncio.run(check_channel(channel, scratch))
        except Exception as error:  # pylint: disable=broad-except
            print(f"rejected: {type(error).__name__}: {error}")
            return 1
    return 0


if __name__ == "__main__":
    exit_at_once(main())
