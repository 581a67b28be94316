"""A build that was ended in the midst goes on where it was: only what was not finished is compiled, to the same bytes.

The project has 40 objects and is built by make and by ninja, two at a time. The compiler is a script beside the
recipe that writes each compilation down; while the file "hold" is there, it stops in two of the objects with half
of their bytes written, and the run is ended there, in each way in which runs end.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import harness

OBJECTS = 40
HELD = (20, 21)

RECIPE = """\
schema_version: 1
package: {{name: many, version: "1"}}
source: {{path: src}}
build: {{number: 0, string: "0", script: {{file: build.sh, env: {{TOOL: {tool}}}}}}}
about: {{license: MIT}}
extra: {{ptpkg: {{formats: [conda]}}}}
"""

SCRIPT = """\
export CC="$RECIPE_DIR/compiler"
chmod +x "$CC"
# Only once: a newer header would compile everything again. As if it had been a minute ago: a source that was being
# changed when the run ended starts the build anew.
if grep -q @VERSION@ version.h; then
  sed -i 's/@VERSION@/1/' version.h
  touch -d '1 minute ago' version.h
fi
if [ "$TOOL" = make ]; then make -j2; else ninja -j2; fi
mkdir -p "$PREFIX/lib"
cp libmany.so "$PREFIX/lib/"
"""

# A half of an object is what is left of one whose compiler was killed while it wrote. Whoever holds goes on writing
# to the tree, so that what was finished before lies more than the 10 s back for which make is not trusted.
COMPILER = """\
#!/bin/sh
out=
for word; do
  if [ "$out" = next ]; then out=$word; fi
  if [ "$word" = -o ]; then out=next; fi
done
case "$out" in *.o) echo "$out" >> "{scratch}/compiled" ;; esac
case "$out" in
  f020.o|f021.o)
    if [ -e "{scratch}/small" ]; then ulimit -v 10000; fi
    if [ -e "{scratch}/hold" ]; then
      gcc "$@" -o "$out.whole"
      head -c 300 "$out.whole" > "$out"
      rm "$out.whole"
      echo "$out" >> "{scratch}/held"
      while :; do echo tick >> progress.txt; sleep 0.5; done
    fi ;;
