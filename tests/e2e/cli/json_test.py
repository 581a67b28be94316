"""What `--json` and `--log-format json` print is what docs/json says, for every verb."""

import json
import re
import subprocess
import zipfile

import gpu_library
import harness
import json_schema


class JsonOutput(harness.Case):
    def valid(self, document, name):
        self.assertEqual(json_schema.complaints(self, [document], name), "", json.dumps(document, indent=1)[:4000])
        return document

    def wheel(self):
        path = self.scratch / "toy_pure-1.0-py3-none-any.whl"
        files = {"toy_pure/__init__.py": "x = 1\n",
                 "toy_pure-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: toy-pure\nVersion: 1.0\n"
                                                    "License: MIT\nSummary: x\nRequires-Dist: no-such-name\n",
                 "toy_pure-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
                                                 "Tag: py3-none-any\n"}
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in {**files, "toy_pure-1.0.dist-info/RECORD": harness.record_of(files)}.items():
                archive.writestr(name, text)
        return path

    def test_every_verb_has_a_schema_and_every_schema_a_reader(self):
        listing = self.ptpkg("--help").stdout.split("Commands:\n", 1)[1].split("\n\n")[0]
        verbs = set(re.findall(r"^  ([a-z-]+) ", listing, re.MULTILINE))
        others = {"error", "log", "parts", "plan"}
        self.assertEqual(verbs | others, {path.stem for path in json_schema.SCHEMAS.glob("*.json")})

    def test_a_schema_refuses_what_it_does_not_name(self):
        document = self.ptpkg_json("--version")
        self.valid(document, "version")
        document["surprise"] = 1
        self.assertIn("surprise", json_schema.complaints(self, [document], "version"))

    def test_doctor(self):
        self.valid(self.ptpkg_json("doctor", harness.FIXTURES / "toymagma", harness.FIXTURES / "toytorch"), "doctor")

    def test_bench(self):
        self.assertTrue(self.valid(self.ptpkg_json("bench"), "bench")["machine"])

    def test_env(self):
        file = self.scratch / "environment.yml"
        file.write_text("dependencies: [make]\n")
        self.valid(self.ptpkg_json("env", "export", file), "env")
        self.valid(self.ptpkg_json("env", "create", file, "--prefix", self.scratch / "env", "--env", "system"), "env")
        self.assertTrue(self.valid(self.ptpkg_json("env", "check", CUDA_HOME=""), "env")[0]["files"])

    def test_source(self):
        folder = self.scratch / "toy"
        folder.mkdir()
        (folder / "recipe.yaml").write_text('package: {name: toy, version: "1"}\nsource: {git: /none.git}\n')
        done = self.ptpkg("source", "status", folder, "--json", exit_code=1)
        self.assertFalse(self.valid(json.loads(done.stdout), "source")[0]["as_wanted"])

    def test_render(self):
        document = self.valid(self.ptpkg_json("render", harness.FIXTURES / "toytorch"), "render")
        self.assertGreater(len(document), 1)

    def test_ci(self):
        printed = self.valid(self.ptpkg_json("ci", "github", harness.FIXTURES / "toytorch", "--output", "-"), "ci")
        self.assertEqual((printed["file"], printed["current"]), (None, False))
        arguments = ("ci", "gitlab", harness.FIXTURES / "toytorch", "--output", self.scratch / "ci.yml")
        for flags, written, current in ((["--dry-run"], False, False), ([], True, True), (["--check"], False, True)):
            document = self.valid(self.ptpkg_json(*arguments, *flags), "ci")
            self.assertEqual((document["written"], document["current"]), (written, current))

    def test_dev_and_shell(self):
        arguments = (harness.FIXTURES / "toymagma", "--select", "toy_backend=cpu")
        self.valid(self.ptpkg_json("dev", *arguments), "dev")
        self.valid(self.ptpkg_json("shell", *arguments), "shell")
        self.assertIn("dev", {item["kind"] for item in self.valid(self.ptpkg_json("cache"), "cache")["items"]})

    def test_build_index_and_cache(self):
        output = self.scratch / "dist"
        arguments = ("build", harness.FIXTURES / "toymagma", "--select", "toy_backend=cpu", "--output", output)
        self.valid(self.ptpkg_json(*arguments, "--dry-run"), "build")
        plan = self.valid(self.ptpkg_json(*arguments, "--plan"), "plan")
        (self.scratch / "plan.json").write_text(json.dumps(plan))
        self.valid(self.ptpkg_json("run-node", self.scratch / "plan.json", plan["nodes"][0]["id"]), "run-node")
        made = self.valid(self.ptpkg_json(*arguments), "build")
        self.valid(self.ptpkg_json(*arguments), "build")
        self.assertTrue(all(item["unpacked_size"] > 0 for item in made["artifacts"]))
        self.valid(self.ptpkg_json("index", output / "conda"), "index")
        target = ("--to", f"file://{self.scratch / 'channel'}")
        self.valid(self.ptpkg_json("publish", output, *target, "--dry-run"), "publish")
        self.valid(self.ptpkg_json("publish", output, *target), "publish")
        self.valid(self.ptpkg_json("publish", output, *target), "publish")
        self.valid(self.ptpkg_json("promote", output, "--from", "anaconda:me/dev", "--to", "anaconda:me", "--dry-run"), "promote")
        wheel = ("--artifact", "toy-1.0-py3-none-any.whl")
        self.valid(self.ptpkg_json("yank", *wheel, "--from", target[1], "--dry-run"), "yank")
        self.valid(self.ptpkg_json("remove", output, "--from", "anaconda:me", "--dry-run"), "remove")
        self.assertTrue(self.valid(self.ptpkg_json("cache"), "cache")["items"])
        self.valid(self.ptpkg_json("cache", "clean", "--dry-run"), "cache")
        (output / "conda/linux-64/broken-1.0-0.conda").write_bytes(b"PK")
        left_out = json.loads(self.ptpkg("index", "--json", output / "conda", exit_code=3).stdout)
        self.assertEqual(len(self.valid(left_out, "index")["left_out"]), 1)

    def test_conda_wheel_and_check(self):
        output = self.scratch / "dist"
        conda = self.valid(self.ptpkg_json("conda", self.wheel(), "--output", output), "conda")
        self.assertEqual(conda["unknown_requirements"], ["no-such-name"])
        package = next(item["path"] for item in conda["artifacts"] if item["path"].endswith(".conda"))
        self.valid(self.ptpkg_json("wheel", package, "--output", output), "wheel")
        self.valid(self.ptpkg_json("transmute", package, "--output", self.scratch / "other"), "transmute")
        (self.scratch / "cut-1.0-0.conda").write_bytes(b"PK")
        failed = self.ptpkg("transmute", package, self.scratch / "cut-1.0-0.conda", "--json", "-o", self.scratch / "cut", exit_code=3)
        self.assertEqual(len(self.valid(json.loads(failed.stdout), "error")["outcomes"]), 1)
        self.valid(self.ptpkg_json("check", self.wheel(), package), "check")
        self.valid(self.ptpkg_json("inspect", self.wheel(), package), "inspect")
        self.valid(self.ptpkg_json("inspect", self.wheel(), package, "--quick"), "inspect")
        self.valid(json.loads(self.ptpkg("diff", "--json", self.wheel(), package, exit_code=1).stdout), "diff")
        self.valid(self.ptpkg_json("diff", package, package), "diff")
        self.valid(self.ptpkg_json("retag", self.wheel(), "--build", "1", "--dry-run"), "retag")
        self.valid(self.ptpkg_json("retag", self.wheel(), "--build", "1"), "retag")
        self.valid(self.ptpkg_json("repair", self.wheel(), "--dry-run"), "repair")
        self.valid(self.ptpkg_json("check", self.wheel(), "--fix"), "check")

    def test_relink_and_check_of_a_library_with_findings(self):
        source = self.scratch / "a.c"
        gpu_code = ",".join(map(str, gpu_library.container([(gpu_library.CUBIN, "90"), (gpu_library.PTX, "90")], size=32)))
        source.write_text("int answer(void) { return 42; }\n"
                          f'__asm__(".pushsection .nv_fatbin,\\"a\\"; .byte {gpu_code}; .popsection");\n')
        tree = self.scratch / "tree"
        tree.mkdir()
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-rpath,/nowhere/lib", "-o", tree / "liba.so", source], check=True)
        findings = json.loads(self.ptpkg("check", "--json", tree, "--profile", "wheel", exit_code=1).stdout)
        self.valid(findings, "check")
        self.assertTrue(findings[0]["findings"])
        self.assertEqual(findings[0]["device_code"][0]["ptx"], ["compute_90"])
        self.valid(self.ptpkg_json("relink", tree, "--set-rpath", "$ORIGIN", "--plan"), "relink")
        self.valid(self.ptpkg_json("relink", tree / "liba.so", "--set-rpath", "$ORIGIN"), "relink")

    def test_slice(self):
        fat = gpu_library.make(self.scratch / "liba.so", [[(gpu_library.CUBIN, "80"), (gpu_library.CUBIN, "90a"), (gpu_library.PTX, "90")],
                                                          [(gpu_library.CUBIN, "90")]])
        planned = self.valid(self.ptpkg_json("slice", fat, "--gpu", "8.0", "--dry-run"), "slice")
        self.assertEqual(planned["slices"][0]["files"][0]["gaps"], {"8.0": 1})
        self.valid(self.ptpkg_json("slice", fat, "--all-archs", "--compact", "--output", self.scratch / "out"), "slice")

    def test_completion_and_man(self):
        for verb, word in (("completion", "bash"), ("explain", "wheel-summary"), ("man", "build")):
            self.valid(self.ptpkg_json(verb, word), verb)
        self.valid(self.ptpkg_json("explain"), "explain")
        self.valid(self.ptpkg_json("help", "build"), "help")
        self.valid(self.ptpkg_json("version"), "version")

    def test_config(self):
        (self.scratch / "ptpkg.toml").write_text('jobs = 2\noffline = true\n[build]\nselect = ["a=1"]\noutput = "x"\n')
        document = self.valid(self.ptpkg_json("config", self.scratch, "--all", PTPKG_CONDA_EXE="/c"), "config")
        origins = {(item["command"], item["key"]): (item["origin"], item["value"]) for item in document["settings"]}
        self.assertEqual(origins[None, "jobs"], ("file", 2))
        self.assertEqual(origins[None, "offline"], ("file", True))
        self.assertEqual(origins[None, "conda-exe"], ("environment", "/c"))
        self.assertEqual(origins["build", "select"], ("file", ["a=1"]))
        self.assertEqual(origins["dev", "output"], ("default", "dist"))

    def test_errors_of_every_kind(self):
        recipe = self.scratch / "recipe.yaml"
        recipe.write_text("package: {name: x, versoin: 1}\n")
        for arguments, code in ((("biuld",), 2), (("build", "no-such-folder"), 4), (("render", recipe), 3)):
            done = self.ptpkg(*arguments, "--json", exit_code=code)
            self.valid(json.loads(done.stdout), "error")

    def log_of(self, *arguments, **options):
        done = self.ptpkg(*arguments, "--log-format", "json", **options)
        events = [json.loads(line) for line in done.stderr.splitlines()]
        self.assertEqual(json_schema.complaints(self, events, "log"), "")
        return events

    def test_every_line_of_the_json_log(self):
        events = self.log_of("build", harness.FIXTURES / "toymagma", "--select", "toy_backend=cpu", "--output",
                             self.scratch / "dist", "--verbose", "--explain")
        self.assertLessEqual({"started", "finished", "output", "note"}, {event["event"] for event in events})
        self.assertEqual([event["event"] for event in self.log_of("biuld", exit_code=2)], ["error"])
        failure = self.log_of("build", self.scratch / "none", exit_code=4)[-1]
        self.assertEqual((failure["event"], failure["code"]), ("error", "not_found"))
        source = self.scratch / "a.c"
        source.write_text("int answer(void) { return 42; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-rpath,/nowhere/lib", "-o", self.scratch / "liba.so", source],
                       check=True)
        tree = self.scratch / "tree"
        tree.mkdir()
        (self.scratch / "liba.so").rename(tree / "liba.so")
        events = self.log_of("check", tree, "--profile", "wheel", exit_code=1)
        self.assertIn("finding", {event["event"] for event in events})


if __name__ == "__main__":
    harness.main()
