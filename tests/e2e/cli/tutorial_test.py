"""The pages "Package your own …", "First steps", "Builds that take hours" and the README: every file and command on them, in the order
of the page.

On a page, "File `name`:" stands before the block with that file's text. Commands are in sh blocks; a text block after
one shows lines that the commands print, in that order, with "…" for what may differ. Each block says its kind. console_pages.py says what
console blocks are.
"""

import re
import shutil
import subprocess

import harness
from console_pages import MEASURED, assert_shown, console_commands, pattern_of

BLOCK = re.compile(r"(?:^File `(?P<file>[^`]+)`:\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```\n", re.MULTILINE | re.DOTALL)
BENCHMARK = re.compile(r"`(bench/\w+\.py) --only (\w+)`")


LONG_RECIPE = """\
schema_version: 1
package: {name: libc10, version: "2.6.0"}
source: {path: source}
build: {number: 0, string: "cpu_h${{ hash }}_0", script: build.sh}
requirements: {build: ["${{ compiler('cxx') }}"]}
tests: [{script: ['test -f "$PREFIX/share/c10"']}]
about: {license: BSD-3-Clause, license_file: LICENSE}
extra:
  ptpkg:
    formats: [conda]
    memory_per_job: 10 MB
    dev: {script: ['echo dev >> @SCRATCH@/compiled', '"$CXX" -c @EDITED@ -o f30.o', 'cp f30.o "$PREFIX/share/c10"']}
"""
# Counts, and is gone on with, as ninja; while the file "hold" is there, it stops at one of the objects.
LONG_SCRIPT = """\
touch .ninja_log
for i in $(seq 1 30); do
  echo "[$i/30] Building CXX object f$i.o"
  if [ $i = 25 ] && [ -e @SCRATCH@/hold ]; then touch @SCRATCH@/held; sleep 60; fi
  if [ -e f$i.o ]; then continue; fi
  [ -e @SCRATCH@/fast ] || sleep 0.15
  echo $i >> @SCRATCH@/compiled
  source=f$i.cpp
  if [ $i = 30 ]; then source=@EDITED@; fi
  "$CXX" -c $source -o f$i.o
done
mkdir -p "$PREFIX/share"
cp f30.o "$PREFIX/share/c10"
"""
LONG_SOURCES = 30
LONG_EDITED = "c10/util/Exception.cpp"  # the page edits it


