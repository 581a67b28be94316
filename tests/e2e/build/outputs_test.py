"""One native build, several packages: fixtures/toyops built, installed and used, for every Python that is here."""

import json
import pathlib
import re
import shutil
import subprocess
import unittest
import zipfile

import harness
import installing

TOYOPS = harness.FIXTURES / "toyops"
PYTHONS = ("3.10", "3.11")
DOT = "import toyops; assert toyops.dot([1, 2], [3, 4]) == 11"


class Outputs(harness.Case):
    def setUp(self):
        super().setUp()
        harness.tool("g++")
        self.pythons = installing.interpreters(PYTHONS)
        if set(self.pythons) != set(PYTHONS):
            missing = sorted(set(PYTHONS) - set(self.pythons))
            raise unittest.SkipTest(f"no Python {' and no '.join(missing)} with headers on this machine")

    def build(self, *args, **kwargs):
        kwargs.setdefault("PTPKG_PYTHON", ":".join(self.pythons.values()))
        return self.ptpkg("build", kwargs.pop("recipe", TOYOPS), "--env", "system", *args, **kwargs)

    def test_the_native_part_compiles_once(self):
        output = self.scratch / "dist"
        summary = json.loads(self.build("--output", output, "--json").stdout)
        builds = [subject for (stage, subject), ran in self.stage_states(summary).items() if stage == "build" and ran]
        self.assertEqual(len(builds), 5, builds)
        logs = {path.name: path.read_text() for path in (output / "logs").glob("*.build.log")}
        # Two packages only take their share of the files: no script, no log.
        self.assertEqual(sorted(logs), sorted(f"{subject}.build.log" for subject in builds if "lib" not in subject))
        natives = [name for name in logs if name.startswith("toyops-native-")]
        self.assertEqual(len(natives), 1, natives)
        compilations = [name for name, text in logs.items() if "compiling native/dot.cpp" in text]
        self.assertEqual(compilations, natives)
        self.assertNotIn("no output packs", json.dumps(summary))
        self.check_again(output)
        self.check_conda(output)
        self.check_wheels(output)

    def check_again(self, output: pathlib.Path):
        before = harness.artifacts(output)
        again = json.loads(self.build("--output", output, "--json").stdout)
        self.assertEqual([stage for stage, ran in self.stage_states(again).items() if ran], [])
        # Another cache, in a folder of another length: the same bytes.
        other = self.scratch / "other"
        self.build("--output", other, PTPKG_CACHE_DIR=str(self.scratch / "a-cache-elsewhere"))
        self.assertEqual(harness.artifacts(other), before)

    def packages(self, output: pathlib.Path) -> dict[str, list[str]]:
        """Files of each conda package, by its name and build."""
        found = {}
        for package in sorted((output / "conda").rglob("*.conda")):
            folder = self.scratch / "unpacked" / package.stem
            code = "import sys; from conda_package_handling import api; api.extract(sys.argv[1], sys.argv[2])"
            subprocess.run([harness.peers_python(), "-c", code, package, folder], check=True)
            paths = json.loads((folder / "info/paths.json").read_text())["paths"]
            found[package.stem] = sorted(entry["_path"] for entry in paths)
        return found

    def check_conda(self, output: pathlib.Path):
        packages = self.packages(output)
        by_name = {re.sub(r"-0\.3\.0.*", "", name): files for name, files in packages.items()}
        self.assertEqual(by_name["libtoyops"], ["lib/libtoyops.so.1"])
        self.assertEqual(by_name["libtoyops-devel"], ["include/toyops/dot.h", "lib/libtoyops.so"])
        self.assertEqual(len(packages), 4)
        for name, files in packages.items():
            if name.startswith("toyops-"):
                self.assertFalse([file for file in files if "libtoyops" in file], files)
        for version, python in self.pythons.items():
            channel = installing.python_channel(self, python, f"python{version}")
            prefix = self.scratch / f"env{version}"
            installed = installing.rattler_install(self, prefix, [output / "conda", channel], "toyops",
                                                     f"python {version}.*")
            self.assertEqual(sorted(name.split("-")[0] for name in installed.split()),
                             ["libtoyops", "python", "toyops"])
            # A copy of an interpreter with a library of its own would not start.
            self.run_clean("/usr/bin/env", f"PYTHONPATH={prefix}/lib/python{version}/site-packages", python, "-c", DOT)

    def check_wheels(self, output: pathlib.Path):
        wheels = sorted(path.name for path in (output / "wheels").glob("*.whl"))
        self.assertEqual(wheels, [f"toyops-0.3.0-cp{v.replace('.', '')}-cp{v.replace('.', '')}-linux_x86_64.whl"
                                  for v in PYTHONS])
        uv = harness.peer_program("uv")
        for wheel in wheels:
            names = zipfile.ZipFile(output / "wheels" / wheel).namelist()
            self.assertIn("toyops/lib/libtoyops.so.1", names)
            self.assertFalse([name for name in names if ".data/" in name], names)
        for version, python in self.pythons.items():
            environment = self.scratch / f"wheel{version}"
            subprocess.run([python, "-m", "venv", "--without-pip", environment], check=True)
            subprocess.run([uv, "pip", "install", "--quiet", "--no-index", "--no-cache", "--find-links",
                            output / "wheels", "--python", environment / "bin/python", "toyops"], check=True)
            self.run_clean(environment / "bin/python", "-c", DOT)

    def test_wheels_of_several_pythons_share_the_native_build(self):
        more = installing.interpreters((*PYTHONS, "3.12", "3.13"))
        variants = self.scratch / "pythons.yaml"
        variants.write_text(f"python: {json.dumps(sorted(more))}\n")
        output = self.scratch / "dist"
        arguments = ("wheel", TOYOPS, "--env", "system", "--variants", variants, "--output", output, "--compression", "fast",
                     "--platform", "linux")
        summary = self.ptpkg_json(*arguments, PTPKG_PYTHON=":".join(more.values()))
        texts = [path.read_text() for path in (output / "logs").glob("*.build.log")]
        self.assertEqual(sum("compiling native/dot.cpp" in text for text in texts), 1)
        tags = [f"cp{version.replace('.', '')}" for version in more]
        self.assertEqual(sorted(pathlib.Path(item["path"]).name for item in summary["artifacts"]),
                         sorted(f"toyops-0.3.0-{tag}-{tag}-linux_x86_64.whl" for tag in tags))
        for version, python in more.items():
            place = self.scratch / f"target{version}"
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", place, "--find-links",
                            output / "wheels", "toyops"], check=True)
            self.run_clean(python, "-c", DOT, cwd=place)
        again = self.ptpkg_json(*arguments, PTPKG_PYTHON=":".join(more.values()))
        self.assertEqual([stage for stage, ran in self.stage_states(again).items() if ran], [])

    def test_another_script_of_one_output_compiles_nothing_else(self):
        recipe = self.scratch / "toyops"
        shutil.copytree(TOYOPS, recipe)
        output = self.scratch / "dist"
        self.build("--output", output, "--test", "skip", recipe=recipe)
        script = recipe / "python.sh"
        script.write_text(script.read_text() + "echo again\n")
        summary = json.loads(self.build("--output", output, "--test", "skip", "--json", recipe=recipe).stdout)
        ran = [subject for (stage, subject), done in self.stage_states(summary).items() if stage == "build" and done]
        self.assertEqual(sorted(subject.rsplit("h", 1)[0] for subject in ran),
                         ["toyops-0.3.0-py310", "toyops-0.3.0-py311"])

    def test_each_way_to_look_at_a_plan_knows_them(self):
        output = self.scratch / "dist"
        dry = self.build("--output", output, "--dry-run")
        self.assertIn("toyops-native-0.3.0-h", dry.stdout + dry.stderr)
        plan = json.loads(self.build("--output", output, "--plan", "--json", "--test", "skip").stdout)
        path = self.scratch / "plan.json"
        path.write_text(json.dumps(plan))
        nodes = [node["id"] for node in plan["nodes"]]
        heirs = [node for node in plan["nodes"] if "staging" in node["needs"] and node["stage"] == "build"]
        self.assertEqual(len(heirs), 4)
        for node in nodes:  # node by node, as a scheduler runs them
            self.ptpkg("run-node", path, node, PTPKG_PYTHON=":".join(self.pythons.values()))
        published = [name for name in harness.artifacts(output) if not name.startswith(".ptpkg")]
        self.assertEqual(len(published), 6, published)
        one = self.scratch / "one"
        self.build("--output", one, "--select", "python=3.11", "--test", "skip", "--keep-work")
        self.assertEqual(len(harness.artifacts(one)), 4)
        self.assertTrue(list((self.cache / "kept").glob("toyops-*")))
        explained = self.build("--output", one, "--select", "python=3.11", "--test", "skip", "--explain")
        self.assertIn("toyops", explained.stdout + explained.stderr)


