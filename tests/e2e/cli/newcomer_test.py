"""Mistakes that everybody makes on the first day: the message names the cause, and the command that mends it."""

import json
import os
import subprocess
import zipfile

import harness

RECIPE = """package: {name: toy, version: "1.0"}
source: {path: .}
build: {number: 0, string: "0", script: {content: "test -e built || echo >> ${RUNS}; touch built; mkdir -p $PREFIX/share; cp a.c $PREFIX/share", env: {RUNS: "@RUNS@"}}}
about: {license: MIT, summary: "@SUMMARY@"}
extra: {ptpkg: {formats: [conda]}}
"""


class Newcomer(harness.Case):
    def said(self, *arguments, code=2, **options):
        return self.ptpkg(*arguments, exit_code=code, **options).stderr

    def write(self, summary="a", recipe=RECIPE):
        folder = self.scratch / "toy"
        folder.mkdir(exist_ok=True)
        (folder / "a.c").write_text("int a;\n")
        (folder / "recipe.yaml").write_text(recipe.replace("@RUNS@", str(self.scratch / "runs")).replace("@SUMMARY@", summary))
        return folder

    def wheel(self, name="toy-1.0-py3-none-any.whl", files=None):
        path = self.scratch / name
        info = "toy-1.0.dist-info/"
        members = {"toy/__init__.py": "",
                   info + "METADATA": "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
                   info + "WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                   **(files or {})}
        members[info + "RECORD"] = harness.record_of(members)
        with zipfile.ZipFile(path, "w") as archive:
            for member, text in members.items():
                archive.writestr(member, text)
        return path

    def test_an_edited_recipe_compiles_nothing_again_where_its_folder_is_the_source(self):
        """docs/tutorials/long-builds.md: mend the recipe and run again. The results lie in the source folder, too."""
        folder = self.write(recipe=RECIPE.replace('build: {', 'build: {files: ["lib/**"], '))
        self.assertIn("leaves out all", self.said("build", ".", code=3, cwd=folder))
        for summary in ("a", "b"):
            self.write(summary)
            self.ptpkg("build", ".", cwd=folder)
            self.assertEqual(len((self.scratch / "runs").read_text()), 1, summary)
        (folder / "variants.yaml").write_text('blas: ["openblas"]\n')
        self.ptpkg("build", ".", cwd=folder)
        self.assertEqual(len((self.scratch / "runs").read_text()), 1, "a variant that nothing reads")
        (folder / "a.c").write_text("int b;\n")
        self.ptpkg("build", ".", cwd=folder)
        self.assertEqual(len((self.scratch / "runs").read_text()), 2, "a source")

    def test_empty_values_of_variables_that_are_not_set(self):
        """`--option=` is an empty value and not the next word."""
        good = self.wheel()
        bad = self.scratch / "bad-1.0-py3-none-any.whl"
        bad.write_text("x")
        for option in ("--allow-unresolved", "--forbid-path", "--dependency", "--target", "--profile", "--verify-key"):
            self.assertIn(f"the value of '{option}' is empty", self.said("check", f"{option}=", bad, good))
        library = self.scratch / "a.so"
        library.write_text("")
        for option in ("--set-rpath", "--add-needed", "--set-soname", "--root", "--layout"):
            self.assertIn(f"the value of '{option}' is empty", self.said("relink", f"{option}=", library, library))
        self.assertIn("nothing behind its '='", self.said("relink", "--replace-needed", "libz.so=", library))
        self.assertIn("'--no-local' removes the local segment", self.said("retag", "--local", "", good))
        self.assertIn("nothing behind its '='", self.said("build", "toy", "--source", "toy="))
        self.assertIn("the value of '--output' is empty", self.said("build", "toy", "-o="))
        self.assertIn("the value of '--cache-dir' is empty", self.said("--cache-dir=", "cache"))

    def test_words_that_other_programs_know(self):
        help_of_build = self.ptpkg("build", "--help").stdout
        self.assertEqual(self.ptpkg("help", "build").stdout, help_of_build)
        self.assertEqual(self.ptpkg("help").stdout, self.ptpkg("--help").stdout)
        for words in (["version"], ["-V"]):
            self.assertEqual(self.ptpkg(*words).stdout, self.ptpkg("--version").stdout)
        upload = self.said("upload", "dist")
        self.assertIn("unknown command 'upload'", upload)
        self.assertIn("did you mean 'publish'? see 'ptpkg publish --help'", upload)
        self.assertIn("did you mean 'index'?", self.said("help", "indx"))
        self.assertIn("did you mean 'check'?", self.said("verify", "dist"))

    def test_findings_are_explained(self):
        page = (harness.REPOSITORY / "docs/findings/elf-unreachable-needed.md").read_text()
        self.assertEqual(self.ptpkg("explain", "elf-unreachable-needed").stdout, page)
        listed = self.ptpkg("explain").stdout.splitlines()
        for path in (harness.REPOSITORY / "docs/findings").glob("*.md"):
            self.assertTrue(any(line.startswith(path.stem + ": ") for line in listed), path)
        self.assertIn("did you mean 'ptpkg explain elf-unreachable-needed'?", self.said("explain", "elf-unreachable-neded"))

    def test_a_failed_check_is_the_error_and_has_its_fix(self):
        script = ("cd $PREFIX && mkdir -p lib/geo && echo 'int g;' >g.c && echo 'extern int g; int *f(void) { return &g; }' >f.c\n"
                  "gcc -shared -fPIC -Wl,-soname,libgeo.so.0 g.c -o lib/geo/libgeo.so.0\n"
                  "gcc -shared -fPIC f.c lib/geo/libgeo.so.0 -o lib/libtoy.so\nrm *.c\n")
        folder = self.write(recipe=json.dumps({
            "package": {"name": "toy", "version": "1.0"}, "build": {"string": "0", "script": {"content": script}},
            "about": {"license": "MIT"}}))
        for formats in ("conda", "conda,tar.bz2"):
            with self.subTest(formats):
                said = self.said("build", folder, "--env", "system", "--format", formats, "--output", self.scratch / "dist", code=1)
                failure = said[said.index("error: "):]
                self.assertNotIn("libgeo", said[:said.index("error: ")], "a warning above the error names the cause")
                self.assertRegex(failure, r"error: 'toy-1\.0-0\.(conda|tar\.bz2)' failed its checks and was not published:\n"
                                          r" +lib/libtoy\.so \[elf-unreachable-needed\] cannot find 'libgeo\.so\.0'")
                self.assertIn("fix: add '$ORIGIN/geo' to its search path", failure)
                self.assertIn("ptpkg explain elf-unreachable-needed", failure)

    def test_targets_of_publish(self):
        wheel = self.wheel()
        self.assertIn("--to file:///tmp/x", self.said("publish", wheel, "--to", "/tmp/x"))
        self.assertIn("--to file://$PWD/x/y", self.said("publish", wheel, "--to", "x/y"))
        self.assertIn("file:///tmp/x", self.said("publish", wheel, "--to", "file://tmp/x"))
        self.assertIn("--check-url is required for pypi:ours",
                      self.said("publish", wheel, "--to", "pypi:ours", "--server", "https://example.org/legacy/"))

    def test_paths_that_are_not_there(self):
        self.assertIn("'ptpkg build RECIPE' makes it", self.said("publish", "dist", "--to", "file:///tmp/x", code=4))
        for command in (("check", "no.whl"), ("index", "no"), ("build", "no"), ("render", "no"), ("inspect", "no.whl"), ("diff", "no", "no"),
                        ("slice", "no.whl", "--gpu", "H100", "--output", "out"), ("conda", "no.whl"), ("repair", "no.whl")):
            with self.subTest(command):
                self.assertIn("no' does not exist\n  hint: relative paths begin at",
                              self.said(*command, code=4).replace("no.whl'", "no'"))
        for command in ("check", "inspect", "conda", "wheel", "repair", "build", "render", "index", "slice", "publish"):
            with self.subTest(command):
                said = self.said(command, "https://me:" + "hunter2pass@example.org/x.whl?token=tokval12345")
                self.assertIn("is a URL, where ptpkg takes a path\n  hint: give a file or directory of this machine", said)
                self.assertNotRegex(said, "hunter2pass|tokval12345")
        inner = "://me:" + "hunter2pass@example.org/x"
        for command in (("check", "git+https" + inner), ("check", "https://proxy.example/https" + inner), ("check", "https:" + inner[2:]),
                        ("check", "no.whl", "--cache-dir", "https" + inner), ("check", "no.whl", "--cache-dir", "file" + inner)):
            with self.subTest(command):
                self.assertNotIn("hunter2pass", self.said(*command, code=4 if command[1].startswith("https:/m") else 2))
        for command in (("build", self.write()), ("conda", self.wheel())):
            self.assertIn("artifacts cannot go into '/' itself", self.said(*command, "--output", "/"))
        self.assertIn("hint: leave 'file://' out", self.said("check", "file:///tmp/x.whl"))
        self.assertNotIn("hunter2pass", self.said("check", "no.whl", PTPKG_CACHE_DIR="https" + inner))
        self.assertEqual([path for path in self.scratch.iterdir() if path.name.startswith("https")], [])
        (self.scratch / "file").write_text("")
        folder = self.write()
        for cache, code in ((self.scratch / "file", 3), (self.scratch / "file/deeper", 7)):
            self.assertIn("--cache-dir DIR", self.said("build", folder, "--cache-dir", cache, code=code))

    def test_a_reader_that_has_seen_enough_is_no_error(self):
        reader, writer = os.pipe()
        os.close(reader)
        for output, code, message in ((writer, 141, ""), (os.open("/dev/full", os.O_WRONLY), 6, "No space left on device")):
            done = subprocess.run([harness.Settings.ptpkg, "explain"], stdout=output, stderr=subprocess.PIPE, text=True, check=False)
            os.close(output)
            self.assertEqual(done.returncode, code)
            self.assertEqual(done.stderr, message and f"error: cannot write to standard output: {message}\n")

    def test_slips_in_variants_and_expressions(self):
        folder = self.write(recipe=RECIPE + "requirements: {host: [python]}\n")
        (folder / "variants.yaml").write_text('pythn: ["3.11"]\nblas: ["openblas"]\n')
        done = self.ptpkg("render", folder)
        said = self.ptpkg("build", folder, "--plan", exit_code=0).stderr + done.stderr
        self.assertIn("no recipe uses the variant key 'pythn'; did you mean 'python'?", said)
        self.assertNotIn("blas", said)
        self.write(recipe=RECIPE.replace('version: "1.0"', "version: {{ version }}"))
        self.assertIn("write '${{ … }}'", self.said("render", folder, code=3))
        self.write()
        self.said("build", folder, "--select", "python=3.14", code=2)

    def test_a_cut_wheel_has_one_finding(self):
        wheel = self.wheel()
        data = wheel.read_bytes()
        for size in (20, len(data) // 2, len(data) - 1):
            wheel.write_bytes(data[:size])
            done = self.ptpkg("check", wheel, "--json", exit_code=1)
            findings = json.loads(done.stdout)[0]["findings"]
            self.assertEqual([one["id"] for one in findings], ["artifact-unreadable"], size)
            self.assertNotIn("'the file'", done.stdout)

    def test_scripts_environment_prints_no_path_that_is_not_there(self):
        script = harness.REPOSITORY / "scripts/environment"
        for name, command in (("build", "scripts/bootstrap"), ("peers", "scripts/bootstrap --check")):
            done = subprocess.run([script, name], env={**os.environ, "XDG_CACHE_HOME": str(self.scratch / "none")},
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"hint: {command}\n", done.stderr)

    def test_one_severity_of_a_finding_for_build_and_check(self):
        info = {"toy-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n"}
        wheel = self.wheel("toy-1.0-py3-none-linux_x86_64.whl", info)
        findings = json.loads(self.ptpkg("check", wheel, "--json").stdout)[0]["findings"]
        tag = [one for one in findings if one["id"] == "wheel-platform-tag"]
        self.assertEqual([one["severity"] for one in tag], ["warning"])
        self.assertIn(f"ptpkg repair {wheel.name}", tag[0]["fix"])
        self.ptpkg("check", wheel, "--target", "pypi", exit_code=1)


if __name__ == "__main__":
    harness.main()
