"""A plain zip of the C++ part of a Python project: unpacked with unzip, linked against, and run."""

import json
import pathlib
import shutil
import tempfile
import zipfile

import harness

ZIP = """
    zip:
      name: libtoytorch-${{ version }}+${{ toy_backend }}
      root: site-packages/toytorch
      top: libtoytorch
      files: ["include/**", "lib/**", "share/**"]
      exclude: ["lib/libtoytorch_python.so"]
      texts:
        build-version: ${{ version }}+${{ toy_backend }}
    layouts:
      zip:
        - {files: "lib/*.so*", rpath: ["$ORIGIN"], tag: rpath}
"""
PROGRAM = """#include <cpu/linalg.h>

#include <cstdio>

int main() {
  toyc10::Matrix a(2, 2);
  a.at(0, 0) = 2;
  a.at(1, 1) = 4;
  std::printf("%g\\n", toytorch::Multiply(a, a).at(1, 1));
  try {
    toytorch::Cholesky(toyc10::Matrix(1, 2));
  } catch (const toyc10::Error&) {
    std::puts("caught");
  }
}
"""
MEMBERS = [
    "libtoytorch/build-version",
    "libtoytorch/include/toytorch/c10/error.h",
    "libtoytorch/include/toytorch/c10/matrix.h",
    "libtoytorch/include/toytorch/cpu/linalg.h",
    "libtoytorch/include/toytorch/cuda/scale.h",
    "libtoytorch/include/toytorch/python/bindings.h",
    "libtoytorch/lib/libtoyc10.so",
    "libtoytorch/lib/libtoyc10.so.1",
    "libtoytorch/lib/libtoytorch_cpu.so",
    "libtoytorch/ptpkg.json",
    "libtoytorch/share/cmake/ToyTorch/ToyTorchConfig.cmake",
]


