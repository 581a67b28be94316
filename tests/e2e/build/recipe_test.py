"""What a recipe says is carried out: real pip, real interpreters, the program itself."""

import json
import os
import pathlib
import shutil
import subprocess
import tarfile

import harness

PYPROJECT = """[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "toyp"
version = "1.0"
[project.scripts]
toyp = "toyp:main"
[tool.setuptools]
packages = ["toyp"]
"""


def works(python: str) -> bool:
    """Whether an interpreter of the machine can build a project without an index."""
    if not os.path.exists(python):
        return False
    return subprocess.run([python, "-c", "import setuptools, wheel, pip"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


def packages_of(python: str) -> list[str]:
    """Every file of the interpreter's own package folders, with size and time."""
    code = "import site, json; print(json.dumps(site.getsitepackages()))"
    folders = json.loads(subprocess.run([python, "-c", code], stdout=subprocess.PIPE, check=True).stdout)
    listing = []
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.suffix != ".pyc" and path.name != "__pycache__":
                status = path.lstat()
                listing.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return listing


class Recipe(harness.Case):
    def project(self, script: str, extra: str = "", source: bool = True) -> pathlib.Path:
        root = self.scratch / "recipe"
        (root / "src/toyp").mkdir(parents=True, exist_ok=True)
        (root / "src/pyproject.toml").write_text(PYPROJECT)
        (root / "src/toyp/__init__.py").write_text('def main():\n    print("hello")\n')
        (root / "recipe.yaml").write_text(
            'package: {name: toyp, version: "1.0"}\n'
            + ("source: {path: src}\n" if source else "")
            + f"build:\n  script:\n    - {script}\n"
            "requirements: {host: [python, pip, setuptools], run: [python]}\n"
            "about: {license: MIT}\n" + extra)
        return root

    def extract(self, output: pathlib.Path) -> pathlib.Path:
        """The folder with the only .conda package of `output`, unpacked by conda's own tool."""
        package, = (output / "conda").rglob("*.conda")
        return self.extract_package(package, output / "unpacked")

    def extract_package(self, package: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
        code = "import sys; from conda_package_handling import api; api.extract(sys.argv[1], sys.argv[2])"
        subprocess.run([harness.peers_python(), "-c", code, package, folder], check=True)
        return folder

    def names(self, output: pathlib.Path) -> list[str]:
        paths = json.loads((self.extract(output) / "info/paths.json").read_text())
        return [entry["_path"] for entry in paths["paths"]]

    def test_pip_installs_into_the_prefix_however_it_is_called(self):
        # Debian's own interpreter installs elsewhere by itself; that of an environment has another one behind it.
        pythons = [python for python in ("/usr/bin/python3", shutil.which("python3")) if python and works(python)]
        if not pythons:
            harness.missing("a python3 with pip, setuptools and wheel")
        for python in dict.fromkeys(pythons):
            with self.subTest(python):
                self.check_pip(python)

    def check_pip(self, python: str):
        before = packages_of(python)
        for number, command in enumerate((
                "${{ PYTHON }} -m pip install .",
                "pip install .",
                "python -m pip install . -vv --no-deps --no-build-isolation",
                "python3 -m pip install . --prefix $PREFIX")):
            with self.subTest(command):
                output = self.scratch / f"dist{number}{python.replace('/', '_')}"
                self.ptpkg("build", self.project(command), "--env", "system", "--format", "conda", "--output", output,
                           PTPKG_PYTHON=python, PATH="/usr/bin:/bin")
                names = self.names(output)
                self.assertIn("bin/toyp", names)
                self.assertTrue(any(name.endswith("/site-packages/toyp/__init__.py") for name in names), names)
                self.assertFalse([name for name in names if "pyvenv" in name or "dist-packages" in name or
                                  name in ("bin/python", "bin/pip")], names)
        if python == "/usr/bin/python3":
            with self.subTest("a pip that is called by the interpreter's path stops"):
                done = self.ptpkg("build", self.project(f"{python} -m pip install ."), "--env", "system",
                                  "--output", self.scratch / "other", exit_code=5, PTPKG_PYTHON=python,
                                  PATH="/usr/bin:/bin")
                self.assertIn("virtualenv", done.stderr)
        self.assertEqual(packages_of(python), before)

    def test_an_empty_package_is_made_only_on_request(self):
        root = self.project("'true'", source=False)
        done = self.ptpkg("build", root, "--env", "system", "--format", "conda", "--output", self.scratch / "dist",
                          exit_code=3)
        self.assertIn("added no file to the prefix", done.stderr)
        self.assertIn("allow_empty", done.stderr)
        root = self.project("'true'", "extra: {ptpkg: {allow_empty: true}}\n", source=False)
        self.ptpkg("build", root, "--env", "system", "--format", "conda", "--output", self.scratch / "dist")
        self.assertEqual(len(list((self.scratch / "dist").rglob("*.conda"))), 1)

    def test_a_script_of_the_sources_sees_the_keys_of_use_keys(self):
        root = self.scratch / "recipe"
        (root / "src").mkdir(parents=True)
        (root / "src/tool.sh").write_text('mkdir "$PREFIX/share"; echo "[$flavour]" > "$PREFIX/share/toy.txt"\n')
        (root / "variants.yaml").write_text("flavour: [sweet, sour]\n")
        (root / "recipe.yaml").write_text(
            'package: {name: toy, version: "1.0"}\nsource: {path: src}\n'
            "build: {script: bash tool.sh, variant: {use_keys: [flavour]}}\n")
        output = self.scratch / "out"
        self.ptpkg("build", root, "--output", output)
        found = []
        for package in output.glob("conda/linux-64/*.conda"):
            found.append((self.extract_package(package, self.scratch / package.stem) / "share/toy.txt").read_text())
        self.assertEqual(sorted(found), ["[sour]\n", "[sweet]\n"])

    def test_what_no_package_may_hold_is_said_before_the_build(self):
        root = self.scratch / "recipe"
        root.mkdir()
        for version, body, place, message in (
                ("1.0RC1", "", "1:31", "version '1.0RC1' may hold only a-z"),
                ("20260101123456", "", "1:31", "has a number above 2147483647"),
                ("1", f"build: {{string: {'a' * 65}}}\n", "2:17", "is longer than 64 characters"),
                ("1", "build: {python: {entry_points: [a/b = m:f]}}\n", "2:33", "'a/b' cannot be the name"),
                ("1", 'extra: {ptpkg: {wheel: {requires: ["numpy >>1"]}}}\n', "2:36", "numpy >>1")):
            with self.subTest(message):
                (root / "recipe.yaml").write_text(f'package: {{name: toy, version: "{version}"}}\n{body}')
                done = self.ptpkg("render", root, exit_code=3)
                self.assertIn(f"recipe.yaml:{place}: error: ", done.stderr)
                self.assertIn(message, done.stderr)

    def test_a_failing_test_keeps_the_package_back(self):
        output = self.scratch / "dist"
        script = "mkdir -p $PREFIX/share && echo 42 > $PREFIX/share/answer"
        tests = 'tests: [{script: ["grep 42 $PREFIX/share/answer", "echo gone wrong; exit 1"]}]\n'
        root = self.project(script, tests)
        done = self.ptpkg("build", root, "--env", "system", "--format", "conda", "--output", output, exit_code=1)
        self.assertIn("package-test", done.stderr)
        self.assertIn("gone wrong", done.stderr)
        self.assertEqual(list((output / "conda").rglob("*.conda")), [])
        self.project(script, tests.replace("; exit 1", ""))
        self.ptpkg("build", root, "--env", "system", "--format", "conda", "--output", output)
        info = self.extract(output) / "info"
        self.assertIn("grep 42 $PREFIX/share/answer", (info / "tests/tests.yaml").read_text())
        self.assertEqual((info / "recipe/recipe.yaml").read_text(), (root / "recipe.yaml").read_text())
        self.assertIn("name: toyp", (info / "recipe/rendered_recipe.yaml").read_text())
        self.assertTrue((info / "recipe/variant_config.yaml").exists())

    def test_a_noarch_package_has_its_entry_points_and_they_run(self):
        output = self.scratch / "dist"
        root = self.project("${{ PYTHON }} -m pip install .", 'tests: [{script: toyp}, {python: {imports: [toyp]}}]\n')
        recipe = root / "recipe.yaml"
        recipe.write_text(recipe.read_text().replace(
            "build:\n", 'build:\n  noarch: python\n  python: {entry_points: ["toyp = toyp:main"]}\n'))
        self.ptpkg("build", root, "--env", "system", "--format", "conda", "--output", output)
        folder = self.extract(output)
        link = json.loads((folder / "info/link.json").read_text())
        self.assertEqual(link["noarch"], {"type": "python", "entry_points": ["toyp = toyp:main"]})
        self.assertTrue((folder / "site-packages/toyp/__init__.py").exists())
        self.assertFalse((folder / "python-scripts").exists())

    def test_licence_files_keep_their_bytes(self):
        output = self.scratch / "dist"
        root = self.project("touch $PREFIX/made", "")
        recipe = root / "recipe.yaml"
        recipe.write_text(recipe.read_text().replace("license: MIT", "license: MIT, license_file: LICENSE"))
        done = self.ptpkg("build", root, "--env", "system", "--format", "conda", "--output", output, exit_code=4)
        self.assertIn("'LICENSE' matches no file", done.stderr)
        text = "Gr\u00fc\u00dfe\n".encode("latin-1")
        (root / "src/LICENSE").write_bytes(text)
        self.ptpkg("build", root, "--env", "system", "--format", "conda", "--output", output)
        self.assertEqual((self.extract(output) / "info/licenses/LICENSE").read_bytes(), text)

    def test_a_licence_that_nobody_knows(self):
        root = self.project("'true'")
        recipe = root / "recipe.yaml"
        recipe.write_text(recipe.read_text().replace("license: MIT", "license: MITT"))
        done = self.ptpkg("render", root, exit_code=3)
        self.assertIn("did you mean 'MIT'?", done.stderr)

    def test_a_work_folder_with_a_blank_is_refused_at_once(self):
        self.cache = self.scratch / "j doe/cache"
        done = self.ptpkg("build", self.project("'true'"), "--env", "system", "--output", self.scratch / "dist",
                          exit_code=3)
        self.assertIn("contains a blank", done.stderr)
        self.assertIn("--cache-dir", done.stderr)

    def test_slips_in_variables_are_told_before_anything_is_built(self):
        for name, value, told in [
            ("SOURCE_DATE_EPOCH", "99999999999", "later than packages can tell"),
            ("SOURCE_DATE_EPOCH", "abc", "not a number of seconds"),
            ("PTPKG_CCACHE", "maybe", "PTPKG_CCACHE is 'maybe', which is neither on nor off"),
            ("PTPKG_ANSWER_TIMEOUT", "0", "PTPKG_ANSWER_TIMEOUT is '0', not a number of seconds"),
            ("PTPKG_ANSWER_TIMEOUT", "5 min", "PTPKG_ANSWER_TIMEOUT is '5 min', not a number of seconds"),
            ("PTPKG_OFFLINE", "nope", "PTPKG_OFFLINE is 'nope'"),
        ]:
            done = self.ptpkg("build", self.project("'true'"), "--env", "system", exit_code=2, **{name: value})
            self.assertIn(told, done.stderr)
            self.assertNotIn("source ", done.stderr)

    def test_refresh_builds_and_publishes_a_stored_result_anew(self):
        recipe = self.scratch / "moody"
        recipe.mkdir()
        outside = self.scratch / "mood"
        (recipe / "recipe.yaml").write_text(
            "schema_version: 1\npackage: {name: moody, version: '1'}\nabout: {license: MIT}\n"
            f"build: {{number: 0, string: '0', script: ['mkdir -p $PREFIX/share', 'cp {outside} $PREFIX/share/mood']}}\n"
            "extra: {ptpkg: {formats: [tar.bz2]}}\n")
        command = ["build", recipe, "--env", "system", "--output", self.scratch / "dist"]

        def mood(*options, exit_code=0):
            self.ptpkg(*command, *options, exit_code=exit_code)
            with tarfile.open(self.scratch / "dist/conda/linux-64/moody-1-0.tar.bz2") as package:
                return package.extractfile("share/mood").read().decode()

        outside.write_text("good")
        self.assertEqual(mood(), "good")
        outside.write_text("bad")
        self.assertEqual(mood(), "good")
        self.assertEqual(mood("--refresh", "--dry-run"), "good")
        self.assertEqual(mood("--refresh"), "bad")
        outside.unlink()
        # What fails replaces nothing.
        self.assertEqual(mood("--refresh", exit_code=5), "bad")
        self.assertEqual(mood(), "bad")

    def test_fresh_says_that_a_stored_result_stays(self):
        recipe = self.project("touch $PREFIX/made", "extra: {ptpkg: {formats: [conda]}}\n")
        command = ["build", recipe, "--env", "system", "--output", self.scratch / "dist", "--fresh"]
        self.assertNotIn("--fresh", self.ptpkg(*command).stderr)
        self.assertRegex(self.ptpkg(*command).stderr, r"--fresh: '\S+' is stored and was not built")


if __name__ == "__main__":
    harness.main()
