"""The page of `ptpkg inspect --html`, `diff --html` and `slice --html` in a browser: what it shows, that everything on it works by mouse and by
keyboard, that it asks for nothing and can be read."""

import base64
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import zipfile
import zlib

import browser
import harness
import html_documents as documents

# Arithmetic of colours, for scripts below: `contrast` of two colours as WCAG 2.2 defines it.
COLOURS = """
  const numbers = (text) => {
    const parts = (/[\\d.]+[^)]*/.exec(text) || ["0 0 0 / 0"])[0].split(/[ ,/]+/).filter(Boolean).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    return [...parts.slice(0, 3).map((one) => one * scale), parts.length > 3 ? parts[3] : 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat([1]);
  const light = (color) => [0.2126, 0.7152, 0.0722].reduce((total, weight, i) => {
    const one = color[i] / 255;
    return total + weight * (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  }, 0);
  const contrast = (front, back) => {
    const [high, low] = [light(front), light(back)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
"""

# [[contrast, text]] of all text in sight whose contrast with what lies behind it is below 4.5 (WCAG 2.2, 1.4.3).
LOW_CONTRAST = """(() => {""" + COLOURS + """
  const behind = (node) => {
    if (!node) return [255, 255, 255, 1];
    const style = getComputedStyle(node);
    let color = behind(node.parentElement);
    if (node.tagName === "rect") return over(numbers(style.fill), color);
    color = over(numbers(style.backgroundColor), color);
    const image = /gradient\\(((?:rgba?|color)\\([^)]*\\))/.exec(style.backgroundImage);
    return image ? over(numbers(image[1]), color) : color;
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const text = [...node.childNodes].filter((one) => one.nodeType === 3).map((one) => one.data).join("").trim();
    const box = node.getBoundingClientRect();
    if (!text || !box.width || !box.height || node.closest("title, script, .skip")) continue;
    const drawn = node.tagName === "text";
    const back = behind(drawn ? node.parentElement.querySelector("rect") : node);
    const front = over(numbers(drawn ? getComputedStyle(node).fill : getComputedStyle(node).color), back);
    const ratio = contrast(front, back);
    if (ratio < 4.5) found.push([Math.round(ratio * 100) / 100, text.slice(0, 60)]);
  }
  return found;
})()"""

TEXT = "document.querySelector({}).textContent".format
COUNT = "document.querySelectorAll({}).length".format


def text_of(selector):
    return TEXT(json.dumps(selector))


def count_of(selector):
    return COUNT(json.dumps(selector))


class Pages(harness.Case):
    @classmethod
    def setUpClass(cls):
        """One browser for all tests of a class; the pages of a test are closed at its end."""
        super().setUpClass()
        profile = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="ptpkg-e2e-", ignore_cleanup_errors=True))
        cls.browser = cls.enterClassContext(browser.Browser(pathlib.Path(profile)))

    def setUp(self):
        super().setUp()
        self.addCleanup(self.browser.close_pages)

    def page_of(self, document, name="page"):
        source, page = self.scratch / f"{name}.json", self.scratch / f"{name}.html"
        source.write_text(json.dumps(document))
        program = harness.Settings.ptpkg.parent / "html_page_of"
        subprocess.run([program, source, page], check=True)
        return page

    def show(self, document, width=1600, **more):
        page = browser.Page(self.browser, self.page_of(document), width, **more)
        self.addCleanup(lambda: self.assertEqual(page.problems(), []))
        return page

    def see_all(self, page):
        for section in page.value("[...document.querySelectorAll('section')].map((one) => one.id)"):
            page.scroll(f"#{section}")

    def wheel(self, version, **more):
        """A wheel with a program of this system in it."""
        info = f"toy-{version}.dist-info"
        files = {"toy/__init__.py": b"# A toy.\n", "toy/bin/true": pathlib.Path(shutil.which("true")).resolve().read_bytes(),
                 f"{info}/METADATA": f"Metadata-Version: 2.1\nName: toy\nVersion: {version}\n".encode(),
                 f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n",
                 **{name: text if isinstance(text, bytes) else text.encode() for name, text in more.items()}}
        path = self.scratch / f"toy-{version}-py3-none-linux_x86_64.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
            digests = {name: base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode() for name, content in files.items()}
            lines = [f"{name},sha256={digests[name]},{len(content)}\n" for name, content in files.items()]
            archive.writestr(f"{info}/RECORD", "".join([*lines, f"{info}/RECORD,,\n"]))
        return path

    def document_of(self, page):
        packed = re.search(r'id="document">([^<]*)<', page.read_text()).group(1)
        return json.loads(zlib.decompress(base64.b64decode(packed), -15))

    def see(self, path, title):
        page = browser.Page(self.browser, path, 1600)
        self.see_all(page)
        self.assertEqual(page.problems(), [])
        self.assertEqual(page.value(text_of("h1")), title)
        return page


