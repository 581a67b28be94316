"""The whole pipeline on the example pair: what it makes, what it skips, what it repeats."""

import json
import shutil

import harness


class Pipeline(harness.Case):
    def copy_fixtures(self, name: str):
        """The example projects in a folder of their own, so that a test can edit them."""
        root = self.scratch / name
        for folder in ("fixtures/toymagma", "fixtures/toytorch", "patches/toymagma"):
            shutil.copytree(harness.REPOSITORY / folder, root / folder, symlinks=True)
        return root

    def build(self, root, output, *args, **extra):
        return self.ptpkg_json("build", root / "fixtures/toymagma", root / "fixtures/toytorch", "--output", output,
                               *args, **extra)

    def test_makes_every_artifact_and_then_skips_every_stage(self):
        root = self.copy_fixtures("a")
        output = self.scratch / "dist"
        first = self.build(root, output)
        made = harness.artifacts(output)
        magma = [name for name in made if "/toymagma-" in name]
        self.assertEqual(sorted(magma), [f"conda/linux-64/toymagma-{backend}-2.9.0-1.{extension}"
                                         for backend in ("cpu", "omp") for extension in ("conda", "tar.bz2")])
        torch = [name for name in made if "toytorch-" in name]
        self.assertEqual(len([name for name in torch if name.endswith(".conda")]), 2)
        self.assertEqual(len([name for name in torch if name.endswith(".tar.bz2")]), 2)
        self.assertEqual(len([name for name in torch if name.endswith(".whl")]), 2)
        self.assertTrue(all(self.stage_states(first).values()))

        manifest = json.loads((output / "manifest.json").read_text())
        self.assertEqual({item["path"]: item["sha256"] for item in manifest["artifacts"]}, made)
        for item in manifest["artifacts"]:
            self.assertEqual(item["size"], (output / item["path"]).stat().st_size)
            self.assertIn("staged tree", item["inputs"])
        self.assertTrue(all(stage["seconds"] >= 0 for stage in manifest["stages"]))
        ends = {stage["stage"]: stage["begin_seconds"] + stage["seconds"] for stage in manifest["stages"] if "toymagma" in stage["subject"]}
        begins = {stage["stage"]: stage["begin_seconds"] for stage in manifest["stages"] if "toytorch" in stage["subject"]}
        self.assertGreater(begins["build"], ends["build"], "toytorch is built against toymagma's tree")

        repodata = json.loads((output / "conda/linux-64/repodata.json").read_text())
        indexed = {**repodata["packages"], **repodata["packages.conda"]}
        self.assertEqual({f"conda/linux-64/{name}": record["sha256"] for name, record in indexed.items()},
                         {name: digest for name, digest in made.items() if name.startswith("conda/")})

        with self.subTest("what the recipe leaves to the machine is known to the check of the finished files"):
            for outcome in self.ptpkg_json("check", *[output / name for name in made]):
                self.assertTrue(outcome["ok"], outcome)
                allowed = [finding["message"] for finding in outcome["findings"] if finding["id"] == "elf-allowed-needed"]
                self.assertEqual(bool(allowed), "toytorch" in outcome["subject"] and "omp" in outcome["subject"], outcome)

        second = self.build(root, output)
        ran = [key for key, state in self.stage_states(second).items() if state]
        self.assertEqual(ran, [], "a second run repeats nothing")
        self.assertEqual(harness.artifacts(output), made)
        self.assertEqual(harness.leftovers(output, self.cache), [])

        with self.subTest("one edited source reruns only what depends on it"):
            source = root / "fixtures/toytorch/source/csrc/cpu/linalg.cpp"
            source.write_text(source.read_text() + "\n// edited\n")
            third = self.build(root, output)
            states = self.stage_states(third)
            self.assertTrue(all(state for (stage, subject), state in states.items()
                                if stage == "build" and subject.startswith("toytorch")))
            self.assertFalse(any(state for (stage, subject), state in states.items()
                                 if subject.startswith("toymagma")))
            reasons = [stage["reason"] for stage in third["stages"] if stage["stage"] == "build" and stage["ran"]]
            self.assertEqual(reasons, ["'source' changed"] * 2)

    def test_bytes_do_not_depend_on_folder_or_jobs(self):
        one = self.copy_fixtures("one")
        other = self.copy_fixtures("a/much/longer/folder/for/the/other")
        self.build(one, self.scratch / "dist1", "--jobs", 1)
        self.cache = self.scratch / "another" / "cache"
        self.build(other, self.scratch / "b" / "dist2", "--jobs", 3, TZ="Asia/Tokyo", LANG="de_DE.UTF-8")
        first = harness.artifacts(self.scratch / "dist1")
        self.assertEqual(first, harness.artifacts(self.scratch / "b" / "dist2"))
        self.assertEqual(len(first), 10)

    def test_a_missing_host_package_is_named(self):
        root = self.copy_fixtures("a")
        done = self.ptpkg("build", root / "fixtures/toytorch", "--output", self.scratch / "dist", exit_code=4)
        self.assertIn("toymagma-cpu", done.stderr)
        self.assertEqual(harness.artifacts(self.scratch / "dist"), {})

    def test_a_foreign_file_is_not_replaced(self):
        root = self.copy_fixtures("a")
        output = self.scratch / "dist"
        target = output / "conda/linux-64/toymagma-cpu-2.9.0-1.tar.bz2"
        target.parent.mkdir(parents=True)
        target.write_bytes(b"not ours")
        done = self.ptpkg("build", root / "fixtures/toymagma", "--select", "toy_backend=cpu", "--format", "tar.bz2",
                          "--output", output, exit_code=7)
        self.assertIn("--force", done.stderr)
        self.assertEqual(target.read_bytes(), b"not ours")
        self.assertEqual(harness.leftovers(output, self.cache), [])
        self.ptpkg("build", root / "fixtures/toymagma", "--select", "toy_backend=cpu", "--format", "tar.bz2",
                   "--output", output, "--force")
        self.assertNotEqual(target.read_bytes(), b"not ours")

    def test_a_failing_script_shows_its_last_lines_and_the_log(self):
        root = self.copy_fixtures("a")
        script = root / "fixtures/toymagma/build.sh"
        script.write_text("for i in $(seq 1 60); do echo line $i; done\nexit 9\n")
        done = self.ptpkg("build", root / "fixtures/toymagma", "--select", "toy_backend=cpu", "--output",
                          self.scratch / "dist", exit_code=5)
        self.assertIn("line 60", done.stderr)
        self.assertIn("line 21", done.stderr)
        self.assertNotIn("line 20\n", done.stderr)
        log = self.scratch / "dist/logs/toymagma-cpu-2.9.0-1.build.log"
        self.assertIn(str(log), done.stderr)
        self.assertIn("line 1\n", log.read_text())
        self.assertEqual(harness.artifacts(self.scratch / "dist"), {})
        self.assertEqual(harness.leftovers(self.scratch / "dist", self.cache), [])

    def test_dry_run_writes_no_artifact(self):
        root = self.copy_fixtures("a")
        summary = self.ptpkg_json("build", root / "fixtures/toymagma", "--dry-run", "--output", self.scratch / "dist")
        self.assertEqual(summary["artifacts"], [])
        self.assertIn("would run: first run", [stage["reason"] for stage in summary["stages"]])
        self.assertEqual(harness.artifacts(self.scratch), {})


if __name__ == "__main__":
    harness.main()
