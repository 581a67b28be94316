#!/usr/bin/env python3
"""scripts/docs builds a site with every page, without dead links, that asks no server. Exit code 77: the tools are missing."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from repository import REPOSITORY

LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")
CANONICAL = re.compile(r"<link rel=[\"']?canonical")


def build(root, folder):
    return subprocess.run([REPOSITORY / "scripts/docs", "--root", root, "--staged", folder / "docs", "--output", folder / "site"],
                          capture_output=True, text=True, check=False)


class Site(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_every_page_is_there_and_asks_no_server(self):
        done = build(REPOSITORY, self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        site = self.folder / "site"
        for page in (REPOSITORY / "docs").rglob("*.md"):
            self.assertTrue((site / page.relative_to(REPOSITORY / "docs").with_suffix(".html")).is_file(), page)
        for page in ("index", "contributing", "cli/index", "findings/index", "formats/index", "decisions/index", "json/index"):
            self.assertTrue((site / f"{page}.html").is_file(), page)
        for page in site.rglob("*.html"):
            loaded = [tag for tag in LOADED.findall(page.read_text(encoding="utf-8")) if not CANONICAL.match(tag)]
            self.assertEqual(loaded, [], page)

    def small_tree(self, text):
        root = self.folder / "tree"
        (root / "docs/findings").mkdir(parents=True)
        for name in ("README.md", "CONTRIBUTING.md"):
            (root / name).write_text("# Home\n\n[a](docs/a.md), [all](docs/findings)\n", encoding="utf-8")
        (root / "docs/a.md").write_text(text, encoding="utf-8")
        (root / "docs/findings/x.md").write_text("# x\n\nOne. Two.\n", encoding="utf-8")
        shutil.copy(REPOSITORY / "mkdocs.yml", root)
        configuration = (root / "mkdocs.yml").read_text(encoding="utf-8")
        nav = "nav: [index.md, contributing.md, a.md, findings/index.md]\n"
        (root / "mkdocs.yml").write_text(configuration[:configuration.index("nav:\n")] + nav, encoding="utf-8")
        return root

    def test_markdown_of_code_hosts(self):
        done = build(self.small_tree("# A\n\n## Home\nText\n- item\n\n[home](../README.md#home)\n"), self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("<li>item</li>", (self.folder / "site/a.html").read_text(encoding="utf-8"))
        self.assertIn('<a href="x.html">x</a></td>\n<td>One.</td>',
                      (self.folder / "site/findings/index.html").read_text(encoding="utf-8"))

    def fails(self, text, expected):
        done = build(self.small_tree(text), self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn(expected, done.stdout + done.stderr)

    def test_dead_link(self):
        self.fails("# A\n\n[b](b.md)\n", "'b.md'")

    def test_dead_anchor(self):
        self.fails("# A\n\n[b](../README.md#none)\n", "'index.md#none'")

    def test_page_without_an_entry(self):
        root = self.small_tree("# A\n")
        (root / "docs/b.md").write_text("# B\n", encoding="utf-8")
        done = build(root, self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("b.md", done.stdout + done.stderr)


if __name__ == "__main__":
    probe = subprocess.run([REPOSITORY / "scripts/environment", "docs"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        print(f"skipped: {probe.stderr}", end="")
        sys.exit(1 if os.environ.get("CI") == "true" else 77)
    unittest.main()
