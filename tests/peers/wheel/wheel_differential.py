#!/usr/bin/env python3
"""`ptpkg check` passes no wheel that uv, pip or installer refuses, or of which they install other files.

usage: wheel_differential.py --ptpkg PROGRAM [--count N] [--seed N] [--kind KIND …] [--verbose]

Asks the consumers about N random wheels of each kind of wheel_mutations.py, and ptpkg with each of them as its target and
without. uv is asked for the file and over HTTP, where it streams; pip and installer run in this process and its forks. A
consumer takes a wheel if it installs it and each script that it generates is Python; of the kinds "tags" and
"platform", if some interpreter or system does.

REASONS has a line for each finding that makes an error of a wheel that all consumers take. An error that is not in the list
fails the test, and so does, with --all-reasons, a line without an error.

Exit: 0 all agree, 1 not, 77 a consumer is missing (its name is printed).
"""
import argparse
import collections
import contextlib
import io
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path

from peers import SKIPPED, is_skipped, served
from wheel_interpreters import answers_of_interpreters, answers_of_platforms
from wheel_mutations import KINDS

PEERS = ("uv", "pip", "installer")
LONGEST_SECONDS = 3
REASONS = {
    "artifact-unreadable": "a reader that ptpkg shares with conda packages and zips refuses it: modes that are no file's, a stale Unicode path",
    "wheel-build-mismatch": "uv compares WHEEL with the file name when it looks at what is installed",
    "wheel-data-layout": "pip, uv and installer look for .data folders by different names",
    "wheel-data-scripts": "uv refuses it below the .data folder of its choice",
    "wheel-dist-info": "a folder of another version or none: the index and the specification want one name",
    "wheel-dist-info-name": "the index looks for one name",
    "wheel-entry-points-invalid": "entry points of other groups that importlib.metadata cannot load",
    "wheel-install-collision": "consumers keep different files of the two, or put one of them elsewhere",
    "wheel-metadata-invalid": "readers lose the fields behind the line, or take one of two",
    "wheel-metadata-version": "the index refuses it",
    "wheel-record-digest": "the digest is one that no file has",
    "wheel-record-invalid": "the specification wants three fields",
    "wheel-record-line": "pip and installer end lines where uv does not",
    "wheel-record-missing": "the list names a file that the wheel does not hold: the index refuses it",
    "wheel-record-row": "a row that says nothing of its file",
    "wheel-record-unlisted": "nobody removes the file, and the index refuses the wheel",
    "wheel-requirement-invalid": "a path in the place of a URL is another file in each folder",
    "wheel-requirement-url": "the index refuses it",
    "wheel-requires-python-form": "the index refuses it",
    "wheel-requires-python-invalid": "the index refuses it",
    "wheel-script-interpreter": "it replaces an interpreter",
    "wheel-script-name": "the index refuses it",
    "wheel-script-path": "the name leads elsewhere, on Windows at least, and the index refuses it",
    "wheel-summary": "the index refuses it",
    "wheel-symlink": "installers write a text file in its place",
    "wheel-tag-mismatch": "uv compares WHEEL with the file name when it looks at what is installed",
    "wheel-version-mismatch": "the index refuses it",
    "wheel-wheel-field": "the specification wants the field once, with such a value",
    "wheel-wheel-invalid": "the specification wants numbers joined by dots",
    "wheel-zip": "the index refuses it, or other readers of zips come to other members",
}


def uv_takes(folder, wheel, address, python, environment):
    """The file, and its address; both install the same."""
    command = [Path(sys.prefix) / "bin/uv", "pip", "install", "--quiet", "--offline", "--python", python, "--no-index", "--no-deps"]
    trees = []
    for place, what in (("uv", wheel), ("uv-http", address)):
        line = [word for word in command if place == "uv" or word != "--offline"]
        done = subprocess.run([*line, "--target", folder / place, what], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False)
        trees.append(installed(folder / place) if done.returncode == 0 else None)
    return trees[0] if trees[0] == trees[1] else None


def pip_takes(folder, wheel):
    from pip._internal.cli.main import main
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            code = main(["install", "--quiet", "--no-deps", "--no-compile", "--no-index", "--no-cache-dir", "--root-user-action=ignore",
                         "--disable-pip-version-check", "--target", str(folder / "pip"), str(wheel)])
        except SystemExit as end:
            code = end.code
    return installed(folder / "pip") if code == 0 else None


def installer_takes(folder, wheel):
    import installer
    from installer.destinations import SchemeDictionaryDestination
    from installer.sources import WheelFile
    root = folder / "installer"
    places = {"purelib": root, "platlib": root, "headers": root / f"include/python{sys.version_info[0]}.{sys.version_info[1]}/toy", "scripts": root / "bin", "data": root}
    destination = SchemeDictionaryDestination({key: str(place) for key, place in places.items()}, interpreter=sys.executable, script_kind="posix")
    # A file that is called like the .data folder keeps installer 1.1.0 in a loop.
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_SECONDS)  # of the processor: a busy machine is no refusal
    try:
        with WheelFile.open(wheel) as source:
            source.validate_record(validate_contents=True)
            installer.install(source, destination, {"INSTALLER": b"x"})
    except (Exception, KeyboardInterrupt):  # pylint: disable=broad-exception-caught; whatever stops it is a refusal
        return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return installed(root)


