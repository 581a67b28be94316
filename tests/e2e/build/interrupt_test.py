"""A run that is killed, interrupted or out of room: a rerun ends in the same bytes, and nothing is left over."""

import os
import signal
import subprocess
import time

import harness


class Interrupt(harness.Case):
    def command(self, output):
        return [harness.Settings.ptpkg, "build", harness.FIXTURES / "toymagma", harness.FIXTURES / "toytorch",
                "--select", "toy_backend=cpu", "--output", output, "--log-format", "json"]

    def reference(self):
        output = self.scratch / "reference"
        events = subprocess.run(self.command(output), env=self.environment(), text=True, check=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
        self.cache = self.scratch / "cache2"
        return harness.artifacts(output), events

    def start_and_signal(self, output, stage, sign):
        """Runs until `stage` starts, then sends `sign`. Returns the exit status, None if it ended before."""
        process = subprocess.Popen(self.command(output), env=self.environment(), text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with process:
            for line in process.stderr:
                if '"started"' in line and f'"stage":"{stage}"' in line:
                    time.sleep(0.02)
                    process.send_signal(sign)
                    break
            process.stderr.read()
        return process.returncode

    def test_killed_in_any_stage_a_rerun_ends_in_the_same_bytes(self):
        expected, events = self.reference()
        stages = [stage for stage in ("source", "build", "relink", "conda", "wheel", "check", "index")
                  if f'"stage":"{stage}"' in events]
        self.assertGreaterEqual(len(stages), 6, events)
        output = self.scratch / "dist"
        for stage in stages:
            with self.subTest(stage):
                self.start_and_signal(output, stage, signal.SIGKILL)
        self.ptpkg("build", harness.FIXTURES / "toymagma", harness.FIXTURES / "toytorch", "--select",
                   "toy_backend=cpu", "--output", output)
        self.assertEqual(harness.artifacts(output), expected)
        self.assertEqual(harness.leftovers(output, self.cache), [])

    def test_no_child_outlives_a_killed_run(self):
        output = self.scratch / "dist"
        recipe = self.scratch / "slow"
        recipe.mkdir()
        (recipe / "recipe.yaml").write_text(
            'schema_version: 1\npackage: {name: slow, version: "1"}\n'
            'build: {number: 0, string: "0", script: {file: build.sh}}\n'
            'about: {license: MIT}\nextra: {ptpkg: {formats: [conda]}}\n')
        (recipe / "build.sh").write_text(f'echo $$ > {self.scratch}/pid\nsleep 300\n')
        process = subprocess.Popen([harness.Settings.ptpkg, "build", recipe, "--output", output],
                                   env=self.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, text=True)
        with process:
            self.wait_for(lambda: (self.scratch / "pid").exists() and (self.scratch / "pid").read_text())
            child = int((self.scratch / "pid").read_text())
            process.send_signal(signal.SIGINT)
            stderr = process.stderr.read()
        self.assertEqual(process.returncode, 130, stderr)
        self.assertIn("interrupted", stderr)
        with self.assertRaises(ProcessLookupError):
            os.kill(child, 0)
        self.assertEqual(harness.leftovers(output, self.cache), [])

    def test_what_a_script_leaves_running_ends_with_it(self):
        recipe = self.scratch / "daemon"
        recipe.mkdir()
        (recipe / "recipe.yaml").write_text(
            'schema_version: 1\npackage: {name: daemon, version: "1"}\n'
            'build: {number: 0, string: "0", script: {file: build.sh}}\n'
            'about: {license: MIT}\nextra: {ptpkg: {formats: [conda]}}\n')
        # A session of its own, and no parent: it holds a staged file open and goes on writing to it.
        (recipe / "build.sh").write_text(
            'mkdir -p "$PREFIX/share"\n'
            f"setsid sh -c 'setsid sh -c \"echo \\$\\$ > {self.scratch}/pid; exec >> $PREFIX/share/data; "
            "while :; do echo more; sleep 0.01; done\" & exit' &\n"
            'wait; while ! [ -s "$PREFIX/share/data" ]; do sleep 0.01; done\n')
        done = self.ptpkg("build", recipe, "--output", self.scratch / "dist", exit_code=5)
        self.assertRegex(done.stderr, r"ended while its process 'sh -c .*' was still writing '\$PREFIX/share/data'")
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.scratch / "pid").read_text()), 0)
        self.assertEqual(list((self.scratch / "dist").rglob("*.conda")), [])
        # One that only runs, as a compiler cache's server, holds up nothing.
        (recipe / "build.sh").write_text(
            f"setsid sh -c 'echo $$ > {self.scratch}/pid; exec sleep 300 > /dev/null' &\n"
            f'mkdir -p "$PREFIX/share"; echo x > "$PREFIX/share/data"; until [ -s {self.scratch}/pid ]; do sleep 0.01; done\n')
        (self.scratch / "pid").unlink()
        done = self.ptpkg("build", recipe, "--output", self.scratch / "dist")
        self.assertIn("the build script left processes running; ptpkg ended them: 'sleep 300'", done.stderr)
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.scratch / "pid").read_text()), 0)
        self.ptpkg("check", self.scratch / "dist/conda/linux-64/daemon-1-0.conda")

    def test_no_permission_in_the_output_folder(self):
        if os.geteuid() == 0:
            output = "/proc/ptpkg-cannot-write-here"
        else:
            output = self.scratch / "readonly"
            output.mkdir(mode=0o555)
        done = self.ptpkg("build", harness.FIXTURES / "toymagma", "--output", output, exit_code=4 if os.geteuid() == 0
                          else 6)
        self.assertIn("output directory", done.stderr)


if __name__ == "__main__":
    harness.main()
