#!/usr/bin/env python3
"""Renders a folder of recipes with ptpkg and with rattler-build, and counts how many packages are equal.

usage: recipe_corpus.py --ptpkg FILE --corpus DIR [--variants FILE]... [--limit N] [--list DIR] [--meta]

Every `recipe.yaml` below DIR is rendered for linux-64 by both programs, with the variant files named and, if there
is one beside the recipe, its `variants.yaml`. Compared for each package that is not skipped: name, version, build string,
hash, and the requirements for build, host and run. A recipe is one of:
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
import json
import os
import pathlib
import re
import subprocess
import sys

PLATFORM = "linux-64"


def text_of(spec) -> str:
    """One requirement as text: pins, which rattler-build keeps as mappings, by the name of the package alone."""
    if isinstance(spec, dict):
        (pin,) = spec.values()
        return pin["name"] if isinstance(pin, dict) else str(pin)
    return " ".join(str(spec).split())


def section(requirements: dict, name: str) -> tuple:
    return tuple(text_of(spec).split()[0] for spec in requirements.get(name) or [])


def judged(recipe: pathlib.Path, variants: list[pathlib.Path]) -> set:
    """What rattler-build makes of a recipe. Raises whatever it raises."""
    from rattler_build.jinja_config import JinjaConfig
    from rattler_build.render import RenderConfig
    from rattler_build.stage0 import Stage0Recipe
    from rattler_build.tool_config import PlatformConfig
    from rattler_build.variant_config import VariantConfig

    platform = PlatformConfig(target_platform=PLATFORM, build_platform=PLATFORM, host_platform=PLATFORM)
    config = VariantConfig({})
    for file in variants:
        if file.name == "conda_build_config.yaml":
            values = VariantConfig.from_conda_build_config(file, JinjaConfig(platform=platform))
        else:
            values = VariantConfig.from_file(file)
        config = config.merge(values)
    found = set()
    for item in Stage0Recipe.from_file(recipe).render(config, RenderConfig(platform)):
        if getattr(item.recipe.build, "skip", False) is True:
            continue
        requirements = item.recipe.requirements.to_dict()
        found.add((item.recipe.package.name, str(item.recipe.package.version), item.recipe.build.string,
                   item.hash_info.hash if item.hash_info else None,
                   tuple((name, section(requirements, name)) for name in ("build", "host", "run"))))
    return found


def judge(job) -> tuple:
    recipe, variants = job
    try:
        return "ok", judged(recipe, variants)
    except BaseException as error:  # noqa: BLE001  a panic of Rust is a BaseException
        return "error", f"{type(error).__name__}: {error}"


def render(job) -> tuple:
    ptpkg, recipe, variants = job
    command = [ptpkg, "render", str(recipe), "--json"]
    for file in variants:
        command += ["--variants", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        return "error", done.stderr
    packages = set()
    skipped = 0
    for item in json.loads(done.stdout):
        if item["skip"]:
            skipped += 1
            continue
        packages.add((item["name"], item["version"], item["build_string"], item["hash"],
                      tuple((name, section(item["requirements"], name)) for name in ("build", "host", "run"))))
    return "ok", packages, skipped


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
    # rattler-build lists what it will skip with the rest, so that as many of its packages may be left over.
    packages, skipped = ours[1], ours[2]
    equal = packages <= theirs[1] and len(theirs[1] - packages) <= skipped
    return "equal" if equal and (packages or skipped) else "different"


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
    jobs = [(recipe, variants + [file for file in [recipe.with_name("variants.yaml")] if file.exists()]) for recipe in recipes]
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
