"""`ptpkg rebuild`: published packages of the toy pair built again from what they hold, and every reason to refuse.

A rebuild has a cache and a directory of its own, runs later than the first build, and as another user where the tests run as root.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import zipfile

import harness

NOBODY = 65534
OUTPUTS = """\
recipe: {name: pages, version: "1"}
source: {path: files}
build: {script: "mkdir -p $PREFIX/share; cp page.txt $PREFIX/share/$PKG_NAME-${{ kind }}"}
outputs:
  - package: {name: first-page}
  - package: {name: second-page}
    requirements: {host: [first-page], run: ["${{ pin_subpackage('first-page', exact=True) }}"]}
about: {license: MIT, summary: "Pages"}
extra: {ptpkg: {formats: [conda]}}
"""
NOARCH = """\
package: {name: pure, version: "1"}
source: {path: .}
build:
  noarch: python
  script: |
    info=$SP_DIR/pure-1.dist-info
    mkdir -p $SP_DIR/pure $info
    cp page.txt $SP_DIR/pure
    printf 'Metadata-Version: 2.1\\nName: pure\\nVersion: 1\\n' >$info/METADATA
    printf 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n' >$info/WHEEL
    printf 'pure/page.txt,,\\npure-1.dist-info/METADATA,,\\npure-1.dist-info/WHEEL,,\\npure-1.dist-info/RECORD,,\\n' >$info/RECORD
