"""Judges of files for CI services: the services' schemas, zizmor and yamllint, peers that need no network."""

import pathlib
import subprocess

import harness

SCHEMAS = {"github": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci"}


def judge(name: str, service: str, *paths: pathlib.Path) -> subprocess.CompletedProcess:
    """`name`: schema, zizmor or yamllint. Exit code 0 if it finds nothing in any of the files."""
    # Pedantic: asks for all that a reviewer might ask for.
    command = {"schema": ["check-jsonschema", "--builtin-schema", SCHEMAS[service]],
               "yamllint": ["yamllint", "--strict", "-d", "{extends: default, rules: {line-length: disable}}"],
               "zizmor": ["zizmor", "--offline", "--no-progress", "--persona", "pedantic"]}[name]
    return subprocess.run([harness.peer_program(command[0]), *command[1:], *paths], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)
