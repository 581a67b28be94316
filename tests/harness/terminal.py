"""A program in a pseudo terminal, and what its user sees of it. Standard library only."""

import dataclasses
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata

ESCAPE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


def columns_of(text: str) -> int:
    """Columns of plain text."""
    width = 0
    for char in text:
        if unicodedata.combining(char):
            continue
        width += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return width


class Screen:
    """The lines of a terminal as its user sees them after some output, of any length.

    `reflow`: a window made narrower breaks lines anew, as most terminals do; else it cuts them, as xterm does.
    A line of the program is one item of `lines`, however many rows it takes; `wrapped` counts those of more than one.
    """

    def __init__(self, width: int, reflow: bool):
        self.width, self.reflow = width, reflow
        self.lines, self.row, self.column = [""], 0, 0
        self.wrapped = 0

    def feed(self, text: str) -> None:
        position = 0
        while position < len(text):
            match = ESCAPE.match(text, position)
            if match:
                self._escape(*match.groups())
                position = match.end()
                continue
            self._char(text[position])
            position += 1

    def _char(self, char: str) -> None:
        line = self.lines[self.row]
        if char == "\r":
            # The start of the row, which for a broken line is not that of the line.
            self.column -= self.column % self.width if self.column < len(line) or self.column % self.width else self.width
            self.column = max(self.column, 0)
        elif char == "\n":
            self.row += 1
            self.column = 0
            if self.row == len(self.lines):
                self.lines.append("")
        else:
            line = line.ljust(self.column)
            self.lines[self.row] = line[:self.column] + char + line[self.column + 1:]
            self.column += 1
            if self.column == self.width + 1:
                self.wrapped += 1

    def _escape(self, parameters: str, final: str) -> None:
        line = self.lines[self.row]
        if final == "J" and parameters in ("", "0"):
            self.lines[self.row] = line[:self.column]
            del self.lines[self.row + 1:]
        elif final == "K" and parameters in ("", "0"):
            end = self.column - self.column % self.width + self.width
            rest = line[end:]
            self.lines[self.row] = (line[:self.column].ljust(end) + rest if rest else line[:self.column])
        elif final != "m":
            raise AssertionError(f"the screen does not know ESC[{parameters}{final}")

    def resize(self, width: int) -> None:
        self.width = width
        if not self.reflow:
            self.lines = [line[:width] for line in self.lines]
            self.column = min(self.column, width)

    def text(self) -> list[str]:
        return [line.rstrip() for line in self.lines if line.strip()]


@dataclasses.dataclass
class Transcript:
    exit_code: int
    text: str


def set_size(descriptor: int, columns: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def run(argv, screens, *, env, cwd=None, watch=lambda text, resize: None, timeout_s: float = 300) -> Transcript:
    """Runs a program whose stdout and stderr are a terminal as wide as the screens, and feeds them.

    watch: called after each output with all text so far and a function that makes the window so many columns wide.
    """
    master, slave = pty.openpty()
    set_size(slave, screens[0].width)
    # Plain output: "\n" arrives as "\r\n", which the screens take as well.
    process = subprocess.Popen([str(word) for word in argv], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                               stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    start, written = time.monotonic(), ""
    pending = b""

    def resize(columns: int) -> None:
        set_size(master, columns)
        process.send_signal(signal.SIGWINCH)
        for screen in screens:
            screen.resize(columns)

    try:
        while True:
            if time.monotonic() - start > timeout_s:
                raise AssertionError(f"{argv[0]} runs for more than {timeout_s} s")
            if not select.select([master], [], [], 0.05)[0]:
                continue
            try:
                data = os.read(master, 65536)
            except OSError:  # EIO: the last writer is gone
                break
            if not data:
                break
            pending += data
            text = pending.decode("utf-8", errors="ignore") if data[-1] < 0x80 else ""
            if not text:
                continue
            pending = b""
            written += text
            for screen in screens:
                screen.feed(text)
            watch(written, resize)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        process.wait()
        os.close(master)
    return Transcript(process.returncode, written)
