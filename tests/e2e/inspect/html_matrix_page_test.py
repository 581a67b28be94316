"""The page of `ptpkg matrix status --html` in a browser: states, times, critical path and cache hits of a real run, while it runs and afterwards.
Rules for all pages are tested with the others (html_page_test.py)."""

import json
import pathlib
import re
import subprocess

import browser
import harness
import html_page_test
from html_page_test import COLOURS, LOW_CONTRAST, Pages, count_of, text_of

# [[width, contrast]] of each bar of the timeline: pixels of its lane, and its colour against the lane (WCAG 2.2, 1.4.11).
LANES = """(() => {""" + COLOURS + """
  return [...document.querySelectorAll('#timeline .lane')].map((lane) => [lane.getBoundingClientRect().width,
    contrast(numbers(getComputedStyle(lane.querySelector('i')).backgroundColor), numbers(getComputedStyle(lane).backgroundColor))]);
})()"""
RUN = "run <img src=x onerror='window.broken = 1'>&\"'"


def job(name: str, state: str, **more) -> dict:
    return {"id": name, "state": state, "attempts": 0, "worker": "", "started": 0, "seconds": 0.0, "expected_seconds": 0.0, "cached": False, "error": "",
            "needs": [], "engine_id": "", "engine_state": "", "engine_reason": "", **more}


def report(jobs: list[dict], **more) -> dict:
    return {"run": "/srv/run", "engine": "slurm", "output": "/srv/dist", "cancelled": False, "time": 1_700_000_100, "seconds_left": None, "jobs": jobs, **more}


class MatrixPages(Pages):
    def table(self, page, section: str) -> list[list[str]]:
        return page.value(f"[...document.querySelectorAll('#{section} tbody tr:not(.space)')].map((row) => [...row.children].map((one) => one.innerText))")

    def timeline(self, page) -> dict[str, str]:
        """Job → state and time."""
        return dict(page.value("[...document.querySelectorAll('#timeline li')].map((one) => [one.firstChild.textContent, one.lastChild.textContent])"))

    def figures(self, page) -> dict[str, list[str]]:
        lines = page.value("[...document.querySelectorAll('.figure')].map((one) => one.innerText.split('\\n').filter(Boolean))")
        return {name: rest for name, *rest in lines}


