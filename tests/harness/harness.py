"""What the end-to-end tests share: the program under test, scratch folders, environments to install into.

Every test program is called with --ptpkg FILE and uses unittest. PTPKG_PEERS names the virtual environment
with the peers. What is missing skips a test and is named: in the last lines, and by exit code 77 when nothing else
was left. With CI=true it fails instead where scripts/bootstrap --check would have installed it.
"""

import argparse
import base64
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing
import unittest

from repository import FIXTURES, MODULES, REPOSITORY  # noqa: F401  for the tests

NOTHING_SELECTED, ALL_SKIPPED = 5, 77
HANGS_AFTER_S = 300  # ends a test that would hang; a busy machine needs far less
EXHAUSTIVE = os.environ.get("PTPKG_EXHAUSTIVE") == "1"  # all cases of a test, not a sample: the ctest of its name with _all


class Settings:
    ptpkg: pathlib.Path


class Result(unittest.TextTestResult):
    """Counts what passed too: of a test whose subtests are skipped in part, the others count."""

    passed = 0

    def addSuccess(self, test) -> None:
        super().addSuccess(test)
        self.passed += 1

    def addSubTest(self, test, subtest, err) -> None:
        super().addSubTest(test, subtest, err)
        self.passed += err is None


class Runner(unittest.TextTestRunner):
    resultclass = Result


def exit_code(result: Result) -> int:
    if not result.wasSuccessful():
        return 1
    if result.passed:
        return 0
    return ALL_SKIPPED if result.skipped else NOTHING_SELECTED


def main() -> None:
    """Runs the tests of the calling program, and exits: 0 passed, 1 failed, 5 no such test, 77 all were skipped."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True)
    known, rest = parser.parse_known_args()
    Settings.ptpkg = known.ptpkg.resolve()
    result = unittest.main(module="__main__", argv=[sys.argv[0], *rest], testRunner=Runner, verbosity=2, exit=False).result
    for test, reason in result.skipped:
        print(f"skipped: {test.id().removeprefix('__main__.')}: {' '.join(reason.split())}", file=sys.stderr)
    sys.exit(exit_code(result))


def missing(what: str) -> typing.NoReturn:
    """For what scripts/bootstrap --check installs: skips the test; with CI=true, fails it. What the nature of the machine
    decides (namespaces, control groups, root, sources named by a variable) is a plain skip."""
    message = f"{what} is missing: scripts/bootstrap --check installs it"
    if os.environ.get("CI") == "true":
        raise AssertionError(message)
    raise unittest.SkipTest(message)


def peers_python() -> pathlib.Path:
    """The interpreter of the peers' environment."""
    folder = os.environ.get("PTPKG_PEERS", "")
    python = pathlib.Path(folder) / "bin/python"
    if not folder or not python.exists():
        missing(f"the peers' environment, '{folder}' of PTPKG_PEERS,")
    return python


def record_of(files: dict[str, str]) -> str:
    """The RECORD of a wheel with these files, text by name."""
    folder = next(name.split("/")[0] for name in files if name.split("/")[0].endswith(".dist-info"))
    rows = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        rows.append(f"{name},sha256={digest},{len(text.encode())}\n")
    return "".join([*rows, f"{folder}/RECORD,,\n"])


def tool(name: str) -> str:
    """A program of scripts/packages.txt."""
    found = shutil.which(name)
    if found is None:
        missing(f"'{name}'")
    return found


def peer_program(name: str) -> pathlib.Path:
    program = peers_python().parent / name
    if not program.exists():
        missing(f"peer '{name}'")
    return program


def real_input() -> pathlib.Path:
    """Where wheels of the Python index are kept, in the user's cache."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ptpkg/real-input"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def sha256(path: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def artifacts(output: pathlib.Path) -> dict[str, str]:
    """Digest of every package, wheel and zip below an output folder, by relative path."""
    found = {}
    for path in sorted(output.rglob("*")):
        if path.name.endswith((".conda", ".tar.bz2", ".whl", ".zip")):
            found[str(path.relative_to(output))] = sha256(path)
    return found


def leftovers(*folders: pathlib.Path) -> list[str]:
    """Temporary files and work folders that nobody removed."""
    marks = (".ptpkg-tmp", ".ptpkg-pack", "attempt-", "tree-")
    found = []
    for folder in folders:
        for path in folder.rglob("*"):
            inside_result = "results" in path.parts and "tree" in path.parts
            if not inside_result and any(mark in path.name for mark in marks):
                found.append(str(path))
    return found


def descendants(pid):
    """All processes below `pid`, by /proc."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat[stat.rindex(")") + 2:].split()[1])
    found = [pid]
    for one in found:
        found.extend(child for child, parent in parents.items() if parent == one)
    return found[1:]


def signal_each(pids, number):
    """Sends the signal to those that still exist: one that goes on can end the others."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def kill_all(process):
    """The process and all below it, at once, as in a power cut."""
    signal_each([process.pid, *descendants(process.pid)], signal.SIGKILL)


class Case(unittest.TestCase):
    """A test with a scratch folder, a cache of its own, and the program."""

    maxDiff = None

    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-e2e-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.cache = self.scratch / "cache"

    def environment(self, **extra: str) -> dict[str, str]:
        keep = ("PATH", "HOME", "LANG", "TMPDIR", "PTPKG_PYTHON", "PTPKG_CUDA_HOME", "CUDA_HOME")
        env = {name: os.environ[name] for name in keep if name in os.environ}
        env.update(CI="true", PTPKG_CACHE_DIR=str(self.cache))
        env.update(extra)
        return env

    def ptpkg(self, *args, exit_code: int = 0, cwd=None, **extra: str) -> subprocess.CompletedProcess:
        """Runs the program and asserts its exit code; the output is in the failure message."""
        done = subprocess.run([Settings.ptpkg, *map(str, args)], cwd=cwd or self.scratch, text=True,
                              env=self.environment(**extra), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, exit_code,
                         f"\n$ ptpkg {' '.join(map(str, args))}\n{done.stdout}\n{done.stderr}")
        return done

    def ptpkg_json(self, *args, **extra):
        return json.loads(self.ptpkg(*args, "--json", **extra).stdout)

    def wait_for(self, condition, *details) -> None:
        """Until the condition holds. `details`: called for the message of a failure."""
        end = time.monotonic() + HANGS_AFTER_S
        while not condition():
            self.assertLess(time.monotonic(), end, [one() for one in details])
            time.sleep(0.02)

    def stage_states(self, summary: dict) -> dict[tuple[str, str], bool]:
        """(stage, subject) → whether it ran."""
        return {(stage["stage"], stage["subject"]): stage["ran"] for stage in summary["stages"]}

    def run_clean(self, *args, **kwargs) -> str:
        """Runs a command with nothing of this process's environment that could help a library to be found."""
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.scratch), "LANG": "C.UTF-8"}
        done = subprocess.run([*map(str, args)], env=env, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **kwargs)
        self.assertEqual(done.returncode, 0, f"\n$ {' '.join(map(str, args))}\n{done.stdout}")
        return done.stdout
