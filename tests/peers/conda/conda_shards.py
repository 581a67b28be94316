#!/usr/bin/env python3
"""Compares sharded repodata with repodata.json, and has py-rattler read and write the same.

usage: conda_shards.py --ptpkg PROGRAM --sample PROGRAM

The sample channel (tests/peers/conda/conda_sample.cpp) gets shards by `ptpkg index --shards`. Then:

  every shard     has the digest that the shard index gives it; its rows are those of repodata.json, field by field, with
                  binary digests, and the run exports of run_exports.json
  py-rattler      reads the channel over HTTP by shards alone: the server refuses repodata.json; the records are those that
                  it reads from repodata.json. Its own indexer writes equal shards
  a late reader   that holds the index before an update still gets every shard of it

Exit: 0 all agree, 1 not, 77 a peer is missing (its name is printed).
"""
import argparse
import asyncio
import contextlib
import functools
import hashlib
import http.server
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
import threading
from pathlib import Path

from peers import SKIPPED, exit_at_once, is_skipped

INDEX = "repodata_shards.msgpack.zst"
# What rattler's indexer adds, or keeps where conda-index (whose records are ours) drops it.
NOT_COMPARED = {"arch", "platform", "indexed_timestamp", "run_exports"}


class Differs(Exception):
    """Two things that have to be equal are not."""


def equal(ours, theirs, what):
    if ours != theirs:
        raise Differs(f"{what}:\n  {ours}\n  {theirs}")


def unpacked(path):
    import msgpack
    from backports import zstd
    return msgpack.unpackb(zstd.decompress(path.read_bytes()))


def shards_of(folder):
    """Package name to shard, each proven to have the digest of its name."""
    index = unpacked(folder / INDEX)
    equal((index.get("version", 1), index["info"]["subdir"]), (1, folder.name), "header")  # rattler states no version
    shards = {}
    for name, digest in index["shards"].items():
        path = folder / index["info"]["shards_base_url"] / f"{digest.hex()}.msgpack.zst"
        equal(hashlib.sha256(path.read_bytes()).digest(), digest, f"digest of the shard of {name}")
        shards[name] = unpacked(path)
    return shards


def rows_of(shards):
    """All rows with digests as text, as repodata.json has them: by kind and file name."""
    rows = {"packages": {}, "packages.conda": {}}
    for name, shard in shards.items():
        equal(shard["removed"], [], f"removed of {name}")
        for kind, of_kind in rows.items():
            for file_name, row in shard[kind].items():
                equal(row["name"], name, f"name of {file_name}")
                of_kind[file_name] = {**row, "sha256": row["sha256"].hex(), "md5": row["md5"].hex()}
    return rows


def compare_with_repodata(folder):
    repodata = json.loads((folder / "repodata.json").read_text())
    run_exports = json.loads((folder / "run_exports.json").read_text())
    for kind, rows in rows_of(shards_of(folder)).items():
        for file_name, row in rows.items():
            equal(row.pop("run_exports"), run_exports[kind][file_name]["run_exports"], f"run exports of {file_name}")
        equal(rows, repodata[kind], f"{folder.name}, {kind}")


