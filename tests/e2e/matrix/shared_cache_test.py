"""Two hosts share a cache that each sees under another path, as another user of one group: the second one finds all results."""

import collections
import json
import shutil

import harness
from servers.hosts import Hosts, private_mounts

GROUP = 3000
USERS = {"h1": 1001, "h2": 1002}
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
VARIANTS = {"backend": ["cpu", "cu124", "cu130"]}


class SharedCache(harness.Case):
    def setUp(self):
        super().setUp()
        private_mounts()
        self.scratch.chmod(0o755)
        self.hosts = self.enterContext(Hosts(self.scratch, list(USERS)))
        self.shared = self.scratch / "shared"
        self.shared.mkdir()
        shutil.chown(self.shared, USERS["h1"], GROUP)
        self.shared.chmod(0o2775)

    def build(self, host, *depth):
        """`ptpkg build` in a directory of that user; stages by name and whether they ran, and the artifacts."""
        home = self.scratch.joinpath(host, *depth)
        recipe, cache = home / "recipe", home / "cache"
        recipe.mkdir(parents=True)
        cache.mkdir()
        (recipe / "recipe.yaml").write_text(RECIPE)
        (recipe / "variants.yaml").write_text(json.dumps(VARIANTS))
        (recipe / "build.sh").write_text(SCRIPT)
        for path in (self.scratch / host, *(self.scratch / host).rglob("*")):
            shutil.chown(path, USERS[host], GROUP)
        self.hosts[host].run(["mount", "--bind", self.shared, cache])
        environment = {**self.environment(), "HOME": str(home), "PTPKG_CACHE_DIR": str(cache)}
        done = self.hosts[host].run(
            ["setpriv", f"--reuid={USERS[host]}", f"--regid={GROUP}", "--clear-groups", "sh", "-c", 'umask 002; exec "$@"', "sh",
             harness.Settings.ptpkg, "build", recipe, "--output", home / "dist", "--json", "--no-config"], env=environment, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        stages = collections.Counter((stage["stage"], stage["ran"]) for stage in json.loads(done.stdout)["stages"])
        return stages, harness.artifacts(home / "dist")

    def test_results_of_another_user_and_path_are_hits(self):
        first, made = self.build("h1", "alpha")
        self.assertEqual((first["build", True], first["build", False]), (3, 0))
        second, found = self.build("h2", "beta", "deeper")
        self.assertEqual((second["build", True], second["build", False]), (0, 3))
        self.assertEqual(found, made)


if __name__ == "__main__":
    harness.main()
