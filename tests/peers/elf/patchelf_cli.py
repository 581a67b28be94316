"""Our patchelf beside the real one: the same command on the same file ends in the same words, the same exit
status, and a library that says the same and loads. Exit 77 is a skip.
"""

import argparse
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

BIN = pathlib.Path(sys.executable).parent
PRINTS = ("--print-rpath", "--print-needed", "--print-soname")

# Each is run on a fresh copy of libanswer.so, word for word by both.
EDITS = [
    ["--set-rpath", "$ORIGIN/deps"],
    ["--set-rpath", "$ORIGIN/deps:" + "/long" * 200],
    ["--set-rpath", "$ORIGIN/deps", "--force-rpath"],
    ["--set-rpath", ""],
    ["--add-rpath", "$ORIGIN/deps"],
    ["--add-rpath", ""],
    ["--set-rpath", "/a", "--set-soname", "libother.so.3"],
    ["--remove-rpath"],
    ["--shrink-rpath"],
    ["--shrink-rpath", "--allowed-rpath-prefixes", "/usr:/opt"],
    ["--set-soname", "libanswer.so.2"],
    ["--add-needed", "libdl.so.2", "--add-needed", "libpthread.so.0"],
    ["--add-needed", "libdl.so.2", "--remove-needed", "libdl.so.2"],
    ["--remove-needed", "libdeep.so.1", "--add-needed", "libdeep.so.1"],
    ["--replace-needed", "libdeep.so.1", "libdeep.so"],
    ["--replace-needed", "libabsent.so.1", "libdeep.so"],
    ["--remove-needed", "libabsent.so"],
    ["--no-default-lib"],
    ["--clear-execstack"],
    ["--set-execstack"],
    ["--print-execstack"],
    ["--page-size", "65536", "--set-rpath", "$ORIGIN/deps"],
]

# Refusals: both fail with the same last line.
REFUSALS = [
    [],
    ["--set-rpath"],
    ["--set-rpath", "/x"],
    ["--replace-needed", "one"],
    ["--print-rpath", "{scratch}/missing.so"],
    ["--print-rpath", "{scratch}/text.so"],
    ["--page-size", "nothing", "{library}"],
    ["--set-rpath", "/x", "--add-rpath", "/y", "{library}"],
    ["--output", "{scratch}/out", "--set-rpath", "/x", "{library}", "{library}"],
]

# Run on files that are no dynamic programs or libraries: words and status are the same, whatever they are.
OPTIONS = [
    [],
    ["--set-rpath", "/x"],
    ["--set-rpath", "/x", "--force-rpath"],
    ["--add-rpath", "/x"],
    ["--remove-rpath"],
    ["--shrink-rpath"],
    ["--shrink-rpath", "--allowed-rpath-prefixes", "/usr"],
    ["--print-rpath"],
    ["--print-needed"],
    ["--print-soname"],
    ["--print-interpreter"],
    ["--print-interpreter", "--print-rpath"],
    ["--print-execstack"],
    ["--set-interpreter", "/ld"],
    ["--set-interpreter", "/ld", "--set-rpath", "/x", "--set-soname", "libx.so"],
    ["--set-soname", "libx.so"],
    ["--add-needed", "liba.so"],
    ["--remove-needed", "liba.so"],
    ["--replace-needed", "liba.so", "libb.so"],
    ["--no-default-lib"],
    ["--add-debug-tag"],
    ["--clear-execstack"],
    ["--output", "{out}"],
    ["--output", "{out}", "--set-rpath", "/x"],
]


