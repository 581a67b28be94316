#!/usr/bin/env python3
"""Builds the documentation site from docs/, README.md and CONTRIBUTING.md: build/site/index.html.

A link that leads nowhere fails the build, and so does a page that mkdocs.yml does not order. The pages need no network.
scripts/docs runs this with the tools of scripts/requirements-docs.txt.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Directories that get an index: their title and introduction.
INDEXES = {
    "cli": ("Verbs and flags", "Each page shows `ptpkg VERB --help`, and explains the verb's output."),
    "findings": ("Findings", "Each page explains one finding of `ptpkg check`. `ptpkg explain ID` prints the same page."),
    "formats": ("Formats", "Each page describes the bytes that ptpkg writes or reads, and the specification that it follows."),
    "decisions": ("Decisions", "Each page gives the reason for one decision. Missing numbers were withdrawn."),
    "json": ("JSON output", "Schemas of the documents that `--json` prints. Tests hold the output to them."),
}
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)")
FENCE = re.compile(r"^ *(```|~~~)")
ITEM = re.compile(r"^ *(?:[-*+]|\d+\.) ")


def with_blank_lines(text):
    """mkdocs wants an empty line before a list or a table that follows a paragraph; readers of the file don't."""
    lines, fenced = [], False
    for line in text.split("\n"):
        before = lines[-1] if lines else ""
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and before.strip() and not FENCE.match(before) and not before.startswith("#"):
            inside = any(ITEM.match(one) for one in paragraph(lines))
            if (ITEM.match(line) and not inside) or (line.startswith("|") and not before.startswith("|")):
                lines.append("")
        lines.append(line)
    return "\n".join(lines)


def paragraph(lines):
    """The lines since the last empty one, latest first."""
    for line in reversed(lines):
        if not line.strip():
            return
        yield line


def page(root, source, target):
    """The text of a page that moves from `source` to `target`, both relative: links keep their destination."""

    def moved(match):
        path = os.path.normpath(source.parent / match.group(2))
        if path in MOVED:
            path = MOVED[path]
        elif path.startswith("docs/"):
            path = path.removeprefix("docs/")
            if path in INDEXES:
                path += "/index.md"
        return match.group(1) + os.path.relpath(path, target.parent)

    return with_blank_lines(LINK.sub(moved, (root / source).read_text(encoding="utf-8")))


MOVED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}


def summary(text):
    """(title, first sentence) of a page."""
    title, _, rest = text.partition("\n")
    first = re.split(r"(?<=[.])\s|\n\n|\n\|", rest.strip())[0]
    first = LINK.sub(r"\1#", first) if not first.startswith(("|", "`" * 3, "#")) else ""
    return title.lstrip("# "), re.sub(r"\[([^\]]*)\]\(#[^)]*\)", r"\1", " ".join(first.split())).replace("|", "\\|")


def index(staged, name):
    title, introduction = INDEXES[name]
    rows = []
    for path in sorted((staged / name).iterdir()):
        if path.suffix == ".json":
            content = json.loads(path.read_text(encoding="utf-8"))
            rows.append(f"| [{path.name}]({path.name}) | {content.get('title', '')} {content.get('description', '')} |")
        elif path.name != "index.md":
            heading, first = summary(path.read_text(encoding="utf-8"))
            rows.append(f"| [{heading}]({path.name}) | {first} |")
    return "\n".join([f"# {title}", "", introduction, "", "| page | content |", "|---|---|", *rows, ""])


def stage(root, staged):
    """Writes the pages in the layout of the site."""
    shutil.rmtree(staged, ignore_errors=True)
    sources = [path.relative_to(root) for path in sorted((root / "docs").rglob("*")) if path.suffix in (".md", ".json")]
    targets = {source: source.relative_to("docs") for source in sources}
    targets |= {Path(source): Path(target) for source, target in MOVED.items()}
    for source, target in targets.items():
        (staged / target).parent.mkdir(parents=True, exist_ok=True)
        text = page(root, source, target) if source.suffix == ".md" else (root / source).read_text(encoding="utf-8")
        (staged / target).write_text(text, encoding="utf-8")
    if (root / "docs/images").is_dir():
        shutil.copytree(root / "docs/images", staged / "images")
    for name in INDEXES:
        if (staged / name).is_dir():
            (staged / name / "index.md").write_text(index(staged, name), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(prog="scripts/docs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="Exit codes: 1 a page is wrong, 77 the tools are not installed.")
    parser.add_argument("--root", type=Path, default=ROOT, help="tree with the pages")
    parser.add_argument("--output", type=Path, default=ROOT / "build/site", help="directory of the site")
    parser.add_argument("--staged", type=Path, default=ROOT / "build/docs", help="directory of the pages as mkdocs reads them")
    arguments = parser.parse_args()
    stage(arguments.root.resolve(), arguments.staged)
    configuration = (arguments.root / "mkdocs.yml").read_text(encoding="utf-8")
    configuration = configuration.replace("docs_dir: build/docs", f"docs_dir: {arguments.staged.resolve()}")
    written = arguments.staged.parent / "mkdocs.yml"
    written.write_text(configuration, encoding="utf-8")
    # --quiet would hide the warnings from --strict.
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", written, "--site-dir",
                           arguments.output.resolve()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        print(*(line for line in done.stdout.splitlines() if not line.startswith("INFO")), sep="\n", file=sys.stderr)
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