class Readable(Pages):
    def test_fits_windows_and_schemes_and_asks_for_nothing(self):
        for name, document in (("inspect", [documents.inspection()]), ("diff", documents.comparison()), ("slice", documents.slicing())):
            path = self.page_of(document, name)
            for width in (400, 1600):
                for dark in (False, True):
                    with self.subTest(name=name, width=width, dark=dark):
                        page = browser.Page(self.browser, path, width, dark=dark)
                        self.see_all(page)
                        self.assertEqual(page.problems(), [])
                        self.assertEqual(page.requests(), [path.as_uri()])
                        self.assertEqual(page.value("document.documentElement.scrollWidth"), width)
                        tabs = "document.querySelector('#sections ul')"
                        self.assertLessEqual(page.value(f"{tabs}.scrollWidth"), page.value(f"{tabs}.clientWidth"))
                        self.assertEqual(page.value(LOW_CONTRAST), [])
                        self.assertEqual(page.value("getComputedStyle(document.body).colorScheme + matchMedia('(prefers-color-scheme: dark)').matches"),
                                         f"light dark{str(dark).lower()}")

    def test_low_contrast_is_seen(self):
        page = self.show([documents.inspection()])
        page.value("document.querySelector('h1').style.color = '#999999'")
        self.assertEqual([text for _, text in page.value(LOW_CONTRAST)], ["toy 1.0"])

    def test_boxes_with_labels_do_not_overlap(self):
        page = self.show([documents.inspection()])
        self.see_all(page)
        overlaps = page.value("""(() => {
          const boxes = [...document.querySelectorAll('.graph .node rect, .map > .cell')].map((one) => one.getBoundingClientRect());
          return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
            Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5)).length; })()""")
        self.assertEqual(overlaps, 0)
        outside = page.value("""[...document.querySelectorAll('.graph .node')].filter((one) =>
          one.querySelector('text').getBBox().width > one.querySelector('rect').getBBox().width - 8).map((one) => one.textContent)""")
        self.assertEqual(outside, [])

    def test_everything_that_can_be_used_has_a_name(self):
        for document in ([documents.inspection()], documents.comparison(), documents.slicing()):
            page = self.show(document)
            self.see_all(page)
            nodes = page.call("Accessibility.getFullAXTree")["nodes"]
            used = [node for node in nodes if node.get("role", {}).get("value") in
                    ("button", "link", "checkbox", "radio", "combobox", "searchbox", "textbox", "table", "region", "navigation", "main", "group")
                    and not node["ignored"]]
            self.assertGreater(len(used), 30)
            nameless = [node["role"]["value"] for node in used if not node.get("name", {}).get("value") and node["role"]["value"] not in ("main",)]
            # <details> is a group that its summary names for people alone.
            self.assertEqual([role for role in nameless if role != "group"], [])
            self.assertEqual(page.value(count_of("h1")), 1)
            self.assertEqual(page.value("[...document.querySelectorAll('table')].filter((one) => !one.querySelector('thead th[scope=col]')).length"), 0)

    def test_nothing_moves_for_those_who_ask_for_it(self):
        page = self.show([documents.inspection()])
        self.see_all(page)
        self.assertEqual(page.value("getComputedStyle(document.querySelector('.cell')).transitionDuration"), "0s")

    def test_a_damaged_page_says_so(self):
        path = self.page_of([documents.inspection()])
        text = path.read_text()
        path.write_text(re.sub(r'(id="document">).{40}', r"\1" + "A" * 40, text))
        page = browser.Page(self.browser, path, 800)
        self.assertEqual(page.value("document.documentElement.dataset.state"), "failed")
        self.assertIn("could not be shown", page.value(text_of("#main")))


