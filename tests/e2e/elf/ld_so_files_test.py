"""ld.so loads every file that `ptpkg check` passes: small libraries, each with one field of a header, the dynamic section or a
relocation changed.

A child process opens each file with dlopen, which is the judge. PTPKG_LD_SO_FILES="N" plays N mutations instead of a sample.
"""

import collections
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import unittest

import harness
import ld_so_case
from ld_so_case import dynamic, file_offset, find, segments

SAMPLE = 400
# These are in every sample, since each once passed.
ALWAYS = ("sysv: name of symbol 2 =", "relr: tag of entry 0x7 =", "relr: entry 0x8 = 0x0", "now: entry 0x17 = 0x1", "now: entry 0x17 = 0x3",
          "tls: segment 6 memsz = 0x0", "tls: segment 6 vaddr = 0x0", "tls: segment 6 align = 0x0")
# A fault that is refused here and that the ld.so of this machine takes, by finding id.
REASONS = {
    "elf-damaged": "the string table, the sections or the program headers contradict the file; ld.so does not look at them",
    "elf-segments": "ld.so maps it and does not use the part yet; the first use of that memory fails",
    "elf-dynamic": "ld.so does not read this entry, other loaders (musl) and tools do",
    "elf-relocation": "a COPY relocation copies a symbol of the library onto itself, or the place is by chance on a page that is mapped",
    "elf-start": "the function is called at another time, or the address holds bytes that return",
    "elf-shadowed-needed": "ld.so takes the empty name for the process itself",
    "elf-unresolved-needed": "the name leads to nothing in the tree; this machine has such a library",
    "elf-version-requirement": "ld.so finds the library loaded already",
    "elf-search-path-relative": "the search path is not asked for",
}

SOURCE = r"""
#include <stdio.h>
#include <string.h>
int data[50] = {1, 2, 3};
int zeros[100];
int *pointers[30] = {data, data + 1, zeros};
#ifdef TLS
__thread int own TLS = 3;
#else
static int own = 3;
#endif
#ifdef OTHER
int other(void);
#else
static int other(void) { return 1; }
#endif
static void __attribute__((constructor)) up(void) { zeros[1] = 1; }
static void __attribute__((destructor)) down(void) { zeros[1] = 0; }
int weak(void) __attribute__((weak));
int foo(const char* text) { return own + data[1] + zeros[3] + (int)strlen(text) + *pointers[0] + other() + (weak ? weak() : 0); }
int bar(void) { return foo("bar"); }
"""

BUILDS = {
    "plain": [],
    "now": ["-Wl,-z,now,-z,relro"],
    "lazy": ["-Wl,-z,lazy,-z,norelro", "-DTLS="],
    "tls": ["-DTLS=__attribute__((tls_model(\"initial-exec\")))"],
    "sysv": ["-Wl,--hash-style=sysv", "-Wl,-z,noseparate-code"],
    "relr": ["-Wl,-z,pack-relative-relocs", "-Wl,--hash-style=both"],
    "named": ["-Wl,-soname,libnamed.so", "-Wl,-rpath,$ORIGIN", "-DTLS="],
}

SEGMENT_FIELDS = ("type", "flags", "offset", "vaddr", "paddr", "filesz", "memsz", "align")
# Left out, for no reader can see them: pointers to the middle of a function, a relocation that is another one of the kinds that
# the place can have, read-only memory that reaches further, and another processor, for which the file may be.
CODE, RELRO = (12, 13), 0x6474e552
VALUES = (0, 1, 3, 23, 1 << 32, (1 << 63) + 8)


