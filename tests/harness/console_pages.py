"""Pages whose console blocks are run: lines that begin with "$ " are commands of one shell, and what follows is what they print. Times,
sizes and shares may differ, "…" stands for what may differ in a line, and a line "…" for any lines."""

import re

CONSOLE = re.compile(r"^```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
MEASURED = re.compile(r"\d+(?:\.\d+)? (?:s|min|B|kB|MB)\b|\d+%|\d+(?= bytes)")


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


def assert_shown(shown: str, printed: str) -> None:
    """The lines shown were printed, in that order."""
    rest = printed.splitlines()
    for line in shown.splitlines():
        pattern = pattern_of(line)
        while rest and not pattern.fullmatch(rest[0]):
            rest.pop(0)
        if not rest:
            raise AssertionError(f"the page shows\n  {line}\nbut this was printed:\n{printed}")