class Hostile(Pages):
    NAMES = ["</script><script>window.broken = 1</script>", "<img src=x onerror='window.broken = 2'>", "<!--", "]]>&amp;", "a\u2028b", "${window.broken = 3}",
             "abc\u202egpj.exe", "line\nbreak", "__proto__", "constructor", "javascript:window.broken = 4"]

    def hostile(self):
        files = [documents.file(f"toy/{name}", 5_000_000) for name in self.NAMES]
        document = documents.inspection(files, libraries=[documents.elf(f"toy/{name}", 1_000_000, [documents.need(name, "missing")]) for name in self.NAMES])
        document["metadata"].update(name=self.NAMES[0], summary=self.NAMES[1], requires=self.NAMES)
        document["findings"] += [documents.finding("error", "toy", name, name) for name in self.NAMES]
        document["device_code"] += [documents.device(f"toy/{name}", 100, ["sm_75"]) for name in self.NAMES]
        return document

    def test_names_are_text(self):
        page = self.show([self.hostile()])
        self.see_all(page)
        self.assertIsNone(page.value("window.broken === undefined ? null : window.broken"))
        self.assertEqual(page.value(count_of("main img, main script, main a[href]")), 0)
        self.assertEqual(len(page.requests()), 1)
        self.assertEqual(page.value(text_of("h1")), self.NAMES[0] + " 1.0")
        self.assertIn(self.NAMES[1], page.value(text_of("#findings")))
        # What would turn or break the line is shown by its number.
        self.assertIn("abc\\u202egpj.exe", page.value(text_of("#findings")))
        self.assertNotRegex(page.value(text_of("body main")), "[\u2028\u202e]")

    def test_names_of_a_comparison_are_text(self):
        document = documents.comparison()
        document["files"] += [documents.changed(name, "renamed", 1, 900_000_000, old_path=name, parts=[documents.part("search path", before=[name], after=[name])])
                              for name in self.NAMES]
        document["metadata"] += [{"field": name, "old": name, "new": name} for name in self.NAMES]
        page = self.show(document, width=400)
        self.see_all(page)
        self.assertIsNone(page.value("window.broken === undefined ? null : window.broken"))
        self.assertEqual(page.value(count_of("main img, main script")), 0)
        self.assertEqual(page.value("document.documentElement.scrollWidth"), 400)

    def test_names_of_slices_are_text(self):
        document = documents.slicing(extra_files=[f"toy/{name}" for name in self.NAMES])
        for file in (file for one in [document, *document["slices"]] for file in one["files"]):
            file["code"][self.NAMES[0]] = 5
        document["slices"][0].update(to=f"/out/{self.NAMES[1]}")
        document["slices"][1]["files"][0].update(kept_because=self.NAMES[0], form=None)
        page = self.show(document)
        self.see_all(page)
        self.assertIsNone(page.value("window.broken === undefined ? null : window.broken"))
        self.assertEqual(page.value(count_of("main img, main script, main a[href]")), 0)
        self.assertIn(self.NAMES[0], page.value(text_of("#reasons")))
        self.assertNotRegex(page.value(text_of("body main")), "[\u2028\u202e]")

    def test_the_policy_stops_a_script_that_is_not_the_page_s_own(self):
        path = self.page_of([documents.inspection()])
        path.write_text(path.read_text().replace("</body>", "<script>window.broken = 5</script><img src='http://127.0.0.1:9/x'></body>"))
        page = browser.Page(self.browser, path, 800)
        self.assertIsNone(page.value("window.broken === undefined ? null : window.broken"))
        self.assertIn("Content Security Policy", " ".join(page.problems()))


