"""ld.so and `ptpkg check` agree on the symbols that a library defines: hash tables, versions, copies, libraries for better processors."""

import itertools
import shutil
import struct
import subprocess
import sys
import unittest

import harness
import ld_so_case
from ld_so_case import file_offset, find, symbol


@unittest.skipUnless(shutil.which("gcc"), "gcc is missing")
class LdSoSymbols(ld_so_case.LdSoCase):
    def test_a_plugin_takes_symbols_from_the_program_of_its_tree(self):
        plugin = {"plugin.so": ("int offered(void); int f(void) { return offered(); }", ["-Wl,-z,now"])}
        alone = self.tree("alone", plugin)
        self.assertEqual(self.severities(alone).get("elf-undefined-symbol"), "error")
        together = self.tree("together", plugin)
        (self.scratch / "main.c").write_text(
            "#include <dlfcn.h>\nint offered(void) { return 7; }\n"
            "int main(int n, char **words) { int (*f)(void) = dlsym(dlopen(words[1], RTLD_NOW), \"f\"); return f() - 7; }\n")
        self.gcc("main.c", "-o", str(together / "run"), "-rdynamic")
        subprocess.run([together / "run", together / "plugin.so"], check=True)
        self.assertNotIn("elf-undefined-symbol", self.severities(together))

    def test_names_of_symbols(self):
        """ld.so finds a symbol by its hash and then compares the names. It finds no symbol without a name."""
        library = {"liba.so": ("int one(void) { return 1; } int two(void) { return 2; }", ["-Wl,--hash-style=gnu"])}
        user = {"x.so": ("int one(void), two(void); int f(void) { return one() + two(); }", ["-Wl,-z,now", "-Wl,-rpath,$ORIGIN", "-L{root}", "-l:liba.so"])}

        for what, file in (("sound", None), ("hash of another name", "liba.so"), ("no name", "x.so")):
            with self.subTest(what):
                root = self.tree(what.replace(" ", "-"), {**library, **user})
                if file:
                    image = bytearray((root / file).read_bytes())
                    strings = file_offset(image, find(image, 5))
                    if file == "liba.so":
                        # The first symbol of the table is compared in any case.
                        first = struct.unpack_from("<I", image, file_offset(image, find(image, 0x6ffffef5)) + 4)[0]
                        at = symbol(image, lambda number, name: number > first and name in (b"one", b"two"))
                        image[strings + struct.unpack_from("<I", image, at)[0]] ^= 1
                    else:
                        struct.pack_into("<I", image, symbol(image, lambda _, name: name == b"one"), 0)
                    (root / file).write_bytes(image)
                is_sound = file is None
                self.assertEqual(self.judge([root / "x.so"])[0] == "ok", is_sound)
                self.assertEqual(self.severities(root).get("elf-undefined-symbol"), None if is_sound else "error")

    def test_definitions_that_ld_so_passes_over(self):
        """One field of a symbol, or the order of the buckets, is changed. The user of the symbol tells whether ld.so takes it."""
        local = "int own(void) { return 1; } int f(void) { return own(); }"
        changes = {"sound": (4, b""), "internal": (5, b"\1"), "hidden": (5, b"\2"), "protected": (5, b"\3"), "local": (4, b"\2"), "weak": (4, b"\x22"),
                   "unique": (4, b"\xa2"), "unknown binding": (4, b"\x32"), "section": (4, b"\x13"), "file": (4, b"\x14"), "common": (4, b"\x15"),
                   "unknown type": (4, b"\x17"), "undefined": (6, bytes(2)), "absolute": (6, b"\xf1\xff"), "without value": (8, bytes(8)),
                   "absolute without value": (6, b"\xf1\xff" + bytes(8)), "other buckets": (None, b"")}
        for style in ("gnu", "sysv"):
            hashed = f"-Wl,--hash-style={style}"
            trees = {"needed": {"liba.so": ("int one(void) { return 1; } int own(void) { return 2; } int three(void) { return 3; }", [hashed]),
                                "x.so": ("int own(void); int f(void) { return own(); }", ["-Wl,-z,now", "-Wl,-rpath,$ORIGIN", "-L{root}", "-l:liba.so"])},
                     "itself": {"x.so": (local, ["-Wl,-z,now", hashed])}}
            for (name, files), (what, (place, new)) in itertools.product(trees.items(), changes.items()):
                with self.subTest(f"{style}, {name}, {what}"):
                    root = self.tree(f"{style}-{name}-{what}".replace(" ", "-"), files)
                    file = root / next(iter(files))
                    image = bytearray(file.read_bytes())
                    if place is None:
                        # Behind the two words of the head lie the buckets, behind four words and the filter those of DT_GNU_HASH.
                        table = file_offset(image, find(image, 0x6ffffef5 if style == "gnu" else 4))
                        words = struct.unpack_from("<4I", image, table)
                        at, size = (table + 16 + 8 * words[2], 4 * words[0]) if style == "gnu" else (table + 8, 4 * words[0])
                        self.assertGreater(size, 4)
                        image[at:at + size] = image[at + 4:at + size] + image[at:at + 4]
                    else:
                        at = symbol(image, lambda _, own: own == b"own") + place
                        image[at:at + len(new)] = new
                    file.write_bytes(image)
                    is_sound = self.judge([root / "x.so"])[0] == "ok"
                    self.assertEqual(self.errors(root) == {}, is_sound)

    def test_names_whose_hashes_differ_in_the_lowest_bit(self):
        for style in ("gnu", "sysv"):
            root = self.tree(f"pair-{style}", {
                "both/liba.so": ("int f1(void) { return 1; } int f2(void) { return 2; }", []),
                "x.so": ("int f1(void), f2(void); int f(void) { return f1() + f2(); }", ["-Wl,-z,now", "-Wl,-rpath,$ORIGIN", "-L{root}/both", "-l:liba.so"])})
            shutil.rmtree(root / "both")
            for defined in ("f1", "f2", "f1 f2"):
                with self.subTest(style=style, defined=defined):
                    self.tree(f"pair-{style}", {"liba.so": ("".join(f"int {name}(void) {{ return 1; }}" for name in defined.split()),
                                                            [f"-Wl,--hash-style={style}"])})
                    self.assertEqual(self.judge([root / "x.so"])[0] == "ok", defined == "f1 f2")
                    self.assertEqual(self.severities(root).get("elf-undefined-symbol"), None if defined == "f1 f2" else "error")

    def test_versions_of_definitions(self):
        """A user of `own@V1`, or of `own` without a version, meets a library with other versions of it. ld.so judges."""
        old, new = "int old(void) { return 1; }", "int own(void) { return 2; }"
        both = "int one(void) { return 1; } int two(void) { return 2; }"
        libraries = {
            "the same": (old + new, "V1 { global: old; own; local: *; };"),
            "another": (old + new, "V1 { global: old; local: *; }; V2 { global: own; };"),
            "both": (old + both + '__asm__(".symver one, own@V1\\n.symver two, own@@V2");', "V1 { global: old; }; V2 { };"),
            "hidden": (old + both + '__asm__(".symver one, own@V1");', "V1 { global: old; }; V2 { };"),
            "hidden, the third": (old + both + '__asm__(".symver one, own@V2");', "V1 { global: old; }; V2 { };"),
            "default and hidden": (old + both + '__asm__(".symver one, own@@V2\\n.symver two, own@V3");', "V1 { global: old; }; V2 { }; V3 { };"),
            "base version": (old + new + "int printf(const char *, ...); int user(void) { return printf(\"\"); }", None),
            "no table": (old + new, None),
            "no table, not there": (old, None)}
        for is_versioned, (name, (source, script)) in itertools.product((True, False), libraries.items()):
            for style in ("gnu", "sysv"):
                with self.subTest(versioned=is_versioned, library=name, style=style):
                    root = self.tree(f"versions-{is_versioned}-{name}-{style}".replace(" ", "-").replace(",", ""), {})
                    script_option = "-Wl,--version-script={root}/versions.map"
                    first = [script_option] if is_versioned else []
                    options = ["-nostdlib"] if name.startswith("no table") else []
                    options += [script_option] if script else []
                    self.tree(root.name, {
                        "versions.map": "V1 { global: old; own; local: *; };",
                        "liba.so": (old + new, ["-Wl,-soname,liba.so", *first]),
                        "x.so": ("int own(void); int f(void) { return own(); }", ["-Wl,-z,now", "-Wl,-rpath,$ORIGIN", "-L{root}", "-l:liba.so"])})
                    self.tree(root.name, {"versions.map": script or "",
                                          "liba.so": (source, ["-Wl,-soname,liba.so", f"-Wl,--hash-style={style}", *options])})
                    answer = self.judge([root / "x.so"])[0]
                    self.assertEqual("error" not in self.severities(root).values(), answer == "ok", (answer, self.severities(root)))

    def test_weak_references_that_ask_for_a_version(self):
        old, new = "int old(void) { return 1; }", "int own(void) { return 2; }"
        versioned = ["-Wl,-soname,liba.so", "-Wl,--version-script={root}/versions.map"]
        libraries = {"the same": (old + new, "V1 { global: *; };"), "another": (old + new, "V1 { global: old; local: *; }; V2 { global: own; };"),
                     "lost": (old, "V1 { global: *; };"), "no such version": (old + new, "V2 { global: *; };"), "no table": (old + new, None),
                     "no table, not there": (old, None)}
        for flags, (name, (source, script)) in itertools.product((0, 2), libraries.items()):
            with self.subTest(library=name, flags=flags):
                root = self.tree(f"weak-{name}-{flags}".replace(" ", "-").replace(",", ""), {"versions.map": "V1 { global: *; };"})
                self.tree(root.name, {"liba.so": (old + new, versioned)})
                self.tree(root.name, {"x.so": ("__attribute__((weak)) int own(void); int f(void) { return own ? own() : 0; }",
                                               ["-Wl,-rpath,$ORIGIN", "-L{root}", "-Wl,--no-as-needed", "-nostdlib", "-l:liba.so"])})
                image = bytearray((root / "x.so").read_bytes())
                needs = file_offset(image, find(image, 0x6ffffffe))
                struct.pack_into("<H", image, needs + struct.unpack_from("<I", image, needs + 8)[0] + 4, flags)  # vna_flags: VER_FLG_WEAK
                (root / "x.so").write_bytes(image)
                self.tree(root.name, {"versions.map": script or ""})
                self.tree(root.name, {"liba.so": (source, versioned if script else ["-Wl,-soname,liba.so", "-nostdlib"])})
                answer = self.judge([root / "x.so"])[0]
                self.assertEqual("error" not in self.severities(root).values(), answer == "ok", (answer, self.severities(root)))

    def test_thread_local_variables_that_meet_ordinary_ones(self):
        """ld.so binds one to the other. The process then ends, or reads something else."""
        kinds = {"thread-local": "__thread int own", "ordinary": "int own"}
        models = {"global-dynamic": [], "initial-exec": ["-ftls-model=initial-exec"], "descriptors": ["-mtls-dialect=gnu2"]}
        for asked, defined, (model, options) in itertools.product(kinds, kinds, models.items()):
            with self.subTest(asked=asked, defined=defined, model=model):
                root = self.tree(f"{asked}-{defined}-{model}", {
                    "liba.so": (f"{kinds[asked]} = 5;", ["-Wl,-soname,liba.so"]),
                    "x.so": (f"extern {kinds[asked]}; int f(void) {{ return own; }}", ["-Wl,-rpath,$ORIGIN", "-L{root}", "-l:liba.so", *options])})
                self.tree(root.name, {"liba.so": (f"{kinds[defined]} = 5;", ["-Wl,-soname,liba.so"])})
                use = subprocess.run([sys.executable, "-c", "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).f())", root / "x.so"],
                                     capture_output=True, check=False)
                self.assertEqual(use.stdout == b"5\n", asked == defined)
                self.assertEqual(self.severities(root).get("elf-undefined-symbol"), None if asked == defined else "error")

    def test_the_first_definition_decides_about_thread_local_variables(self):
        """ld.so searches breadth first and takes a definition of the wrong kind, also for a weak reference without a version."""
        kinds = {"right": "int own = 5;", "wrong": "__thread int own = 5;", "none": "int other;"}
        use, weak = "extern int own; int f(void) { return own; }", "extern int own __attribute__((weak)); int f(void) { return &own ? own : 5; }"
        calls = "int own(void); int f(void) { return own(); }"
        needs = {"both": ["-l:liba.so", "-l:libb.so"], "indirectly": ["-l:libm1.so"], "first indirectly": ["-l:libm1.so", "-l:libb.so"]}
        for name, first, second, how, source, is_sound in (
                ("right-first", "right", "wrong", "both", use, True), ("wrong-first", "wrong", "right", "both", use, False),
                ("both-wrong", "wrong", "wrong", "both", use, False), ("second-wrong", "none", "wrong", "both", use, False),
                ("indirect", "wrong", "none", "indirectly", use, False), ("indirect-right", "right", "none", "indirectly", use, True),
                ("right-is-nearer", "wrong", "right", "first indirectly", use, True), ("wrong-is-nearer", "right", "wrong", "first indirectly", use, False),
                ("weak", "wrong", "none", "both", weak, False), ("weak-right", "right", "none", "both", weak, True),
                ("weak-none", "none", "none", "both", weak, True), ("function", "wrong", "none", "both", calls, False)):
            with self.subTest(name):
                link = ["-Wl,-rpath,$ORIGIN", "-L{root}", "-Wl,--no-as-needed"]
                root = self.tree(name, {"liba.so": (kinds[first], ["-Wl,-soname,liba.so"]), "libb.so": (kinds[second], ["-Wl,-soname,libb.so"])})
                self.tree(name, {"libm1.so": ("int between;", ["-Wl,-soname,libm1.so", *link, "-l:liba.so"])})
                # The linker refuses some of these pairs, so it doesn't get to see the definitions.
                shutil.copytree(root, self.scratch / f"{name}-linked")
                for path in ("liba.so", "libb.so"):
                    self.tree(name, {path: ("int other;", [f"-Wl,-soname,{path}"])})
                self.tree(name, {"x.so": (source, ["-Wl,-z,now", *link, *needs[how]])})
                shutil.copytree(self.scratch / f"{name}-linked", root, dirs_exist_ok=True)
                shutil.rmtree(self.scratch / f"{name}-linked")
                done = subprocess.run([sys.executable, "-c", "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).f())", root / "x.so"],
                                      capture_output=True, check=False)
                self.assertEqual(done.stdout == b"5\n", is_sound)
                found = [finding for finding in self.check([root])[0]["findings"] if finding["id"] == "elf-undefined-symbol"]
                self.assertEqual([(finding["severity"], finding["file"]) for finding in found], [] if is_sound else [("error", "x.so")])
                if not is_sound:
                    self.assertIn("as something that is not thread-local", found[0]["message"])

    def test_a_copied_variable_that_the_library_lost(self):
        (self.scratch / "main.c").write_text("extern int shared[4]; int main(void) { return shared[0] - 1; }")
        for defined, is_sound in (("int shared[4] = {1};", True), ("int other;", False)):
            with self.subTest(defined=defined):
                root = self.tree(f"copied-{is_sound}", {"liba.so": ("int shared[4] = {1};", ["-Wl,-soname,liba.so"])})
                self.gcc("main.c", "-no-pie", "-fno-pie", "-o", str(root / "run"), f"-L{root}", "-l:liba.so", "-Wl,-rpath,$ORIGIN")
                self.assertIn("_COPY", subprocess.run(["readelf", "-rW", root / "run"], capture_output=True, text=True, check=True).stdout)
                self.tree(f"copied-{is_sound}", {"liba.so": (defined, ["-Wl,-soname,liba.so"])})
                self.assertEqual(subprocess.run([root / "run"], capture_output=True, check=False).returncode == 0, is_sound)
                shutil.copy(root / "run", root / "other")  # no process has both programs
                self.assertEqual(self.errors(root).get("elf-undefined-symbol"), None if is_sound else {"run", "other"})

    def test_symbols_that_another_library_answers(self):
        """None of these trees has a fault, though one library alone would not do."""
        plain = ["-Wl,-soname,liba.so"]
        first = ("int old(void) { return 1; } int fooab(void) { return 1; } int foobA(void) { return 2; }", plain)
        user = ("int fooab(void); int f(void) { return fooab(); }", ["-Wl,-z,now", "-Wl,-rpath,$ORIGIN", "-L{root}", "-l:liba.so"])
        root = self.tree("one-hash", {"versions.map": "V1 { global: old; }; V2 { global: fooab; foobA; };", "liba.so": first, "x.so": user})
        self.tree("one-hash", {"liba.so": (first[0], [*plain, "-Wl,--version-script={root}/versions.map"])})
        self.assertEqual((self.judge([root / "x.so"]), self.errors(root)), (["ok"], {}))

        own = "int own(void) { return 1; }"
        versioned = ["-Wl,-soname,libz.so", "-Wl,--version-script={root}/versions.map"]
        both = ["-Wl,-z,now", "-Wl,-rpath,$ORIGIN", "-L{root}", "-Wl,--no-as-needed", "-l:libz.so", "-l:liba.so"]
        root = self.tree("before", {"versions.map": "V1 { global: own; };", "libz.so": (own, versioned), "liba.so": (own, [*plain, "-nostdlib"]),
                                    "x.so": ("int own(void); int f(void) { return own(); }", both)})
        self.assertEqual((self.judge([root / "x.so"]), self.errors(root)), (["ok"], {}))

        copies = "void *memcpy(void *to, const void *from, unsigned long size) { return to; } int own(void) { return 1; }"
        asks = "void *memcpy(void *, const void *, unsigned long); void *f(void *a, void *b, long n) { return memcpy(a, b, n); }"
        root = self.tree("libc", {"liba.so": (copies, plain), "glibc-hwcaps/x86-64-v2/liba.so": (own, plain),
                                  "x.so": (asks, ["-fno-builtin", *user[1]])})
        self.assertEqual((self.judge([root / "x.so"]), self.errors(root)), (["ok"], {}))

    def test_versions_of_a_library_that_is_needed_by_path(self):
        for is_versioned in (True, False):
            with self.subTest(versioned=is_versioned):
                root = self.tree(f"by-path-{is_versioned}", {"versions.map": "V1 { global: *; };"})
                options = ["-Wl,--version-script={root}/versions.map"] if is_versioned else []
                self.tree(root.name, {"liba.so": ("int own(void) { return 1; }", ["-Wl,-soname,$ORIGIN/liba.so", *options]),
                                      "x.so": ("int own(void); int f(void) { return own(); }", ["-L{root}", "-l:liba.so"])})
                is_sound = self.judge([root / "x.so"])[0] == "ok"
                self.assertEqual(is_sound, not is_versioned)
                self.assertEqual(self.severities(root).get("elf-version-requirement"), None if is_sound else "error")
                self.tree(root.name, {"liba.so": ("int own(void) { return 1; }", ["-Wl,-soname,liba.so", *options]),
                                      "x.so": ("int own(void); int f(void) { return own(); }", ["-L{root}", "-l:liba.so"])})
                self.ptpkg("relink", root / "x.so", "--replace-needed", "liba.so=$ORIGIN/liba.so", exit_code=3 if is_versioned else 0)
                if not is_versioned:
                    self.assertEqual(self.judge([root / "x.so"])[0], "ok")
        # ld.so leaves a '$' alone that begins no token.
        root = self.tree("dollar", {"versions.map": "V1 { global: *; };",
                                    "lib$x.so": ("int own(void) { return 1; }", ["-Wl,-soname,lib$x.so", "-Wl,--version-script={root}/versions.map"])})
        self.tree("dollar", {"x.so": ("int own(void); int f(void) { return own(); }", ["-Wl,-rpath,$ORIGIN", "-L{root}", "-l:lib$x.so"])})
        self.assertEqual((self.judge([root / "x.so"]), self.errors(root)), (["ok"], {}))

    def test_a_library_for_better_processors_lacks_a_symbol(self):
        user = ("int own(void); int f(void) { return own(); }", ["-Wl,-z,now", "-Wl,-rpath,$ORIGIN", "-L{root}", "-l:liba.so"])
        for defined, is_sound in (("own", True), ("other", False)):
            with self.subTest(defined=defined):
                root = self.tree(f"variant-{defined}", {"liba.so": ("int own(void) { return 1; }", ["-Wl,-soname,liba.so"]), "x.so": user})
                self.tree(root.name, {"glibc-hwcaps/x86-64-v2/liba.so": (f"int {defined}(void) {{ return 2; }}", ["-Wl,-soname,liba.so"])})
                self.assertEqual(self.judge([root / "x.so"])[0] == "ok", is_sound)
                self.assertEqual(self.severities(root).get("elf-undefined-symbol"), None if is_sound else "error")

    def test_static_tls_of_a_process_from_the_start(self):
        large = "__thread char room[4000000] __attribute__((tls_model(\"initial-exec\"))); char *f(void) { return room; }"
        cases = {"dlopen": (large, None, "error"), "allocator": (large + "void *malloc(unsigned long n) { return 0; }", None, "warning"),
                 "program": (large, "char *f(void); int main(void) { return !f(); }", "warning")}
        for name, (library, program, severity) in cases.items():
            with self.subTest(name):
                root = self.tree(f"tls-{name}", {"libx.so": (library, ["-Wl,-soname,libx.so"])})
                if program:
                    (self.scratch / "main.c").write_text(program)
                    self.gcc("main.c", "-o", str(root / "run"), f"-L{root}", "-l:libx.so", "-Wl,-rpath,$ORIGIN")
                    subprocess.run([root / "run"], check=True)
                found = {finding["id"]: finding["severity"] for finding in self.check([root])[0]["findings"]}
                self.assertEqual(found["elf-static-tls"], severity)


if __name__ == "__main__":
    harness.main()
