"""The page of `ptpkg slice --html` in a browser, and what that of `ptpkg diff --html` says of a slice. That it can be read, and that names in it
are text, is tested with the others (html_page_test.py)."""

import pathlib

import gpu_library
import harness
import html_documents as documents
from gpu_library import CUBIN, PTX
from html_page_test import Pages, count_of, text_of


class Slices(Pages):
    def rows(self, page, section, cells="td"):
        return page.value(f"[...document.querySelectorAll('#{section} .virtual tbody tr:not(.space)')].map((row) => [...row.querySelectorAll('{cells}')].map((one) => one.innerText))")

    def grid(self, page, section):
        """Title of each row → texts of its cells."""
        return dict(page.value(f"[...document.querySelectorAll('#{section} .grid tbody tr, #{section} .grid tfoot tr')].map((row) =>"
                               "[row.querySelector('th').firstChild.textContent, [...row.querySelectorAll('td')].map((one) => one.textContent)])"))

    def choose(self, page, section, text):
        page.value(f"(() => {{ const box = document.querySelector('#{section} select'); box.value = [...box.options].find((one) => one.text === '{text}').value;"
                   "box.dispatchEvent(new Event('change')); })()")

    def test_all_slices(self):
        page = self.show(documents.slicing())
        self.assertEqual(page.value(text_of("h1")), "toy-1.0+cu130-cp311-cp311-linux_x86_64.whl")
        self.assertIn("for 8.0; for 9.0; for 8.0+9.0; for 12.0", page.value(text_of("#head")))
        figures = page.value("[...document.querySelectorAll('.figure')].map((one) => one.innerText.split('\\n').filter(Boolean).join(' | '))")
        self.assertEqual(figures, ["Artifact | 310.0 MB | original", "4 slices | 170.0 MB to 210.0 MB | smallest: 54.8 % of the original",
                                   "GPU code | 303.9 MB | 133.3 MB to 211.3 MB stay", "Files with GPU code | 5 | 1 never changed",
                                   "Gaps | 3 containers | kept whole, without code for a GPU"])
        rows = self.rows(page, "slices")
        self.assertEqual([row[0] for row in rows], ["original", "8.0", "8.0+9.0", "9.0", "12.0", "any"])
        self.assertEqual(rows[4], ["12.0", "toy-1.0+cu130.sm120-cp311-cp311-linux_x86_64.whl", "170.0 MB", "54.8 %", "154.5 MB", "2", "3"])
        page.click("#slices th:nth-child(5) button")
        self.assertEqual([row[0] for row in self.rows(page, "slices")], ["original", "any", "8.0+9.0", "12.0", "9.0", "8.0"])
        names = ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_120", "compute_120", "other"]
        self.assertEqual(page.value("[...document.querySelectorAll('#slices .grid thead th')].map((one) => one.firstChild.data)"), ["For GPU", *names, "all"])
        grid = self.grid(page, "slices")
        self.assertEqual(grid["original"], ["900.0 kB", "92.4 MB", "113.0 MB", "5.0 MB", "83.6 MB", "9.0 MB", "1.0 kB", "303.9 MB"])
        self.assertEqual(grid["9.0"], ["900.0 kB", "30.0 MB", "113.0 MB", "5.0 MB", "–", "–", "1.0 kB", "148.9 MB"])

    def test_what_stays_of_each_file(self):
        page = self.show(documents.slicing())
        grid = self.grid(page, "device-code")
        self.assertEqual(grid["libtoy_cuda.so"], ["", "60.0 MBall", "–of 70.0 MB", "–of 5.0 MB", "–of 80.0 MB", "–of 9.0 MB", "1.0 kBall", "60.0 MBof 224.0 MB"])
        self.assertEqual(grid["all"][-1], "133.3 MBof 303.9 MB")
        self.choose(page, "device-code", "12.0")
        self.assertEqual(self.grid(page, "device-code")["libtoy_cuda.so"][1:5], ["–of 60.0 MB", "–of 70.0 MB", "–of 5.0 MB", "80.0 MBall"])
        page.click("#device-code [data-value=sm_90]")
        page.click("#device-code [data-value=sm_120]")
        page.type("#device-code input[type=search]", "STATIC")
        self.assertEqual(self.grid(page, "device-code"), {"libtoy_static.a": ["–of 500.0 kB", "600.0 kBall", "600.0 kBof 1.1 MB"],
                                                          "all": ["–of 500.0 kB", "600.0 kBall", "600.0 kBof 1.1 MB"]})

    def test_files(self):
        page = self.show(documents.slicing())
        page.scroll("#files")
        self.assertEqual(page.value(text_of("#files .count")), "20 of 20 files")
        self.assertEqual(self.rows(page, "files")[0][1:], ["8.0", "compact", "274.0 MB", "110.0 MB", "−164.0 MB"])
        self.assertIn("224.0 MB → 60.0 MB", page.value(text_of("#files .details")))
        page.click("#files [data-value='unchanged']")
        self.choose(page, "files", "9.0")
        self.assertEqual([row[0].split()[0] for row in self.rows(page, "files")], ["libnccl.so.2", "libtoy_old.so"])
        page.type("#files input[type=search]", "NCCL")
        page.click("#files .virtual tbody button")
        self.assertIn("NVIDIA's licence does not allow changes", page.value(text_of("#files .details")))
        page.click("#files [data-value='unchanged']")
        page.value("(() => { const box = document.querySelector('#files input'); box.value = ''; box.dispatchEvent(new Event('input')); })()")
        self.choose(page, "files", "12.0")
        page.click("#files th:first-child button")
        page.click("#files .virtual tbody tr:nth-child(3) button")
        details = page.value("document.querySelector('#files .details').innerText")
        self.assertIn("3 containers without code for 12.0", details)
        page.click("#files .virtual tbody tr:nth-child(6) button")
        self.assertIn("only linked libraries and programs can be compact", page.value(text_of("#files .details")))

    def test_reasons(self):
        page = self.show(documents.slicing())
        shown = "[...document.querySelectorAll('#reasons li')].map((one) => one.innerText.split('\\n').filter(Boolean))"
        self.assertEqual(page.value(text_of("#reasons .count")), "7 of 7 reasons")
        self.assertEqual(page.value(shown)[:3], [["warning", "kept whole", "toy/lib/libtoy_cuda.so", "3 containers without code for 12.0", "In the slice for 12.0"],
                                                 ["info", "unchanged", "toy/lib/libnccl.so.2", "NVIDIA's licence does not allow changes"],
                                                 ["info", "unchanged", "toy/lib/libtoy_old.so", "it has no code for 8.0", "In the slice for 8.0"]])
        page.type("#reasons input", "compact")
        self.assertEqual(page.value(shown), [["info", "not compact", "toy/lib/libtoy_static.a", "only linked libraries and programs can be compact"]])

    def test_one_slice_that_a_dry_run_plans(self):
        document = documents.slicing(gpus=(("9.0",),), fallback=False)
        document["slices"][0]["size"] = None
        for one in (document, document["slices"][0]):
            one["files"] = one["files"][1:2]
        page = self.show(document)
        self.assertIn("this was a dry run", page.value(text_of("#head")))
        self.assertEqual([row[2] for row in self.rows(page, "slices")], ["310.0 MB", "–"])
        self.assertEqual(page.value(count_of("#device-code select, #files select")), 0)
        self.assertIn("None: each container keeps only the code that its GPUs need.", page.value(text_of("#reasons")))