class Works(Pages):
    def trail(self, page):
        return page.value("[...document.querySelectorAll('.trail li')].map((one) => one.textContent)")

    def test_size_map_by_mouse(self):
        page = self.show([documents.inspection()])
        page.scroll("#size")
        page.wait(count_of(".map > .cell"))
        page.click(".map > .cell.group > span")
        self.assertEqual(self.trail(page)[1:], ["toy"])
        page.click(".map > .cell.group > span")
        self.assertEqual(self.trail(page)[1:], ["toy", "lib"])
        page.click(".map > .cell.group > span")
        self.assertEqual(self.trail(page)[1:], ["toy", "lib", "libtoy_cuda.so"])
        parts = page.value("[...document.querySelectorAll('.contents tbody th')].map((one) => one.textContent)")
        self.assertEqual(sorted(parts), sorted([".text", ".nv_fatbin", ".symtab", ".rodata", "headers and padding"]))
        page.click(".map > .cell[aria-label^='.nv_fatbin'] > span")
        self.assertEqual(self.trail(page)[-1], ".nv_fatbin")
        self.assertIn("sm_90a", page.value(text_of(".contents")))
        page.click(".trail li:nth-child(2) button")
        self.assertEqual(self.trail(page)[1:], ["toy"])
        # Packed sizes are known of files alone.
        page.click(".trail li:first-child button")
        page.click("fieldset input[type=radio]:not(:checked)")
        self.assertIn("Packed", page.value(text_of(".contents thead")))

    def test_size_map_by_keyboard(self):
        page = self.show([documents.inspection()])
        page.scroll("#size")
        page.wait(count_of(".map > .cell"))
        page.value("document.querySelector('.map [tabindex=\"0\"]').focus()")
        page.press("Enter")
        self.assertEqual(self.trail(page)[1:], ["toy"])
        focused = "document.activeElement.getAttribute('aria-label')"
        self.assertRegex(page.value(focused), "^lib, 9.*% of toy, opens$")
        page.press("ArrowRight")
        self.assertRegex(page.value(focused), "% of toy")
        self.assertNotRegex(page.value(focused), "^lib,")
        self.assertEqual(page.value(count_of(".map [tabindex='0']")), 1)
        page.press("ArrowLeft")
        page.press(" ")
        self.assertEqual(self.trail(page)[1:], ["toy", "lib"])
        page.press("Escape")
        self.assertEqual(self.trail(page)[1:], ["toy"])
        self.assertRegex(page.value(focused), "^lib,")

    def test_graph(self):
        page = self.show([documents.inspection()])
        page.scroll("#libraries")
        page.wait(count_of(".graph .node"))
        labels = page.value("[...document.querySelectorAll('.graph .node')].map((one) => one.getAttribute('aria-label'))")
        self.assertIn("libgone.so.1: missing, needed by 1", labels)
        self.assertIn("libtoy_cpu.so: needs 3, needed by 2, a library is missing", labels)
        self.assertFalse([label for label in labels if label.startswith("libc.so.6")])
        # The file with the problem is the one that is told of first.
        self.assertIn("libtoy_cpu.so", page.value(text_of(".details h3")))
        self.assertIn("no process finds 'libgone.so.1'", page.value(text_of(".details")))
        page.click(".graph .node[aria-label^='libtoy_cuda.so']")
        self.assertIn("already loaded", page.value(text_of(".details")))
        self.assertIn("outside", page.value(text_of(".details")))
        page.click("#libraries fieldset label:last-of-type input")
        self.assertEqual(page.value(count_of(".graph .node[aria-label^='libc.so.6']")), 1)
        page.value("document.querySelector('.graph [tabindex=\"0\"]').focus()")
        self.assertEqual(page.value(count_of(".graph.lit")), 1)
        page.press("ArrowRight")
        page.press("Enter")
        self.assertEqual(page.value("document.activeElement.getAttribute('aria-pressed')"), "true")
        self.assertEqual(page.value(count_of(".graph [aria-pressed='true']")), 1)

    def test_graph_of_many_libraries_shows_one_and_its_neighbours(self):
        page = self.show([documents.inspection(libraries=documents.many_libraries(300))])
        page.scroll("#libraries")
        page.wait(count_of(".graph .node"))
        page.value("(() => { const one = document.querySelector('#libraries select'); one.value = 'toy/many/lib150.so'; one.dispatchEvent(new Event('change')); })()")
        self.assertEqual(sorted(page.value("[...document.querySelectorAll('.graph .node')].map((one) => one.querySelector('title').textContent)")),
                         [f"toy/many/lib{index}.so" for index in range(148, 153)])
        self.assertIn("neighbours", page.value(text_of("#libraries p[role=status]")))
        page.click("#libraries .controls > label:last-child input")
        self.assertEqual(page.value(count_of(".graph .node")), 300 + 5 + 2)

    def test_a_library_of_many_is_drawn_with_some_of_them(self):
        page = self.show([documents.inspection(libraries=documents.hub_library(200))])
        page.scroll("#libraries")
        page.wait(count_of(".graph .node"))
        page.value("(() => { const one = document.querySelector('#libraries select'); one.value = 'toy/needed/libhub.so'; one.dispatchEvent(new Event('change')); })()")
        self.assertEqual(page.value(text_of(".graph [aria-pressed='true'] title")), "toy/needed/libhub.so")
        self.assertEqual(page.value(count_of(".graph .node")), 80)
        self.assertEqual(page.value(text_of(".graph .node.problem title")), "toy/many/lib199.so")
        self.assertIn("121 more are left out", page.value(text_of("#libraries p[role=status]")))

    def test_no_graph_has_too_many_boxes(self):
        page = self.show([documents.inspection(libraries=documents.many_libraries(900, fan=40))])
        page.scroll("#libraries")
        page.click("#libraries .controls > label:last-child input")
        self.assertEqual(page.value(count_of(".graph .node")), 400)
        self.assertIn("the 400 with the most neighbours", page.value(text_of("#libraries p[role=status]")))
        self.assertEqual(page.value(count_of(".graph .node.problem")), 2)

    def test_device_code(self):
        page = self.show([documents.inspection()])
        heads = "[...document.querySelectorAll('#device-code thead th')].map((one) => one.textContent)"
        self.assertEqual(page.value(heads), ["File", *[f"{name}SASS" for name in documents.SM], "compute_100PTX", "all"])
        self.assertEqual(page.value(count_of("#device-code tbody td.error")), 3)
        self.assertIn("not wanted", page.value(text_of("#device-code tbody tr")))
        page.click("#device-code [data-value=sm_80]")
        self.assertEqual(page.value(heads), ["File", "sm_80SASS", "all"])
        cells = page.value("[...document.querySelectorAll('#device-code tbody td, #device-code tfoot td')].map((one) => one.textContent)")
        self.assertEqual(cells, ["857.1 kB× 4", "857.1 kB", "9.5 kB× 4", "9.5 kB", "866.7 kB× 8", "866.7 kB"])
        page.click("#device-code [data-value=sm_80]")
        page.type("#device-code input[type=search]", "JIT")
        self.assertEqual(page.value(count_of("#device-code tbody tr")), 1)

    def test_ptx_that_is_wanted_and_missing_is_no_ptx(self):
        document = documents.inspection()
        self.assertNotIn("No PTX", self.show([document]).value(text_of("#device-code")))
        document["device_code"] = [documents.device("toy/lib/libtoy_cuda.so", 18_000_000, documents.SM, missing=["compute_100"])]
        self.assertIn("No PTX", self.show([document]).value(text_of("#device-code")))

    def test_findings(self):
        page = self.show([documents.inspection()])
        shown = "[...document.querySelectorAll('.findings li .state')].map((one) => one.textContent)"
        # The same of five files is said once.
        self.assertEqual(page.value(shown), ["error", "warning", "info"])
        self.assertEqual(page.value(text_of("#findings .count")), "7 of 7 findings")
        page.click("#findings [data-value=info]")
        self.assertEqual(page.value(shown), ["info"])
        self.assertEqual(page.value("document.querySelector('#findings [data-value=info]').getAttribute('aria-pressed')"), "true")
        page.click("#findings summary")
        page.wait("document.querySelector('#findings details').childElementCount > 1")
        self.assertIn("libtoy_jit.so", page.value("document.querySelector('#findings details[open]').innerText"))
        page.click("#findings [data-value=info]")
        page.type("#findings input", "GONE")
        self.assertEqual(page.value(text_of("#findings .count")), "1 of 7 findings")

    def test_a_table_of_any_length_holds_few_rows(self):
        page = self.show([documents.inspection(headers=12_400)])
        page.scroll("#files")
        rows = "[...document.querySelectorAll('#files .virtual tbody tr:not(.space)')].map((one) => one.firstChild.firstChild.firstChild.data)"
        self.assertLess(page.value(count_of("#files tr")), 80)
        self.assertLess(page.value(count_of("*")), 4000)
        self.assertEqual(page.value(rows)[0], "libtoy_cuda.so")
        self.assertEqual(page.value("document.querySelector('#files table').getAttribute('aria-rowcount')"), "12408")
        page.click("#files th:first-child button")
        self.assertEqual(page.value("document.querySelector('#files th[aria-sort]').textContent"), "File ▴")
        page.value("document.querySelector('#files .virtual').scrollTop = 28 * 6000")
        page.wait("Number(document.querySelector('#files .virtual tbody tr:not(.space)').getAttribute('aria-rowindex')) > 5900")
        self.assertLess(page.value(count_of("#files tr")), 80)
        page.type("#files input", "header_00777")
        self.assertEqual(page.value(rows), ["header_00777.h"])
        self.assertRegex(page.value(text_of("#files .count")), "^1 of 12,407 files")

    def test_kinds_of_files(self):
        page = self.show([documents.inspection()])
        page.value("(() => { const one = document.querySelector('#files select'); one.value = 'elf'; one.dispatchEvent(new Event('change')); })()")
        self.assertEqual(page.value(count_of("#files .virtual tbody tr:not(.space)")), 5)

    def test_a_long_list_of_the_metadata_is_opened_when_asked_for(self):
        document = documents.inspection()
        document["metadata"]["license_files"] = [f"third_party/part{index:02}/LICENSE" for index in range(45)]
        page = self.show([document])
        self.assertNotIn("part30", page.value("document.querySelector('#metadata').innerText"))
        page.click("#metadata summary")
        self.assertIn("part30", page.value("document.querySelector('#metadata').innerText"))

    def test_several_artifacts_and_a_quick_look(self):
        second = documents.quick(documents.inspection(subject="/out/second.whl"))
        page = self.show([documents.inspection(), second])
        self.assertEqual(page.value(count_of("section")), 7)
        page.value("(() => { const one = document.querySelector('header select'); one.value = '1'; one.dispatchEvent(new Event('change')); })()")
        self.assertEqual(page.value("[...document.querySelectorAll('section')].map((one) => one.id)"), ["size", "files", "metadata", "build"])
        self.assertIn("the directory and the metadata alone were read", page.value(text_of("#head")))
        self.assertEqual(page.value("document.querySelector('header select').value"), "1")

    def test_stages_of_a_build(self):
        page = self.show([documents.inspection()])
        self.assertEqual(page.value("[...document.querySelectorAll('.time li')].map((one) => one.lastChild.textContent)"),
                         ["1 h 2 min", "21 s", "10.0 s", "not run: passed before"])

    def test_comparison(self):
        page = self.show(documents.comparison())
        shown = "[...document.querySelectorAll('#files .virtual tbody tr:not(.space)')].map((one) => one.querySelector('button span').getAttribute('title'))"
        self.assertIn("libtoy_cuda.so", page.value(text_of("#files .details h3")))
        details = page.value(text_of("#files .details"))
        for text in ("$ORIGIN/../../nvidia/lib", "memcpy@GLIBC_2.14", "… and 2,500 more"):
            self.assertIn(text, details)
        for change, name in (("added", "toy/added.py"), ("removed", "toy/gone.py"), ("renamed", "toy/new_name.py"), ("mode", "toy/run.py")):
            page.click(f"#files [data-value={change}]")
            self.assertEqual(page.value(shown), [name])
            page.click(f"#files [data-value={change}]")
        page.type("#files input", "old_name")
        self.assertEqual(page.value(shown), ["toy/new_name.py"])
        page.click("#files .virtual tbody button")
        self.assertIn("toy/old_name.py", page.value(text_of("#files .details")))
        page.value("document.querySelector('#files input').value = ''")
        page.type("#files input", "dist-info")
        page.click("#files .virtual tbody button")
        lines = page.value("[...document.querySelectorAll('#files .details pre > *')].map((one) => [one.className, one.textContent.slice(0, 16)])")
        self.assertEqual(lines, [["muted", "@@ -1,2 +1,2 @@"], ["", " Name: toy"], ["minus", "-Version: 1.0"], ["plus", "+Version: 1.1 an"], ["muted", "… and 12 more"]])
        self.assertEqual(page.value("[...document.querySelectorAll('#metadata tbody tr')].map((one) => one.innerText.replace(/\\s+/g, ' '))"),
                         ["version 1.0 1.1", "requires filelock sympy"])
        page.scroll("#size")
        page.wait(count_of(".map > .cell"))
        page.click(".map > .cell.group > span")
        self.assertEqual(self.trail(page), ["all", "toy"])

    def test_labels_of_a_comparison_are_plain(self):
        page = self.show(documents.comparison())
        self.see_all(page)
        text = page.value(text_of("body main")) + page.value(text_of("header"))
        for label in ("the whole", "more or less", "packed otherwise", "as it was", "Files left", "What of it", "Before under", "Of all", "byte by byte"):
            self.assertNotIn(label.lower(), text.lower())

    def test_equal_artifacts(self):
        document = {**documents.comparison(), "identical": True, "files": [], "metadata": [], "packing": []}
        document["sizes"] = {"folders": document["sizes"]["folders"][:1], "sections": None, "device_code": None}
        page = self.show(document)
        self.assertEqual(page.value(text_of("h1")), "Identical")
        self.assertIn("All files are equal", page.value(text_of("#files")))


