"""The schemas of docs/json, and what they have against documents that ptpkg printed."""

import atexit
import functools
import json
import subprocess
import tempfile

import harness

SCHEMAS = harness.REPOSITORY / "docs/json"


@functools.cache
def judge() -> tuple[subprocess.Popen, tempfile.TemporaryFile]:
    """The process of validate_json.py, one for all tests of a program, and its stderr."""
    stderr = tempfile.TemporaryFile("w+")
    process = subprocess.Popen([harness.peers_python(), harness.MODULES / "validate_json.py", SCHEMAS], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
    atexit.register(process.communicate)
    return process, stderr


def complaints(case: harness.Case, documents: list, name: str) -> str:
    """What the schema of that name has against each document, a line each."""
    process, stderr = judge()
    process.stdin.write(json.dumps([name, documents]) + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    stderr.seek(0)
    case.assertEqual(stderr.read(), "")
    case.assertTrue(answer, "validate_json.py ended")
    return "\n".join(json.loads(answer))