class Verbs(Pages):
    def fat_wheel(self):
        """Two containers of GPU code, for the second of which there is nothing for 9.0."""
        library = gpu_library.make(self.scratch / "made/libtoy.so", [[(CUBIN, "80"), (CUBIN, "90"), (PTX, "90")], [(CUBIN, "80")]])
        return self.wheel("1.0", **{"toy/libtoy.so": library.read_bytes()})

    def test_slice(self):
        wheel, path, output = self.fat_wheel(), self.scratch / "new/page.html", self.scratch / "out"
        for flags in (("--dry-run",), ()):
            printed = self.ptpkg_json("slice", wheel, "--gpu", "9.0", "--gpu", "8.0", "--output", output, "--html", path, *flags)
            self.assertEqual(self.document_of(path), printed)
            self.assertEqual(output.exists(), not flags)
            page = self.see(path, wheel.name)
            self.assertIn("1 container without code for 9.0", page.value(text_of("#reasons")))
            self.assertEqual(page.value(count_of("#files .virtual tbody tr:not(.space)")), 2)
        self.assertIn("page.html' written", self.ptpkg("slice", wheel, "--gpu", "9.0", "--output", output, "--force", "--html", path).stderr)
        # Before any work, and never in the place of something else.
        before = harness.sha256(wheel)
        done = self.ptpkg("slice", wheel, "--gpu", "8.0", "--output", self.scratch / "more", "--html", wheel, exit_code=7)
        self.assertIn("is not a page written by ptpkg; it was not replaced", done.stderr)
        self.assertFalse((self.scratch / "more").exists())
        self.assertEqual(harness.sha256(wheel), before)

    def test_diff_of_a_slice(self):
        wheel, path = self.fat_wheel(), self.scratch / "page.html"
        for flags in ((), ("--compact",)):
            new, = self.ptpkg_json("slice", wheel, "--gpu", "9.0", "--output", self.scratch / "out", "--force", *flags)["slices"]
            self.ptpkg("diff", wheel, new["to"], "--html", path, exit_code=1)
            page = self.see(path, pathlib.Path(new["to"]).name)
            table = "[...document.querySelectorAll('#size h3')].find((one) => one.textContent === 'By GPU architecture').nextElementSibling"
            rows = page.value(f"[...{table}.querySelectorAll('tbody tr')].map((row) => [...row.querySelectorAll('th, td')].slice(0, 5).map((one) => one.innerText))")
            self.assertEqual(rows, [["sm_80", "40.1 kB", "20.1 kB", "−20.1 kB", "2 → 1"], ["compute_90", "20.1 kB", "0 B", "−20.1 kB", "1 → 0"],
                                    ["sm_90", "20.1 kB", "20.1 kB", "±0", "1"]])
            files = "[...document.querySelectorAll('#files .virtual tbody tr:not(.space)')].map((one) => one.innerText)"
            self.assertTrue(any("libtoy.so" in one and "device code" in one for one in page.value(files)), page.value(files))


if __name__ == "__main__":
    harness.main()
