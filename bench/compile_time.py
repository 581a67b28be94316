#!/usr/bin/env python3
"""What compiling a build folder costs, in CPU seconds of the compiler, by group of files.

    cmake --preset release
    bench/compile_time.py --build build/release [--sample 4] [--only src/recipe] [--top 15]

The commands are those of compile_commands.json, without a compiler cache before them; each is run once, and its user and
system time is taken from the kernel, which other programs on the machine change little. With --sample N every Nth
source of a group is compiled, and the sum is scaled to the group. Precompiled headers, and sources that the build
generates, must be there before (build once, or name the targets); the headers are compiled again, and count.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAUNCHERS = ("ccache", "sccache", "distcc")


def load(build):
    """(source's name, folder to run in, words of the command), once per object."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    found = []
    for entry in commands:
        words = shlex.split(entry["command"])
        if pathlib.Path(words[0]).name in LAUNCHERS:
            words = words[1:]
        source = os.path.relpath(entry["file"], ROOT)
        if source.startswith(os.path.relpath(build, ROOT)):
            source = os.path.relpath(entry["file"], build)
        found.append((source, entry["directory"], words))
    return sorted(found)


def group_of(source):
    if "cmake_pch" in source:
        return "precompiled headers"
    parts = source.split("/")
    depth = 3 if parts[:2] == ["tests", "unit"] else 2
    return "/".join(parts[:depth]) if len(parts) > depth else "/".join(parts[:-1]) or "."


def cpu_seconds(task, scratch):
    """Of one compilation; the object goes to a scratch folder, a precompiled header to its place."""
    source, folder, words = task
    words = list(words)
    if "c++-header" not in words:
        words[words.index("-o") + 1] = str(pathlib.Path(scratch, source.replace("/", "_") + ".o"))
    child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             env={**os.environ, "CCACHE_DISABLE": "1"})
    text = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stderr.close()
    if child.returncode != 0:
        raise SystemExit(f"error: '{source}' does not compile\n{text.decode(errors='replace')[-2000:]}")
    return source, usage.ru_utime + usage.ru_stime


def measure(tasks, jobs):
    with tempfile.TemporaryDirectory() as scratch:
        # What others include goes first.
        first = [t for t in tasks if group_of(t[0]) == "precompiled headers"]
        rest = [t for t in tasks if group_of(t[0]) != "precompiled headers"]
        results = [cpu_seconds(t, scratch) for t in first]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            results += pool.map(lambda t: cpu_seconds(t, scratch), rest)
    return dict(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="a configured folder")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="compile every Nth source of a group")
    parser.add_argument("--only", default="", metavar="PREFIX", help="groups whose name begins so")
    parser.add_argument("--jobs", type=int, default=2, help="compilations at a time")
    parser.add_argument("--top", type=int, default=0, metavar="N", help="also name the N dearest sources")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write seconds per source there")
    arguments = parser.parse_args()
    groups = collections.defaultdict(list)
    for task in load(arguments.build.resolve()):
        group = group_of(task[0])
        if group.startswith(arguments.only) or group == "precompiled headers":
            groups[group].append(task)
    chosen = {name: tasks[:: arguments.sample] for name, tasks in groups.items()}
    seconds = measure([task for tasks in chosen.values() for task in tasks], arguments.jobs)
    total = files = 0
    print(f"{'group':28} {'files':>5} {'compiled':>8} {'CPU s':>8}")
    for name, tasks in groups.items():
        cost = sum(seconds[t[0]] for t in chosen[name]) * len(tasks) / len(chosen[name])
        total, files = total + cost, files + len(tasks)
        print(f"{name:28} {len(tasks):5} {len(chosen[name]):8} {cost:8.1f}")
    print(f"{'all':28} {files:5} {len(seconds):8} {total:8.1f}")
    for source, cost in sorted(seconds.items(), key=lambda item: -item[1])[: arguments.top]:
        print(f"{cost:8.2f}  {source}")
    if arguments.json:
        arguments.json.write_text(json.dumps(seconds, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
