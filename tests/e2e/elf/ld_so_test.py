"""`ptpkg check` finds for every NEEDED what ld.so finds: on trees made by hand, and on random ones.

A random tree depends on its seed alone, which a failure names: PTPKG_LD_SO_SEEDS="17 23" plays these, "1-2000" a range.
"""

import collections
import ctypes
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import harness
import ld_so
from ld_so import CONDITIONAL, Elf, SHADOWED, UNREACHABLE, UNRESOLVED

SEEDS = "1-200"
FOREIGN = Elf(machine=ld_so.AARCH64)
# e_machine reads the same in the order of the host.
OTHER_ORDER = Elf(machine=ld_so.X86_64 << 8, little=False)
TEXT = b"version https://example.org/pointer/v1\noid sha256:0123456789\nsize 123456\n"


def write(root: pathlib.Path, files: dict[str, object]) -> None:
    """Path → Elf, bytes, "-> target" for a symlink, "=> path" for a hard link, None for a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir(exist_ok=True)
        elif isinstance(content, Elf):
            path.write_bytes(content.build())
        elif isinstance(content, bytes):
            path.write_bytes(content)
        elif content.startswith("-> "):
            path.symlink_to(content[3:])
        else:
            path.hardlink_to(root / content[3:])


# What ptpkg has to say of each: (id, file, needed name), beside agreeing with ld.so.
CASES: dict[str, tuple[dict[str, object], list[tuple[str, str, str]]]] = {
    "rpath down a chain of four": ({
        "pkg/ext.so": Elf(("libb.so",), rpath="$ORIGIN/libs"), "pkg/libs/libb.so": Elf(("libc1.so",)),
        "pkg/libs/libc1.so": Elf(("libd.so",)), "pkg/libs/libd.so": Elf()}, []),
    "a loader with runpath in the chain": ({
        "ext.so": Elf(("liba.so",), rpath="$ORIGIN/libs"), "libs/liba.so": Elf(("libb.so",), runpath="$ORIGIN", rpath="$ORIGIN/x"),
        "libs/libb.so": Elf(("libc1.so",)), "libs/libc1.so": Elf()}, []),
    "the only hit has another class": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p"), "p/libb.so": Elf(machine=ld_so.I386, wide=False)},
        [(UNREACHABLE, "ext.so", "libb.so")]),
    "the only hit is for another machine": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p"), "p/libb.so": FOREIGN}, [(UNREACHABLE, "ext.so", "libb.so")]),
    "another machine's first, the right one later": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p:$ORIGIN/q"), "p/libb.so": FOREIGN, "q/libb.so": Elf()}, []),
    "the other byte order of the same machine": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p:$ORIGIN/q"), "p/libb.so": OTHER_ORDER, "q/libb.so": Elf()},
        [(SHADOWED, "ext.so", "libb.so")]),
    "the other byte order of another machine": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p:$ORIGIN/q"), "p/libb.so": Elf(machine=22, little=False), "q/libb.so": Elf()},
        [(SHADOWED, "ext.so", "libb.so")]),
    "reachable from one loader only": ({
        "one.so": Elf(("liba.so",), rpath="$ORIGIN/lib"), "two.so": Elf(("liba.so",), runpath="$ORIGIN/lib"),
        "lib/liba.so": Elf(("libb.so",)), "lib/libb.so": Elf()}, [(UNREACHABLE, "lib/liba.so", "libb.so")]),
    "a program and a library's own path": ({
        "bin/prog": Elf(("liba.so",), rpath="$ORIGIN/../lib", interpreter=True), "lib/liba.so": Elf(("libb.so",)), "lib/libb.so": Elf()}, []),
    "$ORIGIN of a library behind a link": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/lib"), "real/libb.so": Elf(("libc1.so",), runpath="$ORIGIN"),
        "lib/libb.so": "-> ../real/libb.so", "real/libc1.so": Elf()}, [(UNREACHABLE, "real/libb.so", "libc1.so")]),
    "the same, beside the link": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/lib"), "real/libb.so": Elf(("libc1.so",), runpath="$ORIGIN"),
        "lib/libb.so": "-> ../real/libb.so", "lib/libc1.so": Elf()}, []),
    "a linked folder": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/link/../deep"), "real/deep/libb.so": Elf(), "real/at": None, "link": "-> real/at"}, []),
    "dots behind a missing folder": ({
        "lib/ext.so": Elf(("libb.so",), runpath="$ORIGIN/x/../../p"), "p/libb.so": Elf()}, [(UNREACHABLE, "lib/ext.so", "libb.so")]),
    "a text first on the path": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p:$ORIGIN/q"), "p/libb.so": TEXT, "q/libb.so": Elf()},
        [(SHADOWED, "ext.so", "libb.so")]),
    "an empty file first on the path": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p:$ORIGIN/q"), "p/libb.so": b"", "q/libb.so": Elf()},
        [(SHADOWED, "ext.so", "libb.so")]),
    "a text in place of the only one": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p"), "p/libb.so": TEXT}, [(SHADOWED, "ext.so", "libb.so")]),
    "a folder first on the path": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p:$ORIGIN/q"), "p/libb.so": None, "q/libb.so": Elf()},
        [(SHADOWED, "ext.so", "libb.so")]),
    "an object file": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p:$ORIGIN/q"), "p/libb.so": Elf(type=ld_so.TYPE_RELOCATABLE), "q/libb.so": Elf()},
        [(SHADOWED, "ext.so", "libb.so")]),
    "a program of fixed addresses": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p"), "p/libb.so": Elf(type=ld_so.TYPE_EXECUTABLE)}, [(SHADOWED, "ext.so", "libb.so")]),
    "a position-independent program": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p"), "p/libb.so": Elf(flags_1=0x08000000)}, [(SHADOWED, "ext.so", "libb.so")]),
    "a library for another system": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p"), "p/libb.so": Elf().build()[:7] + b"\x09" + Elf().build()[8:]},
        [(SHADOWED, "ext.so", "libb.so")]),
    "a link that leads nowhere": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p:$ORIGIN/q"), "p/libb.so": "-> none", "q/libb.so": Elf()}, []),
    "a loop of links": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/p:$ORIGIN/q"), "p/libb.so": "-> libb.so", "q/libb.so": Elf()},
        [(UNREACHABLE, "ext.so", "libb.so")]),
    "$LIB": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/$LIB"), "lib/x86_64-linux-gnu/libb.so": Elf(), "lib64/libb.so": Elf(),
        "lib/libb.so": Elf()}, []),
    "${LIB} of one distribution": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/${LIB}"), "lib/x86_64-linux-gnu/libb.so": Elf()}, [(CONDITIONAL, "ext.so", "libb.so")]),
    "$PLATFORM": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN/$PLATFORM"), "haswell/libb.so": Elf(), "x86_64/libb.so": Elf(),
        "xeon_phi/libb.so": Elf()}, []),
    "a library for better processors only": ({
        "ext.so": Elf(("libb.so",), runpath="$ORIGIN"), "glibc-hwcaps/x86-64-v2/libb.so": Elf()}, [(CONDITIONAL, "ext.so", "libb.so")]),
    "for better processors, with needs of its own": ({
        "ext.so": Elf(("libb.so",), rpath="$ORIGIN/p"), "p/libb.so": Elf(),
        "p/glibc-hwcaps/x86-64-v3/libb.so": Elf(("libc1.so",)), "p/glibc-hwcaps/x86-64-v3/libc1.so": Elf()}, []),
    "a SONAME loaded earlier": ({
        "ext.so": Elf(("libfirst.so", "liblater.so"), runpath="$ORIGIN/p"), "p/libfirst.so": Elf(soname="libhidden.so"),
        "p/liblater.so": Elf(("libhidden.so",))}, []),
    "a SONAME loaded too late": ({
        "ext.so": Elf(("libb.so", "liba.so"), runpath="$ORIGIN/p"), "p/libb.so": Elf(("libhidden.so",)),
        "p/liba.so": Elf(("libdeep.so",), runpath="$ORIGIN"), "p/libdeep.so": Elf(soname="libhidden.so")},
        [(UNRESOLVED, "p/libb.so", "libhidden.so")]),
    "the name of the first file itself": ({
        "ext.so": Elf(("liba.so",), runpath="$ORIGIN/p", soname="libself.so"), "p/liba.so": Elf(("libself.so",))}, []),
    "one file under two names": ({
        "ext.so": Elf(("libb.so.1", "libb.so"), runpath="$ORIGIN/one:$ORIGIN/two"), "two/libb.so": Elf(("libc1.so",), runpath="$ORIGIN"),
        "one/libb.so.1": "-> ../two/libb.so", "one/libc1.so": Elf()}, []),
    "one file by hard links": ({
        "ext.so": Elf(("libb.so.1", "libb.so"), runpath="$ORIGIN/one:$ORIGIN/two"), "two/libb.so": Elf(("libc1.so",), runpath="$ORIGIN"),
        "one/libb.so.1": "=> two/libb.so", "one/libc1.so": Elf()}, []),
    "needed by a path from $ORIGIN": ({
        "ext.so": Elf(("$ORIGIN/p/libb.so",)), "p/libb.so": Elf(("libc1.so",), runpath="$ORIGIN"), "p/libc1.so": Elf()}, []),
    "a circle": ({
        "liba.so": Elf(("libb.so",), runpath="$ORIGIN"), "libb.so": Elf(("liba.so",), runpath="$ORIGIN")}, []),
    "an empty search path": ({
        "ext.so": Elf(("libb.so",), rpath="$ORIGIN", runpath=""), "libb.so": Elf()}, [(UNREACHABLE, "ext.so", "libb.so")]),
}

# Where ptpkg is right to disagree with the ld.so of this machine, and why.
ALLOWED = {
    "the other byte order of another machine":
        "glibc ends the process at the byte order; Debian and Ubuntu patch it to look at the machine before, and pass over the file",
}

FOLDERS = ["", "lib", "lib/a", "lib/a/b", "p", "q/deep/er", "links/to"]


class Maker:
    """One random tree: libraries in several copies, of several kinds, with paths that mostly lead somewhere."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.files: dict[str, object] = {}
        self.names = [f"lib{i}.so" for i in range(self.random.randint(3, 8))]
        self.folders = self.random.sample(FOLDERS, self.random.choice((2, 2, 3, 3, 4, len(FOLDERS))))
        self.harsh = self.random.random() < 0.2  # with files that end a process
        if self.random.random() < 0.4:
            self.files["links/folder"] = "-> ../" + (self.random.choice(self.folders) or ".")
        for name in self.names:
            for folder in self.random.sample(self.folders, self.random.choice((1, 1, 1, 2))):
                self.add(f"{folder}/{name}".lstrip("/"), name)
        for i in range(self.random.randint(1, 3)):
            self.add_good(f"{self.random.choice(self.folders)}/ext{i}.so".lstrip("/"), f"ext{i}.so")
        for i in range(self.random.randint(0, 1)):
            self.add_good(f"bin/prog{i}", f"prog{i}", interpreter=True)

    def add(self, path: str, name: str) -> None:
        dice = self.random.random()
        if self.random.random() < 0.1:
            level = self.random.choice(("x86-64-v2", "x86-64-v3", "x86-64-v4"))
            path = "/".join([*path.split("/")[:-1], "glibc-hwcaps", level, name])
        if path in self.files:
            return
        if dice < 0.06:
            self.files[path] = FOREIGN
        elif dice < 0.10:
            self.files[path] = Elf(machine=ld_so.I386, wide=False)
        elif dice < 0.25 and self.files:
            target = self.random.choice(list(self.files))
            up = "../" * path.count("/")
            self.files[path] = self.random.choice((f"-> {up}{target}", f"-> {name}.7"))
            if isinstance(self.files[path], str) and self.files[path].endswith(".7"):
                self.add_good(path + ".7", name)
        elif dice < 0.35 and self.harsh:
            self.files[path] = self.random.choice((TEXT, b"", None, OTHER_ORDER, Elf(type=ld_so.TYPE_EXECUTABLE),
                                                   Elf(flags_1=0x08000000)))
        else:
            self.add_good(path, name)

    def add_good(self, path: str, name: str, interpreter: bool = False) -> None:
        others = [other for other in [*self.names, *self.names, *self.names, "libnone.so"] if other != name]
        needed = self.random.sample(others, self.random.choice((0, 1, 1, 2, 3)))
        if self.random.random() < 0.05:
            needed.append(f"$ORIGIN/{self.up(path)}{self.random.choice(self.folders)}/{self.random.choice(self.names)}")
        soname = self.random.choice((None, name, name, self.random.choice(self.names)))
        kind = self.random.choice(("none", "rpath", "rpath", "rpath", "runpath", "runpath", "runpath", "both"))
        rpath = self.search_path(path) if kind in ("rpath", "both") else None
        runpath = self.search_path(path) if kind in ("runpath", "both") else None
        self.files[path] = Elf(tuple(dict.fromkeys(needed)), rpath, runpath, soname, interpreter)

    def up(self, path: str) -> str:
        return "../" * path.count("/")

    def search_path(self, path: str) -> str:
        entries = []
        for _ in range(self.random.choice((0, 2, 3, 3, 4, 5))):
            folder = self.random.choice(self.folders)
            entries.append(self.random.choice((
                "$ORIGIN", "${ORIGIN}/", "$ORIGIN/..", f"$ORIGIN/{self.up(path)}{folder}", f"$ORIGIN/{self.up(path)}{folder}",
                f"${{ORIGIN}}//{self.up(path)}./{folder}/", f"$ORIGIN/{self.up(path)}{folder}", f"$ORIGIN/missing/../{self.up(path)}{folder}",
                f"$ORIGIN/{self.up(path)}links/folder", f"$ORIGIN/{self.up(path)}links/folder/..", "$ORIGIN/nowhere", "")))
        return ":".join(entries)


