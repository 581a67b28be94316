"""Configuration files (docs/configuration.md): which value counts, what `ptpkg config` shows, and what is refused."""

import json

import harness

RECIPE = """package: {name: toy, version: "1.0"}
build: {number: 0, string: "0", script: {content: "mkdir -p $PREFIX/share; echo x > $PREFIX/share/toy"}}
about: {license: MIT, summary: "A toy"}
extra: {ptpkg: {formats: [conda, tar.bz2]}}
"""


class Config(harness.Case):
    def setUp(self):
        super().setUp()
        self.project = self.scratch / "project"
        self.home = self.scratch / "home"
        self.recipe = self.project / "recipes/toy"
        self.elsewhere = self.scratch / "elsewhere"
        for folder in (self.recipe, self.home / ".config/ptpkg", self.elsewhere):
            folder.mkdir(parents=True)
        (self.recipe / "recipe.yaml").write_text(RECIPE)

    def environment(self, **extra):
        return super().environment(**{"HOME": str(self.home), **extra})

    def project_file(self, text):
        (self.project / "ptpkg.toml").write_text(text)

    def user_file(self, text):
        (self.home / ".config/ptpkg/config.toml").write_text(text)

    def refused(self, *arguments, code=2):
        return self.ptpkg(*arguments, exit_code=code, cwd=self.project).stderr

    def test_a_build_takes_the_settings_beside_and_above_its_recipe(self):
        self.project_file('[build]\noutput = "of-project"\nformat = ["tar.bz2"]\n')
        self.ptpkg("build", self.recipe, cwd=self.elsewhere)
        made = sorted(path.name for path in (self.project / "of-project/conda").glob("*/toy-*"))
        self.assertEqual(made, ["toy-1.0-0.tar.bz2"], "the path begins at the file")
        self.ptpkg("build", "recipes/toy/recipe.yaml", "--output", "of-line", cwd=self.project)
        self.assertTrue((self.project / "of-line").is_dir(), "the command line wins")
        self.ptpkg("build", self.recipe, "--no-config", cwd=self.elsewhere)
        self.assertTrue((self.elsewhere / "dist").is_dir())

    def test_later_sources_win(self):
        self.project_file('cache-dir = "of-project"\njobs = 2\n')
        self.user_file('jobs = 3\n')
        shown = self.ptpkg_json("config", cwd=self.project, PTPKG_CACHE_DIR="")
        origins = {item["key"]: (item["value"], item["origin"], item["line"]) for item in shown["settings"]}
        self.assertEqual(origins["cache-dir"], (str(self.project / "of-project"), "file", 1))
        self.assertEqual(origins["jobs"], (3, "file", 1))
        text = self.ptpkg("config", "--jobs", "5", cwd=self.project).stdout
        self.assertIn("jobs = 5  # command line\n", text)
        self.assertIn(f'cache-dir = "{self.cache}"  # $PTPKG_CACHE_DIR\n', text)
        self.ptpkg("cache", cwd=self.project)
        self.assertFalse((self.project / "of-project").exists(), "the variable wins")

    def test_the_text_can_be_copied_into_a_file(self):
        for value, shown in (("1", "true"), ("0", "false")):
            text = self.ptpkg("config", "--no-config", cwd=self.project, PTPKG_OFFLINE=value).stdout
            self.assertIn(f"offline = {shown}  # $PTPKG_OFFLINE\n", text)
            self.project_file(text)
            self.assertIn(f"offline = {shown}  # ptpkg.toml", self.ptpkg("config", cwd=self.project).stdout)
            settings = self.ptpkg_json("config", cwd=self.project, PTPKG_OFFLINE=value)["settings"]
            self.assertEqual([one["value"] for one in settings if one["key"] == "offline"], [value == "1"])

    def test_settings_wait_for_lines_that_take_them(self):
        self.project_file('remote-cache-read-only = true\n[build]\nkeep-work = true\n[bench]\nrounds = 20\nstabilize = true\n'
                          '[cache]\nmax-size = "50G"\n[inspect]\ngraph = true\n[ci]\ncheck = true\n')
        package, = (one["path"] for one in self.ptpkg_json("build", "recipes/toy", "--no-cache", "--format", "conda", cwd=self.project)["artifacts"])
        for line in (["bench"], ["bench", "--restore"], ["cache"], ["inspect", "--quick", package], ["ci", "github", "recipes/toy", "--output", "-"]):
            with self.subTest(line):
                self.ptpkg(*line, cwd=self.project)
        self.assertIn("--graph needs ELF files", self.refused("inspect", "--quick", "--graph", package))
        self.assertIn("need 'ptpkg cache clean'", self.refused("cache", "--dry-run"))
        self.assertIn("needs --remote-cache", self.refused("build", "recipes/toy", "--remote-cache-read-only"))
        self.user_file('json = true\n')
        self.assertTrue(self.ptpkg("shell", "recipes/toy", "--", "echo", "made", cwd=self.project).stdout.endswith("made\n"))

    def test_required_options_can_come_from_a_file(self):
        self.ptpkg("build", self.recipe, "--output", self.project / "dist")
        self.project_file(f'[publish]\nto = "file://{self.scratch}/channel"\n')
        self.ptpkg("publish", "dist", cwd=self.project)
        self.assertTrue((self.scratch / "channel").is_dir())
        self.assertIn("none.conda", self.refused("publish", "none.conda", "-u", "me", code=4))  # -u wins over 'to' of the file
        self.project_file('[publish]\nuser = "me"\n')
        self.ptpkg("publish", "dist", "--to", f"file://{self.scratch}/other", cwd=self.project)
        self.assertTrue((self.scratch / "other").is_dir(), "--to wins over 'user' of the file")

    def test_mistakes_have_a_place_and_a_suggestion(self):
        self.project_file('color = "never"\n[build]\nouptut = "x"\n')
        said = self.refused("render", "recipes/toy")
        self.assertIn(f"{self.project}/ptpkg.toml:3:1: error: unknown key 'ouptut' in [build]", said)
        self.assertIn("did you mean 'output'?", said)
        document = json.loads(self.ptpkg("render", "recipes/toy", "--json", exit_code=2, cwd=self.project).stdout)
        self.assertEqual((document["error"]["line"], document["error"]["file"]), (3, f"{self.project}/ptpkg.toml"))
        self.ptpkg("render", "recipes/toy", "--no-config", cwd=self.project)
        self.ptpkg("--version", cwd=self.project)
        self.ptpkg("build", "--help", cwd=self.project)
        self.project_file('[publish]\nserver = "https://me:hunter22@example.org"\n')
        said = self.refused("config")
        self.assertIn("holds a password", said)
        self.assertNotIn("hunter22", said)

    def test_a_directory_of_everybody_has_no_settings(self):
        self.project_file('color = "purple"\n')
        self.refused("config")
        self.project.chmod(0o777)
        self.ptpkg("config", cwd=self.project)

    def test_a_cache_below_a_file_names_the_option(self):
        (self.scratch / "file").write_text("")
        done = self.ptpkg("build", self.recipe, "--cache-dir", self.scratch / "file/below/cache", exit_code=7, cwd=self.project)
        self.assertIn("--cache-dir DIR or PTPKG_CACHE_DIR", done.stderr)

    def test_a_setting_of_json_counts_for_errors_too(self):
        self.project_file("json = true\n")
        document = json.loads(self.ptpkg("render", "nothing", exit_code=4, cwd=self.project).stdout)
        self.assertEqual(document["error"]["code"], "not_found")

    def test_no_cache_leaves_nothing_and_reads_nothing(self):
        temporary = self.scratch / "tmp"
        temporary.mkdir()
        for run in range(2):
            done = self.ptpkg_json("build", self.recipe, "--no-cache", "--output", f"dist-{run}", TMPDIR=str(temporary))
            self.assertTrue(self.stage_states(done)["build", "toy-1.0-0"], "nothing is stored")
            self.assertEqual(list(temporary.iterdir()), [])
        self.assertFalse(self.cache.exists())
        self.assertIn("--keep-work", self.refused("build", self.recipe, "--no-cache", "--keep-work"))
        self.assertIn("TMPDIR", self.refused("build", self.recipe, "--no-cache", "--cache-dir", "cache"))


if __name__ == "__main__":
    harness.main()
