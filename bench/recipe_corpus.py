#!/usr/bin/env python3
"""Renders a folder of recipes with ptpkg and with rattler-build, and counts how many packages are equal.

usage: recipe_corpus.py --ptpkg FILE --corpus DIR [--variants FILE]... [--limit N] [--list DIR]

Every `recipe.yaml` below DIR is rendered for linux-64 by both programs, with the variant files named and, if there
is one beside the recipe, its `variants.yaml`. Compared for each package that is not skipped: name, version, build string,
hash, and the names of the requirements for build, host and run. A recipe is one of:
  equal       both programs make the same packages
  different   both render it, and a package differs
  refused     rattler-build renders it, ptpkg does not
  extra       ptpkg renders it, rattler-build does not
  neither     neither renders it
Printed: the tally, and how often each reason of a refusal occurs. --list writes the recipes of each class and both
programs' words to DIR. The Python that runs this needs py-rattler-build.
Exit status: 0; 1 if a recipe is different.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS / "harness"), str(TESTS / "peers/conda")]
import render_vs_rattler_build  # noqa: E402


def judge(job) -> tuple:
    recipe, variants = job
    try:
        return "ok", render_vs_rattler_build.by_rattler_build(recipe, variants)
    except BaseException as error:  # noqa: BLE001  a panic of Rust is a BaseException
        return "error", f"{type(error).__name__}: {error}"


def render(job) -> tuple:
    ptpkg, recipe, variants = job
    try:
        return "ok", *render_vs_rattler_build.by_ptpkg(ptpkg, recipe, variants)
    except RuntimeError as error:
        return "error", str(error)


def reason(text: str) -> str:
    """The first error of ptpkg's words without the place and the values."""
    line = next((line for line in text.splitlines() if "error:" in line), text.strip().splitlines()[0] if text.strip() else "no words")
    line = re.sub(r"^.*?error: ", "", line)
    return re.sub(r"^\S+:\d+:\d+: ", "", line)[:140]


def verdict(ours: tuple, theirs: tuple) -> str:
    if ours[0] == "error":
        return "refused" if theirs[0] == "ok" else "neither"
    if theirs[0] == "error":
        return "extra"
    return "equal" if render_vs_rattler_build.equal(ours[1], ours[2], theirs[1]) else "different"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--variants", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--list", type=pathlib.Path)
    options = parser.parse_args()
    recipes = sorted(options.corpus.resolve().rglob("recipe.yaml"))[: options.limit]
    variants = [file.resolve() for file in options.variants]
    jobs = [(recipe, variants + render_vs_rattler_build.variants_beside(recipe)) for recipe in recipes]
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        theirs = list(pool.map(judge, jobs, chunksize=8))
        ours = list(pool.map(render, [(str(options.ptpkg.resolve()), *job) for job in jobs], chunksize=8))
    classes = collections.defaultdict(list)
    for recipe, mine, other in zip(recipes, ours, theirs, strict=True):
        classes[verdict(mine, other)].append((recipe, mine, other))
    accepted = sum(len(classes[name]) for name in ("equal", "different", "refused"))
    print(f"{len(recipes)} recipes, {accepted} rendered by rattler-build: " +
          ", ".join(f"{name} {len(classes[name])}" for name in ("equal", "different", "refused", "extra", "neither")))
    print(f"equal: {100 * len(classes['equal']) / max(1, accepted):.1f} % of what rattler-build renders")
    counts = collections.Counter(reason(mine[1]) for _, mine, _ in classes["refused"])
    for words, count in counts.most_common(40):
        print(f"{count:5}  {words}")
    if options.list:
        options.list.mkdir(parents=True, exist_ok=True)
        for name, items in classes.items():
            with (options.list / f"{name}.txt").open("w") as out:
                for recipe, mine, other in items:
                    print(f"== {recipe}", file=out)
                    for who, answer in (("ptpkg", mine), ("rattler-build", other)):
                        words = answer[1] if answer[0] == "error" else "\n".join(map(str, sorted(answer[1], key=str)))
                        print(f"-- {who}\n{words}", file=out)
    return 1 if classes["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
