"""`ptpkg matrix --on slurm` while something breaks, on real daemons: after each fault, the artifacts are those of a local run, each exists
once, and a line with the tally is printed.

One build is held (`hold`) until the fault has happened, so no test depends on time.
"""

import json
import shutil
import signal

import harness
from servers.slurm import Settings
from toy_matrix import JOBS, ToyMatrix

HELD = "lib-cu124-b"  # of the second level: one package needs it, and others of its level go on


class Faults(ToyMatrix):
    settings = Settings(cpus=16, accounting=shutil.which("slurmdbd", path="/usr/sbin:/usr/bin") is not None)

    def start_and_hold(self) -> str:
        """A run whose build of HELD waits; the host where it does."""
        self.hold(HELD)
        self.start()
        return self.host_of(HELD)

    def others_passed(self) -> bool:
        """All but the held job and those after it."""
        return sum(state == "passed" for state in self.states().values()) == JOBS - 3

    def wait_for_second_start(self) -> None:
        """Until Slurm has started the held job again, and that start waits for the first attempt, or has taken over."""
        job = self.run_folder / "jobs" / self.job_of(HELD)
        self.cluster.wait_for(lambda: "waiting for attempt 1 of" in (job / "log").read_text() or (job / "attempts/2").exists(),
                              harness.HANGS_AFTER_S)

    def set_nodes(self, state: str) -> None:
        """DRAIN: running jobs go on, and no other starts. RESUME: as before; a node that is not drained refuses it."""
        for node in self.cluster.nodes:
            self.cluster.client("scontrol", "update", f"NodeName={node}", f"State={state}", "Reason=test", check=state == "DRAIN")

    # ---- workers and hosts

    def test_worker_killed(self):
        host = self.start_and_hold()
        self.assertGreater(self.cluster.hosts[host].kill("run-node", self.job_of(HELD)), 0)
        self.cluster.wait_for(lambda: self.states()[self.job_of(HELD)] != "running")
        self.release()
        tally = self.finish("worker killed")
        self.assertEqual(tally.scripts, 25)
        self.assertEqual(tally.attempts, JOBS + 2, "one of the killed job, and one of the index, which runs after failures too")

    def test_slurmd_killed(self):
        """Slurm starts the job again while its first attempt works on; the second one waits for it."""
        host = self.start_and_hold()
        self.cluster.kill_node(host)
        self.cluster.wait_for(lambda: self.cluster.node_states()[host].startswith("down"))
        self.wait_for_second_start()
        self.release()
        self.finish("slurmd killed")
        self.cluster.start_node(host)
        self.cluster.wait_for(lambda: self.cluster.node_states()[host] == "idle")

    def test_host_without_power(self):
        """Nobody renews the lease of the first attempt, so the second one takes over."""
        host = self.start_and_hold()
        self.cluster.wait_for(self.others_passed)  # else more jobs lose their host
        self.cluster.hosts.restart(host)
        self.release()
        tally = self.finish("host without power")
        self.assertEqual(tally.scripts, 25)
        self.cluster.start_node(host)
        self.cluster.wait_for(lambda: self.cluster.node_states()[host] == "idle")

    def test_link_cut_and_healed(self):
        host = self.start_and_hold()
        self.cluster.hosts.cut(host)
        self.cluster.wait_for(lambda: self.cluster.node_states()[host].startswith("down"))
        self.wait_for_second_start()
        self.cluster.hosts.heal(host)
        self.cluster.wait_for(lambda: not self.cluster.node_states()[host].endswith("*"))
        self.release()
        self.finish("link cut and healed")

    def test_shared_directory_lost_by_one_host(self):
        """The worker cannot renew its lease: it stops by itself, and another host takes over."""
        host = self.start_and_hold()
        self.cluster.wait_for(self.others_passed)
        self.cluster.lose_shared(host)
        workers = self.cluster.hosts[host].processes
        self.cluster.wait_for(lambda: not workers("run-node", self.job_of(HELD)), harness.HANGS_AFTER_S)
        self.cluster.find_shared(host)
        self.release()
        self.assertEqual(self.finish("shared directory lost by one host").scripts, 25)

    # ---- the controller

    def test_controller_killed(self):
        self.start_and_hold()
        self.cluster.wait_for(self.others_passed)
        self.cluster.saved_state()
        self.cluster.kill_controller()
        self.release()
        self.cluster.start_controller()
        tally = self.finish("controller killed")
        self.assertEqual((tally.attempts, tally.scripts, tally.resumes), (JOBS, 24, 0))

    def test_controller_forgets_the_run(self):
        """It was killed before it had written the jobs down: they are in no queue, and have not run."""
        self.set_nodes("DRAIN")
        self.addCleanup(self.set_nodes, "RESUME")
        self.cluster.submit("true")
        state = self.cluster.saved_state()
        self.start()
        self.cluster.kill_controller()
        self.cluster.start_controller(state)
        self.assertEqual(set(self.states().values()), {"not started"})
        self.set_nodes("RESUME")
        self.assertGreater(self.finish("controller forgets the run").resumes, 0)

    def test_status_while_the_controller_is_down(self):
        self.start_and_hold()
        self.cluster.wait_for(self.others_passed)
        self.cluster.saved_state()
        self.cluster.kill_controller()
        done = self.matrix("status", self.run_folder, exit_code=5)
        self.assertIn("squeue", done.stderr)
        self.cluster.start_controller()
        self.release()
        self.finish("controller down during a status call")

    # ---- the shared directory

    def test_shared_directory_full(self):
        self.start_and_hold()
        self.cluster.wait_for(self.others_passed)
        ballast = self.cluster.fill_shared()
        self.release()
        self.cluster.wait_for(lambda: self.states()[self.job_of(HELD)] not in ("running", "waiting", "passed"), harness.HANGS_AFTER_S)
        ballast.unlink()
        self.finish("shared directory full")

    def test_input_changes_before_it_is_read(self):
        """An artifact is not the one that its job recorded: the jobs that need it refuse it. ptpkg does not replace a file that somebody
        changed; once it is moved away, it is made again."""
        self.hold("core-cu124")
        self.start()
        self.host_of("core-cu124")
        self.cluster.wait_for(lambda: self.states()["core-cpu-1-0"] == "passed")  # its package is the other content
        self.set_nodes("DRAIN")  # nothing new starts meanwhile
        self.addCleanup(self.set_nodes, "RESUME")
        self.release()
        self.cluster.wait_for(lambda: self.states()["core-cu124-1-0"] == "passed")
        artifact = next(self.output.rglob("core-cu124-1-0.conda"))
        other = next(self.output.rglob("core-cpu-1-0.conda"))
        artifact.write_bytes(other.read_bytes())
        self.set_nodes("RESUME")
        states = self.wait_until_still()
        self.assertNotEqual(states[self.job_of(HELD)], "passed")
        self.assertEqual(self.started(HELD), [], "refused before anything compiles")
        self.assertIn("core-cu124-1-0", self.matrix("logs", self.run_folder, self.job_of(HELD)).stdout)
        artifact.unlink()
        self.finish("an input is not the one that was made")

    def test_stale_cache(self):
        """The cache and the output directory hold the same packages of an older script."""
        script = self.recipes / "core/build.sh"
        text = script.read_text()
        self.addCleanup(script.write_text, text)
        script.write_text(text + 'echo old >>"$PREFIX/share/toy/$PKG_NAME"\n')
        self.start()
        self.wait_until_still()
        self.assertEqual(len(harness.artifacts(self.output)), len(self.local))
        self.assertNotEqual(harness.artifacts(self.output), self.local)
        script.write_text(text)
        self.run_folder = self.place / "again"
        self.start()
        self.assertEqual(self.finish("stale cache").scripts, 48)

    def test_clocks_differ_by_minutes(self):
        """On h1 the clock is seven minutes ahead, on h2 as far behind. The held attempt is renewed for longer than a lease."""
        faketime = shutil.which("faketime")
        if faketime is None:
            self.skipTest("'faketime' is missing: scripts/bootstrap --nightly installs it")
        real = self.cluster.root / "ptpkg"
        shutil.copy2(harness.Settings.ptpkg, real)
        for host, offset in (("h1", "+7m"), ("h2", "-7m")):
            wrapper = self.cluster.root / f"ptpkg-{host}"
            wrapper.write_text(f'#!/bin/sh\nexec {faketime} -f {offset} {real} "$@"\n')
            wrapper.chmod(0o755)
            self.cluster.hosts[host].run(["mount", "--bind", wrapper, harness.Settings.ptpkg])
            self.addCleanup(self.cluster.hosts[host].run, ["umount", "--lazy", harness.Settings.ptpkg])
        host = self.start_and_hold()
        self.cluster.kill_node(host)
        self.wait_for_second_start()
        self.release()
        tally = self.finish("clocks differ by 14 minutes, slurmd killed")
        self.assertEqual(tally.scripts, 24, "an attempt that is renewed is waited for")
        self.cluster.start_node(host)
        self.cluster.wait_for(lambda: self.cluster.node_states()[host] == "idle")

    # ---- submissions and failures

    def test_submission_times_out(self):
        """Slurm accepts it, and its client hangs. ptpkg ends the client after a minute."""
        before = set(self.cluster.jobs())
        self.start(path=self.cluster.broken_sbatch("exec sleep 86400"))
        tally = self.finish("submission timed out")
        self.assertEqual((tally.attempts, tally.scripts, tally.resumes), (JOBS, 24, 0))
        self.assertEqual(len(set(self.cluster.jobs()) - before), JOBS)

    def test_submission_fails_and_was_not_heard(self):
        done = self.start(path=self.cluster.broken_sbatch("exit 1", submits=False, times=1000), exit_code=5)
        self.assertIn("sbatch", done.stderr)
        self.finish("no submission was heard")

    def test_job_fails_for_its_own_reason(self):
        (self.gates / f"fail-{HELD}").touch()
        self.start()
        states = self.wait_until_still()
        self.assertEqual(states[self.job_of(HELD)], "failed")
        self.assertEqual(sum(state == "passed" for state in states.values()), JOBS - 2 if states["index"] == "passed" else JOBS - 3)
        self.assertEqual(len(self.started(HELD)), 1, "its own failure is final")
        self.assertIn("does not compile", self.matrix("logs", self.run_folder, self.job_of(HELD)).stdout)
        (self.gates / f"fail-{HELD}").unlink()
        self.assertEqual(self.finish("a job fails for its own reason").scripts, 25)

    def test_cancelled_and_resumed(self):
        self.start_and_hold()
        self.matrix("cancel", self.run_folder)
        self.assertEqual(set(self.wait_until_still().values()), {"passed", "stopped", "not started"})
        self.release()
        self.finish("cancelled")

    def test_time_limit_of_the_cluster(self):
        """Slurm's own, of a minute: without `minutes` the worker knows of none. Later the controller has forgotten it, and sacct has not."""
        self.hold(HELD)
        self.start("--sbatch=--time=1")
        self.host_of(HELD)
        self.cluster.wait_for(lambda: self.states()[self.job_of(HELD)] != "running", harness.HANGS_AFTER_S)
        self.wait_until_still()
        self.assertIn("Slurm ended it with TIMEOUT: raise 'minutes'", self.jobs()[self.job_of(HELD)]["error"])
        if self.settings.accounting:
            forgetful = self.cluster.root / "forgetful"
            forgetful.mkdir()
            (forgetful / "squeue").write_text("#!/bin/sh\n")
            (forgetful / "squeue").chmod(0o755)
            self.assertIn("TIMEOUT: raise 'minutes'", self.matrix("status", self.run_folder, path=forgetful).stdout)
        self.release()
        self.finish("time limit")

    def test_worker_asked_to_stop(self):
        """SIGTERM, as scancel and a time limit send it."""
        host = self.start_and_hold()
        self.assertGreater(self.cluster.hosts[host].kill("run-node", self.job_of(HELD), how=signal.SIGTERM), 0)
        self.cluster.wait_for(lambda: self.states()[self.job_of(HELD)] != "running")
        self.release()
        self.finish("worker asked to stop")


if __name__ == "__main__":
    harness.main()
