#!/usr/bin/env python3
"""`ptpkg check --target` says of right and wrong wheels what uv, pip and installer do with them.

usage: wheel_targets.py --ptpkg PROGRAM [--record]
       wheel_targets.py --rules

The wheels are those of wheel_cases.py; wheel_verdicts.txt has a line for each, with a word for pypi, uv, pip and installer:
  ok        the consumer takes it, and ptpkg finds no error
  no        the consumer refuses it, and ptpkg finds an error
  strict    the consumer takes it, and ptpkg finds an error: readers part, or it is told on purpose
  lax       the consumer refuses it, and ptpkg does not see why
  no|strict one or the other, by the zipfile of the Python that runs pip and installer
uv and pip are asked twice, for the file and over HTTP on the loopback, uv for its address and pip for the project of an index: they
take what they take both times. What comes over HTTP uv unpacks as it comes, and looks at the central directory last. pip and installer
run in forks of a process that has imported them.
PyPI's own check cannot be installed: the words of its column come from warehouse's sources, run by hand, and only ptpkg's
half of them is compared. --record prints the table as it is now, with that half for pypi; --rules the rules of wheel_cases.py,
their cases, and who refuses one of them.

Exit: 0 as in the table, 1 not, 77 a peer is missing (its name is printed).
"""
import argparse
import fnmatch
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

from peers import SKIPPED, is_skipped, served
from wheel_cases import CASES, RULES

TARGETS = ("pypi", "uv", "pip", "installer")
WORDS = {(True, True): "ok", (False, False): "no", (True, False): "strict", (False, True): "lax"}
TABLE = Path(__file__).with_name("wheel_verdicts.txt")


def takes(command, environment):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env=environment, check=False)
    return done.returncode == 0


# pip imports these when it needs them: once in each process instead of in each of its forks.
LATE_IMPORTS = ("cli.main_parser", "commands.install", "metadata.importlib", "network.session", "operations.install.wheel",
                "resolution.resolvelib.resolver")


def prepare(environment):
    os.environ.update(environment)
    for name in LATE_IMPORTS:
        importlib.import_module(f"pip._internal.{name}")