def mutations(image: bytes) -> list[tuple[str, int, bytes]]:
    """(what is changed, where, to which bytes), each alone."""
    made = []

    def put(what: str, at: int, form: str, value: int) -> None:
        new = struct.pack("<" + form, value % (1 << 8 * struct.calcsize(form)))
        if image[at:at + len(new)] != new:
            made.append((f"{what} = {value:#x}", at, new))

    for at in range(4, 16):
        for value in (0, 1, 2, 3, 6, 9, 99):
            put(f"e_ident[{at}]", at, "B", value)
    for name, at, form, values in (
            ("e_type", 16, "H", (0, 1, 2, 4, 0xfe00)), ("e_machine", 18, "H", (0, 3, 40, 999)), ("e_version", 20, "I", (0, 2)),
            ("e_phoff", 32, "Q", (0, 63, 1 << 40)), ("e_phentsize", 54, "H", (0, 32, 55, 57)), ("e_phnum", 56, "H", (0, 1, 0xfffe))):
        for value in values:
            put(name, at, form, value)
    for number, at in enumerate(segments(image)):
        if struct.unpack_from("<I", image, at)[0] == RELRO:
            continue
        for field, (name, offset, form) in enumerate(zip(SEGMENT_FIELDS, (0, 4, 8, 16, 24, 32, 40, 48), "IIQQQQQQ")):
            own = struct.unpack_from("<" + form, image, at + offset)[0]
            values = {0: (0, 1, 4), 1: (0, 4, 5, 6)}.get(field, (0, 1, 3, own + 1, own + 4096, own + (1 << 33), 1 << 50))
            for value in values:
                put(f"segment {number} {name}", at + offset, form, value)
        for other in segments(image)[number + 1:]:
            if image[at:at + 4] == image[other:other + 4] == struct.pack("<I", 1):
                made.append((f"segment {number} in place of {other}", at, image[other:other + 56]))
    for at in dynamic(image):
        tag, own = struct.unpack_from("<QQ", image, at)
        put(f"tag of entry {tag:#x}", at, "Q", 0x6ffffd00)
        for value in VALUES if tag in CODE else (*VALUES, own + 8, own + 24, own - 8, own + (1 << 20)):
            put(f"entry {tag:#x}", at + 8, "Q", value)
        if tag == 0:
            for new, value in ((0x6ffffffb, 0x40), (0x6ffffffb, 0x08000000), (0x7fffffff, 1), (0x7ffffffd, 1), (22, 0), (0x6ffffffb, 1),
                               (36, own), (17, own)):
                made.append((f"new entry {new:#x} = {value:#x}", at, struct.pack("<QQ", new, value)))
    for table, size in ((7, 8), (23, 2)):
        begin = file_offset(image, find(image, table))
        for at in range(begin, begin + find(image, size), 24):
            for value in (5, 9, 24, 30, 99):
                put(f"type of relocation at {at:#x}", at + 8, "I", value)
            for value in (500, 1 << 30):
                put(f"symbol of relocation at {at:#x}", at + 12, "I", value)
            for value in (0, 1 << 20, 1 << 40):
                put(f"place of relocation at {at:#x}", at, "Q", value)
    symbols = file_offset(image, find(image, 6))
    for number in range(1, (find(image, 5) - find(image, 6)) // 24):  # linkers put the strings behind the symbols
        at = symbols + 24 * number
        for value in (1 << 27, 1 << 31):
            put(f"name of symbol {number}", at, "I", value)
        for kind in (3, 10):
            put(f"type of symbol {number}", at + 4, "B", image[at + 4] & 0xf0 | kind)
        for value in (1, 2, 3):
            put(f"visibility of symbol {number}", at + 5, "B", value)
        for value in (1 << 30, 1 << 44):
            put(f"value of symbol {number}", at + 8, "Q", value)
    needs = find(image, 0x6ffffffe)
    if needs is not None:
        at = file_offset(image, needs)
        for value in (0, 2):
            put("vn_version", at, "H", value)
        for value in (4, 16, 1 << 27):
            put("vn_next", at + 12, "I", value)
        first = at + struct.unpack_from("<I", image, at + 8)[0]
        put("vna_hash", first, "I", 12345)
        for value in (1, 1 << 27):
            put("vna_name", first + 8, "I", value)
        for value in (0, 4, 16, 1 << 27):
            put("vna_next", first + 12, "I", value)
    table = find(image, 0x6ffffef5)
    if table is not None:
        at = file_offset(image, table)
        for word, values in ((0, (0, 1 << 30)), (4, (0, 1 << 30)), (8, (0, 3, 1 << 28)), (12, (31,))):
            for value in values:
                put(f"word {word} of the hash table", at + word, "I", value)
    return made


@unittest.skipUnless(shutil.which("gcc"), "gcc is missing")
class LdSoFiles(ld_so_case.LdSoCase):
    def setUp(self) -> None:
        super().setUp()
        (self.scratch / "source.c").write_text(SOURCE)

    def build(self, name: str, options: list[str]) -> bytes:
        self.gcc("-shared", "-fPIC", "-O1", "source.c", "-o", f"{name}.so", *options)
        return (self.scratch / f"{name}.so").read_bytes()

    def test_one_field_changed(self):
        cases = []
        for name, options in BUILDS.items():
            image = self.build(name, options)
            cases.append((f"{name} as built", image))
            cases += [(f"{name}: {what}", image[:at] + new + image[at + len(new):]) for what, at, new in mutations(image)]
        wanted = int(os.environ.get("PTPKG_LD_SO_FILES", SAMPLE))
        built = [case for case in cases if case[0].endswith("as built") or case[0].startswith(ALWAYS)]
        others = [case for case in cases if case not in built]
        cases = built + random.Random(1).sample(others, min(wanted, len(others)))
        roots, files = [], []
        for number, (_, image) in enumerate(cases):
            roots.append(self.scratch / f"tree{number}")
            roots[-1].mkdir()
            files.append(roots[-1] / "x.so")
            files[-1].write_bytes(image)
        verdicts = self.judge(files)
        tally: collections.Counter[str] = collections.Counter()
        passed, unexplained = [], []
        for (what, _), verdict, outcome in zip(cases, verdicts, self.check(roots), strict=True):
            errors = sorted({finding["id"] for finding in outcome["findings"] if finding["severity"] == "error"})
            if verdict != "ok" and not errors:
                passed.append(f"{what}: {verdict}")
            if verdict == "ok" and errors:
                tally.update(errors)
                unexplained += [f"{what}: {finding['message']}" for finding in outcome["findings"]
                                if finding["severity"] == "error" and finding["id"] not in REASONS]
            tally["both refuse"] += bool(verdict != "ok" and errors)
            if what.endswith("as built"):
                self.assertEqual((verdict, errors), ("ok", []), what)
        print(f"{len(cases)} files: {dict(tally)}", file=sys.stderr)
        self.assertEqual((passed, unexplained), ([], []))
        if wanted >= len(others):
            self.assertEqual(set(REASONS) - set(tally), set(), "no file needs these reasons")
        self.assertGreater(tally["both refuse"], len(cases) / 3)

    def test_what_no_field_alone_says(self):
        lib, ask = ("int nobody(void) { return 1; }", []), "int nobody(void); int f(void) { return nobody(); }"
        module = "void *{}(void) {{ return 0; }}"
        tagged = "x.cpython-311-x86_64-linux-gnu.so"
        rooted = ["-Wl,-rpath,$ORIGIN", "-L{root}", "-l:liba.so"]
        cases = {  # files, the file to open, what is found
            "not for dlopen": ({"x.so": ("int f(void) { return 1; }", ["-Wl,-z,nodlopen"])}, "x.so", {"elf-no-dlopen"}),
            "filter of nothing": ({"x.so": ("int f(void) { return 1; }", ["-Wl,-F,libnone.so"])}, "x.so", {"elf-filter"}),
            "filter beside it": ({"liba.so": lib, "x.so": ("int f(void) { return 1; }", ["-Wl,-F,liba.so", "-Wl,-rpath,$ORIGIN"])},
                                 "x.so", set()),
            "names of the end": ({"x.so": ("char data[3] = {1}; extern char _end[], _edata[], end[]; char *f(void) { return data[0] ? _end : _edata; }"
                                          "char *g(void) { return end; }", ["-nostartfiles"])}, "x.so", set()),
            "nothing exported": ({"x.so": ("", ["-Wl,--hash-style=gnu"])}, "x.so", set()),
            "undefined, at once": ({"x.so": (ask, ["-Wl,-z,now"])}, "x.so", {"elf-undefined-symbol"}),
            "undefined variable": ({"x.so": ("extern int nobody; int f(void) { return nobody; }", ["-Wl,-z,lazy"])}, "x.so",
                                   {"elf-undefined-symbol"}),
            "undefined and weak": ({"x.so": ("int nobody(void) __attribute__((weak)); int f(void) { return nobody ? 1 : 0; }",
                                             ["-Wl,-z,now"])}, "x.so", set()),
            "defined by a library": ({"liba.so": lib, "x.so": (ask, ["-Wl,-z,now", *rooted])}, "x.so", set()),
            "defined by a library that is not needed": ({"liba.so": lib, "x.so": (ask, ["-Wl,-z,now"])}, "x.so", {"elf-undefined-symbol"}),
            "large static TLS": ({"x.so": ("__thread char room[4000000] __attribute__((tls_model(\"initial-exec\")));"
                                           "char *f(void) { return room; }", [])}, "x.so", {"elf-static-tls"}),
            "large TLS": ({"x.so": ("__thread char room[4000000]; char *f(void) { return room; }", [])}, "x.so", set()),
            "module": ({tagged: (module.format("PyInit_x"), [])}, tagged, set()),
            "stable module": ({"x.abi3.so": (module.format("PyInit_x"), [])}, "x.abi3.so", set()),
            "plain library": ({"x.so": (module.format("other"), [])}, "x.so", set()),
            "module that calls Python": ({tagged: ("void *PyErr_Occurred(void); void *PyInit_x(void) { return PyErr_Occurred(); }", [])},
                                         None, set()),
            "module of another name": ({tagged: (module.format("PyInit_y"), [])}, None, {"elf-module-init"}),
            "stable module of another name": ({"x.abi3.so": (module.format("PyInit_y"), [])}, None, {"elf-module-init"}),
            "module with a hidden function": ({"x.abi3.so": ("static void *PyInit_x(void) { return 0; } void *f(void) { return PyInit_x(); }", [])},
                                      None, {"elf-module-init"}),
            "module with data of that name": ({tagged: ("static void *f(void) { return 0; } void *PyInit_x = f;", [])}, None, {"elf-module-init"}),
            "module, hash table of gABI": ({tagged: (module.format("PyInit_x"), ["-Wl,--hash-style=sysv"])}, tagged, set()),
            "module, hash table of gABI, another name": ({tagged: (module.format("PyInit_y"), ["-Wl,--hash-style=sysv"])}, None,
                                                         {"elf-module-init"}),
            "module of indirect code": ({tagged: ("static void *f(void) { return 0; } static void *choose(void) { return f; }"
                                                  'void *PyInit_x(void) __attribute__((ifunc("choose")));', [])}, tagged, set()),
        }
        for name, (files, opened, expected) in cases.items():
            with self.subTest(name):
                root = self.tree(name.replace(" ", "-"), files)
                self.assertEqual(set(self.errors(root)), expected)
                if opened:
                    self.assertEqual(self.judge([root / opened])[0] == "ok", not expected)

    def test_damaged_entry_of_a_module(self):
        """Each file has one field of PyInit_x, or of the segments that it needs, changed. Python dies of it, or does not find the function."""
        name = "x.cpython-311-x86_64-linux-gnu.so"
        text = "__thread int own = 3; const int table[40] = {1, 2}; void *PyInit_x(void) { return own ? (void *)table : 0; }"
        image = (self.tree("sound", {name: (text, ["-Wl,--build-id=none"])}) / name).read_bytes()
        self.assertEqual(self.errors(self.scratch / "sound"), {})
        symbols, strings = file_offset(image, find(image, 6)), file_offset(image, find(image, 5))
        symbol = next(at for at in range(symbols, strings, 24)
                      if image[strings + struct.unpack_from("<I", image, at)[0]:].startswith(b"PyInit_x\0"))
        loads = [at for at in segments(image) if image[at:at + 4] == struct.pack("<I", 1)]
        data = next(at for at in reversed(loads) if struct.unpack_from("<I", image, at + 4)[0] == 4)
        tls = next(at for at in segments(image) if image[at:at + 4] == struct.pack("<I", 7))
        start = struct.unpack_from("<Q", image, data + 16)[0]
        unused = struct.pack("<I", 0x16)
        changes = {"name outside": (symbol, struct.pack("<I", 0x7fffffff)), "name of another": (symbol, bytes([image[symbol] + 1])),
                   "local": (symbol + 4, bytes([image[symbol + 4] & 15])), "hidden": (symbol + 5, b"\2"),
                   "in data": (symbol + 8, struct.pack("<Q", start)), "nowhere": (symbol + 8, struct.pack("<Q", 0x7ffff000)),
                   "thread-local": (symbol + 4, bytes([image[symbol + 4] & 0xf0 | 6])), "of a section": (symbol + 4, b"\x13"),
                   "unknown binding": (symbol + 4, b"\x32"), "without value": (symbol + 8, bytes(8)),
                   "constants gone": (data, unused), "thread-local storage gone": (tls, unused)}
        for what, (at, new) in changes.items():
            with self.subTest(what):
                root = self.scratch / what.replace(" ", "-")
                root.mkdir()
                (root / name).write_bytes(image[:at] + new + image[at + len(new):])
                found = self.errors(root)
                self.assertTrue(found.keys() & {"elf-module-init", "elf-segments", "elf-dynamic"}, found)

    def test_sections_that_are_none(self):
        """ld.so reads no section headers, so a table that is none says nothing about loading."""
        image = bytearray(self.build("plain", []))
        table = struct.unpack_from("<Q", image, 40)[0]
        for number, place in enumerate((0x16, table - 8, table + 64)):
            struct.pack_into("<Q", image, 40, place)
            root = self.scratch / f"none{number}"
            root.mkdir()
            (root / "x.so").write_bytes(image)
            self.assertEqual(self.judge([root / "x.so"]), ["ok"])
            for finding in self.check([root])[0]["findings"]:
                self.assertNotIn("ld.so cannot load", finding["message"], hex(place))

    @unittest.skipUnless(shutil.which("mold"), "mold is missing")
    def test_notes_of_two_alignments_in_one_segment(self):
        (self.scratch / "main.c").write_text("int main(void) { return 0; }")
        root = self.tree("notes", {"readme.txt": ""})
        self.gcc("main.c", "-no-pie", "-fuse-ld=mold", "-o", str(root / "run"))
        subprocess.run([root / "run"], check=True)
        self.assertEqual(self.errors(root), {})

    def test_the_interpreter_of_another_processor(self):
        (self.scratch / "main.c").write_text("int main(void) { return 0; }")
        for interpreter, is_sound in (("/lib64/ld-linux-x86-64.so.2", True), ("/lib/ld-linux.so.2", False), ("/lib/ld-linux-aarch64.so.1", False)):
            with self.subTest(interpreter=interpreter):
                root = self.tree(f"interpreter-{interpreter.replace('/', '-')}", {"readme.txt": ""})
                self.gcc("main.c", f"-Wl,--dynamic-linker,{interpreter}", "-o", str(root / "run"))
                self.assertEqual(self.severities(root).get("elf-interpreter"), None if is_sound else "error")

    def test_a_program_that_does_not_search_the_system(self):
        for options, is_sound in (([], True), (["-Wl,-z,nodefaultlib"], False)):
            with self.subTest(options=options):
                root = self.tree(f"system-{is_sound}", {"readme.txt": ""})
                (self.scratch / "main.c").write_text("int main(void) { return 0; }")
                self.gcc("main.c", *options, "-o", str(root / "run"))
                self.assertEqual(subprocess.run([root / "run"], capture_output=True, check=False).returncode == 0, is_sound)
                self.assertEqual(self.severities(root).get("elf-unresolved-needed"), None if is_sound else "error")

    def test_a_library_with_pythons_suffix_may_be_for_ctypes(self):
        suffix = ".cpython-311-x86_64-linux-gnu.so"
        asks = "void *PyErr_Occurred(void); void *f(void) { return PyErr_Occurred(); }"
        for name, source, severity in (("libphysics", "int f(void) { return 1; }", "warning"), ("physics", asks, "error"),
                                       ("physics", "int f(void) { return 1; }", "warning"), ("libphysics", asks, "warning")):
            with self.subTest(name=name, source=source):
                root = self.tree(f"ctypes-{name}-{len(source)}", {name + suffix: (source, [])})
                self.assertEqual(self.severities(root).get("elf-module-init"), severity)

    def test_module_names_that_are_not_ascii(self):
        name = "bücher"
        function = "PyInitU_" + name.encode("punycode").decode().replace("-", "_")
        right = self.tree("right", {f"{name}.abi3.so": (f"void *{function}(void) {{ return 0; }}", [])})
        wrong = self.tree("wrong", {f"{name}.abi3.so": ("void *PyInitU_x(void) { return 0; }", [])})
        self.assertEqual((set(self.errors(right)), set(self.errors(wrong))), (set(), {"elf-module-init"}))

    def test_program_interpreter(self):
        root = self.scratch / "programs"
        root.mkdir()
        (self.scratch / "main.c").write_text("int main(void) { return 0; }")
        self.gcc("main.c", "-o", str(root / "good"))
        self.gcc("main.c", "-o", str(root / "bad"), "-Wl,--dynamic-linker=/opt/builder/ld.so.2")
        self.assertEqual(self.errors(root), {"elf-interpreter": {"bad"}})

    def test_run_time_libraries_of_a_conda_package(self):
        for depends, expected in (([], {"elf-runtime-undeclared"}), (["libstdcxx >=9"], {"elf-runtime-floor"}),
                                  (["libstdcxx >=11"], set()), (["libstdcxx-ng >=12.1"], set()), (["libstdcxx"], {"elf-runtime-floor"}),
                                  (["libstdcxx >=9,<11"], {"elf-runtime-floor"})):
            with self.subTest(depends):
                root = self.scratch / f"conda{len(list(self.scratch.iterdir()))}"
                (root / "info").mkdir(parents=True)
                (root / "lib").mkdir()
                (root / "info/index.json").write_text(json.dumps({"name": "x", "version": "1", "build": "0", "build_number": 0,
                                                                  "subdir": "linux-64", "depends": depends}))
                (self.scratch / "new.map").write_text("GLIBCXX_3.4.29 { global: *; };")
                (self.scratch / "std.c").write_text("int newer(void) { return 1; }")
                self.gcc("-shared", "-fPIC", "std.c", "-o", "libstdc++.so.6", "-Wl,-soname,libstdc++.so.6", "-Wl,--version-script=new.map")
                (self.scratch / "user.c").write_text("int newer(void); int f(void) { return newer(); }")
                self.gcc("-shared", "-fPIC", "user.c", "-o", str(root / "lib/libuser.so"), "./libstdc++.so.6")
                self.assertEqual({name for name in self.errors(root) if "runtime" in name}, expected)


if __name__ == "__main__":
    harness.main()
