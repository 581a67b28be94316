#!/usr/bin/env python3
"""scripts/bootstrap on machines that lack something: each ends with one error and the command that mends it.

The machines are made of a PATH: the real tools, without some, and with small programs in the place of
dpkg, apt and the rest. Nothing is installed, and the cache is a temporary folder.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from repository import REPOSITORY

TOOLS = """awk basename bash cat cmake comm dirname env flock g++ gcc grep head id mkdir mktemp ninja paste printf
python3 rm sed sha256sum sort tail touch wc as ld""".split()
NOTHING_INSTALLED = "exit 1"
ALL_INSTALLED = 'for p in "$@"; do case $p in -*|*{*) ;; *) echo "ii $p" ;; esac; done'


class Machine:
    def __init__(self, folder, stubs, without=()):
        self.bin = Path(folder, "bin")
        self.bin.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            if found and tool not in without and tool not in stubs:
                # A link by name would lose a wrapper's own place (pyenv, ccache).
                self.stub(tool, f'exec {found} "$@"')
        for name, text in stubs.items():
            self.stub(name, text)
        self.environment = {"PATH": str(self.bin), "HOME": folder, "XDG_CACHE_HOME": str(Path(folder, "cache")),
                            "LC_ALL": "C", "PIP_RETRIES": "0", "PIP_TIMEOUT": "3", "PIP_CONFIG_FILE": os.devnull}

    def stub(self, name, text):
        path = self.bin / name
        path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def run(self, *command, **environment):
        return subprocess.run(command, env={**self.environment, **environment}, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)


class Bootstrap(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def fails_with(self, machine, *texts, command=(REPOSITORY / "scripts/bootstrap",), **environment):
        result = machine.run(*map(str, command), **environment)
        self.assertEqual(result.returncode, 1, result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)
        self.assertEqual(result.stderr.count("error: "), 1, result.stderr)
        self.assertEqual(result.stderr.count("hint: "), 1, result.stderr)
        return result

    def test_neither_root_nor_sudo(self):
        machine = Machine(self.folder, {"dpkg-query": NOTHING_INSTALLED, "id": "echo 1000"})
        self.fails_with(machine, "neither root nor has sudo", "libarchive-dev",
                        "hint: as root: apt-get install --no-install-recommends")

    def test_sudo_wants_a_password(self):
        machine = Machine(self.folder, {"dpkg-query": NOTHING_INSTALLED, "id": "echo 1000", "sudo": "exit 1"})
        self.fails_with(machine, "sudo wants a password", "hint: as root: apt-get install")

    def test_registry_unreachable(self):
        apt = 'case "$*" in *update*) echo "E: Failed to fetch http://example.org/x  Could not resolve"; exit 100;; esac'
        machine = Machine(self.folder, {"dpkg-query": NOTHING_INSTALLED, "id": "echo 0", "apt-get": apt})
        self.fails_with(machine, "the package registry cannot be reached", "Could not resolve", "then: scripts/bootstrap")

    def test_package_unknown(self):
        apt = 'case "$*" in *install*) echo "E: Unable to locate package libzip-dev"; exit 100;; esac'
        machine = Machine(self.folder, {"dpkg-query": NOTHING_INSTALLED, "id": "echo 0", "apt-get": apt})
        self.fails_with(machine, "has no 'libzip-dev'", "hint: add Debian 12's 'main'")

    def test_installation_fails(self):
        apt = 'case "$*" in *install*) echo "E: Sub-process dpkg returned an error code"; exit 100;; esac'
        machine = Machine(self.folder, {"dpkg-query": NOTHING_INSTALLED, "id": "echo 0", "apt-get": apt})
        self.fails_with(machine, "could not install the missing packages", "hint: apt-get install")

    def test_installed_but_still_missing(self):
        machine = Machine(self.folder, {"dpkg-query": NOTHING_INSTALLED, "id": "echo 0", "apt-get": "exit 0"})
        self.fails_with(machine, "these are still missing")

    def sudo_calls(self, policy_exists):
        """The commands for root, apart from `apt-get update`, of a run in which apt-get fails."""
        log = Path(self.folder, "calls")
        sudo = f"""[ "$1" = -n ] && exit 0; [ "$1" = test ] && exit {0 if policy_exists else 1}
            echo "$@" >>{log}; case "$*" in *" update"*) exit 0;; *apt-get*) echo "E: Sub-process dpkg"; exit 100;; esac"""
        machine = Machine(self.folder, {"dpkg-query": NOTHING_INSTALLED, "id": "echo 1000", "sudo": sudo})
        self.fails_with(machine, "could not install the missing packages")
        return [line.split() for line in log.read_text().splitlines() if not line.endswith(" update")]

    def test_packages_start_no_server(self):
        install, apt, remove = self.sudo_calls(policy_exists=False)
        self.assertEqual((install[0], install[-1]), ("install", "/usr/sbin/policy-rc.d"))
        self.assertIn("apt-get", apt)
        self.assertEqual(remove, ["rm", "-f", "/usr/sbin/policy-rc.d"])

    def test_the_policy_of_the_machine_stays(self):
        apt, = self.sudo_calls(policy_exists=True)
        self.assertIn("apt-get", apt)

    def test_not_debian(self):
        self.fails_with(Machine(self.folder, {}), "this is not a Debian system", "hint: use Debian 12")

    def test_compiler_missing(self):
        machine = Machine(self.folder, {"dpkg-query": ALL_INSTALLED}, without=("g++",))
        self.fails_with(machine, "the compiler 'g++' is missing", "hint: apt-get install --reinstall g++")

    def test_compiler_old(self):
        machine = Machine(self.folder, {"dpkg-query": ALL_INSTALLED,
                                        "g++": "case $1 in -dumpfullversion) echo 10.2.1;; esac"})
        self.fails_with(machine, "g++ is 10.2.1, 12 or later is needed")

    def test_cmake_old(self):
        machine = Machine(self.folder, {"dpkg-query": ALL_INSTALLED, "cmake": "echo cmake version 3.18.4"})
        self.fails_with(machine, "cmake is '3.18.4', 3.25 or later is needed")

    def test_ninja_missing(self):
        machine = Machine(self.folder, {"dpkg-query": ALL_INSTALLED}, without=("ninja",))
        self.fails_with(machine, "'ninja' is missing")

    def test_package_index_unreachable(self):
        machine = Machine(self.folder, {"dpkg-query": ALL_INSTALLED})
        self.fails_with(machine, "the Python package index cannot be reached", "pip config list",
                        PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_NO_CACHE_DIR="1")
        self.assertFalse(list(Path(self.folder, "cache/ptpkg/envs").glob("*/bin")), "a half-made environment stays")

    def test_lief_has_another_digest(self):
        machine = Machine(self.folder, {})
        other = Path(self.folder, "lief-0.12.3.zip")
        other.write_bytes(b"something else")
        self.fails_with(machine, "has sha256", "expected 62e81d2f", command=(REPOSITORY / "scripts/build_lief", "--archive", other))
        self.assertFalse(list(Path(self.folder, "cache/ptpkg/deps").glob("lief-*")), "something was published")

    def test_lief_index_unreachable(self):
        self.fails_with(Machine(self.folder, {}), "does not offer 'lief-0.12.3.zip', or cannot be reached",
                        command=(sys.executable, REPOSITORY / "scripts/build_lief"), PIP_INDEX_URL="http://127.0.0.1:9/simple")

    def test_unknown_option(self):
        self.fails_with(Machine(self.folder, {}), "unknown option '--all'", command=(REPOSITORY / "scripts/bootstrap", "--all"))


if __name__ == "__main__":
    unittest.main()