def takes_here(main, *arguments):
    """As takes(), of a Python program that is called in a fork of this process."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            code = main([str(word) for word in arguments])
        except SystemExit as end:
            code = end.code
        finally:
            os._exit(1 if code else 0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


class Asker:
    """Asks all consumers about one wheel; runs in a process with a single thread."""

    def __init__(self, scratch, root, environment):
        self.python, self.root, self.environment = scratch / "venv/bin/python", root, environment

    def __call__(self, wheel):
        folder = Path(wheel).parent
        return {"uv": self.uv_takes(folder, wheel), "pip": self.pip_takes(folder, wheel), "installer": self.installer_takes(folder, wheel)}

    def uv_takes(self, folder, wheel):
        # With a cache, or uv asks the interpreter each time. No address of a wheel is asked twice, so its own answers are not cached.
        uv = [Path(sys.prefix) / "bin/uv", "pip", "install", "--python", self.python, "--no-index", "--no-deps", "--target"]
        address = f"{self.root}/{folder.name}/{urllib.parse.quote(Path(wheel).name)}"
        return (takes([*uv, folder / "uv", wheel], self.environment)
                and takes([*uv, folder / "uv-http", address], self.environment))

    def pip_takes(self, folder, wheel):
        """The file, and the project of the index."""
        from pip._internal.cli.main import main
        command = ["install", "-q", "--no-deps", "--no-compile", "--no-cache-dir", "--root-user-action=ignore", "--target"]
        return (takes_here(main, *command, folder / "pip", "--no-index", wheel)
                and takes_here(main, *command, folder / "pip-index", "--index-url", f"{self.root}/{folder.name}/simple/", "toy"))

    def installer_takes(self, folder, wheel):
        from installer.__main__ import _main
        return takes_here(lambda arguments: _main(arguments, "python -m installer"), "--validate-record", "all", "--no-compile-bytecode",
                          "--destdir", folder / "installer", "--prefix", "/p", wheel)


def checked(program, target, wheels, environment):
    """Case → ptpkg finds no error. That the cases differ from each other, as wheels of one version, does not count."""
    done = subprocess.run([program, "check", "--json", "--target", target, *wheels], stdout=subprocess.PIPE, text=True,
                          env=environment, check=False)
    return {wheels[item["subject"]]: not any(finding["severity"] == "error" and "-matrix-" not in finding["id"]
                                             for finding in item["findings"]) for item in json.loads(done.stdout)}


def measured(program, scratch):
    """Case → target → (the consumer takes it or None, ptpkg finds no error)."""
    environment = {**os.environ, "UV_CACHE_DIR": str(scratch / "uv-cache"), "PIP_DISABLE_PIP_VERSION_CHECK": "1",
                   "PTPKG_CACHE_DIR": str(scratch / "cache"), "NO_PROXY": "127.0.0.1"}
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", scratch / "venv"], check=True)
    wheels = {}
    for number, (name, (data, file)) in enumerate(CASES.items()):
        folder = scratch / str(number)
        folder.mkdir()
        (folder / file).write_bytes(data)
        wheels[str(folder / file)] = name

    ours = {target: checked(program, target, wheels, environment) for target in TARGETS}
    prepare({})  # a module that pip no longer has ends the test here, not each worker of the pool
    with served(scratch) as root, multiprocessing.get_context("fork").Pool(
            os.cpu_count(), prepare, (environment,)) as pool:
        theirs = dict(zip(wheels.values(), pool.map(Asker(scratch, root, environment), wheels, chunksize=4)))
    return {name: {target: (theirs[name].get(target), ours[target][name]) for target in TARGETS} for name in CASES}


def words_of(answers, listed):
    """The line's words; pypi's own half is the listed one's, or what ptpkg says."""
    words = []
    for target, (taken, clean) in answers.items():
        if taken is None:
            word = listed.get(target)
            taken = clean if word is None else word in ("ok", "strict")
        words.append(WORDS[taken, clean])
    return [allowed if word in allowed.split("|") else word
            for word, allowed in zip(words, listed.values() or words)]


def rules():
    """Rule → its cases."""
    return {rule: [name for name in CASES if any(fnmatch.fnmatchcase(name, glob) for glob in globs.split())]
            for rule, globs in (line.split(" | ") for line in RULES.strip().splitlines())}


def rule_problems():
    named = [name for names in rules().values() for name in names]
    return ([f"no case: {rule}" for rule, names in rules().items() if not names]
            + [f"{name}: under {named.count(name)} rules" for name in CASES if named.count(name) != 1])


def print_rules(table):
    for rule, names in rules().items():
        who = [target for target in TARGETS if any(table[name][target].split("|")[0] in ("no", "lax") for name in names)]
        print(f"{rule}: refused by {', '.join(who) or 'nobody'} ({', '.join(names)})")


def read_table():
    """Case → target → word."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()[1:] if TABLE.exists() else []
    return {line.split()[0]: dict(zip(TARGETS, line.split()[1:])) for line in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument("--ptpkg", metavar="PROGRAM")
    asked.add_argument("--rules", action="store_true", help="print the rules")
    parser.add_argument("--record", action="store_true", help="print the table")
    arguments = parser.parse_args()
    table = read_table()
    if arguments.rules:
        print_rules(table)
        return 0
    if is_skipped(("pip", "installer"), ["uv"]):
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="wheel-targets-") as scratch:
        answers = measured(str(Path(arguments.ptpkg).resolve()), Path(scratch))
    now = {name: words_of(answers[name], table.get(name, {})) for name in CASES}
    if arguments.record:
        print(f"{'# case':32} {' '.join(TARGETS)}")
        for name, words in now.items():
            print(f"{name:32} {' '.join(words)}")
        return 0
    wrong = [f"{name}: {' '.join(words)}, and the table has {' '.join(table.get(name, {}).values()) or 'none'}"
             for name, words in now.items() if words != list(table.get(name, {}).values())]
    wrong += rule_problems()
    wrong += [f"{name}: is in the table and is no case" for name in table if name not in CASES]
    print("\n".join(wrong) or f"{len(now)} wheels: as in the table")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
