"""The test cluster itself (servers/slurm.py): plain jobs run there, each fault does what its name says, and nothing is left behind."""

import os
import pathlib
import subprocess
import sys
import unittest

import harness
from servers.slurm import Settings, Slurm

# Notes each attempt, and goes on once the test has made the file `go`.
ATTEMPT = 'echo $(hostname) ${{SLURM_RESTART_COUNT:-0}} >>{name}.attempts; until [ -e go ]; do sleep 0.1; done; echo $(hostname) >>{name}.ended'
HOLDER = """
import sys
from servers.slurm import Settings, Slurm
cluster = Slurm(Settings(nodes=1))
print(cluster.root, flush=True)
sys.stdin.read()
"""


def processes_of(text: str) -> list[str]:
    """Command lines of this machine that have the text, apart from those of zombies."""
    lines = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace") if entry.name.isdigit() else ""
        except OSError:
            continue
        if text in line:
            lines.append(line.replace("\0", " "))
    return lines


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Slurm(Settings(nodes=4, node_timeout_s=10)))

    def setUp(self):
        self.addCleanup(self.clear)

    def clear(self):
        self.cluster.client("scancel", "--user=root")
        for path in self.cluster.shared.iterdir():
            path.unlink()

    def ended(self, *jobs):
        self.cluster.wait_for(lambda: {self.cluster.jobs().get(job) for job in jobs} == {"COMPLETED"})

    def lines(self, name):
        path = self.cluster.shared / name
        return path.read_text().splitlines() if path.exists() else []

    def attempts(self, name, number):
        self.cluster.wait_for(lambda: len(self.lines(f"{name}.attempts")) == number)
        return self.lines(f"{name}.attempts")

    def test_three_jobs_run_in_the_order_of_their_edges(self):
        after = []
        for name in "abc":
            after.append(self.cluster.submit(f"echo {name} $(hostname) >>order", "--kill-on-invalid-dep=yes",
                                             *(f"--dependency=afterok:{job}" for job in after[-1:])))
        self.ended(*after)
        self.assertEqual([line.split()[0] for line in self.lines("order")], ["a", "b", "c"])

    def test_a_failed_job_ends_those_that_need_it(self):
        first = self.cluster.submit("exit 7")
        second = self.cluster.submit("echo ran >>order", f"--dependency=afterok:{first}", "--kill-on-invalid-dep=yes")
        self.cluster.wait_for(lambda: self.cluster.jobs() | {first: "FAILED", second: "CANCELLED"} == self.cluster.jobs())
        self.assertEqual(self.lines("order"), [])

    def test_a_running_job_survives_its_controller(self):
        first = self.cluster.submit(ATTEMPT.format(name="first"))
        second = self.cluster.submit("echo ran >>order", f"--dependency=afterok:{first}")
        self.attempts("first", 1)
        self.cluster.saved_state()
        self.cluster.kill_controller()
        (self.cluster.shared / "go").touch()
        self.cluster.wait_for(lambda: self.lines("first.ended"))
        self.assertNotEqual(self.cluster.client("squeue", check=False).returncode, 0)
        self.cluster.start_controller()
        self.ended(first, second)
        self.assertEqual(self.lines("order"), ["ran"])

    def test_a_controller_forgets_jobs_that_it_did_not_write_down(self):
        saved = self.cluster.submit(ATTEMPT.format(name="saved"))
        state = self.cluster.saved_state()
        lost = self.cluster.submit("true")
        self.cluster.kill_controller()
        self.cluster.start_controller(state)
        self.assertIn(saved, self.cluster.jobs())
        self.assertNotIn(lost, self.cluster.jobs())
        (self.cluster.shared / "go").touch()
        self.ended(saved)

    def test_jobs_of_lost_nodes_start_elsewhere_while_the_first_attempts_run_on(self):
        jobs = {}
        for name, node in (("killed", "h1"), ("cut", "h2")):
            jobs[name] = self.cluster.submit(ATTEMPT.format(name=name), "--requeue", "--cpus-per-task=3")
            self.assertEqual(self.attempts(name, 1), [f"{node} 0"])
        self.cluster.kill_node("h1")
        self.cluster.hosts.cut("h2")
        others = {name: self.attempts(name, 2)[1] for name in jobs}
        self.assertEqual(set(others.values()), {"h3 1", "h4 1"})
        self.cluster.wait_for(lambda: self.cluster.node_states() == {"h1": "down*", "h2": "down*", "h3": "mixed", "h4": "mixed"})
        (self.cluster.shared / "go").touch()
        for name, node in (("killed", "h1"), ("cut", "h2")):
            self.cluster.wait_for(lambda name=name, node=node: {*self.lines(f"{name}.ended")} == {node, others[name].split()[0]})
        self.ended(*jobs.values())
        self.cluster.start_node("h1")
        self.cluster.hosts.heal("h2")
        self.cluster.wait_for(lambda: set(self.cluster.node_states().values()) == {"idle"})

    def test_a_host_without_power_loses_its_jobs(self):
        job = self.cluster.submit(ATTEMPT.format(name="lost"), "--nodelist=h1", "--no-requeue")
        self.attempts("lost", 1)
        self.cluster.power_cycle("h1")
        self.cluster.wait_for(lambda: self.cluster.jobs()[job] not in ("RUNNING", "COMPLETING"))
        self.cluster.wait_for(lambda: set(self.cluster.node_states().values()) == {"idle"})
        (self.cluster.shared / "go").touch()
        self.assertEqual(self.lines("lost.ended"), [])

    def test_a_full_shared_directory_refuses_writes_until_it_is_freed(self):
        write = ["dd", "if=/dev/zero", f"of={self.cluster.shared}/data", "bs=4k", "count=1"]
        ballast = self.cluster.fill_shared()
        self.assertIn("No space left", self.cluster.hosts["h2"].run(write, check=False).stderr)
        ballast.unlink()
        self.cluster.hosts["h2"].run(write)

    def test_a_host_loses_the_shared_directory_alone(self):
        (self.cluster.shared / "data").touch()
        self.cluster.lose_shared("h1")
        self.assertEqual([self.cluster.hosts[name].run(["ls", self.cluster.shared]).stdout for name in ("h1", "h2")], ["", "data\n"])
        self.cluster.find_shared("h1")
        self.assertEqual(self.cluster.hosts["h1"].run(["ls", self.cluster.shared]).stdout, "data\n")

    def test_a_submission_that_hangs_was_accepted_once(self):
        folder = self.cluster.broken_sbatch("exec sleep 86400")
        environment = self.cluster.environment(PATH=f"{folder}:{os.environ['PATH']}")
        command = ["sbatch", "--parsable", "--comment=key", "--output=/dev/null", "--wrap=true"]
        before = len(self.cluster.jobs())
        with self.assertRaises(subprocess.TimeoutExpired):
            self.cluster.login.run(["timeout", "--foreground", "100", *command], env=environment, timeout=3)
        self.cluster.login.kill("sleep", "86400")
        self.assertEqual(len(self.cluster.jobs()), before + 1)
        self.cluster.login.run(command, env=environment)
        self.assertEqual(len(self.cluster.jobs()), before + 2)


class Leftovers(unittest.TestCase):
    def hold(self):
        process = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        root = process.stdout.readline().strip()
        self.addCleanup(subprocess.run, ["rm", "-rf", root], check=False)
        self.assertNotEqual(processes_of(root), [])
        return process, root

    def test_a_killed_test_leaves_no_process_and_no_mount(self):
        process, root = self.hold()
        process.kill()
        process.wait()
        harness.Case.wait_for(self, lambda: processes_of(root) == [], lambda: processes_of(root))
        self.assertNotIn(root, pathlib.Path("/proc/self/mounts").read_text())


if __name__ == "__main__":
    harness.main()
