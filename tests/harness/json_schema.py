"""The schemas of docs/json, and what they have against documents that ptpkg printed."""

import atexit
import functools
import json
import subprocess

import harness

SCHEMAS = harness.REPOSITORY / "docs/json"


@functools.cache
def judge() -> subprocess.Popen:
    """The process of validate_json.py, one for all tests of a program."""
    process = subprocess.Popen([harness.peers_python(), harness.MODULES / "validate_json.py", SCHEMAS], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    atexit.register(process.communicate)
    return process


def complaints(case: harness.Case, documents: list, name: str) -> str:
    """What the schema of that name has against each document, a line each."""
    process = judge()
    process.stdin.write(json.dumps([name, documents]) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    case.assertTrue(answer, "validate_json.py ended; what it printed is above")
    return "\n".join(json.loads(answer))
