"""`ptpkg doctor`: what would spoil a build, told before it starts; and a build that stops at the same."""

import json

import harness

RECIPE = """schema_version: 1
package: {{name: pytorch, version: "{version}"}}
source: {{path: src}}
build:
  script:
    content: [touch $PREFIX/made]
    env: {env}
requirements: {{build: [{tools}]}}
about: {{license: MIT, license_file: LICENSE}}
"""


class Doctor(harness.Case):
    def recipe(self, version="2.13.0", env="{}", tools=""):
        folder = self.scratch / "recipe"
        (folder / "src").mkdir(parents=True, exist_ok=True)
        (folder / "src/LICENSE").write_text("MIT\n")
        (folder / "recipe.yaml").write_text(RECIPE.format(version=version, env=env, tools=tools))
        return folder

    def ids(self, *arguments, exit_code=0, **variables):
        told = json.loads(self.ptpkg("doctor", *arguments, "--json", exit_code=exit_code, **variables).stdout)
        return {finding["id"] for one in told for finding in one["findings"]}, told

    def program(self, name: str, script: str) -> None:
        path = self.scratch / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def test_the_machine_alone(self):
        library = self.scratch / "cudnn/libcudnn.so.9"
        library.parent.mkdir()
        library.touch()
        done = self.ptpkg("doctor", LD_LIBRARY_PATH=str(library.parent))
        self.assertRegex(done.stdout, r"\Athis machine: \d+ cores, [0-9.]+ GiB of memory free, [0-9.]+ GiB of disk free")
        self.assertIn(f"warning: '{library}' is in a directory of LD_LIBRARY_PATH", done.stdout)
        self.assertIn("[shadowing-library]", done.stdout)
        ids, told = self.ids()
        self.assertNotIn("shadowing-library", ids)
        self.assertEqual([one["subject"] for one in told], [""])

    def test_a_stub_of_the_driver(self):
        stub = self.scratch / "stubs/libcuda.so"
        stub.parent.mkdir()
        stub.touch()
        ids, _ = self.ids(LD_LIBRARY_PATH=str(stub.parent))
        self.assertIn("stub-library", ids)

    def test_a_ninja_that_is_too_old_for_cmake(self):
        """The tools are stand-ins that print the versions of ninja 1.9 and CMake 3.30: no machine here has both."""
        for name, says in (("cmake", "cmake version 3.30.9"), ("ninja", "1.9.0.git.kitware.dyndep-1.jobserver-1")):
            self.program(name, f"echo '{says}'")
        recipe = self.recipe(tools="cmake, ninja")
        path = f"{self.scratch}/bin:/usr/bin:/bin"
        ids, _ = self.ids(recipe, "--env", "system", PATH=path)
        self.assertIn("cmake-and-old-ninja", ids)
        self.program("ninja", "echo 1.10.2")
        ids, _ = self.ids(recipe, "--env", "system", PATH=path)
        self.assertNotIn("cmake-and-old-ninja", ids)

    def test_a_recipe_that_is_sound(self):
        ids, told = self.ids(self.recipe(tools="make"))
        self.assertEqual(ids - {"disk-space"}, set())
        self.assertEqual(told[1]["facts"]["package"], "pytorch")
        self.assertEqual(told[1]["facts"]["build_requirements"], ["make"])

    def test_a_recipe_whose_variants_are_all_skipped(self):
        recipe = self.recipe()
        file = recipe / "recipe.yaml"
        file.write_text(file.read_text().replace("build:\n", "build:\n  skip: true\n"))
        done = self.ptpkg("doctor", recipe, exit_code=1)
        self.assertIn("nothing to build: every variant is skipped", done.stdout)
        self.assertIn("list the variants with 'ptpkg render'", done.stdout)

    def test_tools_that_are_missing_come_with_the_command_that_installs_them(self):
        done = self.ptpkg("doctor", self.recipe(tools="bison, no-such-tool"), "--env", "system", exit_code=1,
                          PATH="/nonexistent")
        self.assertIn("missing build tools for 'pytorch': 'bison' (program 'bison' is not on PATH)", done.stdout)
        self.assertIn("fix: install: apt-get install bison", done.stdout)
        self.assertIn("[tool-missing]", done.stdout)

    def test_what_only_the_tests_need(self):
        recipe = self.recipe(tools="make")
        with open(recipe / "recipe.yaml", "a") as file:
            file.write("tests: [{script: ['true'], requirements: {run: [no-such-tool]}}]\n")
        done = self.ptpkg("doctor", recipe, "--env", "system", exit_code=1)
        self.assertRegex(done.stdout, "'no-such-tool' .*; the tests need it")

    def test_a_build_stops_at_what_doctor_knows_to_break_it(self):
        recipe = self.recipe(env='{USE_NIGHTLY: "1", NO_CUDA: "1"}')
        ids, _ = self.ids(recipe, exit_code=1, USE_CUDA="1")
        self.assertEqual(ids - {"disk-space"}, {"variable-fatal", "variable-ignored", "variable-of-the-caller"})
        done = self.ptpkg("build", recipe, "--output", "dist", exit_code=7)
        self.assertIn("PyTorch's build stops when USE_NIGHTLY is set [variable-fatal]", done.stderr)
        self.assertIn("ignores 'NO_CUDA' of build.script.env [variable-ignored]", done.stderr)
        self.assertIn("--no-preflight", done.stderr)
        self.assertEqual(list((self.scratch / "dist").rglob("*.conda")), [])
        done = self.ptpkg("build", recipe, "--output", "dist", "--no-preflight")
        self.assertNotIn("variable-", done.stderr)

    def test_an_empty_submodule_of_the_source(self):
        recipe = self.recipe()
        (recipe / "src/.gitmodules").write_text('[submodule "fmt"]\n\tpath = third_party/fmt\n')
        (recipe / "src/third_party/fmt").mkdir(parents=True)
        ids, told = self.ids(recipe, exit_code=1)
        self.assertIn("submodules-empty", ids)
        self.assertIn("'third_party/fmt'", told[1]["findings"][0]["message"])

    def test_sources_that_a_build_would_not_take(self):
        recipe = self.recipe(tools="make")
        done = self.ptpkg("doctor", recipe, "--source", "pytorch=/nope", exit_code=1)
        self.assertIn("the source '/nope' of package 'pytorch' does not exist", done.stdout)
        self.assertIn("[source-unusable]", done.stdout)
        ids, _ = self.ids(recipe, "--source", f"pytorch=git+file://{self.scratch}/none.git@v1")
        self.assertNotIn("source-unusable", ids)  # servers and repositories are not asked
        (recipe / "series").write_text("gone.patch\n")
        text = (recipe / "recipe.yaml").read_text()
        (recipe / "recipe.yaml").write_text(text.replace("{path: src}", "{path: src, patches: [series]}"))
        done = self.ptpkg("doctor", recipe, exit_code=1)
        self.assertIn("series:1:1: the series file lists the patch 'gone.patch', which does not exist", done.stdout)

    def test_a_cache_folder_in_which_no_build_works(self):
        recipe = self.recipe()
        blank = self.scratch / "ca che"
        done = self.ptpkg("doctor", recipe, "--cache-dir", blank, exit_code=1)
        self.assertIn("contains a blank", done.stdout)
        self.assertIn("[work-folder]", done.stdout)
        done = self.ptpkg("build", recipe, "--output", "dist", "--dry-run", "--cache-dir", blank, exit_code=3)
        self.assertIn("contains a blank", done.stderr)

    def test_tools_that_are_no_facts_are_named(self):
        done = self.ptpkg("doctor", self.recipe(tools="make"), "--env", "system")
        self.assertRegex(done.stdout, r"pytorch-2\.13\.0-\S+: needs make\n")
        done = self.ptpkg("doctor", self.recipe(tools='cmake ==99.1'), "--env", "system", exit_code=1)
        self.assertNotIn("no tools required", done.stdout)
        self.assertIn("no tools required", self.ptpkg("doctor", self.recipe()).stdout)


if __name__ == "__main__":
    harness.main()
