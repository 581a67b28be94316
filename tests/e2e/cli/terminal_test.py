"""What a person sees in a terminal: nothing is silent, no line wraps, a resized window keeps nothing of old lines."""

import re
import unittest

import harness
import terminal

NAME = "a-package-with-a-name-that-no-window-of-sixty-columns-holds"


def clocks_in(text: str) -> list[float]:
    """The times that the line of the build has shown."""
    return [float(found) for found in re.findall(r"\x1b\[J +build  \S+  (\d+\.\d) s", text)]


class Emulator(unittest.TestCase):
    """The screen itself: a way of drawing that leaves something behind has to be seen."""

    def test_a_line_that_reflows_leaves_rows_behind_unless_the_cursor_was_at_its_start(self):
        for end, left in (("", ["x" * 20]), ("\r", [])):
            screen = terminal.Screen(40, reflow=True)
            screen.feed("\r\x1b[J" + "x" * 30 + end)
            screen.resize(20)
            screen.feed("\r\x1b[J")
            self.assertEqual(screen.text(), left)

    def test_a_line_wider_than_the_window_is_counted(self):
        screen = terminal.Screen(10, reflow=False)
        screen.feed("0123456789\r\n")
        self.assertEqual(screen.wrapped, 0)
        screen.feed("01234567890\r\n")
        self.assertEqual(screen.wrapped, 1)


class Terminal(harness.Case):
    def recipe(self, script: str):
        folder = self.scratch / "recipe"
        folder.mkdir()
        lines = "".join(f"    - {line}\n" for line in script.splitlines())
        (folder / "LICENSE").write_text("none")
        (folder / "recipe.yaml").write_text(f"package: {{name: {NAME}, version: '1.0'}}\nbuild:\n  script:\n{lines}"
                                            "about: {license: MIT, license_file: LICENSE}\n"
                                            "extra: {ptpkg: {formats: [conda]}}\n")
        return folder

    def in_terminal(self, *args, width=60, **options):
        screens = [terminal.Screen(width, reflow=True), terminal.Screen(width, reflow=False)]
        env = self.environment(TERM="xterm-256color")
        del env["CI"]
        done = terminal.run([harness.Settings.ptpkg, *args], screens, env=env, cwd=self.scratch, **options)
        self.assertEqual(done.exit_code, 0, done.text)
        return screens, done.text

    def waiting_recipe(self):
        """Its script says nothing until the test lets it go on."""
        return self.recipe(f"until [ -e {self.scratch}/go ]; do sleep 0.1; done\nmkdir -p $PREFIX/share\necho hello > $PREFIX/share/hello")

    def check_lines(self, screen, width):
        """Every line tells of something finished; results on stdout are paths, as long as they are."""
        at_the_end = False  # the last sentence may take several lines
        for line in screen.text():
            # A path is told whole, so that it can be copied: that of the log has a line of its own.
            if not line.startswith("/") and not line.endswith(".build.log"):
                at_the_end = at_the_end or " artifact" in line
                if not at_the_end:
                    # Of what was told at the start, a window made narrower may cut all but the name.
                    self.assertRegex(line, r": |^ +\d+ stages|^   build  \S+$|^ +dist/logs/\S+$")
                self.assertLessEqual(terminal.columns_of(line), width, line)

    def test_a_silent_script_shows_its_clock_and_no_line_wraps(self):
        def watch(text, _):
            if len(clocks_in(text)) > 8:
                (self.scratch / "go").touch()

        screens, text = self.in_terminal("build", self.waiting_recipe(), "--output", "dist", watch=watch)
        clocks = clocks_in(text)
        self.assertEqual(clocks, sorted(clocks))
        self.assertGreater(clocks[-1], clocks[0])
        self.assertIn("…", text, "the name is shortened")
        self.assertNotIn(NAME, "".join(line for line in screens[0].text()
                                       if not line.startswith("/") and not line.endswith(".build.log")))
        for screen in screens:
            self.check_lines(screen, 60)
        self.assertRegex(" ".join(line.strip() for line in screens[0].text()), r" 1 artifact in 'dist': .+ unpacked; no findings; [\d.]+ s$")

    def test_a_narrower_window_keeps_nothing_of_old_lines(self):
        drawn = None

        def watch(text, resize):
            nonlocal drawn
            if drawn is None and clocks_in(text):
                drawn = len(clocks_in(text))
                resize(40)
            elif drawn is not None and len(clocks_in(text)) > drawn + 3:
                (self.scratch / "go").touch()

        screens, _ = self.in_terminal("build", self.waiting_recipe(), "--output", "dist", width=100, watch=watch)
        for screen in screens:
            self.check_lines(screen, 100)
            unfinished = [line for line in screen.text() if re.search(r"\d s$", line) and "done in" not in line
                          and "artifact" not in line and "findings" not in line]
            self.assertEqual(unfinished, [])

    def test_control_characters_of_a_script_move_no_cursor(self):
        recipe = self.recipe(r"printf 'one\rtwo\033[2Jthree\n'; sleep 1"
                             "\nmkdir -p $PREFIX/share\necho hello > $PREFIX/share/hello")
        screens, text = self.in_terminal("build", recipe, "--output", "dist")
        self.assertNotIn("\x1b[2J", text)
        for screen in screens:
            self.check_lines(screen, 60)

    def test_a_second_run_is_one_line_and_the_result(self):
        recipe = self.recipe("mkdir -p $PREFIX/share\necho hello > $PREFIX/share/hello")
        self.in_terminal("build", recipe, "--output", "dist")
        screens, _ = self.in_terminal("build", recipe, "--output", "dist")
        lines = [line for line in screens[0].text() if not line.startswith("/")]
        self.assertRegex(lines[0], r"^ +\d stages: ")
        self.assertRegex(" ".join(line.strip() for line in lines[1:]), r"everything was already there")
        self.assertLessEqual(len(lines), 3, lines)


if __name__ == "__main__":
    harness.main()
