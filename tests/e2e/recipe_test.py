"""What a recipe says is carried out: real pip, real interpreters, the program itself."""

import json
import os
import pathlib
import subprocess
import unittest

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
    return subprocess.run([python, "-c", "import pip, setuptools, wheel"], stdout=subprocess.DEVNULL,
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
            "requirements: {host: [python, pip, setuptools, wheel], run: [python]}\n"
            "about: {license: MIT}\n" + extra)
        return root

    def names(self, package: pathlib.Path) -> list[str]:
        python = harness.peers_python()
        code = ("import json, sys; from conda_package_handling import api; import tempfile, pathlib\n"
                "d = tempfile.mkdtemp(); api.extract(sys.argv[1], d)\n"
                "print(json.dumps([e['_path'] for e in json.load(open(d + '/info/paths.json'))['paths']]))")
        return json.loads(subprocess.run([python, "-c", code, package], stdout=subprocess.PIPE, check=True).stdout)

    def test_pip_installs_into_the_prefix_however_it_is_called(self):
        python = "/usr/bin/python3"
        if not works(python):
            raise unittest.SkipTest(f"{python} has no pip, setuptools and wheel")
        before = packages_of(python)
        for number, command in enumerate((
                "${{ PYTHON }} -m pip install .",
                "pip install .",
                "python -m pip install . -vv --no-deps --no-build-isolation",
                "python3 -m pip install . --prefix $PREFIX")):
            with self.subTest(command):
                output = self.scratch / f"dist{number}"
                self.ptpkg("build", self.project(command), "--env", "system", "--format", "conda", "--output", output,
                           PTPKG_PYTHON=python, PATH="/usr/bin:/bin")
                package, = (output / "conda").rglob("*.conda")
                names = self.names(package)
                self.assertIn("bin/toyp", names)
                self.assertTrue(any(name.endswith("/site-packages/toyp/__init__.py") for name in names), names)
                self.assertFalse([name for name in names if "pyvenv" in name or "dist-packages" in name or
                                  name in ("bin/python", "bin/pip")], names)
        with self.subTest("another interpreter's pip stops"):
            done = self.ptpkg("build", self.project("/usr/bin/python3 -m pip install ."), "--env", "system",
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
        self.assertIn("holds a blank", done.stderr)
        self.assertIn("--cache-dir", done.stderr)


if __name__ == "__main__":
    harness.main()
