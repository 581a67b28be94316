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
