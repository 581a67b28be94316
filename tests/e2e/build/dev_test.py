"""`ptpkg dev` and `ptpkg shell`: a folder that stays, one edit at a time, and the environment of a build.

The project is C, built by ninja or make. The compiler is a script beside the recipe that writes down each object
that it makes, so what is compiled again can be counted.
"""

import json
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import threading
import time

import harness

RECIPE = """\
schema_version: 1
package: {{name: toy, version: "1"}}
source: {{path: src}}
build: {{number: 0, string: "0", script: {{file: build.sh, env: {{TOOL: {tool}}}}}}}
requirements: {{build: [{tool}]}}
tests:
  - script: ["echo 'int toy(void); int main(void) {{ return toy(); }}' > t.c", "gcc t.c $LDFLAGS -ltoy -o t", "./t"]
about: {{license: MIT}}
extra: {{ptpkg: {{formats: [conda]{dev}}}}}
"""

DEV = """, dev: {script: ['echo short >> log.txt', 'export CC="$RECIPE_DIR/compiler"', 'chmod +x "$CC"', ninja -C out,
  cp out/libtoy.so $PREFIX/lib/]}"""

SCRIPT = """\
echo whole >> log.txt
export CC="$RECIPE_DIR/compiler"
chmod +x "$CC"
mkdir -p out
if [ "$TOOL" = make ]; then
  make -C out -f ../Makefile
else
  { printf 'rule cc\\n  command = "$$CC" -fPIC -c $in -o $out\\n'
    printf 'rule so\\n  command = gcc -shared $in -o $out\\n'
    objects=
    for file in *.c; do printf 'build %s.o: cc ../%s\\n' "$file" "$file"; objects="$objects $file.o"; done
    printf 'build libtoy.so: so%s\\n' "$objects"; } > out/new.ninja
  cmp -s out/new.ninja out/build.ninja || cp out/new.ninja out/build.ninja
  ninja -C out
fi
mkdir -p "$PREFIX/lib"
cp out/libtoy.so "$PREFIX/lib/"
"""

MAKEFILE = """\
objects = $(patsubst ../%.c,%.o,$(wildcard ../*.c))
libtoy.so: $(objects) ; gcc -shared $^ -o $@
%.o: ../%.c ; "$(CC)" -fPIC -c $< -o $@
"""

COMPILER = """\
#!/bin/sh
for word; do :; done
basename "$word" .o >> "{scratch}/compiled"
if [ -e "{scratch}/hold" ]; then echo held >> "{scratch}/held"; sleep 60; fi
exec gcc "$@"
"""


