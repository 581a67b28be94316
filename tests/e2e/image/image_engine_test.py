"""`ptpkg image` with buildah on a root file system that debootstrap makes: equal digests, two users, the recipe's build stage.

Needs root, buildah and debootstrap, and the Debian archive for the base (tests/harness/buildah.py).
"""

import json
import os
import pathlib
import shutil
import subprocess
import tarfile

import harness
import image_test
from buildah import Store, debian_base, needs_buildah
from harness import Settings

DESCRIPTION = """
timezone: Asia/Tokyo
env: {TEAM: vision}
images:
  train_alice: {user: alice, uid: 1001}
  train_bob: {user: bob, uid: 1002, gid: 100, timezone: America/Lima, workdir: /data/bob, labels: {owner: bob}}
  train_carol: {user: carol, uid: 1003, workdir: /tmp}
"""
# The machine of the build stage has Python and nothing else.
RECIPE = """
package: {name: toy, version: "1.0"}
source: {path: src}
build: {noarch: python, script: 'mkdir -p $SP_DIR/toy-1.0.dist-info && cp toy.py $SP_DIR && cp METADATA WHEEL $SP_DIR/toy-1.0.dist-info'}
requirements: {host: [python], run: [python]}
about: {license: MIT, summary: toy}
extra: {ptpkg: {formats: [wheel]}}
"""
FILES = {"toy.py": "x = 1\n", "METADATA": "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
         "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}


def setUpModule() -> None:
    needs_buildah()


class Case(image_test.Case):
    @classmethod
    def setUpClass(cls) -> None:
        cls.base_tar = debian_base()

    def assert_no_containers(self, store: Store) -> None:
        self.assertEqual(store.buildah("containers", "--all", "--quiet"), "")


class Images(Case):
    def test_wheels_for_two_users(self):
        wheel, description = self.wheel(), self.describe(DESCRIPTION)
        stores = [Store(self), Store(self, "2")]
        made = [json.loads(self.image(wheel, "--file", description, "--base", self.base_tar, "--engine", "buildah", "--json", **store.variables).stdout)
                for store in stores]
        self.assertEqual(made[0]["images"], made[1]["images"])  # ids and layers
        alice, bob, _ = (image["layers"] for image in made[0]["images"])
        self.assertEqual(alice[:2], bob[:2])  # the base, and the wheel
        self.assertNotEqual(alice[2:], bob[2:])
        store = stores[0]
        facts = "id -u; id -g; id -un; pwd; date +%Z; date -d @0 +%H; echo $TEAM; python3 -c 'import toy; print(toy.x)'; touch new; stat -c %u:%g new . $HOME"
        self.assertEqual(store.inside("train_alice", facts).split(),
                         ["1001", "1001", "alice", "/home/alice", "JST", "09", "vision", "1", "1001:1001", "1001:1001", "1001:1001"])
        self.assertEqual(store.inside("train_bob", facts).split(),
                         ["1002", "100", "bob", "/data/bob", "-05", "19", "vision", "1", "1002:100", "1002:100", "1002:100"])
        self.assertEqual(store.inside("train_bob", "test ! -e /run/artifacts; cat /etc/timezone"), "America/Lima\n")
        self.assertEqual(store.inside("train_carol", "pwd; stat -c %a:%u /tmp"), "/tmp\n1777:0\n")  # as in the base
        config = json.loads(store.buildah("inspect", "--type", "image", "localhost/train_bob"))["OCIv1"]["config"]
        self.assertEqual(config["Labels"]["owner"], "bob")
        self.assertEqual(json.loads(config["Labels"]["org.ptpkg.artifacts"]), {wheel.name: harness.sha256(wheel)})
        self.assert_no_containers(store)
        self.nothing_left()

    def test_a_recipe_in_a_build_stage(self):
        folder, store, out = self.recipe(), Store(self), self.scratch / "out"
        (folder / "recipe.yaml").write_text(RECIPE)
        for name, text in FILES.items():
            (folder / "src" / name).write_text(text)
        self.with_ptpkg()
        (folder / "image.yaml").write_text("base: ../with-ptpkg.tar\nimages: {one: {}, two: {user: bob, uid: 1002}}\n")
        self.image(folder, "--extract", out, "--engine", "buildah", **store.variables)
        self.assertEqual([path.suffix for path in out.iterdir()], [".whl"])
        for image in ("one", "two"):
            self.assertEqual(store.inside(image, "python3 -c 'import toy; print(toy.x)'"), "1\n")
        self.assert_no_containers(store)
        self.nothing_left()

    def with_ptpkg(self) -> None:
        """The base with the program under test and its libraries."""
        path = self.scratch / "with-ptpkg.tar"
        shutil.copyfile(self.base_tar, path)
        listed = subprocess.run(["ldd", Settings.ptpkg], check=True, text=True, stdout=subprocess.PIPE).stdout
        libraries = [line.split("=>")[1].split()[0] for line in listed.splitlines() if "=>" in line]
        with tarfile.open(path) as archive:
            present = {name.rsplit("/", 1)[-1] for name in archive.getnames()}
        with tarfile.open(path, "a") as archive:
            archive.add(Settings.ptpkg, "./usr/local/bin/ptpkg")
            for library in libraries:
                name = pathlib.Path(library).name
                if name not in present:
                    archive.add(os.path.realpath(library), f"./usr/lib/x86_64-linux-gnu/{name}")


class Refused(Case):
    def test_a_base_that_only_the_build_sees(self):
        """A base from a registry is not on this machine before: the Containerfile has the same rules."""
        store = Store(self)
        (self.scratch / "base").mkdir()
        shutil.copyfile(self.base_tar, self.scratch / "base/rootfs.tar")
        (self.scratch / "base/Containerfile").write_text("FROM scratch\nADD rootfs.tar /\nRUN useradd --uid 1001 carol && rm /usr/share/zoneinfo/Asia/Tokyo\n")
        store.buildah("build", "--tag", "localhost/base", str(self.scratch / "base"))
        arguments = ("--base", "localhost/base", "--engine", "buildah")
        for settings, tag, message in (
                ("user: alice, uid: 1001", "py3-none-any", "UID 1001 belongs to 'carol' in the base, not to 'alice'"),
                ("user: carol, uid: 1005", "py3-none-any", "the base cannot add user 'carol' with UID 1005"),
                ("timezone: Asia/Tokyo", "py3-none-any", "the base has no data of the time zone Asia/Tokyo"),
                ("", "py3-none-manylinux_2_99_x86_64", "the base has glibc 2.36, and toy-1.0-py3-none-manylinux_2_99_x86_64.whl needs 2.99")):
            with self.subTest(message=message):
                self.refused(3, message, self.wheel(tag), "--file", self.describe("images: {a: {%s}}" % settings), *arguments, **store.variables)
                self.assert_no_containers(store)
        self.assertNotIn("localhost/a", store.buildah("images"))

    def test_a_full_disk_in_a_layer(self):
        store = Store(self)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", store.folder], check=True)
        self.addCleanup(subprocess.run, ["umount", store.folder], check=True)
        store.configure("vfs")
        self.refused(6, "No space left on device", self.wheel(), "--base", self.base_tar, "--engine", "buildah", **store.variables)
        self.assertNotIn("localhost/toy", store.buildah("images"))
        # Containers are not asserted: buildah 1.28 leaves its working container then, also with --force-rm (docs/images.md).


if __name__ == "__main__":
    harness.main()
