"""What a plan says, and what a node that runs compares with it: the real program, in folders of its own."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import harness


class Plan(harness.Case):
    def recipe(self, name: str = "toy", rest: str = "", script: str = "") -> pathlib.Path:
        root = self.scratch / name
        root.mkdir(exist_ok=True)
        make = script or "mkdir -p $PREFIX/share && echo made > $PREFIX/share/toy"
        (root / "recipe.yaml").write_text(
            f'package: {{name: {name}, version: "1.0"}}\n'
            f'build: {{number: 0, string: "0", script: {{content: [{json.dumps(make)}]}}}}\n'
            f"about: {{license: MIT}}\nextra: {{ptpkg: {{formats: [conda]}}}}\n{rest}")
        return root

    def plan(self, *args, **extra) -> pathlib.Path:
        """The plan of `ptpkg build ARGS`, as a file."""
        file = self.scratch / "plan.json"
        file.write_text(self.ptpkg("build", *args, "--plan", "--json", **extra).stdout)
        return file

    def ran(self, *args, **extra) -> list[str]:
        """The stages that `ptpkg build ARGS` ran."""
        summary = self.ptpkg_json("build", *args, **extra)
        return [stage["stage"] for stage in summary["stages"] if stage["ran"]]

    def test_a_comment_of_the_recipe_is_packed_again_and_not_compiled(self):
        toy = self.recipe()
        self.assertEqual(self.ran(toy), ["build", "conda", "check", "publish", "index"])
        plan = self.plan(toy, "--output", "other")
        with open(toy / "recipe.yaml", "a", encoding="utf-8") as file:
            file.write("# a remark\n")
        done = self.ptpkg("run-node", plan, "conda/toy-1.0-0", exit_code=7)
        self.assertIn("recipe.yaml' changed after planning", done.stderr)
        self.assertEqual(self.ran(toy), ["conda", "check", "publish", "index"])
        look = self.scratch / "look"
        package, = (self.scratch / "dist/conda").rglob("*.conda")
        subprocess.run(["unzip", "-q", "-o", package, "-d", look], check=True)
        info, = look.glob("info-*.tar.zst")
        text = subprocess.run(["tar", "--zstd", "-xOf", info, "info/recipe/recipe.yaml"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        self.assertIn("# a remark", text)

    def test_named_programs_are_in_the_plan(self):
        venv = self.scratch / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        # An interpreter that is not that of PATH, with a package of its own that the recipe requires.
        site, = (venv / "lib").glob("python3*/site-packages")
        for name in ("pip", "onlyhere"):
            (site / f"{name}-1.0.dist-info").mkdir()
            (site / f"{name}-1.0.dist-info/METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        toy = self.recipe(rest="requirements: {host: [python, onlyhere]}\n")
        plan = self.plan(toy, "--env", "system", "--python-exe", venv / "bin/python",
                         "--conda-exe", self.scratch / "mamba")
        options = json.loads(plan.read_text())["nodes"][0]["options"]
        self.assertEqual(options, {"python": str(venv / "bin/python"), "conda": str(self.scratch / "mamba")})
        self.ptpkg("run-node", plan, "build/toy-1.0-0")

    def test_a_plan_that_somebody_wrote_leads_nowhere(self):
        whole = json.loads(self.plan(self.recipe()).read_text())
        for subject in ("../../../escape", "", "a/b"):
            whole["nodes"][0]["subject"] = subject
            file = self.scratch / "edited.json"
            file.write_text(json.dumps(whole))
            done = self.ptpkg("run-node", file, "build/toy-1.0-0", exit_code=3)
            self.assertIn(f"the subject '{subject}'", done.stderr)

    def test_tests_refuse_other_tools_than_those_of_the_plan(self):
        tools = self.scratch / "tools"
        tools.mkdir()
        toy = self.recipe(rest="tests: [{script: [\"ninja\"], requirements: {run: [ninja]}}]\n")
        tool = tools / "ninja"
        tool.write_text("#!/bin/sh\necho ninja 1.0\n")
        tool.chmod(0o755)
        path = {"PATH": f"{tools}:{os.environ['PATH']}"}
        plan = self.plan(toy, "--env", "system", **path)
        for node in ("build", "conda"):
            self.ptpkg("run-node", plan, f"{node}/toy-1.0-0", **path)
        tool.write_text("#!/bin/sh\necho ninja 2.0\n")
        done = self.ptpkg("run-node", plan, "test/toy-1.0-0", exit_code=7, **path)
        self.assertIn("the machine's tools changed after planning", done.stderr)

    def test_nothing_that_is_made_is_a_source(self):
        toy = self.recipe(rest="source: {path: src}\n")
        (toy / "src").mkdir()
        (toy / "src/a.c").write_text("int a;\n")
        (self.scratch / "door").symlink_to(toy / "src", target_is_directory=True)
        done = self.ptpkg("build", toy, "--output", "door", exit_code=2)
        self.assertIn("the output directory", done.stderr)
        self.assertIn("is also the source", done.stderr)
        done = self.ptpkg("build", toy, "--cache-dir", toy / "src", exit_code=2)
        self.assertIn("the cache directory", done.stderr)
        self.assertIn("--cache-dir", done.stderr)
        done = self.ptpkg("build", toy, "--cache-dir", "door", exit_code=2)
        self.assertIn("the cache directory", done.stderr)
        self.assertEqual(sorted(os.listdir(toy / "src")), ["a.c"])
        # The other way round: the source is named through a link.
        done = self.ptpkg("build", toy, "--source", f"toy={self.scratch / 'door'}", "--output", toy / "src",
                          exit_code=2)
        self.assertIn("is also the source", done.stderr)
        # Inside the source and beside it, it is allowed, through a link as well.
        self.assertIn("publish", self.ran(toy, "--output", "door/dist"))
        self.assertEqual(self.ran(toy, "--output", "door/dist"), [])
        shutil.rmtree(toy / "src/dist")
        (self.scratch / "way").symlink_to(toy, target_is_directory=True)
        self.assertIn("publish", self.ran(toy, "--output", "way/dist"))
        self.assertEqual(self.ran(toy, "--output", "way/dist"), [])

    def test_flags_of_the_other_form_are_refused_by_name(self):
        toy = self.recipe()
        for verb, flags in (("conda", ["--build-number", "0"]), ("conda", ["--build-string", "zzz"]),
                            ("conda", ["--python", "3.11"]), ("conda", ["--layout", "pytorch-conda"]),
                            ("wheel", ["--distribution", "toy"]), ("wheel", ["--layout", "pytorch-conda"])):
            done = self.ptpkg(verb, toy, *flags, exit_code=2)
            self.assertIn(f"'{flags[0]}' ", done.stderr)
            self.assertIn("is a recipe", done.stderr)
        for flags in (["--env", "auto"], ["--select", "python=3.11"], ["--test", "run"],
                      ["--source", "toy=x"], ["--variants", "v.yaml"], ["--python-exe", "python3"],
                      ["--conda-exe", "conda"]):
            done = self.ptpkg("conda", "toy-1.0-py3-none-any.whl", *flags, exit_code=2)
            self.assertIn(f"'{flags[0]}' ", done.stderr)
            self.assertIn("toy-1.0-py3-none-any.whl", done.stderr)
        self.assertFalse((self.scratch / "dist").exists())

    def test_a_format_of_the_other_family_is_refused(self):
        toy = self.recipe()
        for verb, formats, other in (("conda", "wheel", "wheel"), ("conda", "conda,wheel", "wheel"),
                                     ("wheel", "conda", "conda"), ("wheel", "tar.bz2", "tar.bz2"), ("conda", "zip", "zip"),
                                     ("wheel", "wheel,zip", "zip")):
            done = self.ptpkg(verb, toy, "--format", formats, exit_code=2)
            self.assertIn(f"'ptpkg {verb}' does not make the format {other}", done.stderr)
            self.assertIn("'ptpkg build' all formats", done.stderr)
        self.assertFalse((self.scratch / "dist").exists())

    def test_no_package_is_made_of_a_zip(self):
        for verb, noun in (("conda", "conda package"), ("wheel", "wheel")):
            done = self.ptpkg(verb, "toy-1.0.zip", exit_code=2)
            self.assertIn(f"cannot make a {noun} from 'toy-1.0.zip'", done.stderr)

    def test_a_test_keeps_its_work_folder(self):
        toy = self.recipe(rest="tests: [{script: [\"echo seen > $PREFIX/mark\", \"exit 3\"]}]\n")
        done = self.ptpkg("build", toy, "--keep-work", exit_code=1)
        marks = list((self.cache / "kept").rglob("mark"))
        self.assertEqual(len(marks), 1, done.stderr)
        self.assertIn(f"kept work directory: '{marks[0].parents[1]}'", done.stderr)

    def test_when_every_variant_is_skipped_nothing_is_written(self):
        toy = self.recipe()
        text = (toy / "recipe.yaml").read_text()
        (toy / "recipe.yaml").write_text(text.replace("build: {", "build: {skip: [true], "))
        before = sorted(self.scratch.rglob("*"))
        done = self.ptpkg("build", toy)
        self.assertIn("every variant is skipped", done.stderr)
        self.assertNotIn("0 artifacts", done.stderr)
        self.assertEqual(sorted(self.scratch.rglob("*")), before)
        self.assertEqual(self.ptpkg_json("build", toy)["skipped"], ["toy-1.0"])
        self.assertEqual(sorted(self.scratch.rglob("*")), before)


if __name__ == "__main__":
    harness.main()