async def compare_with_rattlers_indexer(channel, scratch):
    import rattler.index
    copy = scratch / "copy"
    for package in [*channel.glob("*/*.conda"), *channel.glob("*/*.tar.bz2")]:
        (copy / package.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(package, copy / package.parent.name / package.name)
    await rattler.index.index_fs(copy, write_zst=False, write_shards=True, force=True)

    def comparable(rows):
        return {kind: {name: {key: value for key, value in row.items() if key not in NOT_COMPARED and value not in ([], None, "")}
                       for name, row in of_kind.items()} for kind, of_kind in rows.items()}

    for folder in sorted(path.parent for path in channel.glob(f"*/{INDEX}")):
        equal(comparable(rows_of(shards_of(folder))), comparable(rows_of(shards_of(copy / folder.name))), folder.name)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a channel, without the files that `refused` ends in, and notes what it served."""

    refused: tuple = ()
    served: list = []

    def send_head(self):
        if self.path.endswith(self.refused):
            return self.send_error(404)
        self.served.append(self.path)
        return super().send_head()

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


@contextlib.contextmanager
def served(channel, refused):
    handler = type("Of", (Handler,), {"refused": refused, "served": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=channel)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", handler.served
        finally:
            server.shutdown()


async def records_by_rattler(url, names, cache):
    import rattler
    gateway = rattler.Gateway(cache_dir=cache, default_config=rattler.SourceConfig(sharded_enabled=True))
    found = await gateway.query([rattler.Channel(url)], ["linux-64", "noarch"], names, recursive=True)
    return {record.file_name: (record.name.normalized, str(record.version), str(record.build), record.build_number, record.subdir,
                               record.sha256.hex(), record.md5.hex(), record.size, record.depends, record.constrains,
                               record.license, str(record.timestamp), record.url.removeprefix(url))
            for records in found for record in records}


async def read_with_rattler(channel, scratch):
    names = sorted({name for folder in channel.glob(f"*/{INDEX}") for name in shards_of(folder.parent)})
    with served(channel, ("repodata.json", "repodata.json.zst", "repodata.json.bz2")) as (url, paths):
        by_shards = await records_by_rattler(url, names, scratch / "shards")
        if not any("/shards/" in path for path in paths):
            raise Differs(f"py-rattler asked for no shard: {paths}")
    with served(channel, (INDEX,)) as (url, paths):
        by_repodata = await records_by_rattler(url, names, scratch / "repodata")
    # Of repodata.json, but not of shards, it leaves out each .tar.bz2 that is also there as .conda.
    alone = {name: record for name, record in by_shards.items() if name.replace(".tar.bz2", ".conda") not in by_shards
             or name.endswith(".conda")}
    equal(alone, by_repodata, "records")
    equal(len(by_shards), len([*channel.glob("*/*.conda"), *channel.glob("*/*.tar.bz2")]), "number of records")
    print(f"py-rattler read {len(by_shards)} records from {len(names)} shards")


def add_package(folder, name):
    texts = {"info/index.json": json.dumps({"name": name, "version": "9.9", "build": "0", "build_number": 0, "depends": [],
                                            "subdir": folder.name}), "info/paths.json": '{"paths": [], "paths_version": 1}'}
    with tarfile.open(folder / f"{name}-9.9-0.tar.bz2", "w:bz2") as archive:
        for path, text in texts.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


def late_reader(channel, ptpkg):
    """The index is read, then the channel changes, then the shards are read."""
    folder = channel / "linux-64"
    before = unpacked(folder / INDEX)
    name = sorted(before["shards"])[0]
    add_package(folder, name)
    subprocess.run([ptpkg, "index", "--quiet", channel], check=True, stdout=subprocess.DEVNULL)
    after = unpacked(folder / INDEX)
    changed = {one for one in after["shards"] if after["shards"][one] != before["shards"].get(one)}
    equal(changed, {name}, "shards that a new package changes")
    for digest in before["shards"].values():
        equal(hashlib.sha256((folder / f"shards/{digest.hex()}.msgpack.zst").read_bytes()).digest(), digest, "shard of the old index")
    compare_with_repodata(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ptpkg", required=True)
    parser.add_argument("--sample", required=True, metavar="PROGRAM", help="writes the channel")
    arguments = parser.parse_args()
    if is_skipped([("rattler", "py-rattler"), "msgpack", ("backports.zstd", "backports.zstd")]):
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="conda-shards-") as folder:
        scratch = Path(folder).resolve()
        channel = scratch / "made/channel"
        try:
            subprocess.run([arguments.sample, str(scratch / "made")], check=True)
            subprocess.run([arguments.ptpkg, "index", "--quiet", "--shards", channel], check=True, stdout=subprocess.DEVNULL)
            for index in channel.glob(f"*/{INDEX}"):
                compare_with_repodata(index.parent)
            asyncio.run(compare_with_rattlers_indexer(channel, scratch))
            asyncio.run(read_with_rattler(channel, scratch))
            late_reader(channel, arguments.ptpkg)
        except Exception as error:  # pylint: disable=broad-except
            print(f"rejected: {type(error).__name__}: {error}")
            return 1
    return 0


if __name__ == "__main__":
    exit_at_once(main())
