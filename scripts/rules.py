"""What the check_* scripts share: which files there are, how findings are printed, self-tests.

A rule is a function `check(tree) -> iterable of Finding` over a Tree. Each script also brings cases that
prove that the rule can fail: small trees with what must, and what must not, be found in them.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

CPP = (".cpp", ".h")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


class Tree:
    """The files of a working tree that git tracks or would track; of a plain folder, all its files."""

    def __init__(self, root):
        self.root = Path(root)
        listing = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"],
                                 capture_output=True, check=False) if (self.root / ".git").exists() else None
        if listing is not None and listing.returncode == 0:
            names = [os.fsdecode(name) for name in listing.stdout.split(b"\0") if name]
        else:
            names = [str(p.relative_to(root)) for p in self.root.rglob("*")
                     if p.is_file() and not p.relative_to(root).parts[0] in ("build", "dist", ".git")]
        self.files = sorted(n for n in set(names) if (self.root / n).is_file())

    def under(self, *folders, suffixes=CPP):
        prefixes = tuple(f"{folder}/" for folder in folders)
        return [n for n in self.files if n.startswith(prefixes) and n.endswith(suffixes)]

    def text(self, name):
        return (self.root / name).read_text(encoding="utf-8", errors="replace")


_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'',
    re.DOTALL)


def code_only(text, keep_strings=False):
    """C++ text with comments (and the inside of strings) blanked; every line keeps its number."""

    def blank(match):
        token = match.group(0)
        if token.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", token)
        return token if keep_strings else re.sub(r"[^\n]", " ", token[:-1])[:-1] + '""' if len(token) > 2 else token

    return _TOKEN.sub(blank, text)


def _self_test(check, cases):
    """cases: (name, {path: content}, [substring of each expected finding])."""
    failures = []
    for name, files, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            for path, content in files.items():
                target = Path(folder, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(content, encoding="utf-8")
            found = [str(finding) for finding in check(Tree(folder))]
        unexpected = [f for f in found if not any(e in f for e in expected)]
        absent = [e for e in expected if not any(e in f for f in found)]
        failures += [f"{name}: unexpected: {f}" for f in unexpected] + [f"{name}: not found: {e}" for e in absent]
    if not any(expected for _, _, expected in cases):
        failures.append("no case expects a finding, so the rule was never seen to fail")
    for failure in failures:
        print(failure)
    print(f"self-test: {len(cases)} cases, {len(failures)} failures")
    return 1 if failures else 0


def main(doc, check, cases, notes=None):
    """The whole command line of a check script; `notes` adds lines that are not failures."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=str(Path(__file__).resolve().parent.parent), help="tree to check")
    parser.add_argument("--self-test", action="store_true", help="prove on small trees that the rule can fail")
    arguments = parser.parse_args()
    if arguments.self_test:
        return _self_test(check, cases)
    tree = Tree(arguments.root)
    if not tree.files:
        print(f"error: no files under '{arguments.root}'", file=sys.stderr)
        return 2
    for note in notes(tree) if notes else ():
        print(f"note: {note}")
    findings = list(check(tree))
    for finding in findings:
        print(finding)
    print(f"{len(tree.files)} files, {len(findings)} findings")
    return 1 if findings else 0
