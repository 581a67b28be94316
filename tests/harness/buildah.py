"""A container engine: buildah with a store of its own, and a base that debootstrap makes from the Debian archive.

PTPKG_IMAGE_BASE names a root file system with tzdata, python3 and pip to take instead.
"""

import os
import pathlib
import shutil
import subprocess
import unittest

import harness


def needs_buildah() -> None:
    if os.geteuid() != 0 or not all(map(shutil.which, ("buildah", "debootstrap"))):
        raise unittest.SkipTest("root, buildah and debootstrap are needed")


def debian_base() -> pathlib.Path:
    """Debian with tzdata, python3 and pip as an archive; made once and kept for later runs."""
    given = os.environ.get("PTPKG_IMAGE_BASE")
    base = pathlib.Path(given) if given else harness.real_input() / "bookworm-minbase-python3.tar"
    if base.exists():
        return base
    root = base.with_suffix(".root")
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["debootstrap", "--variant=minbase", "--include=tzdata,python3,python3-pip", "bookworm", root], check=True,
                   stdout=subprocess.DEVNULL)
    part = base.with_suffix(".part")
    subprocess.run(["tar", "-C", root, "--numeric-owner", "--exclude=./var/cache/apt/archives/*.deb", "--exclude=./dev/*", "-cf", part, "."],
                   check=True)
    shutil.rmtree(root)
    return part.rename(base)


class Store:
    """A store of images, so that no cache of another run counts."""

    def __init__(self, case: harness.Case, name: str = "1") -> None:
        self.case = case
        self.folder = case.scratch / f"store-{name}"
        self.folder.mkdir()
        # Overlays cannot be stacked on the overlay of a container; copies of whole trees are slow.
        kind = subprocess.run(["stat", "-f", "-c", "%T", self.folder], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
        config = self.configure("vfs" if kind.startswith("overlay") else "overlay")
        self.variables = {"CONTAINERS_STORAGE_CONF": str(config), "BUILDAH_ISOLATION": "chroot"}

    def configure(self, driver: str) -> pathlib.Path:
        config = self.folder / "storage.conf"
        config.write_text(f'[storage]\ndriver = "{driver}"\ngraphroot = "{self.folder}/graph"\nrunroot = "{self.folder}/run"\n')
        self.case.addCleanup(subprocess.run, ["umount", "-q", self.folder / "graph/overlay"], check=False)
        return config

    def buildah(self, *arguments) -> str:
        return subprocess.run(["buildah", *arguments], env={**os.environ, **self.variables}, check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def inside(self, image: str, script: str, *options) -> str:
        """Output of a shell in the image, as its user and with its variables. `options` are those of `buildah run`."""
        container = self.buildah("from", f"localhost/{image}").strip()
        try:
            # To a file: in one run on a busy machine, the end of the output through buildah was missing. The cause is not known.
            self.buildah("run", *options, container, "--", "sh", "-e", "-c", f"{{ {script}; }} >/tmp/output")
            return (pathlib.Path(self.buildah("mount", container).strip()) / "tmp/output").read_text()
        finally:
            self.buildah("rm", container)