class RealRun(MatrixPages):
    def recipe(self, name: str, host: str = "", script: str = "true") -> pathlib.Path:
        root = self.scratch / name
        root.mkdir()
        make = f"{script}; mkdir -p $PREFIX/share && echo {name} > $PREFIX/share/{name}"
        (root / "recipe.yaml").write_text(
            f'package: {{name: {name}, version: "1"}}\nbuild: {{number: 0, string: "0", script: {{content: [{json.dumps(make)}]}}}}\n'
            f"requirements: {{host: [{host}]}}\nabout: {{license: MIT}}\nextra: {{ptpkg: {{formats: [conda], memory_per_job: 10 MB}}}}\n")
        return root

    def page(self) -> pathlib.Path:
        path = self.scratch / "run.html"
        self.ptpkg("matrix", "status", RUN, "--html", path)
        return path

    def the_running_job_ends_last(self) -> bool:
        """The others have ended two whole seconds ago, so starts that are rounded to seconds do not matter."""
        status = self.ptpkg_json("matrix", "status", RUN)
        jobs = {one["id"]: one for one in status["jobs"]}
        ended = [jobs[name] for name in ("lib-1-0", "core-1-0", "bad-1-0", "side-1-0")]
        return jobs["slow-1-0"]["state"] == "running" and all(one["state"] in ("passed", "failed") for one in ended) and \
            status["time"] >= max(one["started"] + one["seconds"] for one in [*ended, jobs["slow-1-0"]]) + 2

    def can_be_read(self, path: pathlib.Path) -> None:
        for width in (400, 1280):
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    page = browser.Page(self.browser, path, width, dark=dark)
                    self.see_all(page)
                    self.assertEqual(page.problems(), [])
                    self.assertEqual(page.requests(), [path.as_uri()])
                    self.assertIsNone(page.value("window.broken || null"))
                    self.assertEqual(page.value("document.documentElement.scrollWidth"), width)
                    self.assertEqual(page.value(LOW_CONTRAST), [])
                    for pixels, contrast in page.value(LANES):
                        self.assertGreater(pixels, width / 3)
                        self.assertGreater(contrast, 3)

    def test_a_run(self):
        gate, lib = self.scratch / "gate", self.recipe("lib")
        self.ptpkg("matrix", lib, "--run", "first")
        recipes = [lib, self.recipe("core", "lib"), self.recipe("slow", "core", f"while [ ! -e '{gate}' ]; do sleep 0.05; done"),
                   self.recipe("bad", "lib", "exit 3"), self.recipe("after", "bad"), self.recipe("side", "core")]
        run = subprocess.Popen([harness.Settings.ptpkg, "matrix", *recipes, "--run", RUN, "--jobs", "8"], cwd=self.scratch, env=self.environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(run.wait)
        self.addCleanup(gate.touch)
        self.wait_for(lambda: (self.scratch / RUN / "run.json").exists())
        self.wait_for(self.the_running_job_ends_last)
        path = self.page()
        self.can_be_read(path)
        page = self.see(path, RUN)
        figures = self.figures(page)
        self.assertEqual(figures["Jobs"], ["7", "3 passed, 1 running, 1 waiting, 1 not started"])
        self.assertEqual(figures["Failures"], ["1", "1 failed"])
        self.assertEqual(figures["Cache hits"], ["33.3 %", "1 of 3 that passed"])
        self.assertEqual(figures["Left"], ["unknown", "no times of an earlier run"])
        self.assertEqual({name: re.sub(r" \d.*", "", text) for name, text in self.timeline(page).items()},
                         {"lib-1-0": "cached", "core-1-0": "passed in", "side-1-0": "passed in", "bad-1-0": "failed after", "slow-1-0": "running for"})
        self.assertEqual([row[0] for row in self.table(page, "critical")], ["lib-1-0", "core-1-0", "slow-1-0"])
        self.assertEqual(page.value("[...document.querySelectorAll('#timeline li.critical')].map((one) => one.firstChild.textContent)"),
                         ["lib-1-0", "core-1-0", "slow-1-0"])
        rows = {row[0]: row for row in self.table(page, "jobs")}
        self.assertEqual({name: row[1] for name, row in rows.items()},
                         {"lib-1-0": "cached", "core-1-0": "passed", "side-1-0": "passed", "slow-1-0": "running", "bad-1-0": "failed",
                          "after-1-0": "not started", "index": "waiting"})
        self.assertIn("process", rows["slow-1-0"][-1])
        error = next(one["error"] for one in self.document_of(path)["jobs"] if one["id"] == "bad-1-0")
        self.assertIn("exited with status 3", error)
        self.assertIn(error, page.value(text_of("#failures")))
        gate.touch()
        self.assertEqual(run.wait(), 5)
        path = self.page()
        self.can_be_read(path)
        page = self.see(path, RUN)
        self.assertEqual(self.figures(page)["Jobs"], ["7", "5 passed, 1 not started"])
        self.assertNotIn("Left", self.figures(page))
        self.assertEqual([row[0] for row in self.table(page, "critical")], ["lib-1-0", "core-1-0", "slow-1-0", "index"])


class Documents(MatrixPages):
    def test_names_are_text(self):
        names = html_page_test.Hostile.NAMES
        jobs = [job(name, "failed", attempts=1, started=1_700_000_000, seconds=1.0, error=f"{name} failed", worker=name) for name in names]
        page = self.show(report(jobs, run=f"/srv/{names[1]}", engine=names[1], output=names[1]), width=400)
        self.see_all(page)
        self.assertIsNone(page.value("window.broken || null"))
        self.assertEqual(page.value(count_of("main img, main script, main a[href], header img")), 0)
        self.assertEqual(len(page.requests()), 1)
        self.assertEqual(page.value("document.documentElement.scrollWidth"), 400)
        self.assertIn("abc\\u202egpj.exe", page.value(text_of("#timeline")))
        self.assertNotRegex(page.value(text_of("body main")), "[\u2028\u202e]")

    def test_a_run_that_has_not_started(self):
        page = self.show(report([job("a-1-0", "waiting", expected_seconds=60.0), job("index", "waiting", expected_seconds=1.0, needs=["a-1-0"])], seconds_left=61.0))
        self.assertIn("No job has started.", page.value(text_of("#timeline")))
        self.assertEqual(page.value(count_of("#failures")), 0)
        self.assertEqual(self.figures(page)["Left"], ["1 min 1 s", "by the last run"])
        self.assertEqual(self.figures(page)["Cache hits"][0], "–")

    def test_starts_that_are_rounded_keep_the_order_of_the_jobs(self):
        """b started within a second after the end of a: its rounded start is before that end."""
        page = self.show(report([job("a", "passed", attempts=1, started=1_700_000_000, seconds=5.9),
                                 job("b", "passed", attempts=2, started=1_700_000_005, seconds=0.3, needs=["a"])]))
        self.assertEqual([row[0] for row in self.table(page, "critical")], ["a", "b"])
        self.assertEqual(self.figures(page)["Time"], ["6.2 s", "6.2 s of work"])
        # An earlier need that ran again later moves nothing.
        page = self.show(report([job("a", "passed", attempts=2, started=1_700_000_050, seconds=5.0),
                                 job("b", "passed", attempts=1, started=1_700_000_000, seconds=4.0, needs=["a"])]))
        self.assertEqual([row[3] for row in self.table(page, "jobs")], ["50 s", "0.0 s"])

    def test_what_is_not_alive_is_a_failure(self):
        page = self.show(report([job("a", "lost", attempts=1, started=1_700_000_000, worker="host h1"),
                                 job("b", "stopped", attempts=3, started=1_700_000_000, seconds=9.0, error="the disk is full")], cancelled=True))
        self.assertEqual(self.figures(page)["Failures"], ["2", "1 stopped, 1 lost"])
        self.assertIn("worker: host h1", page.value(text_of("#failures")))
        self.assertIn("the disk is full", page.value(text_of("#failures")))
        self.assertEqual(self.timeline(page), {"a": "lost", "b": "stopped after 9.0 s"})
        self.assertIn("cancelled", page.value(text_of("#head")))

    def test_a_release_of_3000_jobs(self):
        jobs = [job(f"torch-{index}", "passed", attempts=1, started=1_700_000_000 + index, seconds=600.0, needs=[f"torch-{index - 1}"] if index % 10 else [])
                for index in range(3000)]
        page = self.show(report(jobs, time=1_700_010_000), width=400)
        self.see_all(page)
        self.assertEqual(page.value(count_of("#timeline li")), 3000)
        self.assertLess(page.value(count_of("#jobs tr")), 80)
        self.assertEqual(page.value("document.documentElement.scrollWidth"), 400)


if __name__ == "__main__":
    harness.main()