class Zip(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)

    def setUp(self):
        super().setUp()
        self.cache = self.shared / "cache"  # what a zip holds is in no key of a build: one serves them all

    def project(self, name: str, edit=None) -> pathlib.Path:
        """The example pair in a folder of its own; toytorch makes a zip too."""
        root = self.scratch / name
        for folder in ("fixtures/toymagma", "fixtures/toytorch", "patches/toymagma"):
            shutil.copytree(harness.REPOSITORY / folder, root / folder, symlinks=True)
        recipe = root / "fixtures/toytorch/recipe.yaml"
        text = recipe.read_text().replace("formats: [conda, tar.bz2, wheel]", "formats: [conda, wheel, zip]" + ZIP.rstrip())
        # The mapping has one key "layouts".
        text = text.replace("    layouts:\n      conda:", "      conda:", 1)
        recipe.write_text(edit(text) if edit else text)
        return root

    def build(self, root: pathlib.Path, output: pathlib.Path, *args, **kwargs):
        return self.ptpkg("build", root / "fixtures/toymagma", root / "fixtures/toytorch", "--select", "toy_backend=cpu",
                          "--output", output, *args, **kwargs)

    def unzip(self, file: pathlib.Path, folder: str) -> pathlib.Path:
        place = self.scratch / folder
        self.run_clean(harness.tool("unzip"), "-q", file, "-d", place)
        return place / "libtoytorch"

    def test_a_program_links_against_what_unzip_unpacks(self):
        output = self.scratch / "dist"
        root = self.project("a")
        summary = json.loads(self.build(root, output, "--json").stdout)
        formats = sorted(item["format"] for item in summary["artifacts"] if "toytorch" in item["path"])
        self.assertEqual(formats, ["conda", "wheel", "zip"])
        file = output / "zip/libtoytorch-1.4.0+cpu.zip"
        manifest = json.loads((output / "manifest.json").read_text())
        self.assertEqual({item["path"]: item["sha256"] for item in manifest["artifacts"]}, harness.artifacts(output))
        self.assertIn("zip/libtoytorch-1.4.0+cpu.zip", harness.artifacts(output))

        with zipfile.ZipFile(file) as archive:
            self.assertEqual(archive.namelist(), MEMBERS)
            self.assertEqual({info.external_attr >> 16 for info in archive.infolist()} - {0o100644, 0o100755}, set())
        with self.subTest("two builds in different folders, with other jobs and clocks"):
            other = self.scratch / "b" / "elsewhere" / "dist"
            self.cache = self.scratch / "another" / "cache"
            self.build(self.project("b/much/longer/folder"), other, "--jobs", 1, TZ="Asia/Tokyo", LANG="de_DE.UTF-8")
            self.assertEqual(harness.artifacts(other), harness.artifacts(output))

        top = self.unzip(file, "unpacked")
        self.assertEqual((top / "build-version").read_text(), "1.4.0+cpu\n")
        source = self.scratch / "main.cpp"
        source.write_text(PROGRAM)
        program = self.scratch / "main"
        self.run_clean(harness.tool("g++"), "-std=c++17", source, "-o", program, "-I", top / "include/toytorch", "-L",
                       top / "lib", f"-Wl,-rpath,{top}/lib", "-ltoytorch_cpu", "-ltoyc10")
        self.assertEqual(self.run_clean(program), "16\ncaught\n")
        dynamic = self.run_clean("readelf", "-d", top / "lib/libtoytorch_cpu.so")
        self.assertRegex(dynamic, r"\(RPATH\).*\[\$ORIGIN\]")
        # Moved, and with nobody to name the folder: each library finds its own.
        moved = self.scratch / "moved"
        top.rename(moved)
        loaded = self.run_clean("ldd", moved / "lib/libtoytorch_cpu.so")
        self.assertIn(f"libtoyc10.so.1 => {moved}/lib/libtoyc10.so.1", loaded)
        self.check_the_config(moved, source)

    def check_the_config(self, top: pathlib.Path, source: pathlib.Path):
        """find_package finds it where it was unpacked."""
        project = self.scratch / "project"
        project.mkdir()
        shutil.copy(source, project)
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.18)\nproject(use LANGUAGES CXX)\nfind_package(ToyTorch REQUIRED)\n"
            "add_executable(use main.cpp)\ntarget_link_libraries(use ToyTorch::cpu toyc10)\n"
            f"target_link_directories(use PRIVATE {top}/lib)\n")
        self.run_clean("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={top}")
        self.run_clean("cmake", "--build", project / "build")
        self.assertEqual(self.run_clean(project / "build/use"), "16\ncaught\n")

    def test_check_passes_what_was_published_and_finds_a_dead_search_path(self):
        output = self.scratch / "dist"
        self.build(self.project("a"), output)
        file = output / "zip/libtoytorch-1.4.0+cpu.zip"
        outcome, = self.ptpkg_json("check", file)
        self.assertTrue(outcome["ok"], outcome)
        self.assertEqual(outcome["profile"], "zip")
        self.assertEqual({finding["id"] for finding in outcome["findings"]}, {"elf-duplicate-soname"}, outcome)
        whole = self.ptpkg_json("check", output)
        self.assertIn(str(file), [one["subject"] for one in whole])

        top = self.unzip(file, "unpacked")
        self.ptpkg("relink", top / "lib/libtoytorch_cpu.so", "--set-rpath", "$ORIGIN:$ORIGIN/../lib64")
        planted = self.scratch / "planted.zip"
        with zipfile.ZipFile(planted, "w") as archive:
            for path in sorted(top.rglob("*")):
                if path.is_file():
                    archive.write(path, f"libtoytorch/{path.relative_to(top)}")
        done = self.ptpkg("check", planted, exit_code=1)
        self.assertIn("lib/libtoytorch_cpu.so: error: the search path entries '$ORIGIN/../lib64' point to no directory",
                      done.stdout + done.stderr)

    def test_what_does_not_pass_is_not_published(self):
        root = self.project("a", lambda text: text.replace('rpath: ["$ORIGIN"], tag: rpath',
                                                           'rpath: ["$ORIGIN", "$ORIGIN/../lib64"]'))
        output = self.scratch / "dist"
        done = self.build(root, output, exit_code=1)
        self.assertIn("[elf-search-path-dead]", done.stderr)
        self.assertEqual([name for name in harness.artifacts(output) if "toytorch" in name and not name.startswith(".")], [],
                         "a variant's artifacts appear all together")

    def test_a_closure_with_a_hole_is_not_published(self):
        root = self.project("a", lambda text: text.replace('exclude: ["lib/libtoytorch_python.so"]',
                                                           'exclude: ["lib/libtoyc10.so*"]'))
        done = self.build(root, self.scratch / "dist", exit_code=1)
        self.assertIn("libtoyc10.so.1", done.stderr)
        self.assertIn("[elf-unresolved-needed]", done.stderr)

    def test_a_plan_runs_node_by_node(self):
        output = self.scratch / "dist"
        root = self.project("a")
        plan = json.loads(self.build(root, output, "--plan", "--json", "--test", "skip").stdout)
        path = self.scratch / "plan.json"
        path.write_text(json.dumps(plan))
        zips = [node for node in plan["nodes"] if node["stage"] == "zip"]
        self.assertEqual(len(zips), 1)
        self.assertEqual(sorted(zips[0]["inputs"]), ["deflater", "output", "source_date_epoch"])
        for node in plan["nodes"]:
            self.ptpkg("run-node", path, node["id"])
        self.assertIn("zip/libtoytorch-1.4.0+cpu.zip", harness.artifacts(output))
        explained = self.build(root, output, "--explain", "--test", "skip")
        self.assertRegex(explained.stderr, r"(?m)^.*zip.*toytorch-1\.4\.0-")
        # Another exclusion makes the zip again, and nothing else.
        recipe = root / "fixtures/toytorch/recipe.yaml"
        recipe.write_text(recipe.read_text().replace('"lib/libtoytorch_python.so"]', '"lib/libtoytorch_python.so", "share/**"]'))
        summary = json.loads(self.build(root, output, "--test", "skip", "--json").stdout)
        ran = {stage for (stage, _), ran in self.stage_states(summary).items() if ran}
        self.assertEqual(ran & {"build", "wheel", "zip"}, {"zip"})

    def test_only_the_format_that_is_asked_for_is_made(self):
        output = self.scratch / "dist"
        self.build(self.project("a"), output, "--format", "zip,conda", "--test", "skip")
        endings = {pathlib.Path(name).suffix for name in harness.artifacts(output) if name.startswith(("zip/", "conda/", "wheels/"))}
        self.assertEqual(endings, {".zip", ".conda"})


class Refusals(harness.Case):
    def refused(self, ptpkg: str) -> str:
        recipe = self.scratch / "recipe.yaml"
        recipe.write_text('package:\n  name: toy\n  version: "1.0"\nextra:\n  ptpkg:\n' + ptpkg)
        return self.ptpkg("build", recipe, exit_code=3).stderr

    def test_a_recipe_says_what_its_zip_holds(self):
        told = self.refused("    formats: [zip]\n    zip:\n      name: toy\n      rot: lib\n")
        self.assertIn("recipe.yaml:9:7: error: unknown key 'rot' in 'extra.ptpkg.zip'", told)
        self.assertIn("did you mean 'root'?", told)
        told = self.refused("    formats: [conda, zip]\n")
        self.assertIn("recipe.yaml:6:14: error: the format 'zip' needs 'extra.ptpkg.zip'", told)
        told = self.refused("    formats: [conda]\n    zip: {name: toy}\n")
        self.assertIn("recipe.yaml:7:10: error: 'extra.ptpkg.zip' without the format 'zip'", told)


if __name__ == "__main__":
    harness.main()