class GitSources(harness.Case):
    def test_a_staging_output_is_built_of_the_commit_that_its_source_names(self):
        git = harness.tool("git")
        repository = self.scratch / "upstream"
        repository.mkdir()

        def run(*arguments):
            identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
            subprocess.run([git, *identity, *arguments], cwd=repository, check=True, capture_output=True)

        run("init", "--quiet")
        for number in ("1", "2"):
            (repository / "number").write_text(number)
            (repository / "LICENSE").write_text("MIT")
            run("add", ".")
            run("commit", "--quiet", "-m", number)
            run("tag", f"v{number}")
        recipe = self.scratch / "pair"
        recipe.mkdir()
        (recipe / "recipe.yaml").write_text(f"""schema_version: 1
recipe: {{name: pair, version: "1"}}
source: {{git: "file://{repository}", tag: v1}}
about: {{license: MIT, license_file: LICENSE}}
outputs:
- staging: {{name: native}}
  build: {{script: ["mkdir -p $PREFIX/share && cp number $PREFIX/share/number"]}}
- package: {{name: number}}
  inherit: native
extra: {{ptpkg: {{formats: [conda]}}}}
""")
        for source, expected in ((None, "1"), (f"pair=git+file://{repository}@v2", "2")):
            output = self.scratch / f"dist{expected}"
            given = ["--source", source] if source else []
            self.ptpkg("build", recipe, "--output", output, *given)
            [package] = (output / "conda").rglob("*.conda")
            unpacked = self.scratch / f"unpacked{expected}"
            subprocess.run([harness.peers_python(), "-m", "conda_package_handling.cli", "x", package, "--dest", unpacked],
                           check=True, capture_output=True)
            self.assertEqual((unpacked / "share/number").read_text(), expected)


if __name__ == "__main__":
    harness.main()