class Dev(harness.Case):
    def project(self, tool="ninja", dev="", name="toy"):
        harness.tool(tool)
        harness.tool("gcc")
        self.recipe = self.scratch / name
        source = self.recipe / "src"
        source.mkdir(parents=True)
        self.write_recipe(tool, dev)
        (self.recipe / "build.sh").write_text(SCRIPT)
        (self.recipe / "compiler").write_text(COMPILER.format(scratch=self.scratch))
        (source / "Makefile").write_text(MAKEFILE)
        (source / "toy.c").write_text("int one(void); int toy(void) { return one() - 1; }\n")
        (source / "one.c").write_text("int one(void) { return 1; }\n")
        for number in range(5):
            (source / f"f{number}.c").write_text(f"int f{number}(void) {{ return {number}; }}\n")
        return self.recipe

    def write_recipe(self, tool="ninja", dev=""):
        (self.recipe / "recipe.yaml").write_text(RECIPE.format(tool=tool, dev=dev))

    def edit(self, name, text):
        (self.recipe / "src" / name).write_text(text)

    def compiled(self):
        """What was compiled since the last call."""
        path = self.scratch / "compiled"
        found = sorted(pathlib.Path(line).stem for line in path.read_text().split()) if path.exists() else []
        path.unlink(missing_ok=True)
        return found

    def dev(self, *args, **extra):
        return self.ptpkg_json("dev", self.recipe, *args, **extra)

    def shell(self, *command, exit_code=0, **extra):
        return self.ptpkg("shell", self.recipe, "--", *command, exit_code=exit_code, **extra)

    def folder(self):
        (root,) = (self.cache / "dev").iterdir()
        return root

    def test_one_edited_file_is_compiled_and_the_tests_run(self):
        for tool in ("ninja", "make"):
            with self.subTest(tool=tool):
                self.cache = self.scratch / f"cache-{tool}"
                self.project(tool, name=f"toy-{tool}")
                first = self.dev()
                self.assertTrue(first["anew"])
                self.assertEqual(len(self.compiled()), 7)
                self.assertEqual(len(first["tests"]["ran"]), 1)
                self.assertEqual(first["tests"]["findings"], [])
                self.edit("one.c", "int one(void) { return 0 + 1; }\n")
                second = self.dev()
                self.assertEqual((second["anew"], second["copied"], second["removed"]), (False, ["one.c"], []))
                self.assertEqual(self.compiled(), ["one"])
                third = self.ptpkg("dev", self.recipe)
                self.assertEqual(self.compiled(), [])
                self.assertRegex(third.stdout, r"\Atoy-1-0: no source changed; build.script [0-9.]+ s; 1 test [0-9.]+ s\n\Z")

    def test_a_test_that_fails_is_told_and_mended(self):
        self.project()
        self.dev()
        self.edit("one.c", "int one(void) { return 2; }\n")
        done = self.ptpkg("dev", self.recipe, exit_code=1)
        self.assertIn("[package-test]", done.stderr)
        self.assertIn("1 file copied: 'one.c'", done.stdout)
        self.assertIn("1 failed", done.stdout)
        self.ptpkg("dev", self.recipe, "--no-test")
        self.edit("one.c", "int one(void) { return 1; }\n")
        self.assertEqual(self.dev()["tests"]["findings"], [])

    def test_a_file_that_is_removed_and_one_that_is_new(self):
        self.project()
        self.dev()
        self.compiled()
        (self.recipe / "src/f4.c").unlink()
        self.edit("g.c", "int g(void) { return 7; }\n")
        told = self.dev()
        self.assertEqual((told["copied"], told["removed"]), (["g.c"], ["f4.c"]))
        self.assertEqual(self.compiled(), ["g"])

    def test_a_source_of_ones_own(self):
        self.project()
        other = self.scratch / "checkout"
        shutil.copytree(self.recipe / "src", other)
        self.dev("--source", f"toy={other}")
        self.compiled()
        (other / "f0.c").write_text("int f0(void) { return 10; }\n")
        self.assertEqual(self.dev("--source", f"toy={other}")["copied"], ["f0.c"])
        self.assertEqual(self.compiled(), ["f0"])

    def test_a_changed_requirement_starts_anew_and_is_named(self):
        self.project("make")
        self.dev()
        self.compiled()
        self.write_recipe("ninja")
        done = self.ptpkg("dev", self.recipe)
        self.assertRegex(done.stderr, r"note: 'toy-1-0' starts over: .*'recipe.requirements'.* changed")
        self.assertEqual(len(self.compiled()), 7)
        self.assertEqual(self.dev("--fresh")["why_anew"], "--fresh")

    def test_a_script_that_fails_and_is_mended(self):
        self.project()
        self.edit("one.c", "int one(void) { return 1 }\n")
        done = self.ptpkg("dev", self.recipe, exit_code=5)
        self.assertIn("error: the build script of 'toy-1-0' exited with status 1", done.stderr)
        self.assertIn("the first command that failed, from its log", done.stderr)
        self.assertIn("one.c:1:", done.stderr)
        self.assertIn("rerun the same command to continue", done.stderr)
        done = {*self.compiled()} - {"one"}
        self.edit("one.c", "int one(void) { return 1; }\n")
        self.assertFalse(self.dev()["anew"])
        self.assertFalse(done & set(self.compiled()))

    def test_a_shorter_script_runs_after_the_first_whole_one(self):
        self.project(dev=DEV)
        self.assertEqual(self.dev()["script"], "build.script")
        self.compiled()
        self.edit("one.c", "int one(void) { return 0 + 1; }\n")
        told = self.dev()
        self.assertEqual(told["script"], "extra.ptpkg.dev.script")
        self.assertEqual(self.compiled(), ["one"])
        self.assertEqual((pathlib.Path(told["source"]) / "log.txt").read_text(), "whole\nshort\n")

    def test_the_whole_script_runs_again_when_it_is_edited_and_for_a_new_source(self):
        self.project(dev=DEV)
        self.dev()
        (self.recipe / "build.sh").write_text(SCRIPT + "echo edited >> log.txt\n")
        told = self.dev()
        self.assertEqual((told["anew"], told["script"]), (False, "build.script"))
        self.compiled()
        # The shorter script does not look for files.
        self.edit("g.c", "int g(void) { return 7; }\n")
        self.assertEqual(self.dev()["script"], "build.script")
        self.assertEqual(self.compiled(), ["g"])
        self.assertEqual(self.dev()["script"], "extra.ptpkg.dev.script")
        log = (pathlib.Path(told["source"]) / "log.txt").read_text()
        self.assertEqual(log, "whole\nwhole\nedited\nwhole\nedited\nshort\n")

    def start(self, *args):
        process = subprocess.Popen([harness.Settings.ptpkg, *map(str, args)], env=self.environment(), text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_interrupted_and_killed_runs_are_gone_on_with(self):
        self.project()
        self.dev()
        for number, end in ((0, signal.SIGINT), (1, signal.SIGKILL)):
            self.compiled()
            (self.scratch / "hold").touch()
            self.edit("one.c", f"int one(void) {{ return 1 + {number} - {number}; }}\n")
            process = self.start("dev", self.recipe)
            self.wait_for((self.scratch / "held").exists)
            process.send_signal(end)
            self.assertEqual(process.wait(timeout=harness.HANGS_AFTER_S), 130 if end == signal.SIGINT else -end)
            (self.scratch / "hold").unlink()
            (self.scratch / "held").unlink()
            told = self.dev()
            self.assertFalse(told["anew"], told)
            self.assertEqual(set(self.compiled()), {"one"})

    def test_what_make_was_writing_when_it_was_killed_is_made_again(self):
        self.project("make")
        source = pathlib.Path(self.dev()["source"])
        self.compiled()
        (self.scratch / "hold").touch()
        self.edit("one.c", "int one(void) { return 2 - 1; }\n")
        process = self.start("dev", self.recipe)
        self.wait_for((self.scratch / "held").exists)
        # As a compiler leaves it that is killed while it writes: newer than its source, so make trusts it.
        half = source / "out/one.o"
        whole = half.read_bytes()
        half.write_bytes(whole[:len(whole) // 2])
        (source / "f0.c").write_text("int f0(")
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=harness.HANGS_AFTER_S)
        (self.scratch / "hold").unlink()
        told = self.dev()
        self.assertFalse(told["anew"], told)
        self.assertEqual(told["copied"], ["f0.c"])
        self.assertLessEqual({"f0", "one"}, set(self.compiled()))
        self.assertEqual(told["tests"]["findings"], [])

    def test_two_at_once_work_one_after_the_other(self):
        self.project()
        self.dev()
        (self.scratch / "hold").touch()
        self.edit("one.c", "int one(void) { return 3 - 2; }\n")
        first = self.start("dev", self.recipe)
        self.wait_for((self.scratch / "held").exists)
        second = self.start("dev", self.recipe)
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(second.stderr))
        reader.start()
        self.wait_for(lambda: any("another run is building" in line for line in lines))
        items = {item["kind"]: item for item in self.ptpkg_json("cache")["items"]}
        self.assertEqual((items["dev"]["state"], items["dev"]["subject"]), ("in_use", "toy-1-0"))
        self.ptpkg("cache", "clean")
        self.assertTrue(self.folder().exists())
        (self.scratch / "hold").unlink()
        first.send_signal(signal.SIGINT)
        self.assertEqual(first.wait(timeout=harness.HANGS_AFTER_S), 130)
        self.assertEqual(second.wait(timeout=harness.HANGS_AFTER_S), 0, lines)
        reader.join()
        self.ptpkg("cache", "clean")
        self.assertEqual(list((self.cache / "dev").iterdir()), [])

    def test_shell_in_the_folder_of_dev(self):
        self.project()
        told = self.dev()
        done = self.shell("sh", "-c", 'pwd; echo "$PREFIX"; echo "$TOOL $PKG_NAME"; echo "[$HOME_OF_CALLER]"',
                          HOME_OF_CALLER="leaks")
        where, prefix, names, leak = done.stdout.splitlines()
        self.assertEqual((where, prefix, names, leak), (told["source"], told["prefix"], "ninja toy", "[]"))
        self.assertIn("note: the directory of 'ptpkg dev'", done.stderr)
        self.shell("sh", "-c", "exit 7", exit_code=7)
        self.shell("no-such-program", exit_code=127)
        self.assertIn("-c: not found", self.shell("-c", "true", exit_code=127).stderr)
        self.shell("sh", "-c", "kill -TERM $$", exit_code=143)
        # The environment is useful by itself.
        sourced = self.run_clean("bash", "-c", f". '{told['environment']}' && echo $SRC_DIR")
        self.assertEqual(sourced.strip(), told["source"])
        named = self.ptpkg_json("shell", self.recipe)
        self.assertEqual(named, {"subject": "toy-1-0", "source": told["source"], "environment": told["environment"]})

    def test_a_shell_does_not_vouch_for_what_a_power_cut_left(self):
        self.project()
        self.dev()
        state = self.folder() / "state.json"
        before = json.loads(state.read_text()) | {"boot_id": "of another day", "phase": "script"}
        state.write_text(json.dumps(before))
        self.shell("true")
        self.assertEqual(json.loads(state.read_text()), before)

    def test_what_waits_for_its_own_shell_is_refused(self):
        self.project()
        self.dev()
        for verb, *more in (["dev"], ["shell", "--", "true"]):
            # A shell has nothing of the caller's environment, so not the place of the cache.
            done = self.shell(pathlib.Path(harness.Settings.ptpkg).resolve(), verb, "--cache-dir", self.cache, self.recipe,
                              *more, exit_code=2)
            self.assertIn("this shell uses the work directory of 'toy-1-0'", done.stderr)
            self.assertIn("hint: exit the shell first", done.stderr)

    def test_sources_that_a_shell_has_changed_are_taken_again(self):
        self.project()
        self.dev()
        self.compiled()
        self.shell("sh", "-c", "echo 'int f0(void) { return 666; }' > f0.c; rm f1.c")
        done = self.ptpkg("dev", self.recipe)
        self.assertIn("they were changed in the directory of 'ptpkg dev'", done.stderr)
        self.assertIn("2 files copied: 'f0.c', 'f1.c'", done.stdout)
        said = self.ptpkg("dev", self.recipe).stderr
        self.assertNotIn("changed by hand", said)
        self.assertNotIn("restored from the sources", said)

    def sleeping(self):
        """Processes that sleep in the folder of dev."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and os.readlink(entry / "cwd").startswith(str(self.cache)):
                    found += [entry.name] if (entry / "comm").read_text() == "sleep\n" else []
            except OSError:  # gone
                pass
        return found

    def test_shell_holds_the_folder(self):
        self.project()
        self.dev()
        process = self.start("shell", self.recipe, "--", "sleep", "60")
        self.wait_for(lambda: any(item["kind"] == "dev" and item["state"] == "in_use"
                                  for item in self.ptpkg_json("cache")["items"]))
        self.ptpkg("cache", "clean")
        self.assertTrue((self.folder() / "d").exists())
        self.wait_for(self.sleeping)  # the folder is held before the command runs
        # A command that outlived its shell would write to a folder that nobody holds.
        process.kill()
        process.communicate()
        self.wait_for(lambda: not self.sleeping())

    def test_a_shell_that_is_terminated_ends_its_command(self):
        self.project()
        self.dev()
        process = self.start("shell", self.recipe, "--", "sleep", "60")
        self.wait_for(self.sleeping)
        process.terminate()
        process.communicate()
        self.assertEqual(process.returncode, 143)
        self.assertEqual(self.sleeping(), [])

    def test_a_cache_that_was_copied_is_not_entered(self):
        self.project()
        self.edit("one.c", "int one(void) { return 1 }\n")
        self.ptpkg("build", self.recipe, "--output", self.scratch / "dist", exit_code=5)
        shutil.copytree(self.cache, self.scratch / "copy", symlinks=True)
        done = self.ptpkg("shell", "--cache-dir", self.scratch / "copy", self.recipe, "--", "pwd")
        self.assertNotIn("of a failed build", done.stderr)
        self.assertIn(str(self.scratch / "copy"), done.stdout)

    def test_shell_in_what_a_failed_build_has_left(self):
        self.project("make")
        self.edit("one.c", "int one(void) { return 1 }\n")
        build = ("build", self.recipe, "--output", self.scratch / "dist")
        self.ptpkg(*build, exit_code=5)
        self.compiled()
        done = self.shell("ls", "out")
        self.assertIn("the work directory of a failed build", done.stderr)
        self.assertIn("warning: if files in that directory change, the next build starts over", done.stderr)
        self.assertIn("f0.o", done.stdout)
        self.assertNotIn("were changed by hand", done.stderr)
        self.assertIn("resuming the interrupted build of", self.ptpkg(*build, exit_code=5).stderr)
        # What was changed by hand is not what the recipe says.
        done = self.shell("sh", "-c", "echo 'int f0(void) { return 666; }' > f0.c")
        self.assertIn("were changed by hand, so the next build of 'toy-1-0' starts over", done.stderr)
        self.compiled()
        self.assertNotIn("resuming the interrupted build", self.ptpkg(*build, exit_code=5).stderr)
        self.assertIn("f0", self.compiled())
        self.edit("one.c", "int one(void) { return 1; }\n")
        self.ptpkg(*build)

    def test_shell_after_a_finished_build_makes_the_folder_anew(self):
        self.project()
        self.ptpkg("build", self.recipe, "--output", self.scratch / "dist")
        self.compiled()
        done = self.shell("sh", "-c", "ls; ls $PREFIX")
        self.assertIn("no work directory of 'toy-1-0' exists: preparing sources and host prefix without running the script", done.stderr)
        self.assertIn("toy.c", done.stdout)
        self.assertNotIn("out", done.stdout.split())
        self.assertEqual(self.compiled(), [])
        self.assertEqual(self.dev()["script"], "build.script")

    def test_shell_in_a_kept_folder(self):
        self.project()
        self.ptpkg("build", self.recipe, "--output", self.scratch / "dist", "--keep-work")
        done = self.shell("sh", "-c", 'pwd; echo "$SRC_DIR"; ls out')
        self.assertIn("a directory kept by --keep-work", done.stderr)
        where, told, *names = done.stdout.splitlines()
        self.assertEqual(where, told)
        self.assertTrue(where.startswith(str(self.cache / "kept")), where)
        self.assertIn("libtoy.so", names)

    def test_shell_without_a_terminal_or_with_too_much(self):
        self.project()
        done = self.ptpkg("shell", self.recipe, exit_code=2)
        self.assertIn("error: a shell needs a terminal", done.stderr)
        self.assertIn("-- COMMAND", done.stderr)
        done = self.ptpkg("shell", self.recipe, "--json", "--", "ls", exit_code=2)
        self.assertIn("--json runs nothing, but a command was given", done.stderr)
        self.assertFalse((self.cache / "dev").exists())

    def test_an_interactive_shell(self):
        self.project()
        told = self.dev()
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(harness.Settings.ptpkg, [harness.Settings.ptpkg, "shell", str(self.recipe)],
                      self.environment(TERM="dumb"))
        seen = b""

        def read_until(text, repeated=b""):
            """Reads up to `text`, and types `repeated` once a second until it comes."""
            nonlocal seen
            deadline = time.monotonic() + harness.HANGS_AFTER_S
            while text not in seen:
                self.assertLess(time.monotonic(), deadline, seen)
                if select.select([terminal], [], [], 1)[0]:
                    seen += os.read(terminal, 4096)
                elif repeated:
                    os.write(terminal, repeated)
            seen = seen.split(text, 1)[1]

        prompt = b"(toy-1-0) work"
        read_until(prompt)
        os.write(terminal, b"echo at=$PWD\n")
        read_until(f"at={told['source']}".encode())
        read_until(prompt)
        # bash loses a Ctrl-C that comes between its look for signals and its wait for a key.
        os.write(terminal, b"\x03")
        read_until(prompt, repeated=b"\x03")
        os.write(terminal, b"exit 3\n")
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(status), 3)

    def test_nobody_else_writes_while_a_shell_has_the_terminal(self):
        self.project()
        self.dev()
        longer_than_between_two_lines_of_progress = "31"
        done = self.shell("sleep", longer_than_between_two_lines_of_progress)
        self.assertNotIn("working", done.stderr)

    def test_more_than_one_native_build_is_refused(self):
        self.project()
        (self.recipe / "variants.yaml").write_text("flavour: [sweet, sour]\n")
        text = (self.recipe / "recipe.yaml").read_text().replace('string: "0"', 'string: "${{ flavour }}"')
        (self.recipe / "recipe.yaml").write_text(text)
        for verb in ("dev", "shell"):
            command = (verb, self.recipe, *(("--", "true") if verb == "shell" else ()))
            done = self.ptpkg(*command, exit_code=2)
            self.assertIn("this command works on one variant, but 'toy' has 2", done.stderr)
            self.assertIn("hint: choose one: --select flavour=", done.stderr)
        self.assertEqual(json.loads(self.ptpkg("dev", self.recipe, "--select", "flavour=sour", "--json").stdout)["subject"],
                         "toy-1-sour")


if __name__ == "__main__":
    harness.main()