class Verbs(Pages):
    def test_inspect(self):
        wheel, path = self.wheel("1.0"), self.scratch / "new/page.html"
        for flags in ((), ("--quick",)):
            printed = self.ptpkg_json("inspect", wheel, "--html", path, *flags)
            self.assertEqual(self.document_of(path), printed)
            page = self.see(path, "toy 1.0")
            self.assertEqual(page.value(count_of("#libraries")), 0 if flags else 1)
        self.assertIn("page.html", self.ptpkg("inspect", wheel, "--html", path).stderr)

    def test_several(self):
        path = self.scratch / "page.html"
        self.ptpkg("inspect", self.wheel("1.0"), self.wheel("1.1"), "--html", path)
        self.assertEqual(self.see(path, "toy 1.0").value(count_of("header option")), 2)

    def test_diff(self):
        old, new, path = self.wheel("1.0"), self.wheel("1.1", **{"toy/more.py": "more = 1\n"}), self.scratch / "page.html"
        printed = self.ptpkg_json("diff", old, new, "--html", path, exit_code=1)
        self.assertEqual(self.document_of(path), printed)
        page = self.see(path, new.name)
        self.assertIn("more.py", page.value(text_of("#files")))
        self.ptpkg("diff", old, old, "--html", path)
        self.see(path, "Identical")

    def test_the_same_wheel_gives_the_same_page(self):
        wheel = self.wheel("1.0")
        pages = [self.scratch / name for name in ("one.html", "two.html")]
        for page, jobs in zip(pages, (1, 4)):
            self.ptpkg("inspect", wheel, "--html", page, "--jobs", jobs)
        self.assertEqual(harness.sha256(pages[0]), harness.sha256(pages[1]))

    def test_no_other_file_is_replaced(self):
        wheel = self.wheel("1.0")
        for verb, artifacts in (("inspect", [wheel]), ("diff", [wheel, wheel])):
            before = harness.sha256(wheel)
            done = self.ptpkg(verb, *artifacts, "--html", wheel, exit_code=7)
            self.assertIn("is not a page written by ptpkg; it was not replaced", done.stderr)
            self.assertEqual(harness.sha256(wheel), before)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    harness.main()
