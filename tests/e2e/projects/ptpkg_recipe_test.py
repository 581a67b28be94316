"""recipes/ptpkg and scripts/release without a build: versions, sources and refusals. tests/e2e/projects/release_test.py builds it."""

import os
import re
import shutil
import subprocess

import harness

RECIPE = harness.REPOSITORY / "recipes/ptpkg"
# Builds empty packages, and reports what it checks.
STAND_IN = """#!/usr/bin/env python3
import os, pathlib, sys, zipfile
if sys.argv[1] == "check":
    print(*sys.argv[2:])
    sys.exit(os.environ["CHECK"] or 0)
output, = map(pathlib.Path, sys.argv[4:])
for name in ("conda/linux-64/ptpkg-VERSION-0.conda", "wheels/ptpkg-VERSION-py3-none-any.whl", "zip/none"):
    (output / name).parent.mkdir(parents=True, exist_ok=True)
    (output / name).touch()
with zipfile.ZipFile(output / "zip/ptpkg-VERSION-linux-x86_64.zip", "w") as archive:
    for name, mode in (("bin/ptpkg", 0o755), ("share/licenses/ptpkg/LICENSE", 0o644)):
        member = zipfile.ZipInfo("ptpkg-VERSION-linux-x86_64/" + name)
        member.external_attr = (0o100000 | mode) << 16
        archive.writestr(member, "x")
"""


class PtpkgRecipe(harness.Case):
    def clone(self):
        """The last commit, in a repository of its own."""
        folder = self.scratch / "clone"
        subprocess.run(["git", "clone", "--quiet", "--depth=1", harness.REPOSITORY.as_uri(), folder], check=True)
        return folder

    def refused(self, folder, text):
        done = subprocess.run([folder / "scripts/release", "--ptpkg", harness.Settings.ptpkg], capture_output=True, text=True,
                              env=self.environment(), check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, text + r".*\nhint: .")

    def test_the_version_is_the_programs(self):
        variant, = self.ptpkg_json("render", RECIPE)
        program = self.ptpkg("--version").stdout.split()[1]
        self.assertEqual((variant["name"], variant["version"]), ("ptpkg", program))
        self.assertEqual(variant["formats"], ["conda", "wheel", "zip"])
        self.assertEqual(variant["inherits"]["name"], "ptpkg-programs")
        # It runs where the programs do, whatever Python is there.
        self.assertEqual(variant["requirements"]["run"], ["__glibc >=2.34"])
        self.assertEqual(set(variant["variant"]), {"__glibc", "target_platform"})

    def test_sources_are_pinned(self):
        text = (RECIPE / "recipe.yaml").read_text()
        urls = re.findall(r"https://\S+|\$\{\{ debian \}\}/\S+", text.split("outputs:")[1].split("about:")[0])
        self.assertEqual(len(urls), 7)  # two of one file
        self.assertEqual(len(re.findall(r"sha256: [0-9a-f]{64}\n", text)), 6)
        build_lief = (harness.REPOSITORY / "scripts/build_lief").read_text()
        self.assertIn(re.search(r'SHA256 = "(\w+)"', build_lief).group(1), text)

    def test_every_archive_that_is_linked_in_has_its_notice(self):
        text = (RECIPE / "recipe.yaml").read_text()
        packages = re.findall(r"^      - (\S+-dev)$", text, re.MULTILINE)
        noticed = re.search(r"packages=\(([^)]*)\)", (RECIPE / "build.sh").read_text()).group(1).split()
        self.assertGreater(len(packages), 10)
        self.assertLessEqual(set(packages), set(noticed))

    def test_the_program_names_the_commit_of_sources_without_a_repository(self):
        header = self.scratch / "commit.h"
        script = harness.REPOSITORY / "cmake/PtpkgCommit.cmake"
        for commit, written in (("0123456789abcdef0123456789abcdef01234567", "0123456789ab"), ("", "unknown")):
            subprocess.run(["cmake", f"-DSOURCE={self.scratch}", f"-DOUTPUT={header}", f"-DCOMMIT={commit}", "-P", script], check=True)
            self.assertEqual(header.read_text(), f'#define PTPKG_COMMIT "{written}"\n')
        self.assertIn('-DPTPKG_COMMIT="${GIT_FULL_HASH-}"', (RECIPE / "build.sh").read_text())

    def test_a_release_without_a_section_of_changes_is_refused(self):
        folder = self.clone()
        cmake = folder / "CMakeLists.txt"
        cmake.write_text(cmake.read_text().replace("project(ptpkg VERSION ", "project(ptpkg VERSION 77."))
        self.refused(folder, "docs/changelog.md has no section '77")

    def test_a_release_of_uncommitted_changes_is_refused(self):
        folder = self.clone()
        with open(folder / "README.md", "a", encoding="utf-8") as file:
            file.write("more\n")
        self.refused(folder, "a release is built from the last commit")
        self.assertFalse(os.path.exists(folder / "dist"))

    def stand_in_release(self, umask: int, failure: str = "") -> tuple[str, dict[str, str]]:
        """What a release checks, and the digests of its archives."""
        if not shutil.which("dpkg-deb") or not shutil.which("unzip"):
            self.skipTest("needs dpkg-deb and unzip")
        folder, output = self.clone(), self.scratch / "out"
        version = self.ptpkg("--version").stdout.split()[1]
        program = self.scratch / "stand-in"
        program.write_text(STAND_IN.replace("VERSION", version))
        program.chmod(0o755)
        done = subprocess.run([folder / "scripts/release", "--ptpkg", program, "--output", output], capture_output=True, text=True, check=False,
                              env=self.environment(CHECK=failure), umask=umask)
        self.assertEqual(done.returncode, 1 if failure else 0, done.stderr)
        shutil.rmtree(folder)
        return done.stdout, {path.name: harness.sha256(path) for path in (output / "archives").glob("*")}

    def test_archives_do_not_depend_on_the_umask(self):
        self.assertEqual(self.stand_in_release(0o022), self.stand_in_release(0o077))

    def test_a_release_checks_its_own_version_before_archives_get_names(self):
        earlier = self.scratch / "out/wheels/ptpkg-0.0.0-py3-none-any.whl"
        earlier.parent.mkdir(parents=True)
        earlier.touch()
        checked, archives = self.stand_in_release(0o022, failure="a finding")
        self.assertEqual(len(checked.split()), 2, checked)
        self.assertNotIn("0.0.0", checked)
        self.assertEqual(archives, {})

    def test_a_program_that_is_missing_is_named(self):
        done = subprocess.run([harness.REPOSITORY / "scripts/release", "--ptpkg", self.scratch / "none"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.splitlines()[0]), (1, f"error: '{self.scratch}/none' is not a program"))

    def test_the_workflow_fits_the_recipe(self):
        self.ptpkg("ci", "github", "recipes/ptpkg", "--check", cwd=harness.REPOSITORY)


if __name__ == "__main__":
    harness.main()