class PatchelfCommandLine(unittest.TestCase):
    maxDiff = None
    ours: pathlib.Path
    toys: pathlib.Path

    def setUp(self) -> None:
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-peers-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.tools = {"ours": self.ours, "theirs": BIN / "patchelf"}
        self.assertIn("0.19", self.call(self.tools["theirs"], "--version")[1])

    def call(self, *words) -> tuple[int, str, str]:
        done = subprocess.run([str(word) for word in words], text=True, stdin=subprocess.DEVNULL, check=False,
                              env={"PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.returncode, done.stdout, done.stderr

    def copy(self, who: str) -> pathlib.Path:
        folder = self.scratch / who
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.toys, folder, symlinks=True)
        return folder

    def loads(self, folder: pathlib.Path) -> int:
        env = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(folder / "deps")}
        return subprocess.run([folder / "loader", folder / "libanswer.so"], env=env, check=False,
                              stderr=subprocess.DEVNULL).returncode

    def test_version_satisfies_auditwheel(self):
        status, out, _ = self.call(self.ours, "--version")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"^patchelf 0\.(1[4-9]|[2-9][0-9])")

    def test_edits(self):
        for edit in EDITS:
            with self.subTest(" ".join(edit)[:80]):
                seen = {}
                for who, tool in self.tools.items():
                    folder = self.copy(who)
                    library = folder / "libanswer.so"
                    status, out, _ = self.call(tool, *edit, library)
                    says = {flag: self.call(self.tools["theirs"], flag, library)[1] for flag in PRINTS}
                    says["stack"] = self.call(self.tools["theirs"], "--print-execstack", library)[1]
                    tag = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
                    says["tags"] = sorted(word for word in ("(RPATH)", "(RUNPATH)", "NODEFLIB") if word in tag)
                    seen[who] = (status, out, says, self.loads(folder))
                self.assertEqual(seen["ours"], seen["theirs"])
                self.assertEqual(seen["ours"][0], 0)

    def test_both_read_what_either_wrote(self):
        for writer in self.tools.values():
            library = self.copy("written") / "libanswer.so"
            self.assertEqual(self.call(writer, "--set-rpath", "$ORIGIN/x:/y", library)[0], 0)
            for reader in self.tools.values():
                self.assertEqual(self.call(reader, "--print-rpath", library), (0, "$ORIGIN/x:/y\n", ""))

    def test_interpreter_of_a_program(self):
        shown = {}
        for who, tool in self.tools.items():
            program = self.copy(who) / "app"
            before = self.call(tool, "--print-interpreter", program)
            long_name = str(self.scratch / ("loader-" + "x" * 120))
            if not pathlib.Path(long_name).exists():
                pathlib.Path(long_name).symlink_to(before[1].strip())
            self.assertEqual(self.call(tool, "--set-interpreter", long_name, program)[0], 0)
            env = {"LD_LIBRARY_PATH": f"{program.parent}:{program.parent}/deps"}
            ran = subprocess.run([program], env=env, check=False).returncode
            shown[who] = (before, self.call(tool, "--print-interpreter", program), ran)
        self.assertEqual(shown["ours"], shown["theirs"])

    def test_refusals(self):
        (self.scratch / "text.so").write_text("INPUT(libc.so.6)\n" * 10)
        for words in REFUSALS:
            with self.subTest(" ".join(words)):
                last = {}
                for who, tool in self.tools.items():
                    library = self.copy(who) / "libanswer.so"
                    before = library.read_bytes()
                    status, _, err = self.call(tool, *[w.format(scratch=self.scratch, library=library) for w in words])
                    self.assertEqual(library.read_bytes(), before)
                    lines = err.replace(str(self.scratch / who), "").strip().splitlines()
                    # With no words at all both show their own help.
                    last[who] = (status, lines[-1] if words else "")
                self.assertEqual(last["ours"], last["theirs"])
                self.assertNotEqual(last["ours"][0], 0)

    def strange_files(self, folder: pathlib.Path) -> dict[str, pathlib.Path]:
        """Static programs, objects, archives, and what is no ELF file at all."""
        folder.mkdir()
        (folder / "main.c").write_text("int main(void) { return 0; }\n")
        (folder / "bare.c").write_text("void _start(void) { for (;;) ; }\n")
        for command in (["gcc", "-static", "main.c", "-o", "static"], ["gcc", "-c", "main.c", "-o", "main.o"],
                        ["gcc", "-static", "-nostdlib", "bare.c", "-o", "bare"], ["ar", "rcs", "lib.a", "main.o"],
                        ["ld", "-r", "main.o", "-o", "merged.o"]):
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        library = (self.toys / "libanswer.so").read_bytes()
        for size in (0, 1, 51, 52, 63, 64, 65):
            (folder / f"text{size}").write_bytes(b"#" * size)
            (folder / f"elf{size}").write_bytes(library[:size])
        (folder / "header.32").write_bytes(b"\177ELF\1\1\1" + bytes(100))
        (folder / "folder").mkdir()
        (folder / "to-folder").symlink_to("folder")
        (folder / "dangling").symlink_to("nothing")
        names = [path.name for path in sorted(folder.iterdir()) if path.suffix != ".c"] + ["main.c/below", "missing"]
        return {name: folder / name for name in names}

    def test_files_that_are_no_dynamic_programs(self):
        files = self.strange_files(self.scratch / "strange")
        for name, file in files.items():
            before = file.read_bytes() if file.is_file() else None
            for words in OPTIONS:
                with self.subTest(f"{' '.join(words)} {name}"):
                    seen = {}
                    for who, tool in self.tools.items():
                        out = self.scratch / "out"
                        status, stdout, err = self.call(tool, *[word.format(out=out) for word in words], file)
                        made = out.read_bytes() if out.is_file() else None
                        out.unlink(missing_ok=True)
                        last = (err.strip().splitlines() or [""])[-1]
                        # Of damaged files ours says more, behind the same words.
                        seen[who] = (status, stdout, last.split(":")[:2], made)
                        self.assertEqual(file.read_bytes() if file.is_file() else None, before, who)
                    self.assertEqual(seen["ours"], seen["theirs"])

    def test_a_dynamic_section_without_its_segment(self):
        """Linker scripts leave PT_DYNAMIC out; both find the section by its header."""
        for words in (["--set-rpath", "/x"], ["--set-rpath", "/x" * 400], ["--add-needed", "libdl.so.2"],
                      ["--remove-needed", "libdeep.so.1"], ["--set-soname", "libx.so"]):
            with self.subTest(" ".join(words)[:40]):
                seen = {}
                for who, tool in self.tools.items():
                    library = self.copy(who) / "libanswer.so"
                    image = bytearray(library.read_bytes())
                    begin, = struct.unpack_from("<Q", image, 32)
                    for at in range(begin, begin + 56 * struct.unpack_from("<H", image, 56)[0], 56):
                        if image[at:at + 4] == b"\2\0\0\0":
                            image[at:at + 4] = bytes(4)
                    library.write_bytes(image)
                    status = subprocess.run([tool, *words, library], check=False).returncode
                    prints = [subprocess.run([tool, option, library], check=True, capture_output=True).stdout for option in PRINTS]
                    seen[who] = (status, prints)
                self.assertEqual(*seen.values())
                self.assertEqual(seen["ours"][0], 0)

    def test_static_position_independent_program_is_left_alone(self):
        """patchelf gives it a path, and it aborts at its start."""
        folder = self.scratch / "pie"
        folder.mkdir()
        (folder / "main.c").write_text("int main(void) { return 42; }\n")
        subprocess.run(["gcc", "-static-pie", "main.c", "-o", "program"], cwd=folder, check=True)
        status, _, err = self.call(self.ours, "--set-rpath", "/x", folder / "program")
        self.assertEqual((status, "static position-independent" in err), (1, True))
        self.assertEqual(subprocess.run([folder / "program"], check=False).returncode, 42)
        for words in (["--print-rpath"], ["--print-needed"], ["--print-interpreter"], ["--remove-rpath"]):
            shown = [self.call(tool, *words, folder / "program") for tool in self.tools.values()]
            self.assertEqual(*shown)

    def test_library_that_patchelf_grew_survives_our_edit_and_strip(self):
        """patchelf leaves .dynstr, .dynamic or both alone in a PT_LOAD, as it does in libraries that auditwheel repaired."""
        theirs = self.tools["theirs"]
        histories = {"once": ["b" * 4500], "twice": ["a" * 200, "b" * 4500], "often": ["a" * 200, "b" * 4500, "c" * 9000]}
        for name, history in histories.items():
            with self.subTest(name):
                folder = self.copy("ours")
                library = folder / "libanswer.so"
                self.assertEqual(self.call(theirs, "--set-soname", "libanswer-0123abcd.so.1", library)[0], 0)
                for part in history:
                    self.assertEqual(self.call(theirs, "--set-rpath", f"$ORIGIN/deps:/{part}", library)[0], 0)
                for size in (600, 9000, 30000):
                    status, _, err = self.call(self.ours, "--set-rpath", "$ORIGIN/deps:/" + "o" * size, library)
                    self.assertEqual((status, err), (0, ""))
                    self.assertEqual(self.loads(folder), 42)
                    subprocess.run(["strip", library], check=True)
                    self.assertEqual(self.loads(folder), 42)

    def test_our_other_writer_on_a_library_that_patchelf_grew(self):
        """LIEF loses a note of some. They are refused then, and stay as they were."""
        seen = set()
        for linker in ("bfd", "lld", "mold"):
            for times in (1, 2, 3):
                library = self.scratch / f"{linker}{times}.so"
                shutil.copy(self.toys.parent / linker / "libleaf.so", library)
                for size in range(1, times + 1):
                    self.assertEqual(self.call(self.tools["theirs"], "--set-rpath", "a" * 4500 * size, library)[0], 0)
                self.assertEqual(self.call(self.tools["theirs"], "--set-soname", "libx" + "a" * 300, library)[0], 0)
                before = library.read_bytes()
                status, _, err = self.call(self.ours.parent / "ptpkg", "relink", "--cache-dir", self.scratch / "cache",
                                           "--writer", "lief", "--set-rpath", "/" + "d" * 20000, library)
                seen.add(status)
                if status != 0:
                    self.assertEqual(status, 3, err)
                    self.assertIn("LIEF's writer changes other parts of the file", err)
                    self.assertIn("remove --writer lief", err)
                    self.assertEqual(library.read_bytes(), before)
        self.assertEqual(seen, {0, 3})

    def test_permissions(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        folder = self.copy("ours")
        for path in (self.scratch, folder):
            path.chmod(0o755)
        library = folder / "libanswer.so"
        library.chmod(0o666)
        other = dict(user=12345, group=12345, extra_groups=[])
        program = shutil.copy(self.ours, self.scratch / "patchelf")
        def run(*words):
            done = subprocess.run([program, *words], capture_output=True, text=True, check=False, **other)
            return done.returncode, done.stderr
        # The file may be written and its folder may not: patchelf does it, and so do we.
        self.assertEqual(run("--set-rpath", "$ORIGIN/deps:" + "/long" * 200, library), (0, ""))
        self.assertEqual(self.loads(folder), 42)
        self.assertEqual([path.name for path in folder.glob(".*ptpkg*")], [])
        library.chmod(0o000)
        self.assertEqual(run("--print-rpath", library), (1, f"patchelf: opening '{library}': Permission denied\n"))

    def test_file_of_another_user_is_not_replaced(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.scratch.chmod(0o755)
        for who, tool in self.tools.items():
            folder = self.copy(who)
            folder.chmod(0o777)
            library = folder / "libanswer.so"
            library.chmod(0o555)
            before = (library.read_bytes(), library.stat())
            program = shutil.copy(tool, self.scratch / f"patchelf-{who}")
            done = subprocess.run([program, "--set-rpath", "/x", library], capture_output=True, text=True, check=False,
                                  user=12345, group=12345, extra_groups=[])
            self.assertEqual(done.returncode, 1, who)
            self.assertRegex(done.stderr, r"^patchelf: .*(belongs to another user|Permission denied)")
            self.assertEqual((library.read_bytes(), library.stat()[:4]), (before[0], before[1][:4]), who)

    def test_library_that_is_needed_already_moves_to_the_front(self):
        """patchelf adds a second entry in front; the loader searches both files in the same order."""
        for name in ("libm.so.6", "libdeep.so.1", "libc.so.6"):
            order = {}
            for who, tool in self.tools.items():
                folder = self.copy(who)
                library = folder / "libanswer.so"
                self.assertEqual(self.call(tool, "--add-needed", name, library)[0], 0)
                needed = self.call(self.tools["theirs"], "--print-needed", library)[1].split()
                order[who] = (list(dict.fromkeys(needed)), self.loads(folder))
            self.assertEqual(order["ours"], order["theirs"])
            self.assertEqual(order["ours"], ([name, *[n for n in order["ours"][0] if n != name]], 42))

    def test_empty_addition_to_a_path(self):
        """patchelf appends an empty entry, which makes the loader search the working directory."""
        library = self.copy("ours") / "libanswer.so"
        self.assertEqual(self.call(self.ours, "--set-rpath", "/a", library)[0], 0)
        self.assertEqual(self.call(self.ours, "--add-rpath", "", library)[0], 0)
        self.assertEqual(self.call(self.tools["theirs"], "--print-rpath", library)[1], "/a\n")

    def test_rights_of_an_output(self):
        """A new file gets what the umask leaves, and an existing one keeps its own; set-ID bits do not move over."""
        # The kernel takes a set-ID bit from a file that anybody but root writes.
        modes = [None, 0o600, 0o640] + [0o4711] * (os.geteuid() == 0)
        for umask in (0o022, 0o077, 0o027):
            for existing in modes:
                seen = {}
                for who, tool in self.tools.items():
                    library = self.copy(who) / "libanswer.so"
                    if os.geteuid() == 0:
                        os.chown(library, 12345, 12345)
                    library.chmod(0o6755)
                    os.utime(library, (1, 1))
                    out = library.with_name("out.so")
                    if existing is not None:
                        out.write_text("old")
                        if os.geteuid() == 0:
                            os.chown(out, 23456, 23456)
                        out.chmod(existing)
                    # Also with nothing to change.
                    for words in (["--set-rpath", "/x"], []):
                        subprocess.run([tool, *words, "--output", out, library], check=True, umask=umask)
                        stat = out.stat()
                        seen.setdefault(who, []).append((stat.st_mode, stat.st_uid, stat.st_gid, stat.st_mtime > 1))
                self.assertEqual(seen["ours"], seen["theirs"], (oct(umask), existing))

    def test_output_into_a_pipe_or_device(self):
        for who, tool in self.tools.items():
            library = self.copy(who) / "libanswer.so"
            words = [tool, "--set-rpath", "$ORIGIN/deps:" + "/long" * 200, "--output"]
            plain = library.with_name("plain.so")
            subprocess.run([*words, plain, library], check=True)
            piped = subprocess.run([*words, "/dev/stdout", library], check=True, stdout=subprocess.PIPE).stdout
            self.assertTrue(piped == plain.read_bytes(), who)
            fifo = library.with_name("fifo")
            os.mkfifo(fifo)
            with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
                subprocess.run([*words, fifo, library], check=True)
                self.assertTrue(reader.communicate()[0] == plain.read_bytes(), who)
            with tempfile.TemporaryFile() as file:
                subprocess.run([*words, "/dev/stdout", library], check=True, stdout=file)
                file.seek(0)
                self.assertTrue(file.read() == plain.read_bytes(), who)
            # Nothing to change, and nowhere to write it.
            unchanged = subprocess.run([tool, "--output", "/dev/stdout", library], check=True, stdout=subprocess.PIPE).stdout
            self.assertTrue(unchanged == library.read_bytes(), who)
            status, _, err = self.call(*words, "/dev/full", library)
            self.assertEqual(status, 1, who)
            self.assertIn("No space left on device", err)
            self.assertEqual(self.call(*words, "/dev/null", library), (0, "", ""))

    def test_output_in_shared_memory_is_replaced(self):
        """patchelf truncates it, and a full file system then loses the input of '--output F F'."""
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            library = pathlib.Path(shutil.copy(self.copy("ours") / "libanswer.so", folder))
            before = library.stat().st_ino
            self.assertEqual(self.call(self.ours, "--set-rpath", "/x", "--output", library, library)[0], 0)
            self.assertNotEqual(library.stat().st_ino, before)

    def test_output_that_can_be_written_but_not_replaced(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.scratch.chmod(0o755)
        for who, tool in self.tools.items():
            folder = self.copy(who)
            program = shutil.copy(tool, self.scratch / f"patchelf-{who}")
            for mode in (0o755, 0o777):
                folder.chmod(mode)
                out = folder / "out.so"
                out.write_text("old")
                out.chmod(0o666)
                before = out.stat()
                subprocess.run([program, "--set-rpath", "/x", "--output", out, folder / "libanswer.so"], check=True,
                               user=12345, group=12345, extra_groups=[])
                self.assertEqual(out.stat()[:6], before[:6], who)
                self.assertEqual(self.call(tool, "--print-rpath", out)[1], "/x\n")
                out.chmod(0o444)
                done = subprocess.run([program, "--set-rpath", "/y", "--output", out, folder / "libanswer.so"],
                                      check=False, user=12345, group=12345, extra_groups=[], capture_output=True)
                self.assertEqual((done.returncode, b"Permission denied" in done.stderr), (1, True), who)
                self.assertEqual(self.call(tool, "--print-rpath", out)[1], "/x\n")

    def test_it_is_a_program_of_its_own(self):
        """Under any name, through links and as a copy: scripts resolve what PATH has, and copy it into images."""
        library = self.copy("ours") / "libanswer.so"
        self.assertFalse(self.ours.is_symlink())
        link = self.scratch / "a-link"
        link.symlink_to(self.ours)
        copy = shutil.copy(self.ours, self.scratch / "patchelf-0.19")
        for program in (self.ours, self.ours.resolve(), link, copy):
            self.assertEqual(self.call(program, "--set-rpath", "$ORIGIN/x", library), (0, "", ""), program)
            self.assertEqual(self.call(program, "--print-rpath", library), (0, "$ORIGIN/x\n", ""), program)

    def test_output_leaves_the_input(self):
        for who, tool in self.tools.items():
            library = self.copy(who) / "libanswer.so"
            before = library.read_bytes()
            out = self.scratch / f"{who}.so"
            self.assertEqual(self.call(tool, "--set-rpath", "/x", "--output", out, library)[0], 0)
            self.assertEqual(library.read_bytes(), before)
            self.assertEqual(self.call(self.tools["theirs"], "--print-rpath", out)[1], "/x\n")

    def test_links_are_followed_as_the_kernel_does(self):
        folder = self.scratch / "links"
        (folder / "real/x/y").mkdir(parents=True)
        shutil.copy(self.toys / "libanswer.so", folder / "real/x/t.so")
        shutil.copy(self.toys / "libanswer.so", folder / "t.so")
        (folder / "d").symlink_to("real/x/y")
        (folder / "real/x/y/l.so").symlink_to("../t.so")
        untouched = (folder / "t.so").read_bytes()
        for name in ("d/l.so", "d/../t.so"):
            self.assertEqual(self.call(self.ours, "--set-rpath", f"/{name}", folder / name)[0], 0)
            self.assertEqual(self.call(self.ours, "--print-rpath", folder / "real/x/t.so")[1], f"/{name}\n")
        self.assertEqual((folder / "t.so").read_bytes(), untouched)

    def test_calls_at_the_same_time_wait_for_each_other(self):
        folder = self.copy("ours")
        library = folder / "libanswer.so"
        for _ in range(6):
            paths = ["$ORIGIN/deps:" + f"/{who}" * 300 for who in "abcd"]
            running = [subprocess.Popen([self.ours, "--set-rpath", path, library], stderr=subprocess.PIPE, text=True)
                       for path in paths]
            for process in running:
                self.assertEqual((process.communicate()[1], process.returncode), ("", 0))
            self.assertIn(self.call(self.ours, "--print-rpath", library)[1].strip(), paths)
            self.assertEqual(self.loads(folder), 42)
            self.assertEqual([path.name for path in folder.glob(".*ptpkg*")], [])

    def test_edits_of_different_kinds_at_the_same_time_all_happen(self):
        library = self.copy("ours") / "libanswer.so"
        names = {f"libq{number}.so" for number in range(8)}
        running = [subprocess.Popen([self.ours, "--add-needed", name, library]) for name in names]
        self.assertEqual({process.wait() for process in running}, {0})
        self.assertLessEqual(names, set(self.call(self.ours, "--print-needed", library)[1].split()))

    def test_output_into_a_folder_that_is_missing(self):
        for who, tool in self.tools.items():
            library = self.copy(who) / "libanswer.so"
            missing = self.scratch / "no/such"
            status, _, err = self.call(tool, "--set-rpath", "/x", "--output", missing / "x.so", library)
            self.assertEqual(status, 1)
            self.assertIn("No such file or directory", err)
            self.assertFalse(missing.parent.exists())

    def test_output_through_a_link_to_nothing(self):
        """open(2) makes the file to which the link leads."""
        for who, tool in self.tools.items():
            folder = self.copy(who)
            (folder / "to").mkdir()
            for name, target in (("one", "new.so"), ("two", "one"), ("there", "to/new.so"), ("all", str(folder / "to/all.so")), ("up", "to/../up.so")):
                (folder / name).symlink_to(target)
                made = (folder / target).resolve()
                made.unlink(missing_ok=True)
                self.assertEqual(self.call(tool, "--set-rpath", "/x", "--output", folder / name, folder / "libanswer.so"), (0, "", ""), who)
                self.assertTrue((folder / name).is_symlink())
                self.assertEqual(self.call(tool, "--print-rpath", made)[1], "/x\n", (who, name))
                self.assertEqual((made.stat().st_mode, made.is_symlink()), ((folder / "libanswer.so").stat().st_mode, False))

    def test_output_that_is_no_file(self):
        """The same reason as patchelf's, about the name of the output."""
        cases = {"folder": "Is a directory", "to-folder": "Is a directory", "new/": "Is a directory", "new/.": "directory",
                 "one/out.so": "Not a directory", "loop": "ymbolic link", "no/out.so": "No such file or directory",
                 "to-none": "No such file or directory", "to-end": "directory", "/proc/self/fd/99": "No such file or directory",
                 "/dev/fd/99": "No such file or directory"}
        for who, tool in self.tools.items():
            folder = self.copy(who)
            (folder / "folder").mkdir()
            (folder / "one").write_text("one")
            for link, target in (("to-folder", "folder"), ("loop", "loop"), ("to-none", "no/out.so"), ("to-end", "none/")):
                (folder / link).symlink_to(target)
            before = sorted(folder.rglob("*"))
            for name, reason in cases.items():
                with self.subTest(f"{who} {name}"):
                    output = name if name.startswith("/") else f"{folder}/{name}"
                    status, out, err = self.call(tool, "--set-rpath", "/x", "--output", output, folder / "libanswer.so")
                    self.assertEqual((status, out, reason in err), (1, "", True), err)
                    if who == "ours":
                        self.assertTrue(err.startswith(f"patchelf: cannot write '{output}': "), err)
                    self.assertEqual(sorted(folder.rglob("*")), before)

    def test_output_in_a_folder_without_permission(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.scratch.chmod(0o755)
        folder = self.copy("ours")
        folder.chmod(0o755)
        program = shutil.copy(self.ours, self.scratch / "patchelf")
        (folder / "open").mkdir()
        (folder / "open").chmod(0o777)
        (folder / "link.so").symlink_to("open/new.so")
        words = [program, "--set-rpath", "/x", "--output"]
        for name, status, err in (("new.so", 1, f"patchelf: cannot write '{folder}/new.so': Permission denied\n"), ("link.so", 0, "")):
            done = subprocess.run([*words, folder / name, folder / "libanswer.so"], check=False, capture_output=True, text=True, user=12345,
                                  group=12345, extra_groups=[])
            self.assertEqual((done.returncode, done.stderr), (status, err))
        self.assertTrue((folder / "open/new.so").is_file())

    def test_input_from_a_pipe(self):
        library = self.copy("ours") / "libanswer.so"
        for tool in self.tools.values():
            for words in (["--print-rpath"], ["--set-rpath", "/x", "--output", self.scratch / "out.so"]):
                done = subprocess.run([tool, *words, "/dev/stdin"], input=library.read_bytes(), check=False, capture_output=True)
                self.assertEqual((done.returncode, done.stderr.splitlines()[-1:]), (1, [b"patchelf: missing ELF header"]))

    def test_values_from_files(self):
        (self.scratch / "path").write_text("$ORIGIN/from-file")
        for who, tool in self.tools.items():
            library = self.copy(who) / "libanswer.so"
            self.assertEqual(self.call(tool, "--set-rpath", f"@{self.scratch}/path", library)[0], 0)
            self.assertEqual(self.call(tool, "--print-rpath", library)[1], "$ORIGIN/from-file\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--patchelf", type=pathlib.Path, required=True)
    parser.add_argument("--toys", type=pathlib.Path, required=True)
    known, rest = parser.parse_known_args()
    PatchelfCommandLine.ours = known.patchelf.absolute()
    PatchelfCommandLine.toys = known.toys
    if not (BIN / "patchelf").exists():
        print("skipped: peer 'patchelf' is missing")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