esac
exec gcc "$@"
"""


def on_a_disk_that_grows(case, size, *args):
    """Runs ptpkg twice with its cache on a file system of its own, of `size` and then of 300 MB, in a mount namespace;
    skips the test where that cannot be. What was compiled by the first run is in the file "first"."""
    case.cache.mkdir()
    command = (f"mount -t tmpfs -o size={size} tmpfs {case.cache} || exit 77\n"
               'first=0; "$@" || first=$?\n'
               f"cp {case.scratch}/compiled {case.scratch}/first; rm {case.scratch}/compiled\n"
               f"mount -o remount,size=300m {case.cache} || exit 78\n"
               'second=0; "$@" || second=$?\n'
               f"ls {case.cache}/work >&2\n"
               'echo "exits $first $second"\n')
    done = None
    for prefix in (["unshare", "--mount"], ["unshare", "--mount", "--user", "--map-root-user"]):
        done = subprocess.run([*prefix, "sh", "-c", command, "sh", harness.Settings.ptpkg, *args], env=case.environment(),
                              text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if "exits" in done.stdout or done.returncode == 78:
            break
    if "exits" not in done.stdout:
        case.skipTest(f"a tmpfs cannot be mounted: {done.stderr}")
    return done


class Resume(harness.Case):
    def project(self, tool):
        harness.tool(tool)
        harness.tool("gcc")
        recipe = self.scratch / "many"
        source = recipe / "src"
        source.mkdir(parents=True)
        (recipe / "recipe.yaml").write_text(RECIPE.format(tool=tool))
        (recipe / "build.sh").write_text(SCRIPT)
        (recipe / "compiler").write_text(COMPILER.format(scratch=self.scratch))
        (source / "version.h").write_text("#define VERSION @VERSION@\n")
        names = [f"f{number:03}" for number in range(OBJECTS)]
        for number, name in enumerate(names):
            (source / f"{name}.c").write_text(f'#include "version.h"\nint {name}(void) {{ return VERSION + {number}; }}\n')
        objects = " ".join(f"{name}.o" for name in names)
        (source / "Makefile").write_text(
            f"libmany.so: {objects}\n\t$(CC) -shared $(LDFLAGS) $^ -o $@\n"
            "%.o: %.c version.h\n\t$(CC) $(CFLAGS) -fPIC -c $< -o $@\n")
        (source / "build.ninja").write_text(
            "rule cc\n  command = $$CC $$CFLAGS -fPIC -c $in -o $out\n"
            "rule link\n  command = $$CC -shared $$LDFLAGS $in -o $out\n" +
            "".join(f"build {name}.o: cc {name}.c | version.h\n" for name in names) +
            f"build libmany.so: link {objects}\n")
        if tool == "ninja":  # else its log would be make's business: the nearest Makefile decides
            (source / "Makefile").unlink()
        for path in source.iterdir():
            os.utime(path, (time.time() - 3600,) * 2)
        return recipe

    def lines(self, name):
        path = self.scratch / name
        return path.read_text().split() if path.exists() else []

    def compiled(self):
        """What was compiled since the last call."""
        found = self.lines("compiled")
        (self.scratch / "compiled").unlink(missing_ok=True)
        return found

    def start_and_hold(self, recipe, tool):
        """A run that stands in two compilations, with all objects before them finished."""
        (self.scratch / "hold").touch()
        (self.scratch / "held").unlink(missing_ok=True)
        process = subprocess.Popen([harness.Settings.ptpkg, "build", recipe, "--output", self.scratch / "dist", "--jobs",
                                    "2"], env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_for(lambda: len(self.lines("held")) == len(HELD) or process.poll() is not None)
        self.assertIsNone(process.poll(), process.returncode)
        if tool == "make":
            time.sleep(11)
        self.assertEqual(len(self.compiled()), HELD[-1] + 1)
        (self.scratch / "hold").unlink()
        return process

    def finish_and_compare(self, recipe, most):
        """The rerun compiles at most so many objects; a run in another cache gives the same bytes."""
        done = self.ptpkg("build", recipe, "--output", self.scratch / "dist")
        self.assertIn("resuming the interrupted build of", done.stderr)
        again = self.compiled()
        self.assertLessEqual(len(again), most, again)
        self.assertLessEqual({f"f{number:03}.o" for number in HELD}, set(again))
        self.assertEqual(list((self.cache / "work").iterdir()), [])
        resumed = harness.artifacts(self.scratch / "dist")
        self.cache = self.scratch / "clean-cache"
        self.ptpkg("build", recipe, "--output", self.scratch / "clean")
        self.assertEqual(len(self.compiled()), OBJECTS)
        self.assertEqual(resumed, harness.artifacts(self.scratch / "clean"))

    def each_tool(self, end):
        for tool in ("make", "ninja"):
            with self.subTest(tool=tool):
                shutil.rmtree(self.scratch)
                self.scratch.mkdir()
                self.cache = self.scratch / "cache"
                recipe = self.project(tool)
                process = self.start_and_hold(recipe, tool)
                end(process)
                process.wait(timeout=harness.HANGS_AFTER_S)
                self.await_free()
                self.finish_and_compare(recipe, OBJECTS - HELD[0])

    def await_free(self):
        """The lock goes with the last process of the run, a moment after it."""
        self.wait_for(lambda: not [item for item in self.ptpkg_json("cache")["items"] if item["state"] == "in_use"])

    def test_kill_9(self):
        self.each_tool(lambda process: process.kill())

    def test_kill_9_of_everything_at_once(self):
        self.each_tool(harness.kill_all)

    def test_interrupt(self):
        def end(process):
            process.send_signal(signal.SIGINT)
            stderr = process.stderr.read()
            self.assertEqual(process.wait(timeout=harness.HANGS_AFTER_S), 130, stderr)
            self.assertIn("kept work directory", stderr)
        self.each_tool(end)

    def test_a_compiler_without_memory(self):
        for tool in ("make", "ninja"):
            with self.subTest(tool=tool):
                shutil.rmtree(self.scratch)
                self.scratch.mkdir()
                self.cache = self.scratch / "cache"
                recipe = self.project(tool)
                (self.scratch / "small").touch()
                self.ptpkg("build", recipe, "--output", self.scratch / "dist", "--jobs", "2", exit_code=5)
                (self.scratch / "small").unlink()
                if tool == "make":  # what was written in the 10 s before the last write is compiled again
                    for path in (self.cache / "work").rglob("*.o"):
                        os.utime(path, (time.time() - 30,) * 2)
                    (path.parent / "progress.txt").touch()
                finished = len(list((self.cache / "work").rglob("*.o")))
                self.assertGreaterEqual(finished, HELD[0])
                self.compiled()
                self.finish_and_compare(recipe, OBJECTS - finished)

    def test_a_script_that_cannot_run_again_says_how_to_start_anew(self):
        recipe = self.project("make")
        (recipe / "build.sh").write_text("mkdir build\n" + SCRIPT)
        (self.scratch / "small").touch()
        self.ptpkg("build", recipe, "--output", self.scratch / "dist", exit_code=5)
        (self.scratch / "small").unlink()
        done = self.ptpkg("build", recipe, "--output", self.scratch / "dist", exit_code=5)
        self.assertIn("start over with --fresh", done.stderr)
        self.ptpkg("build", recipe, "--output", self.scratch / "dist", "--fresh")

    def test_a_full_disk_and_a_larger_one(self):
        recipe = self.project("ninja")
        (recipe / "src" / "f030.c").write_text("const char f030[9000000] = {1};\n")
        done = on_a_disk_that_grows(self, "6m", "build", recipe, "--output", self.scratch / "dist", "--jobs", "2")
        self.assertIn("exits 5 0", done.stdout, done.stderr)
        self.assertIn("No space left on device", done.stderr)
        first, second = self.lines("first"), self.lines("compiled")
        self.assertIn("f030.o", second)
        self.assertLessEqual(len(second), OBJECTS - len(set(first)) + 2, (first, second))

    def test_other_jobs_of_make_run_on_after_a_failure(self):
        """What a command of make had half-written when it failed is made again, however long the others ran on."""
        recipe = self.make_project(
            "all: table.txt side.txt slow.txt\n"
            f"side.txt: ; seq 1 1000 > $@; touch side.stamp; test -e {self.scratch}/whole || exit 1\n"
            f"table.txt: ; seq 1 1000 > $@; sleep 12; test -e {self.scratch}/whole && seq 1001 2000 >> $@\n"
            "slow.txt: ; sleep 24; echo done > $@\n",
            "make -j3", 'mkdir -p "$PREFIX/share" && cp table.txt side.txt slow.txt "$PREFIX/share/"')
        output = self.scratch / "dist"
        self.ptpkg("build", recipe, "--output", output, exit_code=5)
        (self.scratch / "whole").touch()
        done = self.ptpkg("build", recipe, "--output", output)
        self.assertIn("redoing files that may be half-written (4 files)", done.stderr)
        self.ptpkg("check", output / "conda/linux-64/hole-1-0.conda")
        resumed = harness.artifacts(output)
        self.cache = self.scratch / "clean-cache"
        self.ptpkg("build", recipe, "--output", self.scratch / "clean", "--fresh")
        self.assertEqual(resumed, harness.artifacts(self.scratch / "clean"))

    def test_a_full_disk_under_make(self):
        """The disk is full for one command while another, which has room again in the end, runs on."""
        recipe = self.make_project(
            "all: table.txt slow.txt\n"
            f"table.txt: ; echo table >> {self.scratch}/compiled; seq 1 400000 > $@\n"
            "slow.txt: ; head -c 500000 /dev/zero > $@.tmp; sleep 13; rm $@.tmp; echo done > $@\n",
            "make -j2", 'test "$(tail -n 1 table.txt)" = 400000',
            'mkdir -p "$PREFIX/share" && cp table.txt slow.txt "$PREFIX/share/"')
        done = on_a_disk_that_grows(self, "2500k", "build", recipe, "--output", self.scratch / "dist")
        self.assertIn("exits 5 0", done.stdout, done.stderr)
        self.assertIn("No space left on device", done.stderr)

    def make_project(self, makefile, *script) -> pathlib.Path:
        """The recipe 'hole', whose source is a Makefile."""
        harness.tool("make")
        recipe = self.scratch / "hole"
        (recipe / "src").mkdir(parents=True)
        (recipe / "src/Makefile").write_text(makefile)
        (recipe / "recipe.yaml").write_text(
            'schema_version: 1\npackage: {name: hole, version: "1"}\nsource: {path: src}\n'
            'build:\n  number: 0\n  string: "0"\n  script:\n' + "".join(f"  - {line}\n" for line in script) +
            'about: {license: MIT}\nextra: {ptpkg: {formats: [conda]}}\n')
        return recipe

    def memory_group(self, limit):
        """A new control group with so much memory; skips the test where none can be made."""
        reasons = []
        for root, name, swap in (("/sys/fs/cgroup", "memory.max", "memory.swap.max"),
                                 ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.swappiness")):
            group = pathlib.Path(root) / f"ptpkg-test-{os.getpid()}"
            if not (group.parent / "cgroup.procs").exists():
                reasons.append(f"{root} is no control group")
                continue
            try:
                group.mkdir()
                self.addCleanup(self.remove_group, group)
                (group / name).write_text(str(limit))
            except OSError as error:
                reasons.append(str(error))
                continue
            if (group / swap).exists():
                (group / swap).write_text("0")
            return group
        return self.skipTest(f"no control group with a memory limit can be made: {'; '.join(reasons)}")

    def remove_group(self, group):
        deadline = time.monotonic() + 30
        while group.exists() and time.monotonic() < deadline:
            try:
                group.rmdir()
            except OSError:  # a killed process is still there
                time.sleep(0.1)

    def test_a_memory_limit_of_a_control_group(self):
        """Two real compilers at once are more than the limit, and the kernel kills one; with the jobs that the error
        names the same command goes on to the end, under the same limit."""
        recipe = self.project("ninja")
        (recipe / "build.sh").write_text(SCRIPT.replace("-j2", '-j"$CPU_COUNT"'))
        numbers = ["#define A0 1,2,3,4,5,6,7,8"]
        numbers += [f"#define A{level} {','.join([f'A{level - 1}'] * 8)}" for level in range(1, 6)]
        gates = [self.scratch / f"gate{number:03}" for number in HELD]
        for number, gate in zip(HELD, gates):
            # A compiler holds 154 MB when it comes to the gate, and 309 MB in the end. Neither goes on before both are
            # there: one after the other would fit.
            os.mkfifo(gate)
            lines = [*numbers, f"const int f{number:03}[] = {{", "A5," * 4, f'#include "{gate}"', "A5," * 4, "};\n"]
            (recipe / "src" / f"f{number:03}.c").write_text("\n".join(lines))
        group = self.memory_group(385 << 20)
        join = f'echo $$ > {group}/cgroup.procs; exec "$@"'

        def build(jobs):
            return subprocess.run(["sh", "-c", join, "sh", harness.Settings.ptpkg, "build", recipe, "--output",
                                   self.scratch / "dist", "--jobs", jobs], env=self.environment(), text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

        def open_gates():
            for writer in [gate.open("w") for gate in gates]:
                writer.close()

        keeper = threading.Thread(target=open_gates, daemon=True)
        keeper.start()
        killed = build("2")
        self.assertEqual(killed.returncode, 5, killed.stderr)
        keeper.join()
        for gate in gates:
            gate.unlink()
            gate.touch()
        self.assertRegex(killed.stderr, r"'cc1' was killed: out of memory \(the kernel ended \d+ process")
        self.assertIn("it ran with 2 jobs", killed.stderr)
        self.assertIn("try --jobs 1", killed.stderr)
        finished = len(set(self.compiled())) - len(HELD)
        done = build("1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("resuming the interrupted build of", done.stderr)
        self.assertLessEqual(len(self.compiled()), OBJECTS - finished)


INHERITING = """\
schema_version: 1
recipe: {name: pair, version: "1"}
source: {path: src}
build: {number: 0, string: "0"}
about: {license: MIT}
outputs:
- staging: {name: native}
  build:
    script:
    - test -e many || { echo compiled >> "@SCRATCH@/compiled"; mkdir many; for i in $(seq 200); do echo $i > many/$i; done; }
    - mkdir -p "$PREFIX/lib" && cp -r many "$PREFIX/lib/many" && echo "$PREFIX" > "$PREFIX/lib/where"
