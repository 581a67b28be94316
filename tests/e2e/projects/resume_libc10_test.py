"""libc10 of PyTorch, ended at the half in each way in which long builds end: the rerun compiles what was not finished,
and the bytes are a clean run's.

PTPKG_PYTORCH_SOURCE names the unpacked sources of PyTorch 2.6.0 (recipes/pytorch says which); without it the tests are
skipped. Together they compile libc10 six times: about 500 s of CPU time.
"""

import os
import pathlib
import re
import resource
import signal
import subprocess
import time

import harness

STEP = re.compile(r"^\[(\d+)/(\d+)\] Building CXX object", re.MULTILINE)


class ResumeLibc10(harness.Case):
    clean_run: tuple[int, dict[str, str]] | None = None  # objects, artifacts

    def setUp(self):
        super().setUp()
        place = os.environ.get("PTPKG_PYTORCH_SOURCE", "")
        if not place:
            self.skipTest("PTPKG_PYTORCH_SOURCE does not name the sources of PyTorch 2.6.0")
        self.source = pathlib.Path(place).resolve()
        self.output = self.scratch / "dist"
        self.inside = []  # What runs a command where the cache is.
        self.seen_cache = self.cache

    def command(self, output):
        return ["build", harness.REPOSITORY / "recipes/pytorch", "--source", f"pytorch={self.source}", "--output", output,
                "--select", "target=c10"]

    def log(self, output):
        logs = list((output / "logs").glob("*.build.log"))
        return logs[0].read_text(errors="replace") if logs else ""

    def compiled(self, output):
        return len(STEP.findall(self.log(output)))

    def start(self):
        """A run in the background; its errors go to the file "errors"."""
        with open(self.scratch / "errors", "w", encoding="utf-8") as errors:
            process = subprocess.Popen([*self.inside, harness.Settings.ptpkg, *self.command(self.output)],
                                       env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=errors, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def errors(self):
        return (self.scratch / "errors").read_text()

    def start_to_the_half(self):
        process = self.start()
        deadline = time.monotonic() + 1800
        while True:
            self.assertIsNone(process.poll(), self.log(self.output)[-2000:] + self.errors())
            self.assertLess(time.monotonic(), deadline)
            steps = STEP.findall(self.log(self.output))
            if steps and 2 * int(steps[-1][0]) >= int(steps[-1][1]):
                return process
            time.sleep(0.2)

    def finished(self):
        [ninja_log] = (self.seen_cache / "work").rglob("build/.ninja_log")
        lines = ninja_log.read_text().splitlines()[1:]
        return len({line.split("\t")[3] for line in lines if line.endswith(".o") or ".o\t" in line})

    def clean(self):
        if not self.clean_run:
            self.cache, output = self.scratch / "clean-cache", self.scratch / "clean"
            self.ptpkg(*self.command(output))
            type(self).clean_run = (self.compiled(output), harness.artifacts(output))
        return self.clean_run

    def finish_and_compare(self, spare=0):
        """`spare`: finished objects of which ninja could not write down that they are."""
        finished = self.finished()
        process = self.start()
        self.assertEqual(process.wait(), 0, self.errors())
        self.assertIn("resuming the interrupted build of", self.errors())
        again = self.compiled(self.output)
        total, artifacts = self.clean()
        print(f"objects: {total}; finished when ended: {finished}; compiled by the rerun: {again}", flush=True)
        self.assertGreater(finished, total // 3)
        self.assertGreaterEqual(finished + again, total)
        self.assertLessEqual(finished + again, total + spare)
        self.assertEqual(harness.artifacts(self.output), artifacts)

    def test_kill_9(self):
        process = self.start_to_the_half()
        process.kill()
        process.wait()
        self.finish_and_compare()

    def test_kill_9_of_everything_at_once(self):
        process = self.start_to_the_half()
        harness.kill_all(process)
        process.wait()
        self.finish_and_compare()

    def test_interrupt(self):
        process = self.start_to_the_half()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 130, self.errors())
        self.assertIn("kept work directory", self.errors())
        self.finish_and_compare()

    def test_compilers_without_memory(self):
        process = self.start_to_the_half()
        [ninja] = [pid for pid in harness.descendants(process.pid)
                   if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "ninja"]
        resource.prlimit(ninja, resource.RLIMIT_AS, (100 << 20, 100 << 20))  # for the compilers that it starts from now on
        self.assertEqual(process.wait(), 5, self.errors())
        self.assertIn("memory", self.errors())
        self.finish_and_compare()

    def test_a_full_disk_and_a_larger_one(self):
        """The cache is a tmpfs in a mount namespace. At the half it gets no room but 256 KiB, after the run it gets more."""
        if os.geteuid() != 0:
            self.skipTest("only root can mount")
        self.cache.mkdir()
        holder = subprocess.Popen(["unshare", "--mount", "sh", "-c",
                                   f"mount -t tmpfs -o size=4g tmpfs {self.cache} && echo mounted; exec sleep 7200"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(holder.communicate)
        self.addCleanup(holder.kill)
        if holder.stdout.readline() != "mounted\n":
            self.skipTest("a tmpfs cannot be mounted")
        self.inside = ["nsenter", f"--target={holder.pid}", "--mount", f"--wd={self.scratch}"]
        self.seen_cache = pathlib.Path(f"/proc/{holder.pid}/root{self.cache}")

        def resize(size):
            subprocess.run([*self.inside, "mount", "-o", f"remount,size={size}", self.cache], check=True)

        process = self.start_to_the_half()
        full = os.statvfs(self.seen_cache)
        resize((full.f_blocks - full.f_bfree) * full.f_frsize + (256 << 10))
        self.assertEqual(process.wait(), 5, self.errors())
        self.assertIn("No space left on device", self.errors())
        resize("4g")
        self.finish_and_compare(spare=4)


if __name__ == "__main__":
    harness.main()