class Tutorial(harness.Case):
    def follow(self, page: str, before=(), masked=re.compile(r"(?!)")) -> list[tuple[str, str]]:
        """Does what the page says; returns the commands and what they printed. Before command number n, `before[n]` is
        called; what matches `masked` in shown lines may differ. Blocks of kind bash take hours and are not run."""
        text = (harness.REPOSITORY / "docs" / page).read_text(encoding="utf-8")
        self.assertNotIn("```", re.findall(r"^```.*$", text, re.MULTILINE)[::2], "a block without a kind is not looked at")
        commands, printed = [], ""
        for block in BLOCK.finditer(text):
            if block["file"]:
                path = self.scratch / "work" / block["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block["text"], encoding="utf-8")
                printed = ""
            elif block["kind"] == "sh":
                if len(commands) < len(before):
                    before[len(commands)]()
                printed = self.run_shell(block["text"])
                commands.append((block["text"], printed))
            elif block["kind"] == "text":
                self.assertTrue(printed, f"{page}: output without a command: {block['text']}")
                assert_shown(masked.sub("…", block["text"]), printed)
        return commands

    def run_shell(self, commands: str) -> str:
        environment = self.environment()
        environment["PATH"] = f"{harness.Settings.ptpkg.parent}:{environment['PATH']}"
        done = subprocess.run(["bash", "-e", "-c", commands], cwd=self.scratch / "work", env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, f"\n{commands}\n{done.stdout}")
        return done.stdout

    def test_first_steps_and_readme(self):
        work = self.scratch / "work"
        for folder in ("fixtures/toymagma", "fixtures/toytorch", "patches/toymagma"):
            shutil.copytree(harness.REPOSITORY / folder, work / folder)
        (work / "scripts").symlink_to(harness.REPOSITORY / "scripts")
        pages = [console_commands((harness.REPOSITORY / page).read_text(encoding="utf-8"))
                 for page in ("docs/tutorials/first-steps.md", "README.md")]
        self.assertGreater(len(pages[0]), 8)
        self.assertEqual(len(pages[1]), 6)
        commands = [command for page in pages for command in page]
        mark = "next command of the page"
        # As diff(1), `ptpkg diff` exits with 1 where the two differ.
        script = [f"{command} || test $? = 1" if command.startswith("ptpkg diff ") else command for command, _ in commands]
        printed = self.run_shell("".join(f"echo '{mark}'\n{command}\n" for command in script))
        for (command, shown), text in zip(commands, printed.split(f"{mark}\n")[1:], strict=True):
            with self.subTest(command):
                lines = [MEASURED.sub("…", line) for line in shown if line != "…"]
                assert_shown("\n".join(lines), text)
                if shown and shown[-1] != "…":
                    self.assertRegex(text.splitlines()[-1], pattern_of(lines[-1]), "the last line shown is not the last")

    def test_commands_of_the_readme_that_print_its_figures_exist(self):
        rows = BENCHMARK.findall((harness.REPOSITORY / "README.md").read_text(encoding="utf-8"))
        self.assertGreater(len(rows), 4)
        for program, row in rows:
            self.assertIn(f"def row_{row}(", (harness.REPOSITORY / program).read_text(encoding="utf-8"))

    def test_python(self):
        self.assertEqual(len(self.follow("tutorial-python.md")), 5)

    def test_cpp(self):
        self.assertEqual(len(self.follow("tutorial-cpp.md")), 3)

    def test_long_builds(self):
        """The page's commands on a project of its recipe's names, which takes seconds instead of hours. The numbers on the
        page are PyTorch's, which is not built here: of its lines the words are checked."""
        for name in ("g++", "ccache"):
            harness.tool(name)
        self.long_project()
        build = "ptpkg build recipes/pytorch --source pytorch=../pytorch"

        def built_before():  # the time left is known from the last run
            self.run_shell(build)
            self.edit("LICENSE", "BSD 3")

        def interrupted():
            self.edit("LICENSE", "BSD-3-Clause")
            printed = self.run_shell(f"touch {self.scratch}/hold\n{build} & ptpkg=$!\n"
                                     f"until [ -e {self.scratch}/held ]; do sleep 0.1; done\n"
                                     f"kill -INT $ptpkg; wait $ptpkg || echo exit $?; rm {self.scratch}/hold")
            self.assertIn("exit 130", printed)
            self.compiled()

        def built_with_ccache():
            self.assertEqual(self.compiled(), [str(number) for number in range(25, 31)])
            (self.scratch / "fast").touch()
            self.edit("LICENSE", "BSD-3")
            self.assertIn(f"; ccache: 0 of {LONG_SOURCES} found; ", self.run_shell(f"{build} --ccache"))
            self.edit(LONG_EDITED, "int one() { return 1; }\n")

        def built_by_dev():
            self.run_shell(build.replace("build", "dev"))
            self.edit(LONG_EDITED, "int two() { return 2; }\n")
            self.compiled()

        def nothing_more():
            self.assertEqual(self.compiled(), ["dev"])

        page = "tutorials/long-builds.md"
        # The rate comes after some seconds.
        masked = re.compile(r"(?<=_h)[0-9a-f]+(?=_0)|, \d+/min|(?<= )\d+/\d+\b|(?<= )\d+(?:\.\d+)?\b")
        done = self.follow(page, [lambda: None, built_before, interrupted, built_with_ccache, built_by_dev, nothing_more], masked)
        commands = [command.rstrip() for command, _ in done]
        self.assertEqual(commands[1:5], [build, build, f"{build} --ccache", build.replace("build", "dev")])
        self.assertEqual([command.split()[1] for command in commands], ["doctor", "build", "build", "build", "dev", "shell"])
        self.assertIn(f"; ccache: {LONG_SOURCES - 1} of {LONG_SOURCES} found; ", done[3][1])
        self.assertEqual(self.compiled(), [])
        text = (harness.REPOSITORY / "docs" / page).read_text(encoding="utf-8")
        known = "".join(self.run_shell(f"ptpkg {verb} --help") for verb in ("build", "doctor", "cache", "dev", "shell"))
        for flag in sorted(set(re.findall(r"`(--[a-z-]+)", text))):
            self.assertIn(flag, known)

    def long_project(self):
        """The recipe and the sources that the page's commands name."""
        recipe = self.scratch / "work/recipes/pytorch"
        recipe.mkdir(parents=True)
        for name, text in (("recipe.yaml", LONG_RECIPE), ("build.sh", LONG_SCRIPT)):
            (recipe / name).write_text(text.replace("@SCRATCH@", str(self.scratch)).replace("@EDITED@", LONG_EDITED))
        self.edit("LICENSE", "BSD")
        for number in range(1, LONG_SOURCES):
            self.edit(f"f{number}.cpp", f"int f{number}() {{ return {number}; }}\n")
        self.edit(LONG_EDITED, "int none() { return 0; }\n")

    def edit(self, name: str, text: str) -> None:
        path = self.scratch / "pytorch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def compiled(self) -> list[str]:
        """What the scripts have compiled since the last call."""
        path = self.scratch / "compiled"
        lines = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def test_pytorch(self):
        shutil.copytree(harness.REPOSITORY / "recipes", self.scratch / "work/recipes")
        self.assertEqual(len(self.follow("tutorials/pytorch.md")), 10)

    def test_console_blocks_are_commands_and_what_they_print(self):
        text = "```console\n$ a\nx\n…\n$ b\n```\nno\n```console\n$ c\ny 1.5 s\n```\n"
        self.assertEqual(console_commands(text), [("a", ["x", "…"]), ("b", []), ("c", ["y 1.5 s"])])
        self.assertEqual(MEASURED.sub("…", "in 21 s, 4 of 4, 3.1 MB, 28% of 9 B; 27 bytes"), "in …, 4 of 4, …, … of …; … bytes")

    def test_a_page_that_shows_what_is_not_printed_fails(self):
        assert_shown("a…z\nlast\n", "first\na to z\nbetween\nlast\n")
        with self.assertRaises(AssertionError):
            assert_shown("last\nfirst\n", "first\nlast\n")


if __name__ == "__main__":
    harness.main()
