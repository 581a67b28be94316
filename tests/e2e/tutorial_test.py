"""The pages "Package your own …", that of long builds and the README: every file and command on them, in the order of the page.

On a page, "File `name`:" stands before the block with that file's text. Commands are in sh blocks; a text block right
after one shows lines that the commands print, in that order, with "…" for what may differ. In console blocks of the
README, lines that begin with "$ " are commands of one shell, and what follows is what they print; times, sizes and
shares may differ, and a line "…" stands for any lines.
"""

import re
import shutil
import subprocess

import harness

BLOCK = re.compile(r"(?:^File `(?P<file>[^`]+)`:\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```\n", re.MULTILINE | re.DOTALL)


CONSOLE = re.compile(r"^```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
MEASURED = re.compile(r"\d+(?:\.\d+)? (?:s|min|B|kB|MB)\b|\d+%|\d+(?= bytes)")
BENCHMARK = re.compile(r"`(bench/\w+\.py) --only (\w+)`")


def pattern_of(line: str) -> re.Pattern:
    return re.compile(".*".join(re.escape(part) for part in line.split("…")))


def console_commands(text: str) -> list[tuple[str, list[str]]]:
    """Each command of the console blocks, and the lines shown below it."""
    commands: list[tuple[str, list[str]]] = []
    for block in CONSOLE.findall(text):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            else:
                commands[-1][1].append(line)
    return commands


LONG_RECIPE = """\
schema_version: 1
package: {name: libc10, version: "2.6.0"}
source: {path: source}
build: {number: 0, string: "cpu_h${{ hash }}_0", script: build.sh}
about: {license: BSD-3-Clause, license_file: LICENSE}
extra: {ptpkg: {formats: [conda], memory_per_job: 10 MB}}
"""
# Counts, and is gone on with, as ninja; while the file "hold" is there, it stops at one of the objects.
LONG_SCRIPT = """\
touch .ninja_log
for i in $(seq 1 30); do
  echo "[$i/30] Building CXX object f$i.o"
  if [ $i = 25 ] && [ -e @SCRATCH@/hold ]; then touch @SCRATCH@/held; sleep 60; fi
  if [ ! -e f$i.o ]; then sleep 0.15; echo $i >> @SCRATCH@/compiled; echo $i > f$i.o; fi
done
mkdir -p "$PREFIX/share"
cp f30.o "$PREFIX/share/c10"
"""


class Tutorial(harness.Case):
    def follow(self, page: str, before=(), masked=re.compile(r"(?!)")) -> list[str]:
        """Does what the page says; returns the commands. Before command number n, `before[n]` is called; what matches
        `masked` in shown lines may differ."""
        text = (harness.REPOSITORY / "docs" / page).read_text(encoding="utf-8")
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
                commands.append(block["text"])
                printed = self.run_shell(block["text"])
            elif block["kind"] == "text":
                self.assertTrue(printed, f"{page}: output without a command: {block['text']}")
                self.compare(masked.sub("…", block["text"]), printed)
        return commands

    def run_shell(self, commands: str) -> str:
        environment = self.environment()
        environment["PATH"] = f"{harness.Settings.ptpkg.parent}:{environment['PATH']}"
        done = subprocess.run(["bash", "-e", "-c", commands], cwd=self.scratch / "work", env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, f"\n{commands}\n{done.stdout}")
        return done.stdout

    def compare(self, shown: str, printed: str) -> None:
        rest = printed.splitlines()
        for line in shown.splitlines():
            pattern = pattern_of(line)
            while rest and not pattern.fullmatch(rest[0]):
                rest.pop(0)
            self.assertTrue(rest, f"the page shows\n  {line}\nbut this was printed:\n{printed}")

    def test_readme(self):
        work = self.scratch / "work"
        for folder in ("fixtures/toymagma", "fixtures/toytorch", "patches/toymagma"):
            shutil.copytree(harness.REPOSITORY / folder, work / folder)
        (work / "scripts").symlink_to(harness.REPOSITORY / "scripts")
        commands = console_commands((harness.REPOSITORY / "README.md").read_text(encoding="utf-8"))
        self.assertGreater(len(commands), 8)
        mark = "next command of the page"
        printed = self.run_shell("".join(f"echo '{mark}'\n{command}\n" for command, _ in commands))
        for (command, shown), text in zip(commands, printed.split(f"{mark}\n")[1:], strict=True):
            with self.subTest(command):
                lines = [MEASURED.sub("…", line) for line in shown if line != "…"]
                self.compare("\n".join(lines), text)
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
        """The page's commands on a project of its recipe's names, which takes seconds instead of hours."""
        recipe, source = self.scratch / "work/recipes/pytorch", self.scratch / "pytorch"
        recipe.mkdir(parents=True)
        source.mkdir()
        (recipe / "recipe.yaml").write_text(LONG_RECIPE)
        (recipe / "build.sh").write_text(LONG_SCRIPT.replace("@SCRATCH@", str(self.scratch)))
        (source / "LICENSE").write_text("BSD")
        page = "tutorials/long-builds.md"
        build = "ptpkg build recipes/pytorch --source pytorch=../pytorch"

        def built_before():  # the time left is known from the last run
            self.run_shell(build)
            (source / "LICENSE").write_text("BSD 3")

        def interrupted():
            (source / "LICENSE").write_text("BSD-3-Clause")
            printed = self.run_shell(f"touch {self.scratch}/hold\n{build} & ptpkg=$!\n"
                                     f"until [ -e {self.scratch}/held ]; do sleep 0.1; done\n"
                                     f"kill -INT $ptpkg; wait $ptpkg || echo exit $?; rm {self.scratch}/hold")
            self.assertIn("exit 130", printed)
            (self.scratch / "compiled").unlink()

        masked = re.compile(r"(?<=_h)\w+(?=_0)|, \d+/min|(?<= )\d+/\d+\b|(?<= )\d+\b")  # the rate comes after some seconds
        commands = self.follow(page, [lambda: None, built_before, interrupted], masked)
        self.assertEqual(commands[1:3], [f"{build}\n"] * 2)
        self.assertEqual(len((self.scratch / "compiled").read_text().split()), 6)
        text = (harness.REPOSITORY / "docs" / page).read_text(encoding="utf-8")
        known = "".join(self.run_shell(f"ptpkg {verb} --help") for verb in ("build", "doctor", "cache", "dev", "shell"))
        for flag in sorted(set(re.findall(r"`(--[a-z-]+)", text))):
            self.assertIn(flag, known)

    def test_pytorch(self):
        shutil.copytree(harness.REPOSITORY / "recipes/pytorch", self.scratch / "work/recipes/pytorch")
        self.assertEqual(len(self.follow("tutorials/pytorch.md")), 6)

    def test_console_blocks_are_commands_and_what_they_print(self):
        text = "```console\n$ a\nx\n…\n$ b\n```\nno\n```console\n$ c\ny 1.5 s\n```\n"
        self.assertEqual(console_commands(text), [("a", ["x", "…"]), ("b", []), ("c", ["y 1.5 s"])])
        self.assertEqual(MEASURED.sub("…", "in 21 s, 4 of 4, 3.1 MB, 28% of 9 B; 27 bytes"), "in …, 4 of 4, …, … of …; … bytes")

    def test_a_page_that_shows_what_is_not_printed_fails(self):
        self.compare("a…z\nlast\n", "first\na to z\nbetween\nlast\n")
        with self.assertRaises(AssertionError):
            self.compare("last\nfirst\n", "first\nlast\n")


if __name__ == "__main__":
    harness.main()
