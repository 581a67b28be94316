#!/usr/bin/env python3
"""Compiles a snippet as the build does, plus -DMUST_NOT_COMPILE, and wants the compiler to refuse it.

The refusal has to contain the text of the snippet's `// expected: …` line. --self-test compiles without
the define and wants that to be reported as a failure of the test.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path


def command_for(build, snippet):
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if Path(entry["file"]) == snippet:
            words = shlex.split(entry["command"])
            output = words.index("-o")
            del words[output:output + 2]
            return entry["directory"], [w for w in words if not w.endswith("ccache")] + ["-fsyntax-only", "-Werror"]
    raise SystemExit(f"error: '{snippet}' is not part of the build '{build}'")


def refusal(build, snippet, defines):
    """'' when the compiler refused the snippet with the expected words, else what went wrong."""
    expected = re.search(r"^// expected: (.+)$", snippet.read_text(encoding="utf-8"), re.MULTILINE)
    if not expected:
        return "the snippet has no '// expected:' line"
    directory, command = command_for(build, snippet)
    result = subprocess.run([*command, *defines], cwd=directory, capture_output=True, text=True, check=False,
                            env={**os.environ, "LC_ALL": "C"})
    if result.returncode == 0:
        return "it compiles"
    if expected.group(1) not in result.stderr:
        return f"refused, but not with '{expected.group(1)}':\n{result.stderr}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("snippet", type=Path)
    arguments = parser.parse_args()
    snippet = arguments.snippet.resolve()
    if arguments.self_test:
        wrong = refusal(arguments.build, snippet, [])
        print(f"without the offence: {wrong or 'refused'}")
        return 0 if wrong == "it compiles" else 1
    wrong = refusal(arguments.build, snippet, ["-DMUST_NOT_COMPILE"])
    print(f"{snippet.name}: {wrong or 'refused as expected'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
