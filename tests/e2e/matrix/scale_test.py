"""The simulation of docs/scale.md (bench/matrix_scale.py): what holds for any schedule, and that the page has its tables."""

import json
import subprocess
import unittest

import harness

PAGE = harness.REPOSITORY / "docs/scale.md"


def simulate(*options) -> str:
    command = [harness.peers_python(), harness.REPOSITORY / "bench/matrix_scale.py", *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def runs(*options) -> list[dict]:
    return json.loads(simulate("--json", *options))


class Scale(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.small = runs("--nodes", 150)

    def test_no_run_beats_its_critical_path_or_its_machines(self):
        self.assertGreater(len(self.small), 50)
        for run in self.small:
            with self.subTest(site=run["site"]):
                self.assertGreaterEqual(run["makespan_s"], run["critical_path_s"])
                self.assertGreaterEqual(run["makespan_s"] * run["site"]["machines"], run["work_s"])
                self.assertLessEqual(run["used_s"], run["makespan_s"] * run["site"]["machines"] + 1)

    def test_every_node_ends_and_only_lost_attempts_run_again(self):
        for run in self.small:
            with self.subTest(site=run["site"]):
                self.assertEqual((run["ended"], run["attempts"]), (run["nodes"], run["nodes"] + run["lost"]))
                self.assertEqual(run["lost"] > 0, run["lost_s"] > 0)
        self.assertTrue(any(run["lost"] for run in self.small))

    def test_equal_seeds_give_equal_output_and_others_do_not(self):
        options = ["--nodes", 80, "--only", "hits,losses", "--json"]
        self.assertEqual(simulate(*options), simulate(*options))
        self.assertNotEqual(simulate(*options), simulate(*options, "--seed", 9))

    def test_a_cache_saves_work_and_transfers(self):
        by_hits = {(run["site"]["stored"], run["site"]["objects"]): run for run in runs("--nodes", 300, "--only", "hits")}
        cold, half, warm, objects = (by_hits[hits] for hits in ((0, 0), (0.5, 0), (0.99, 0), (0, 0.9)))
        for name in ("used_s", "store_gb"):
            self.assertGreater(cold[name], half[name])
            self.assertGreater(half[name], warm[name])
        self.assertGreater(cold["critical_path_s"], objects["critical_path_s"])
        self.assertEqual(cold["store_gb"], objects["store_gb"])

    def test_one_variant_takes_its_path_its_transfers_and_the_starts(self):
        """torch for the CPU, its check, and the index: 500 MB in, 240 MB out, and 240 MB in again at 1,000 MB/s."""
        run = runs("--nodes", 3, "--only", "hits")[0]
        path = 120 + 12145 / 32 + 32 + 10
        self.assertAlmostEqual(run["critical_path_s"], path, places=2)
        self.assertGreaterEqual(run["makespan_s"], path + 0.98)
        self.assertLessEqual(run["makespan_s"], path + 0.98 + 3 + 0.01, "at most a second for each of the three starts")
        self.assertEqual(run["store_gb"], 0.98)

    def test_the_page_has_the_tables_that_the_script_prints(self):
        page = PAGE.read_text()
        for name in ("machines", "calls"):
            _, table = simulate("--only", name).split("\n", 1)
            self.assertIn(f"<!-- bench/matrix_scale.py --only {name} -->\n{table.strip()}\n", page, "bench/matrix_scale.py --update")

    def test_an_unknown_table_is_refused(self):
        done = subprocess.run([harness.peers_python(), harness.REPOSITORY / "bench/matrix_scale.py", "--only", "hours"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such table: hours", done.stderr)


if __name__ == "__main__":
    harness.main()
