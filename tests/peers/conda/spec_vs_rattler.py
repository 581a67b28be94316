#!/usr/bin/env python3
"""Asks spec/ and py-rattler the same questions about versions, version specs and match specs.

usage: spec_vs_rattler.py SPEC_ANSWERS [--count N] [--seed N]

The questions are made by a seeded generator, a tenth of them malformed. Where rattler leaves conda's rules, which
spec/ follows, the disagreement is in DISAGREEMENTS with its reason; any other one is a failure.
Exit status: 0 agree, 1 disagree, 77 py-rattler is not installed.
"""

import argparse
import collections
import random
import re
import subprocess
import sys

SKIP = 77
WORDS = ("a", "b", "rc", "dev", "post", "alpha", "g", "pre")
NUMBERS = ("0", "1", "2", "3", "9", "10", "11", "12", "99", "2026", "01")
OPERATORS = ("", "", "==", "=", "!=", "<", "<=", ">", ">=", "~=")
BUILDS = ("h1234567_0", "py311h1234567_1", "py38_cuda11.0.221_cudnn8.0.5_0", "cpu_0", "0")
BUILD_SPECS = ("", "", "", "*", "h1234567_0", "*cuda*", "py3*", "*_0", "^py3.*_[0-9]$", "^(cpu|h).*$", "cpu_1")


def regex_without_brackets(text):
    """Brackets begin the long form of a match spec, for both readers."""
    return text.replace("[0-9]", "1")


