"""The schemas of docs/json, and what they have against documents that ptpkg printed."""

import json
import subprocess

import harness

SCHEMAS = harness.REPOSITORY / "docs/json"


def complaints(case: harness.Case, documents: list, name: str) -> str:
    """What the schema of that name has against each document, a line each."""
    done = subprocess.run([harness.peers_python(), harness.MODULES / "validate_json.py", SCHEMAS, name],
                          input=json.dumps(documents), text=True, capture_output=True, check=False)
    case.assertIn(done.returncode, (0, 1), done.stderr)
    case.assertEqual(done.stderr, "")
    return done.stdout
