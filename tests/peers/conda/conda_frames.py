#!/usr/bin/env python3
"""Parts of several zstd frames: the verdict of `ptpkg check` against what readers get.

usage: conda_frames.py --ptpkg PROGRAM

The part begins with an empty frame, and all of its content is in the second one.
"""
import argparse
import asyncio
import json
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

from conda_bytes import BLOCK, base, zstd
from peers import SKIPPED, exit_at_once, is_skipped, served

PTPKG = None


def write_package(folder, part_with_frames):
    """`part_with_frames`: "info" or "pkg", "" = none."""
    package = base("toy", "generic", ".conda")
    path = folder / package.file_name
    stem = path.name.removesuffix(".conda")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("metadata.json"), json.dumps({"conda_pkg_format_version": 2}))
        for part, members in (("pkg", package.payload), ("info", package.info_members())):
            tar = b"".join(member.bytes() for member in members) + b"\0" * (2 * BLOCK)
            first = zstd.compress(b"") if part == part_with_frames else b""
            archive.writestr(zipfile.ZipInfo(f"{part}-{stem}.tar.zst"), first + zstd.compress(tar))
    return path


async def name_at_url(url):
    import rattler
    try:
        index = await rattler.IndexJson.from_remote_url(rattler.Client(), url)
        return index.name.normalized
    except Exception:  # pylint: disable=broad-except
        return None


class Frames(unittest.TestCase):
    def extracted(self, path, scratch):
        import conda_package_handling.api
        import rattler.package_streaming
        rattler.package_streaming.extract(path, scratch / "rattler")
        conda_package_handling.api.extract(str(path), str(scratch / "cph"))
        return [(scratch / reader / "share/toy/a").exists() and (scratch / reader / "info/index.json").exists() for reader in ("rattler", "cph")]

    def test_verdicts(self):
        for part, severity in (("", None), ("pkg", "warning"), ("info", "error")):
            with self.subTest(part), tempfile.TemporaryDirectory(prefix="conda-frames-") as folder:
                path = write_package(Path(folder), part)
                self.assertEqual(self.extracted(path, Path(folder)), [True, True])
                with served(folder) as address:
                    self.assertEqual(asyncio.run(name_at_url(f"{address}/{path.name}")), None if part == "info" else "toy")
                done = subprocess.run([PTPKG, "check", "--json", path], capture_output=True, text=True, check=False)
                found = [finding["severity"] for finding in json.loads(done.stdout)[0]["findings"] if finding["id"] == "conda-zstd-frames"]
                self.assertEqual(found, [severity] if severity else [])


def main():
    global PTPKG
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ptpkg", required=True)
    PTPKG = parser.parse_args().ptpkg
    if is_skipped([("rattler", "py-rattler"), ("conda_package_handling", "conda-package-handling")]):
        return SKIPPED
    return 0 if unittest.main(argv=["conda_frames"], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    exit_at_once(main())
