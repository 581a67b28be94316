"""`ptpkg matrix --on slurm` on real daemons: a release of 24 packages on three hosts, and a submission
whose client fails."""

import harness
from toy_matrix import JOBS, ToyMatrix


class Slurm(ToyMatrix):
    def test_three_hosts_make_what_one_makes(self):
        self.start()
        tally = self.finish("none")
        self.assertEqual((tally.attempts, tally.scripts, tally.resumes), (JOBS, 24, 0))
        again = self.place / "again"
        self.matrix(*self.all_recipes(), "--on", "slurm", "--run", again, "--output", self.output)
        self.run_folder = again
        self.assertEqual(self.finish("none, and all results are stored").scripts, 24)

    def test_a_submission_that_was_heard_is_found_and_not_repeated(self):
        before = set(self.cluster.jobs())
        self.start(path=self.cluster.broken_sbatch("exit 1"))
        tally = self.finish("a submission was heard, but its client failed")
        self.assertEqual((tally.attempts, tally.scripts, tally.resumes), (JOBS, 24, 0))
        self.assertEqual(len(set(self.cluster.jobs()) - before), JOBS)

    def test_status_says_why_slurm_ended_a_job(self):
        self.run_folder = self.place / "100%a"  # special in the file names of sbatch
        self.hold("lib-cu124-b")
        (self.gates / "fail-core-cpu").touch()
        self.start()
        self.host_of("lib-cu124-b")
        self.cluster.client("scancel", self.jobs()["lib-cu124-b-1-0"]["engine_id"])
        self.wait_until_still()
        errors = {name: job["error"] for name, job in self.jobs().items()}
        self.assertIn("Slurm ended it with CANCELLED: it was withdrawn; continue with 'ptpkg matrix resume", errors["lib-cu124-b-1-0"])
        self.assertEqual(errors["lib-cpu-a-1-0"], "Slurm withdrew it: a job that it needs has not passed")
        self.assertIn("Slurm withdrew it", self.matrix("status", self.run_folder).stdout)
        self.assertTrue({"1-1-0.out", "1-1-3.out"} <= {path.name for path in (self.run_folder / "slurm/1").iterdir()})
        for gate in self.gates.glob("*-*"):
            gate.unlink()
        self.finish("jobs withdrawn and failed, in a directory with '%'")

    def test_a_cluster_without_what_a_job_wants_is_refused_before_anything_is_submitted(self):
        recipe = self.recipes / "core/recipe.yaml"
        text = recipe.read_text()
        self.addCleanup(recipe.write_text, text)
        recipe.write_text(text.replace("100 MB", "1 TB"))
        before = self.cluster.jobs()
        done = self.start(exit_code=3)
        self.assertIn("job 'core-cpu-1-0' asks for", done.stderr)
        self.assertIn("partition 'build' has at most", done.stderr)
        self.assertFalse(self.run_folder.exists())
        done = self.start("--partition", "gpu", exit_code=4)
        self.assertIn("no partition 'gpu'", done.stderr)
        self.assertEqual(self.cluster.jobs(), before)


if __name__ == "__main__":
    harness.main()
