"""libc10 of PyTorch, killed at the half: the rerun compiles what was not finished, and the bytes are a clean run's.

PTPKG_PYTORCH_SOURCE names the unpacked sources of PyTorch 2.6.0 (recipes/pytorch says which); without it the test is
skipped. Takes a few minutes on two cores.
"""

import os
import pathlib
import re
import subprocess
import time

import harness

STEP = re.compile(r"^\[(\d+)/(\d+)\] Building CXX object", re.MULTILINE)


class ResumeLibc10(harness.Case):
    def command(self, output):
        return ["build", harness.REPOSITORY / "recipes/pytorch", "--source", f"pytorch={self.source}", "--output", output,
                "--select", "target=c10"]

    def log(self, output):
        logs = list((output / "logs").glob("*.build.log"))
        return logs[0].read_text(errors="replace") if logs else ""

    def test_killed_at_the_half(self):
        place = os.environ.get("PTPKG_PYTORCH_SOURCE", "")
        if not place:
            self.skipTest("PTPKG_PYTORCH_SOURCE does not name the sources of PyTorch 2.6.0")
        self.source = pathlib.Path(place).resolve()
        output = self.scratch / "dist"
        process = subprocess.Popen([harness.Settings.ptpkg, *self.command(output)], env=self.environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 1800
        while True:
            self.assertIsNone(process.poll(), self.log(output)[-2000:])
            self.assertLess(time.monotonic(), deadline)
            steps = STEP.findall(self.log(output))
            if steps and 2 * int(steps[-1][0]) >= int(steps[-1][1]):
                break
            time.sleep(0.2)
        process.kill()
        process.wait()
        [ninja_log] = (self.cache / "work").rglob("build/.ninja_log")
        finished = {line.split("\t")[3] for line in ninja_log.read_text().splitlines()[1:]}
        finished = {name for name in finished if name.endswith(".o")}
        self.ptpkg(*self.command(output))
        again = len(STEP.findall(self.log(output)))
        resumed = harness.artifacts(output)
        self.cache = self.scratch / "clean-cache"
        self.ptpkg(*self.command(self.scratch / "clean"))
        total = len(STEP.findall(self.log(self.scratch / "clean")))
        print(f"objects: {total}; finished when killed: {len(finished)}; compiled by the rerun: {again}", flush=True)
        self.assertEqual(len(finished) + again, total)
        self.assertEqual(resumed, harness.artifacts(self.scratch / "clean"))


if __name__ == "__main__":
    harness.main()
