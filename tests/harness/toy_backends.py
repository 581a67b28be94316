"""A recipe for three packages, one for each backend, which takes no compiler: for tests that share its results."""

import json
import pathlib

RECIPE = """\
schema_version: 1
package: {name: "toy-${{ backend }}", version: "1"}
build: {number: 0, string: "0", script: {file: build.sh}}
about: {license: MIT}
extra: {ptpkg: {formats: [conda, tar.bz2]}}
"""
SCRIPT = """\
mkdir -p "$PREFIX/share/toy" "$PREFIX/bin"
seq 1000 >"$PREFIX/share/toy/numbers"
echo '#!/bin/sh' >"$PREFIX/bin/toy-$PKG_NAME"
chmod +x "$PREFIX/bin/toy-$PKG_NAME"
"""
BACKENDS = ("cpu", "cu124", "cu130")


def files(more: str = "", backends=BACKENDS) -> dict[str, str]:
    """Text by name. `more`: further lines of the build script."""
    return {"recipe.yaml": RECIPE, "build.sh": SCRIPT + more, "variants.yaml": json.dumps({"backend": list(backends)})}


def write(folder: pathlib.Path) -> None:
    for name, text in files().items():
        (folder / name).write_text(text)
