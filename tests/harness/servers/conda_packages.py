"""What the conda servers read of a package, and the repodata.json that they serve."""

import hashlib
import io
import json
import re
import subprocess
import tarfile
import zipfile

from servers.double import Refused, json_answer

SUBDIR = re.compile(r"noarch|[a-z]+-[a-z0-9_]+$")  # CEP 26
# Fields of index.json that are no part of a record (conda-index).
NOT_IN_RECORDS = {"arch", "platform", "has_prefix", "mtime", "ucs", "requires_features", "binstar", "target-triplet",
                  "machine", "operatingsystem"}


def index_json(filename: str, content: bytes) -> dict:
    """info/index.json of a package. Refuses with 400 what is none, or has another file name than its metadata."""
    try:
        if filename.endswith(".conda"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                inner = archive.read(f"info-{filename.removesuffix('.conda')}.tar.zst")
            # The standard library of Python 3.11 has no zstandard; the program is one of scripts/packages.txt.
            inner = subprocess.run(["zstd", "-dcq"], input=inner, stdout=subprocess.PIPE, check=True).stdout
            archive = tarfile.open(fileobj=io.BytesIO(inner))
        elif filename.endswith(".tar.bz2"):
            archive = tarfile.open(fileobj=io.BytesIO(content), mode="r:bz2")
        else:
            raise ValueError("the name ends in neither .conda nor .tar.bz2")
        with archive:
            index = json.load(archive.extractfile("info/index.json"))
        stem = "-".join((index["name"], index["version"], index["build"]))
        if filename not in (f"{stem}.conda", f"{stem}.tar.bz2"):
            raise ValueError(f"the metadata is of {stem}")
        if not SUBDIR.match(index["subdir"]):
            raise ValueError(f"subdir {index['subdir']!r}")
        return index
    except (ValueError, KeyError, OSError, tarfile.TarError, zipfile.BadZipFile, subprocess.CalledProcessError) as error:
        raise Refused(json_answer(400, {"error": f"{filename} is no conda package: {error}"})) from error


def record(index: dict, content: bytes) -> dict:
    kept = {name: value for name, value in index.items() if name not in NOT_IN_RECORDS}
    return {**kept, "md5": hashlib.md5(content).hexdigest(), "sha256": hashlib.sha256(content).hexdigest(),
            "size": len(content)}


def repodata(subdir: str, records: dict[str, dict]) -> dict:
    """CEP 36. An empty one is what makes noarch a part of a channel."""
    def of(ending: str) -> dict:
        return {name: one for name, one in sorted(records.items()) if name.endswith(ending)}

    return {"info": {"subdir": subdir}, "packages": of(".tar.bz2"), "packages.conda": of(".conda"), "removed": [],
            "repodata_version": 1}