def seeds() -> list[int]:
    numbers: list[int] = []
    for word in os.environ.get("PTPKG_LD_SO_SEEDS", SEEDS).split():
        first, _, last = word.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


class LdSo(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        if not ld_so.available():
            self.skipTest("ld.so of x86-64 is missing")
        self.empty = self.scratch / "empty"
        self.empty.mkdir()

    def check(self, roots: list[pathlib.Path]) -> list[dict]:
        done = subprocess.run([harness.Settings.ptpkg, "check", "--json", "--quiet", "--profile", "tree", *roots], text=True,
                              env=self.environment(), cwd=self.empty, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        outcomes = json.loads(done.stdout)
        self.assertEqual([outcome["subject"] for outcome in outcomes], [str(root) for root in roots])
        return outcomes

    def test_trees_made_by_hand(self):
        roots = []
        for number, (files, _) in enumerate(CASES.values()):
            roots.append(self.scratch / f"tree{number}")
            write(roots[-1], files)
        for (name, (files, expected)), root, outcome in zip(CASES.items(), roots, self.check(roots)):
            with self.subTest(name):
                tokens = any("$LIB" in text or "{LIB" in text or "$PLATFORM" in text for elf in files.values() if isinstance(elf, Elf)
                             for text in (elf.rpath, elf.runpath) if text)
                if name not in ALLOWED:
                    self.assertEqual(ld_so.disagreements(outcome, ld_so.Judge(root, self.empty), tokens), [])
                self.assertEqual([(found, *key) for key, found in ld_so.verdicts(outcome).items()], expected)

    def test_libraries_that_every_linker_makes_are_sound(self):
        """Options and contents that give unusual tables; ld.so takes each of them, and so does `check`."""
        compiler = harness.tool("gcc")
        sources = {
            "no_export": "static int __attribute__((used, constructor)) run(void) { return 1; }",
            "empty": "",
            "one": "int one(void) { return 1; }",
            "many": "".join(f"int name{number}(void) {{ return {number}; }}" for number in range(300)),
            "data": "int table[4] = {1}; int *place = table; extern int absent __attribute__((weak)); int *other = &absent;",
            "threads": "__thread int own = 3; int get(void) { return own; }",
            "indirect": "static int f(void) { return 1; } static void *pick(void) { return f; }"
                        " int chosen(void) __attribute__((ifunc(\"pick\")));",
        }
        options = [[], ["-Wl,--hash-style=sysv"], ["-Wl,--hash-style=both"], ["-nostdlib"], ["-Wl,-z,now"], ["-Wl,-Bsymbolic"],
                   ["-Wl,-z,pack-relative-relocs"], ["-Wl,-z,noseparate-code"], ["-Wl,--build-id=none"], ["-Wl,-z,norelro"],
                   ["-Wl,--gc-sections", "-ffunction-sections"], ["-s"]]
        tree = self.scratch / "tree"
        tree.mkdir()
        made = 0
        for linker in ("bfd", "gold", "lld", "mold"):
            if shutil.which({"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}[linker]) is None:
                continue
            for name, text in sources.items():
                for number, words in enumerate(options):
                    library = tree / f"lib{name}_{linker}{number}.so"
                    done = subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", f"-fuse-ld={linker}", *words, "-o", library],
                                          input=text, text=True, capture_output=True, check=False)
                    if done.returncode == 0:  # not every linker has every option
                        made += 1
                        ctypes.CDLL(str(library))
        self.assertGreater(made, 70)
        outcome, = self.check([tree])
        self.assertEqual([one for one in outcome["findings"] if one["severity"] == "error"], [])

    def test_random_trees(self):
        numbers = seeds()
        roots = [self.scratch / f"seed{seed}" for seed in numbers]
        tally: collections.Counter[str] = collections.Counter()
        for seed, root in zip(numbers, roots):
            root.mkdir()
            write(root, Maker(seed).files)
        played = [(seed, root) for seed, root in zip(numbers, roots) if ld_so.can_play(root)]
        self.assertGreater(len(played), len(numbers) / 2, "too few trees are for processors that this machine can play")
        numbers, roots = [seed for seed, _ in played], [root for _, root in played]
        for seed, root, outcome in zip(numbers, roots, self.check(roots)):
            judge = ld_so.Judge(root, self.empty)
            tally.update(files=len(judge.files), processes=len(judge.entries) * len(judge.levels), found=len(judge.found),
                         missing=len(judge.missing), fatal=bool(judge.fatal))
            with self.subTest(seed=seed):
                self.assertEqual(ld_so.disagreements(outcome, judge, False), [], f"PTPKG_LD_SO_SEEDS={seed}")
        print(f"seeds {os.environ.get('PTPKG_LD_SO_SEEDS', SEEDS)}: {len(roots)} trees, {dict(tally)}", file=sys.stderr)
        if len(roots) >= 100:  # the generator makes enough of everything
            for kind, least in (("found", 2), ("missing", 2), ("fatal", 0.03)):
                self.assertGreater(tally[kind], least * len(roots), kind)


if __name__ == "__main__":
    harness.main()
