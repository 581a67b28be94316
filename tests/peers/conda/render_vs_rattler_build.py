#!/usr/bin/env python3
"""Renders the good recipes of this repository with ptpkg and with rattler-build, and compares the packages.

usage: render_vs_rattler_build.py PTPKG

Compared: the set of (name, version, build string, hash) of what is not skipped, and the names of the
requirements. The hash covers the variant; rattler-build's own list of it ignores use_keys and ignore_keys.
rattler-build also renders the variants that it will skip. A package of rattler-build alone is accepted if ptpkg skips a variant
of the same name with the same values.
Recipes with something that only ptpkg has are left out, by name: rattler-build cannot read them. Golden files
(tests/unit/variant/golden_test.cpp) or tests of their own hold them.
Exit status: 0 equal, 1 different, 77 py-rattler-build is not installed.
"""

import collections
import json
import re
import subprocess
import sys

from repository import REPOSITORY

SKIP = 77
PLATFORM = "linux-64"
# Functions of ptpkg, and a staging output that inherits from another one.
OURS_ALONE = re.compile(r"\$\{\{[^}]*\b(?:detected|fail)\(|- staging:\n +name: .*\n +inherit: ")
RECIPES = ("fixtures/recipes/ok/*/recipe.yaml", "fixtures/*/recipe.yaml", "recipes/*/recipe.yaml")


def spec_name(spec):
    """The package that one requirement names; rattler-build keeps pins as mappings."""
    if isinstance(spec, dict):
        (pin,) = spec.values()
        return pin["name"] if isinstance(pin, dict) else pin
    return str(spec).split()[0]


def names(requirements, section):
    return tuple(spec_name(spec) for spec in requirements.get(section) or [])


def by_ptpkg(ptpkg, recipe, variants=()):
    """(packages, [(name, variant)] of the skipped ones). Raises RuntimeError with ptpkg's words."""
    named = [word for file in variants for word in ("--variants", str(file))]
    done = subprocess.run([ptpkg, "render", str(recipe), "--json", *named], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ptpkg render {recipe} failed:\n{done.stderr}")
    items = json.loads(done.stdout)
    skipped = [(item["name"], item["variant"]) for item in items if item["skip"]]
    packages = {
        (
            item["name"],
            item["version"],
            item["build_string"],
            item["hash"],
            tuple((section, names(item["requirements"], section)) for section in ("build", "host", "run")),
        )
        for item in items
        if not item["skip"]
    }
    return packages, skipped


def variant_config(files, platform):
    """The variants of several files, of which the later ones win."""
    from rattler_build.jinja_config import JinjaConfig
    from rattler_build.variant_config import VariantConfig

    config = VariantConfig({})
    for file in files:
        if file.name == "conda_build_config.yaml":
            config = config.merge(VariantConfig.from_conda_build_config(file, JinjaConfig(platform=platform)))
        else:
            config = config.merge(VariantConfig.from_file(file))
    return config


def variants_beside(recipe):
    files = [recipe.with_name(name) for name in ("variants.yaml", "conda_build_config.yaml")]
    return [file for file in files if file.exists()][:1]


def by_rattler_build(recipe, variants):
    """Package → the variants that it stands for."""
    from rattler_build.render import RenderConfig
    from rattler_build.stage0 import Stage0Recipe
    from rattler_build.tool_config import PlatformConfig

    platform = PlatformConfig(target_platform=PLATFORM, build_platform=PLATFORM, host_platform=PLATFORM)
    config = variant_config(variants, platform)
    found = collections.defaultdict(list)
    for item in Stage0Recipe.from_file(recipe).render(config, RenderConfig(platform)):
        requirements = item.recipe.requirements.to_dict()
        package = (
            item.recipe.package.name,
            item.recipe.package.version,
            item.recipe.build.string,
            item.hash_info.hash if item.hash_info else None,
            tuple((section, names(requirements, section)) for section in ("build", "host", "run")),
        )
        found[package].append({key: variant_text(value) for key, value in item.variant.items()})
    return dict(found)


def variant_text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def same_values(variant, other):
    """Whether two variants have at least one key in common, or the same keys, and the same values for these."""
    shared = (variant.keys() & other.keys()) - {"target_platform"}
    return all(variant[key] == other[key] for key in shared) and (bool(shared) or variant.keys() == other.keys())


def equal(ours, skipped, theirs):
    """Whether both make the same packages, of which ptpkg skips some: each skipped variant excuses one of theirs."""
    left = list(skipped)
    for package in theirs.keys() - ours:
        for variant in theirs[package]:
            excuse = next((one for one in left if one[0] == package[0] and same_values(one[1], variant)), None)
            if excuse is None:
                return False
            left.remove(excuse)
    return bool(ours or skipped) and bool(theirs) and ours <= theirs.keys()


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        import rattler_build  # noqa: F401
    except ImportError:
        print("skipped: py-rattler-build is not installed")
        return SKIP
    recipes = [recipe for pattern in RECIPES for recipe in sorted(REPOSITORY.glob(pattern))]
    if not recipes:
        print(f"no recipes in {REPOSITORY}", file=sys.stderr)
        return 1
    failed = 0
    for recipe in recipes:
        if call := OURS_ALONE.search(recipe.read_text()):
            print(f"{recipe.parent.name}: left out, it has '{call[0].split()[-1]}'")
            continue
        ours, skipped = by_ptpkg(sys.argv[1], recipe)
        theirs = by_rattler_build(recipe, variants_beside(recipe))
        same = equal(ours, skipped, theirs)
        print(f"{recipe.parent.name}: {'equal' if same else 'DIFFERENT'}, {len(ours)} packages, {len(skipped)} skipped")
        if not same:
            failed += 1
            for item in sorted(ours - theirs.keys(), key=str):
                print(f"  only ptpkg:         {item}")
            for item in sorted(theirs.keys() - ours, key=str):
                print(f"  only rattler-build: {item}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
