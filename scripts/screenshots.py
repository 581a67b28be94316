"""Draws the terminal pictures of docs/images: runs ptpkg in a pseudo-terminal and writes its screen as SVG.

A picture is the screen of a terminal emulator (pyte), so it shows progress the way a user sees it. rich writes the SVG with
its text as text: readers can search it, and --check can compare it. Digits vary between machines and don't count there.
scripts/screenshots runs this with the tools of scripts/requirements-docs.txt.
"""
import argparse
import fcntl
import html
import itertools
import os
import pty
import re
import select
import shutil
import struct
import sys
import tempfile
import termios
import textwrap
import time
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, LINES = 110, 60
# rich's own frame asks a server for its font.
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">
{matrix}
</g></g>
</svg>
"""
MISTAKES = """\
context:
  version: 1.4.0
package:
  name: toytorch
  version: ${{ verson }}
build:
  script: make install
requirements:
  hosts:
    - python
"""


class Terminal:
    """One command in a pseudo-terminal of COLUMNS × LINES, seen through a terminal emulator."""

    def __init__(self, arguments, folder):
        self.screen = pyte.Screen(COLUMNS, LINES)
        self.stream = pyte.ByteStream(self.screen)
        self.hidden = f"{folder}/"
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
            os.chdir(folder)
            os.environ.pop("NO_COLOR", None)
            os.environ.pop("CI", None)
            os.execvpe(arguments[0], arguments, {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})

    def read(self, seconds):
        """Feeds the screen for `seconds`, or until the command ends. Returns False at its end."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.descriptor], [], [], left)[0]:
                return True
            try:
                data = os.read(self.descriptor, 65536)
            except OSError:  # the command closed its side
                data = b""
            if not data:
                return False
            self.stream.feed(data)
        return True

    def wait(self):
        """The exit code."""
        while self.read(60):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def lines(self):
        """The screen as styled lines, without empty ones at its end and without the name of a temporary directory."""
        styled = []
        for number in range(LINES):
            cells = [self.screen.buffer[number][column] for column in range(COLUMNS)]
            line = Text()
            for look, run in itertools.groupby(cells, lambda cell: cell._replace(data="")):
                line.append("".join(cell.data for cell in run).replace(self.hidden, ""),
                            Style(color=colour(look.fg), bgcolor=colour(look.bg), bold=look.bold, reverse=look.reverse))
            styled.append(line)
        while styled and not styled[-1].plain.strip():
            styled.pop()
        return styled


def colour(name):
    """pyte's name of a colour as rich spells it."""
    if name == "default":
        return None
    if re.fullmatch("[0-9a-f]{6}", name):
        return "#" + name
    return name.replace("brown", "yellow").replace("bright", "bright_")


def picture(command, lines):
    """An SVG of a terminal that shows the command line and below it `lines`."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        for number, line in enumerate(textwrap.wrap(command, COLUMNS - 4, break_long_words=False, break_on_hyphens=False)):
            console.print(Text.assemble(("$ " if number == 0 else "    ", "bold green"), line), no_wrap=True, crop=False)
        for line in lines:
            line.rstrip()
            console.print(line, no_wrap=True, crop=False)
        svg = console.export_svg(title="ptpkg", theme=SVG_EXPORT_THEME, code_format=FRAME, unique_id="ptpkg")
        return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)


def words(svg):
    """The text of a picture without its digits, digests and blanks."""
    text = html.unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg)))
    return re.sub(r"\b[0-9a-f]{7,}\b|[0-9]+|[\s…]+", " ", text).split()


def run(program, command, folder, expected):
    """The picture of a whole command."""
    terminal = Terminal([str(program), *command.split()[1:]], folder)
    code = terminal.wait()
    if code != expected:
        sys.exit(f"screenshots: '{command}' exited with {code}, not {expected}:\n" + "\n".join(terminal.screen.display))
    return picture(command, terminal.lines())


def running_build(program, folder):
    """The picture of a build at work, eight seconds after its second half began. The build ends in dist/."""
    command = "ptpkg build fixtures/toymagma fixtures/toytorch --output dist"
    terminal = Terminal([str(program), *command.split()[1:], "--cache-dir", str(folder / "cache")], folder)
    while terminal.read(0.2) and not any(re.match(" *build +toytorch", line) for line in terminal.screen.display):
        pass
    end = time.monotonic() + 8
    while time.monotonic() < end and terminal.read(end - time.monotonic()):
        pass
    shown = picture(command, terminal.lines())
    if code := terminal.wait():
        sys.exit(f"screenshots: '{command}' exited with {code}:\n" + "\n".join(terminal.screen.display))
    return shown


def draw(program, folder):
    """All pictures by name. Only `build` varies from run to run in more than digits."""
    for name in ("fixtures/toymagma", "fixtures/toytorch", "patches/toymagma"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "recipe.yaml").write_text(MISTAKES, encoding="utf-8")
    build = running_build(program, folder)
    wheels = {kind: next((folder / "dist/wheels").glob(f"toytorch-*+{kind}-*.whl")).relative_to(folder) for kind in ("cpu", "omp")}
    return {"build": build,
            "inspect": run(program, f"ptpkg inspect {wheels['cpu']}", folder, 0),
            "diff": run(program, f"ptpkg diff --rows 4 {wheels['cpu']} {wheels['omp']}", folder, 1),
            "mistakes": run(program, "ptpkg render recipe.yaml", folder, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--output", type=Path, default=ROOT / "docs/images", help="directory of the pictures [docs/images]")
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/bin/ptpkg", help="ptpkg [build/release/bin/ptpkg]")
    parser.add_argument("--check", action="store_true", help="compare words with the pictures instead of writing them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        drawn = draw(options.program.resolve(), Path(folder))
    stale = []
    for name, svg in drawn.items():
        path = options.output / f"{name}.svg"
        if not options.check:
            options.output.mkdir(parents=True, exist_ok=True)
            path.write_text(svg, encoding="utf-8")
        elif name != "build" and words(path.read_text(encoding="utf-8")) != words(svg):
            stale.append(str(path))
    if stale:
        sys.exit(f"screenshots: {', '.join(stale)}: the program prints other words now; run scripts/screenshots")


if __name__ == "__main__":
    main()