def installed(root):
    """The files below `root` with their content, without those that describe the installation; None for a script that is not Python."""
    files = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_dir() or ".dist-info/" in name or name == ".lock":
            continue
        data = path.read_bytes()
        if name.startswith("bin/") and b"sys.exit(" in data:
            try:
                compile(data, name, "exec")
            except (SyntaxError, ValueError):
                return None
            data = b""
        elif data.startswith(b"#!"):
            data = b""
        files[name] = data
    return files


class Asker:
    """Asks all consumers about one wheel; runs in forks."""

    def __init__(self, scratch, root):
        self.scratch, self.root = scratch, root
        self.environment = {**os.environ, "UV_CACHE_DIR": str(scratch / "uv-cache"), "NO_PROXY": "127.0.0.1"}

    def __call__(self, case):
        kind, wheel = case
        folder = Path(wheel).parent
        if kind == "platform":
            return answers_of_platforms(wheel) | {"installer": installer_takes(folder, wheel)}
        if kind == "tags":
            return answers_of_interpreters(wheel, self.environment) | {"installer": installer_takes(folder, wheel)}
        address = f"{self.root}/{folder.name}/{urllib.parse.quote(Path(wheel).name)}"
        return {"uv": uv_takes(folder, wheel, address, self.scratch / "venv/bin/python", self.environment),
                "pip": pip_takes(folder, wheel), "installer": installer_takes(folder, wheel)}


def errors_of(program, target, wheels, scratch):
    """For each wheel the ids of errors; `target` may be empty."""
    command = [program, "check", "--json", "--quiet", *(["--target", target] if target else []), *wheels]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PTPKG_CACHE_DIR": str(scratch / "cache")}, check=False)
    found = {item["subject"]: {finding["id"] for finding in item["findings"] if finding["severity"] == "error"} for item in json.loads(done.stdout)}
    return [{one for one in found[wheel] if "-matrix-" not in one} for wheel in wheels]


def problems_of(answers, errors, alike):
    """What is wrong about one wheel. `errors`: target → ids, "" for none."""
    problems = [f"{peer} refuses it, check{' --target ' + target if target else ''} passes"
                for peer in PEERS if answers[peer] is None for target in ("", peer) if not errors[target]]
    taken = {peer: answers[peer] for peer in PEERS if answers[peer] is not None}
    if alike and not errors[""] and len({json.dumps(sorted((name, data.hex()) for name, data in tree.items())) for tree in taken.values()}) > 1:
        names = {peer: sorted(tree) for peer, tree in taken.items()}
        problems.append(f"consumers install other files, check passes: {names}")
    if len(taken) == len(PEERS):
        problems += [f"all take it, check says {one}" for one in sorted(errors[""]) if one not in REASONS]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", metavar="PROGRAM", required=True)
    parser.add_argument("--count", type=int, default=6, help="wheels of each kind [6]")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("PTPKG_SEED", "1")), help="[1] [env: PTPKG_SEED]")
    parser.add_argument("--kind", nargs="*", choices=sorted(KINDS), default=sorted(KINDS))
    parser.add_argument("--all-reasons", action="store_true", help="fail for a reason that no wheel needs")
    parser.add_argument("--verbose", action="store_true", help="print each wheel, its errors and who refuses it")
    arguments = parser.parse_args()
    if is_skipped(("pip", "installer"), ["uv"]):
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="wheel-differential-") as folder:
        return compare(arguments, Path(folder))


def compare(arguments, scratch):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", scratch / "venv"], check=True)
    cases, seen = [], set()
    for kind in arguments.kind:
        for number in range(arguments.count):
            about, data, name = KINDS[kind](random.Random(f"{arguments.seed} {kind} {number}"))
            if (data, name) in seen:
                continue
            seen.add((data, name))
            place = scratch / str(len(cases))
            place.mkdir()
            (place / name).write_bytes(data)
            cases.append((kind, number, about, str(place / name)))
    wheels = [case[3] for case in cases]
    with served(scratch) as root, multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        answers = pool.map(Asker(scratch, root), [(case[0], case[3]) for case in cases], chunksize=4)
    program = str(Path(arguments.ptpkg).resolve())
    errors = {target: errors_of(program, target, wheels, scratch) for target in ("", *PEERS)}
    wrong, used = [], collections.Counter()
    for index, (kind, number, about, _) in enumerate(cases):
        mine = {target: errors[target][index] for target in errors}
        if all(answers[index][peer] is not None for peer in PEERS):
            used.update(mine[""])
        if arguments.verbose:
            print(f"{kind} {number}: {about}: refused by {[peer for peer in PEERS if answers[index][peer] is None]}, errors {sorted(mine[''])}")
        wrong += [f"{kind}, number {number}: {about}: {problem}" for problem in problems_of(answers[index], mine, kind not in ("data-file", "data-shared", "tags", "platform"))]
    if arguments.all_reasons:
        wrong += [f"no wheel that all take has the error {one}: take it from the list" for one in REASONS if one not in used]
    print("\n".join(wrong) or f"seed {arguments.seed}: {len(cases)} wheels, the consumers agree with check")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
