"""Two hosts share a cache that each sees under another path, as another user of one group: the second one finds all results."""

import collections
import json
import shutil

import harness
import toy_backends
from servers.hosts import Hosts, private_mounts

GROUP = 3000
USERS = {"h1": 1001, "h2": 1002}


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
        toy_backends.write(recipe)
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