- package: {name: taken}
  inherit: native
- package: {name: scripted}
  inherit: native
  build:
    files: [bin/**]
    script: [mkdir "$PREFIX/bin", cp many/7 "$PREFIX/bin/seven"]
extra: {ptpkg: {formats: [conda]}}
"""

# A tar that has brought half of the files when it is killed.
TAR = """\
#!/bin/sh
case "$*" in
*--extract*)
  left=$(cat "{scratch}/hold" 2> /dev/null)
  if [ "$left" = 0 ]; then
    /bin/tar "$@"
    for word; do case $word in --directory=*) find "${{word#--directory=}}" -name '*5' -type f -delete ;; esac; done
    touch "{scratch}/held"
    while :; do sleep 0.2; done
  elif [ -n "$left" ]; then
    echo $((left - 1)) > "{scratch}/hold"
  fi ;;
esac
exec /bin/tar "$@"
"""


class Inherited(harness.Case):
    """What a staging output has made is being put into the build of an heir when the run is killed."""

    def build(self, output):
        return [harness.Settings.ptpkg, "build", self.scratch / "pair", "--output", self.scratch / output, "--test", "skip",
                "--jobs", "1"]

    def killed(self, done):
        """A run that is killed in its unpacking number `done` + 1."""
        (self.scratch / "hold").write_text(str(done))
        process = subprocess.Popen(self.build("dist"), env=self.environment(PATH=self.path), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(process.kill)
        self.wait_for(lambda: (self.scratch / "held").exists() or process.poll() is not None)
        self.assertIsNone(process.poll(), process.returncode)
        harness.kill_all(process)
        process.wait(timeout=harness.HANGS_AFTER_S)
        (self.scratch / "held").unlink()
        (self.scratch / "hold").unlink()

    def test_a_kill_while_the_inherited_files_are_unpacked(self):
        (self.scratch / "pair/src").mkdir(parents=True)
        (self.scratch / "pair/src/in").write_text("1")
        (self.scratch / "pair/recipe.yaml").write_text(INHERITING.replace("@SCRATCH@", str(self.scratch)))
        tar = self.scratch / "bin/tar"
        tar.parent.mkdir()
        tar.write_text(TAR.format(scratch=self.scratch))
        tar.chmod(0o755)
        self.path = f"{tar.parent}:{os.environ['PATH']}"
        self.killed(0)  # the prefix of the first heir,
        self.killed(1)  # the work folder of the second,
        self.killed(1)  # and its prefix
        done = subprocess.run(self.build("dist"), env=self.environment(PATH=self.path), text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.scratch / "compiled").read_text(), "compiled\n")
        self.assertEqual(list((self.cache / "work").iterdir()), [])
        self.cache = self.scratch / "another-cache-with-a-longer-name"
        subprocess.run(self.build("clean"), env=self.environment(), check=True, capture_output=True)
        self.assertEqual(len(harness.artifacts(self.scratch / "dist")), 2)
        self.assertEqual(harness.artifacts(self.scratch / "dist"), harness.artifacts(self.scratch / "clean"))

    def test_a_disk_that_is_full_when_a_staging_output_is_kept(self):
        (self.scratch / "pair/src").mkdir(parents=True)
        (self.scratch / "pair/src/in").write_text("1")
        # 8 MB in the work folder and as much in the prefix fit, and their archives do not.
        script = "head -c 8000000 /dev/urandom > many/large && "
        text = INHERITING.replace("@SCRATCH@", str(self.scratch)).replace("mkdir many; ", f"mkdir many; {script}")
        (self.scratch / "pair/recipe.yaml").write_text(text)
        done = on_a_disk_that_grows(self, "28m", *self.build("dist")[1:])
        self.assertIn("exits 6 0", done.stdout, done.stderr)
        self.assertIn("the disk is full", done.stderr)
        self.assertEqual((self.scratch / "first").read_text(), "compiled\n")
        self.assertFalse((self.scratch / "compiled").exists(), "the second run only kept what the first had made")


if __name__ == "__main__":
    harness.main()
