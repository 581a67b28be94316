"""The pages "Package your own …": every file and command on them, in the order of the page, in an empty folder.

On a page, "File `name`:" stands before the block with that file's text. Commands are in sh blocks; a text block right
after one shows lines that the commands print, in that order, with "…" for what may differ.
"""

import re
import subprocess

import harness

BLOCK = re.compile(r"(?:^File `(?P<file>[^`]+)`:\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```\n", re.MULTILINE | re.DOTALL)


def pattern_of(line: str) -> re.Pattern:
    return re.compile(".*".join(re.escape(part) for part in line.split("…")))


class Tutorial(harness.Case):
    def follow(self, page: str) -> list[str]:
        """Does what the page says; returns the commands."""
        text = (harness.REPOSITORY / "docs" / page).read_text(encoding="utf-8")
        commands, printed = [], ""
        for block in BLOCK.finditer(text):
            if block["file"]:
                path = self.scratch / "work" / block["file"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block["text"], encoding="utf-8")
                printed = ""
            elif block["kind"] == "sh":
                commands.append(block["text"])
                printed = self.run_shell(block["text"])
            elif block["kind"] == "text":
                self.assertTrue(printed, f"{page}: output without a command: {block['text']}")
                self.compare(block["text"], printed)
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

    def test_python(self):
        self.assertEqual(len(self.follow("tutorial-python.md")), 5)

    def test_cpp(self):
        self.assertEqual(len(self.follow("tutorial-cpp.md")), 3)

    def test_a_page_that_shows_what_is_not_printed_fails(self):
        self.compare("a…z\nlast\n", "first\na to z\nbetween\nlast\n")
        with self.assertRaises(AssertionError):
            self.compare("last\nfirst\n", "first\nlast\n")


if __name__ == "__main__":
    harness.main()