class Questions:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def segment(self):
        kind = self.random.random()
        number = self.random.choice(NUMBERS)
        if kind < 0.7:
            return number
        word = self.random.choice(WORDS)
        if kind < 0.85:
            return number + word + self.random.choice(("", "1", "2"))
        return word + self.random.choice(("", "1", "2"))

    def version(self):
        segments = [self.segment() for _ in range(self.random.randint(1, 4))]
        text = segments[0]
        for segment in segments[1:]:
            text += self.random.choice("......._") + segment
        if self.random.random() < 0.06:
            text += "_"
        if self.random.random() < 0.1:
            text = self.random.choice("012") + "!" + text
        if self.random.random() < 0.15:
            text += "+" + self.random.choice(("1", "cu121", "2.1", "a.1", "g3"))
        return text.upper() if self.random.random() < 0.05 else text

    def near(self, version):
        """A version that has something in common with this one."""
        pieces = re.split(r"([._])", version)
        kind = self.random.random()
        if kind < 0.4:
            keep = self.random.randrange(len(pieces) // 2 + 1)
            return "".join(pieces[: 2 * keep + 1])
        if kind < 0.7:
            place = 2 * self.random.randrange(len(pieces) // 2 + 1)
            pieces[place] = self.segment()
            return "".join(pieces)
        return version + "." + self.segment() if kind < 0.85 else version

    def clause(self, version):
        bound = self.near(version) if self.random.random() < 0.7 else self.version()
        operator = self.random.choice(OPERATORS)
        star = self.random.choice(("", "", "", ".*", "*"))
        return operator + bound + star

    def version_spec(self, version):
        kind = self.random.random()
        if kind < 0.03:
            return self.random.choice(("*", "=*", ">=*"))
        if kind < 0.6:
            return self.clause(version)
        clauses = [self.clause(version) for _ in range(self.random.randint(2, 4))]
        text = clauses[0]
        for clause in clauses[1:]:
            text += self.random.choice((",", ",", "|")) + clause
        if kind > 0.9:
            text = f"({text}){self.random.choice(',|')}{self.clause(version)}"
        return text

    def broken(self, text):
        if not text or self.random.random() >= 0.1:
            return text
        at = self.random.randrange(len(text))
        if self.random.random() < 0.5:
            return text[:at] + text[at + 1 :]
        return text[:at] + self.random.choice(".,|=<>!~*()+_-x1 /@") + text[at:]

    def match_spec(self, version):
        text = self.version_spec(version)
        build = regex_without_brackets(self.random.choice(BUILD_SPECS))
        glued = text and text[0] in "<>=!~" and self.random.random() < 0.3
        return "x" + ("" if glued else " ") + text + (" " + build if build else "")

    def __call__(self, count):
        """`count` questions of each kind, and whether they are malformed on purpose."""
        for _ in range(count):
            version, build = self.version(), self.random.choice(BUILDS)
            for fields in (
                ("order", version, self.near(version)),
                ("version", version, self.version_spec(version)),
                ("match", version, build, self.match_spec(version)),
            ):
                last = self.broken(fields[-1])
                yield (*fields[:-1], last), last != fields[-1]


class Rattler:
    def __init__(self):
        import rattler
        from rattler.package.build_string import BuildString

        self.rattler, self.build_string = rattler, BuildString

    def __call__(self, question):
        try:
            return str(getattr(self, question[0])(*question[1:]))
        except Exception:  # noqa: BLE001  every refusal is a class of its own
            return "error"

    def order(self, left, right):
        left, right = self.rattler.Version(left), self.rattler.Version(right)
        return "<" if left < right else ">" if left > right else "="

    def version(self, version, spec):
        return self.rattler.VersionSpec(spec).matches(self.rattler.Version(version))

    def match(self, version, build, spec):
        record = self.rattler.PackageRecord(
            name="x", version=version, build=self.build_string(build), build_number=0, subdir="linux-64"
        )
        return self.rattler.MatchSpec(spec, strict=False).matches(record)


def word_goes_on(fields):
    """The version has a word that goes on where one at the end of a prefix stops: 'alpha' of 'alph'."""
    words = re.findall(r"[a-z]+", fields["version"].lower())
    stops = re.findall(r"([a-z]+)(?=[*]|[.][*0-9]|[,|() ]|$)", fields["asked"].lower())
    return any(word != stop and word.startswith(stop) for word in words for stop in stops)


def segment_goes_on(fields):
    """The version has 'g1' where 'g.0' is asked for, or '2026b' for '2026.0'."""
    ends = re.findall(r"([a-z]+|[0-9]+)[._]0", fields["asked"].lower())
    return any(re.search(end + ("[a-z]" if end.isdigit() else "[1-9]"), fields["version"].lower()) for end in ends)


# (reason, ours, theirs, pattern by field or function of the fields); "*" stands for any answer. All patterns must match, each in its own
# field: "version" is that of the package, or the left one of a comparison, "build" the package's, and "asked" what
# is asked about it, a match spec without its name.
DISAGREEMENTS = (
    ("conda refuses '~=' with a star", "error", "*", {"asked": r"~=[^,|()]*[*]"}),
    ("conda refuses '~=' without a dot", "error", "*", {"asked": r"~=[^.,|() ]+([,|() ]|$)"}),
    ("conda drops the star of '>1.2.*', rattler takes it for '>=1.2'", "False", "True", {"asked": r">[^=,|()]*[*]"}),
    ("conda knows stars inside of a version", "*", "error", {"asked": r"[*][^,|() ]"}),
    ("conda takes 'x(' for a name, and nothing is called so; rattler refuses it", "False", "error", {"asked": r"^[(]"}),
    ("conda drops white space", "*", "error", {"asked": r"^ |  | $|[=<>!~(] | [.*]"}),
    ("conda's '~=' cuts the text at its last dot, rattler the last segment", "True", "False",
     {"asked": r"~=[^,|() ]*[+_]"}),
    ("a local part of a prefix asks for an equal version before it in conda", "False", "True",
     {"version": r"[+]", "asked": r"~=[^,|() ]*[+]"}),
    ("a local part of a prefix asks for an equal version before it in conda", "True", "False",
     {"version": r"[+]", "asked": r"!=[^,|() ]*[+][^,|() ]*[*]"}),
    ("an underscore at the end may be a segment in conda", "*", "error", {"asked": r"[.]_"}),
    ("an underscore at the end belongs to the number before it in conda", "*", "*",
     {"version": r"[0-9]_([+]|$)", "asked": r"(?i)dev|post|[0-9]_[0-9]"}),
    ("an underscore at the end belongs to the number before it in conda", "*", "*",
     {"version": r"(?i)dev|post", "asked": r"[0-9]_([,|() +*]|$)"}),
    ("an underscore at the end of a local part is an empty segment in conda", "error", "*",
     {"asked": r"[+][^,|() ]*[_-]"}),
    ("rattler compares no further than a segment that goes on: 'g1' begins with 'g.0'", "False", "True",
     segment_goes_on),
    ("the last word of a prefix may go on in conda", "True", "False", word_goes_on),
    ("a blank after ',' or '|' begins no build in conda", "*", "*", {"asked": r"[,|] [*]"}),
    ("an underscore after a word: a part of it in conda, a word in rattler", "*", "*",
     {"version": r"(?i)[a-z][_-]($|[+.])"}),
    ("an underscore after a word: a part of it in conda, a word in rattler", "*", "*",
     {"asked": r"(?i)[a-z][_-]([ ,|()+*.]|$)"}),
)
WRONG = {"True": "False", "False": "True", "error": "True", "<": ">", ">": "<", "=": "<"}
MOST_EXCUSED = 0.08
# rattler's lenient reader drops what it cannot read, or takes it for something that no package has.
BROKEN = "a malformed match spec is refused"


def fields_of(question):
    """The fields of a question by name."""
    kind, version, *middle, asked = question
    if kind == "match":
        asked = re.sub(r"^x ?", "", asked)
    return {"version": version, "build": "".join(middle), "asked": asked}


def applies(rule, fields):
    if callable(rule):
        return rule(fields)
    return all(re.search(pattern, fields[name]) for name, pattern in rule.items())


def reason_of(question, broken, ours, theirs):
    if broken and question[0] == "match" and ours == "error":
        return BROKEN
    fields = fields_of(question)
    for reason, our, their, rule in DISAGREEMENTS:
        if our in ("*", ours) and their in ("*", theirs) and applies(rule, fields):
            return reason
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=4000, help="questions of each kind")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    try:
        rattler = Rattler()
    except ImportError:
        print("skipped: py-rattler is not installed")
        return SKIP
    questions = list(Questions(args.seed)(args.count))
    text = "".join("\t".join(question) + "\n" for question, _ in questions)
    done = subprocess.run([args.program], input=text, capture_output=True, text=True, check=True)
    answers = done.stdout.splitlines()
    if len(answers) != len(questions):
        print(f"{len(questions)} questions, {len(answers)} answers")
        return 1
    counts, reasons, failed = collections.Counter(), collections.Counter(), 0
    agreed, excused = 0, collections.Counter()
    for (question, broken), ours in zip(questions, answers, strict=True):
        theirs = rattler(question)
        counts[question[0], ours] += 1
        if ours == theirs:
            agreed += 1
            excused[reason_of(question, broken, WRONG[ours], theirs)] += 1
            continue
        reason = reason_of(question, broken, ours, theirs)
        reasons[reason] += 1
        if reason is None:
            failed += 1
            if failed <= 40:
                print(f"DIFFERENT {question}: ptpkg {ours}, rattler {theirs}")
    for (kind, answer), count in sorted(counts.items()):
        print(f"{kind} {answer}: {count}")
    for reason, count in reasons.most_common():
        print(f"disagreement, {reason or 'UNEXPLAINED'}: {count}")
    share = 1 - excused.pop(None, 0) / max(agreed, 1)
    for reason, count in excused.most_common():
        print(f"would be excused, {reason}: {count}")
    print(f"of {agreed} answers that agree, {share:.1%} would be excused if they were wrong")
    if share > MOST_EXCUSED:
        print(f"more than {MOST_EXCUSED:.0%}: the excuses are too wide to find an error")
        failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
