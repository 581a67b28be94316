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
take what they take both times. What comes over HTTP uv unpacks as it comes, and looks at the central directory last.
PyPI's own check cannot be installed: the words of its column come from warehouse's sources, run by hand, and only ptpkg's
half of them is compared. --record prints the table as it is now, with that half for pypi; --rules the rules of wheel_cases.py,
their cases, and who refuses one of them.

Exit: 0 as in the table, 1 not, 77 a peer is missing (its name is printed).
"""
import argparse
import concurrent.futures
import fnmatch
import functools
import json
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


def pip_takes(folder, wheel, root, environment):
    """The file, and the project of the index."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", "--no-cache-dir",
               "--root-user-action=ignore", "--target"]
    return (takes([*command, folder / "pip", "--no-index", wheel], environment)
            and takes([*command, folder / "pip-index", "--index-url", f"{root}/{folder.name}/simple/", "toy"], environment))


def consumers(folder, wheel, root, python, environment):
    """Who takes the wheel; `root` serves the folder above."""
    uv = [Path(sys.prefix) / "bin/uv", "pip", "install", "--python", python, "--no-index", "--no-deps", "--no-cache",
          "--target"]
    address = f"{root}/{folder.name}/{urllib.parse.quote(Path(wheel).name)}"
    return {
        "uv": (takes([*uv, folder / "uv", wheel], environment)
               and takes([*uv, folder / "uv-http", address], environment)),
        "pip": pip_takes(folder, wheel, root, environment),
        "installer": takes([sys.executable, "-m", "installer", "--validate-record", "all", "--no-compile-bytecode",
                            "--destdir", folder / "installer", "--prefix", "/p", wheel], environment)}


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

    def ask(path, root):
        return wheels[path], consumers(Path(path).parent, path, root, scratch / "venv/bin/python", environment)

    ours = {target: checked(program, target, wheels, environment) for target in TARGETS}
    with served(scratch) as root, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        theirs = dict(pool.map(functools.partial(ask, root=root), wheels))
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
