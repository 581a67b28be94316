"""Two PID namespaces on one cache, as two containers or hosts have it: the same recipe built at once, either one killed.

Neither can tell from a process id whether the other lives. Needs the right to make PID namespaces (root, or user
namespaces); without it the tests skip.
"""

import signal
import subprocess

import harness

# It ends once the test has seen both runs at work.
SCRIPT = """\
echo started >> "{scratch}/scripts"
mkdir -p "$PREFIX/share/slow"
while ! [ -e "{scratch}/both" ]; do sleep 0.05; done
echo data > "$PREFIX/share/slow/data"
"""

RECIPE = """\
schema_version: 1
package: {name: slow, version: "1"}
build: {number: 0, string: "0", script: {file: build.sh}}
about: {license: MIT}
extra: {ptpkg: {formats: [conda]}}
"""


def namespace_command():
    """The prefix that runs a command as the only process of a new PID namespace; None without the right."""
    plain = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    for prefix in (plain, [*plain, "--user", "--map-root-user", "--mount"]):
        try:
            done = subprocess.run([*prefix, "sh", "-c", "test $$ = 1"], capture_output=True, check=False, timeout=harness.HANGS_AFTER_S)
        except FileNotFoundError:
            return None
        if done.returncode == 0:
            return prefix
    return None


class TwoHosts(harness.Case):
    def setUp(self):
        super().setUp()
        self.unshare = namespace_command()
        if self.unshare is None:
            self.skipTest("new PID namespaces are not permitted (unshare --pid)")
        self.recipe = self.scratch / "slow"
        self.recipe.mkdir()
        (self.recipe / "recipe.yaml").write_text(RECIPE)
        (self.recipe / "build.sh").write_text(SCRIPT.format(scratch=self.scratch))

    def start(self, name, earlier=0):
        """One "host": `ptpkg build` in its own namespace, after so many `earlier` processes, so that its number
        means nobody in another one; with its own output folder."""
        output = self.scratch / f"dist-{name}"
        log = open(self.scratch / f"log-{name}", "w", encoding="utf-8")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            [*self.unshare, "sh", "-c", "true & " * earlier + 'wait; "$@"', "sh",
             harness.Settings.ptpkg, "build", self.recipe, "--output", output, "--verbose"],
            env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self.addCleanup(self.kill, process)
        return process, output

    def kill(self, process):
        """The whole "host" at once: --kill-child takes the namespace's first process along, and that everything."""
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()

    def scripts(self):
        """How many build scripts have started since setUp."""
        marks = self.scratch / "scripts"
        return len(marks.read_text().splitlines()) if marks.exists() else 0

    def start_both(self, suffix=""):
        """Two runs at work together: the first is in its script, and the second waits for it."""
        (self.scratch / "both").unlink(missing_ok=True)
        before = self.scripts()
        first = self.start("a" + suffix, earlier=5)
        self.wait_for(lambda: self.scripts() > before, self.logs)
        second = self.start("b" + suffix)
        self.wait_for(lambda: "another run is building" in (self.scratch / f"log-b{suffix}").read_text(), self.logs)
        return first, second

    def scratch_items(self):
        return [item for item in self.ptpkg_json("cache")["items"] if item["kind"] in ("scratch", "work")]

    def logs(self):
        return "\n".join(f"--- {path.name}\n{path.read_text()}" for path in sorted(self.scratch.glob("log-*")))

    def finish(self, process, output):
        (self.scratch / "both").touch()
        self.assertEqual(process.wait(timeout=harness.HANGS_AFTER_S), 0, self.logs())
        self.assertEqual([path.split("/")[-1] for path in harness.artifacts(output)], ["slow-1-0.conda"])

    def assert_one_cleaning_leaves_nothing(self):
        self.ptpkg("cache", "clean", "--older-than", "1000d")
        self.assertEqual(harness.leftovers(self.cache), [])
        self.assertEqual(self.scratch_items(), [])

    def test_neither_removes_the_work_of_the_other(self):
        first, second = self.start_both()
        self.assertIn("in_use", {item["state"] for item in self.scratch_items()})
        self.ptpkg("cache", "clean")  # a third "host", which would like to have everything gone
        self.finish(*first)
        self.finish(*second)
        self.assertEqual(harness.artifacts(first[1]), harness.artifacts(second[1]))
        self.assertEqual(self.scripts(), 1, "one build serves both")
        self.assert_one_cleaning_leaves_nothing()

    def test_one_is_killed_the_other_finishes_and_one_cleaning_leaves_nothing(self):
        for victim in (0, 1):
            with self.subTest(victim=("the first", "the second")[victim]):
                self.cache = self.scratch / f"cache{victim}"
                runs = self.start_both(str(victim))
                self.kill(runs[victim][0])
                self.finish(*runs[1 - victim])
                self.assert_one_cleaning_leaves_nothing()

    def test_both_are_killed_and_a_rerun_finishes(self):
        runs = self.start_both()
        for process, _ in runs:
            self.kill(process)
        # The kernel takes the namespaces down a moment later.
        self.wait_for(lambda: all(item["state"] == "free" for item in self.scratch_items()), self.scratch_items)
        self.finish(*self.start("c"))
        self.assertIn("resuming the interrupted build of", (self.scratch / "log-c").read_text())
        self.assert_one_cleaning_leaves_nothing()


if __name__ == "__main__":
    harness.main()