requirements: {host: [python], run: [python]}
about: {license: MIT, summary: "A page"}
extra: {ptpkg: {formats: [conda, wheel]}}
"""
PURE = """\
package: {name: pure, version: "1"}
build: {number: 0, string: "0", script: "mkdir -p $PREFIX/share; cp page.txt $PREFIX/share; date >/dev/null"}
source: {path: files}
about: {license: MIT, summary: "A page"}
extra: {ptpkg: {formats: [conda]}}
"""


class Rebuild(harness.Case):
    @classmethod
    def setUpClass(cls) -> None:
        """One channel with the toy pair for all tests."""
        super().setUpClass()
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-e2e-"))
        cls.shared.chmod(0o755)
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        case = cls("ptpkg")
        case.scratch, case.cache = cls.shared, cls.shared / "cache"
        cls.dist = cls.shared / "dist"
        case.ptpkg("build", harness.FIXTURES / "toymagma", harness.FIXTURES / "toytorch", "--select", "toy_backend=cpu", "--output", cls.dist,
                   "--test", "skip", "--quiet")
        cls.built_at = time.time()
        cls.channel = cls.dist / "conda/linux-64"
        cls.magma = next(cls.channel.glob("toymagma-cpu-*.conda"))
        cls.torch = next(cls.channel.glob("toytorch-*.conda"))
        cls.wheel = next(cls.dist.glob("wheels/toytorch-*.whl"))
        cls.magma_source = ("--source", f"toymagma-cpu={harness.FIXTURES / 'toymagma/source'}")
        cls.torch_source = ("--source", f"toytorch={harness.FIXTURES / 'toytorch/source'}")

    def rebuild(self, artifact, *arguments, exit_code=0, **extra):
        done = self.ptpkg("rebuild", artifact, "--json", *arguments, exit_code=exit_code, **extra)
        return json.loads(done.stdout)

    def refused(self, artifact, *arguments, exit_code, text, hint="hint: "):
        done = self.ptpkg("rebuild", artifact, *arguments, exit_code=exit_code)
        self.assertRegex(done.stderr, text)
        self.assertIn(hint, done.stderr)
        self.assertEqual(list(self.cache.glob("work/rebuild-*")), [])

    def pure(self):
        """A package that is built in a moment, and its source."""
        recipe = self.scratch / "pure"
        (recipe / "files").mkdir(parents=True)
        (recipe / "files/page.txt").write_text("page\n")
        (recipe / "recipe.yaml").write_text(PURE)
        self.ptpkg("build", recipe, "--output", self.scratch / "dist", "--quiet", SOURCE_DATE_EPOCH="1700000000")
        return self.scratch / "dist/conda/linux-64/pure-1-0.conda", recipe / "files"

    def repacked(self, package, change):
        """A copy of the package whose info or payload files `change` has edited in a directory."""
        folder = self.scratch / "parts"
        target = self.scratch / "changed" / package.name
        target.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(package) as old, zipfile.ZipFile(target, "w") as new:
            for member in old.namelist():
                content = old.read(member)
                if member.endswith(".tar.zst"):
                    (folder / member).mkdir(parents=True)
                    run = {"input": content, "check": True, "capture_output": True}
                    subprocess.run(["tar", "--zstd", "-xf", "-", "-C", folder / member], **run)
                    change(folder / member)
                    content = subprocess.run(["tar", "--zstd", "-cf", "-", "-C", folder / member,
                                              *sorted(path.name for path in (folder / member).iterdir())], check=True, capture_output=True).stdout
                new.writestr(member, content)
        return target

    def test_the_toy_pair_in_another_directory_at_another_time(self):
        self.assertGreater(time.time(), self.built_at)
        for artifact, *arguments in ((self.magma, *self.magma_source), (self.torch, *self.torch_source),
                                     (self.wheel, "--recipe", self.torch, *self.torch_source)):
            with self.subTest(artifact.name):
                document = self.rebuild(artifact, *arguments)
                self.assertEqual((document["identical"], document["difference"]), (True, None))
                self.assertEqual(document["sha256"], harness.sha256(artifact))
                self.assertEqual(list(self.cache.glob("work/rebuild-*")), [])

    def test_as_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        package, source = self.pure()
        home = self.scratch / "home"
        home.mkdir()
        os.chown(home, NOBODY, NOBODY)
        self.scratch.chmod(0o755)
        program = shutil.copy(harness.Settings.ptpkg, self.scratch / "ptpkg")
        done = subprocess.run([program, "rebuild", package, "--source", f"pure={source}"], cwd=home, user=NOBODY, group=NOBODY, extra_groups=[],
                              env={**self.environment(), "HOME": str(home), "PATH": "/usr/bin:/bin", "PTPKG_CACHE_DIR": str(home / "cache")},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("identical", done.stdout)

    def test_the_time_stamp_comes_from_the_package(self):
        package, source = self.pure()
        self.assertTrue(self.rebuild(package, "--source", f"pure={source}", SOURCE_DATE_EPOCH="1600000000")["identical"])

    def test_output_keeps_the_result(self):
        package, source = self.pure()
        kept = self.scratch / "kept"
        document = self.rebuild(package, "--source", f"pure={source}", "--output", kept)
        self.assertEqual(harness.sha256(pathlib.Path(document["rebuilt"])), document["rebuilt_sha256"])
        self.refused(package, "--source", f"pure={source}", "--output", kept, exit_code=7, text="kept' is not empty")

    def test_a_changed_source_is_refused_by_digest(self):
        package, source = self.pure()
        (source / "page.txt").write_text("another page\n")
        self.refused(package, "--source", f"pure={source}", exit_code=4, text=r"the sources of 'pure-1-0' have the digest [0-9a-f]{64}, but")

    def test_a_missing_source_is_named(self):
        package, _ = self.pure()
        self.refused(package, exit_code=4, text="the source 'files' of 'pure' is not in its package\n  hint: ptpkg rebuild .* --source pure=PATH")

    def test_a_changed_and_a_missing_package_are_named(self):
        channel = self.scratch / "channel"
        (channel / "linux-64").mkdir(parents=True)
        arguments = (self.torch, *self.torch_source, "--channel", channel)
        self.refused(*arguments, exit_code=4, text=f"was built with '{self.magma.name}', which is not in the channel")
        with open(shutil.copy(self.magma, channel / "linux-64"), "ab") as file:
            file.write(b"x")
        self.refused(*arguments, exit_code=4, text=f"{self.magma.name}' has sha256 [0-9a-f]{{64}}, but")

    def test_a_channel_that_does_not_exist(self):
        package, source = self.pure()
        self.refused(package, "--source", f"pure={source}", "--channel", self.scratch / "none", exit_code=4, text="none' does not exist")

    def other(self, recipe: str, **files: str) -> pathlib.Path:
        """The directory of a recipe that was built into dist."""
        folder = self.scratch / "other"
        (folder / "files").mkdir(parents=True)
        for name, text in {"recipe.yaml": recipe, "page.txt": "page\n", "files/page.txt": "page\n", **files}.items():
            (folder / name.replace("_yaml", ".yaml")).write_text(text)
        self.ptpkg("build", folder, "--output", self.scratch / "dist", "--quiet")
        return folder

    def test_an_exact_pin_of_another_output(self):
        source = self.other(OUTPUTS, variants_yaml="kind: [one]\n")
        for package in sorted((self.scratch / "dist/conda/linux-64").glob("*.conda")):
            self.assertTrue(self.rebuild(package, "--source", f"pages={source / 'files'}")["identical"], package)

    def test_noarch_packages(self):
        source = self.other(NOARCH)
        package, = (self.scratch / "dist/conda/noarch").glob("*.conda")
        wheel, = (self.scratch / "dist/wheels").glob("*.whl")
        for artifact in ((package, ), (wheel, "--recipe", package)):
            self.assertTrue(self.rebuild(*artifact, "--source", f"pure={source}")["identical"], artifact)

    def test_a_recipe_inside_its_source(self):
        """The variant file is not what its script reads; in another directory, and after edits of these files."""
        source = self.other(PURE.replace("path: files", "path: ."), variants_yaml="unused: [1]\n")
        package = self.scratch / "dist/conda/linux-64/pure-1-0.conda"
        moved = source.rename(self.scratch / "moved")
        (moved / "variants.yaml").write_text("unused: [2]\n")
        self.assertTrue(self.rebuild(package, "--source", f"pure={moved}")["identical"])
        (moved / "more.txt").write_text("more\n")
        self.refused(package, "--source", f"pure={moved}", exit_code=4, text="the sources of 'pure-1-0' have the digest")

    def test_a_tampered_package_shows_its_first_difference(self):
        package, source = self.pure()

        def change(folder):
            if (folder / "share/page.txt").exists():
                (folder / "share/page.txt").write_text("tampered\n")

        tampered = self.repacked(package, change)
        arguments = ("--source", f"pure={source}")
        done = self.ptpkg("rebuild", tampered, *arguments, exit_code=1)
        self.assertRegex(done.stdout, r"(?s)share/page\.txt.*-tampered\n.*\+page\n.*different: ")
        document = self.rebuild(tampered, *arguments, exit_code=1)
        self.assertFalse(document["identical"])
        self.assertEqual([file["path"] for file in document["difference"]["files"]], ["share/page.txt"])

    def test_other_tools_are_refused(self):
        package, source = self.pure()

        def change(folder):
            path = folder / "info/recipe/build_inputs.json"
            if path.exists():
                inputs = json.loads(path.read_text())
                inputs["builds"][0].update(tools="0" * 64, programs={"cmake": "1.0", "g++": "2.0"})
                path.write_text(json.dumps(inputs))

        self.refused(self.repacked(package, change), "--source", f"pure={source}", exit_code=4, text=r"tools differ from those that built 'pure-1-0': cmake 1\.0, g\+\+ 2\.0")

    def test_a_damaged_list_of_builds_is_refused(self):
        package, source = self.pure()
        for build, text in ((1, "has a build of another form"), ({"source": "0", "env": 5, "tools": "0"}, "'env'")):
            shutil.rmtree(self.scratch / "parts", ignore_errors=True)

            def change(folder, build=build):
                path = folder / "info/recipe/build_inputs.json"
                if path.exists():
                    path.write_text(json.dumps({**json.loads(path.read_text()), "builds": [build]}))

            self.refused(self.repacked(package, change), "--source", f"pure={source}", exit_code=3, text=text, hint="error: ")

    def test_what_cannot_be_rebuilt(self):
        package, _ = self.pure()

        def without(name):
            def change(folder):
                (folder / name).unlink(missing_ok=True)
            shutil.rmtree(self.scratch / "parts", ignore_errors=True)
            return self.repacked(package, change)

        self.refused(without("info/used_build_tool.json"), exit_code=3, text="another program made it")
        self.refused(without("info/recipe/recipe.yaml"), exit_code=3, text="it has no 'info/recipe/recipe.yaml'")
        self.refused(without("info/recipe/build_inputs.json"), exit_code=3, text="it has no 'info/recipe/build_inputs.json'")
        self.refused(self.wheel, exit_code=3, text="a wheel does not hold its recipe")
        other = shutil.copy(self.wheel, self.scratch / self.wheel.name.replace("+cpu", "+other"))
        self.refused(other, "--recipe", self.torch, *self.torch_source, exit_code=3, text="its recipe makes toytorch-")
        self.refused(package, "--recipe", package, exit_code=2, text="--recipe is for wheels")
        self.refused(self.scratch / "none.conda", exit_code=4, text="none.conda", hint="relative paths begin at")

    def test_a_package_lists_files_that_it_leaves_out(self):
        recipe = self.scratch / "large"
        recipe.mkdir()
        (recipe / "recipe.yaml").write_text(PURE.replace("source: {path: files}\n", "").replace("cp page.txt", "cp $RECIPE_DIR/data"))
        with open(recipe / "data", "wb") as file:
            file.truncate((1 << 20) + 1)
        self.ptpkg("build", recipe, "--output", self.scratch / "dist", "--quiet")
        self.refused(self.scratch / "dist/conda/linux-64/pure-1-0.conda", exit_code=3, text="it lacks files of the recipe's directory: data")


if __name__ == "__main__":
    harness.main()
