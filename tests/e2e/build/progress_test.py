"""What a long build tells while it runs, and what it says when it fails: in a terminal, in plain and JSON logs."""

import json
import re
import shlex

import harness
import terminal

# A tool that counts as ninja does, after a regeneration of its own files.
COUNTING = """echo '[1/4] Generating x'
echo '[2/4] Re-running CMake...'
for i in $(seq 1 20); do echo "[$i/20] Building CXX object src/file$i.cpp.o"; sleep 0.15; done
echo '[0/1] Install the project...'
mkdir -p $PREFIX/share
echo hello > $PREFIX/share/hello
"""


def bars_in(text: str) -> list[tuple[int, int]]:
    """How much of each bar is filled, and the steps that it counts."""
    return [(len(filled), int(count)) for filled, count in re.findall(r"\[(#*)-*\] (\d+)/20 steps", text)]


class Project(harness.Case):
    def recipe(self, script: str, requirements: str = "", extra: str = ""):
        folder = self.scratch / "recipe"
        folder.mkdir(exist_ok=True)
        (folder / "build.sh").write_text(script)
        (folder / "recipe.yaml").write_text("package: {name: toy, version: '1.0'}\nbuild: {string: a, script: build.sh}\n"
                                            f"{requirements}about: {{license: LicenseRef-None}}\n"
                                            f"extra: {{ptpkg: {{formats: [conda]{extra}}}}}\n")
        return folder

    def events(self, *args, exit_code=0):
        done = self.ptpkg(*args, "--log-format", "json", exit_code=exit_code)
        return [json.loads(line) for line in done.stderr.splitlines()]


class Progress(Project):
    def test_json_has_done_and_total_and_the_log(self):
        recipe = self.recipe(COUNTING)
        events = self.events("build", recipe, "--output", "dist")
        started = next(event for event in events if event["event"] == "started" and event["stage"] == "build")
        self.assertEqual(started["log"], str(self.scratch / "dist/logs/toy-1.0-a.build.log"))
        self.assertRegex(started["how"], r"^\d+ jobs?: \d+ ")
        steps = [event for event in events if event["event"] == "progress" and "done" in event]
        self.assertTrue(steps, events)
        self.assertEqual({event["unit"] for event in steps}, {"steps"})
        counts = [event["done"] for event in steps if event.get("total") == 20]
        self.assertGreaterEqual(len(counts), 2)
        self.assertEqual(counts, sorted(counts))
        self.assertEqual([event for event in steps if event["part"] != 1], [], "neither regeneration nor installation is a part")

    def test_the_second_build_knows_how_long_it_takes(self):
        recipe = self.recipe(COUNTING)
        self.ptpkg("build", recipe, "--output", "dist")
        record = self.cache / "stages/records/toy-1.0-a/build-steps.json"
        [part] = json.loads(record.read_text())["parts"]
        self.assertEqual(part["steps"], 20)
        recipe = self.recipe(COUNTING + "echo changed > $PREFIX/share/hello\n")
        events = self.events("build", recipe, "--output", "dist2")
        left = [event["seconds_left"] for event in events if "seconds_left" in event]
        self.assertTrue(left, events)
        self.assertTrue(0 < left[0] <= part["seconds"], (left, part))

    def test_a_damaged_record_is_none(self):
        record = self.cache / "stages/records/toy-1.0-a/build-steps.json"
        record.parent.mkdir(parents=True)
        record.write_text("{\"version\": 1, \"parts\": 7")
        self.ptpkg("build", self.recipe(COUNTING), "--output", "dist")
        self.assertEqual(json.loads(record.read_text())["version"], 1, "replaced by this run's")

    def test_a_terminal_has_a_bar(self):
        def watch(text, _):
            if len(bars_in(text)) > 5:
                (self.scratch / "go").touch()

        # The half of the steps waits for the bar.
        recipe = self.recipe(COUNTING.replace("sleep 0.15", f"until [ $i -lt 10 -o -e {self.scratch}/go ]; do sleep 0.1; done"))
        screens = [terminal.Screen(100, reflow=True)]
        env = self.environment(TERM="xterm-256color")
        del env["CI"]
        done = terminal.run([harness.Settings.ptpkg, "build", recipe, "--output", "dist"], screens, env=env, cwd=self.scratch,
                            watch=watch)
        text = done.text
        self.assertEqual(done.exit_code, 0, text)
        self.assertEqual(bars_in(text), sorted(bars_in(text)), "it never falls")
        self.assertNotIn("/4 steps, about", text)
        self.assertNotRegex(text, r"\[\d+/20\] Building", "the count is told once")
        self.assertRegex(screens[0].text()[0], r"^   build  toy-1\.0-a: \d+ jobs?: .*; log: dist/logs/toy-1\.0-a\.build\.log$")

    def test_plain_logs_have_lines_with_steps(self):
        done = self.ptpkg("build", self.recipe(COUNTING), "--output", "dist")
        self.assertRegex(done.stderr, r"(?m)^   build  toy-1\.0-a: .*; log: dist/logs/toy-1\.0-a\.build\.log$")
        self.assertRegex(done.stderr, r"(?m)^   build  toy-1\.0-a  \d+\.\d s  \d+/20 steps")

    def test_the_script_gets_the_number_that_was_told(self):
        script = "mkdir -p $PREFIX/share; echo $CPU_COUNT $MAX_JOBS $CMAKE_BUILD_PARALLEL_LEVEL ${MAKEFLAGS-none} > $PREFIX/share/jobs\n"
        recipe = self.recipe("tee /dev/stderr < /dev/null\n" + script + "cat $PREFIX/share/jobs\n", extra=", memory_per_job: 500 GB")
        done = self.ptpkg("build", recipe, "--output", "dist", "--verbose")
        self.assertRegex(done.stderr, r"1 job: \d+ cores?, memory for 0")
        self.assertIn("| 1 1 1 none", done.stderr)
        done = self.ptpkg("build", recipe, "--output", "dist2", "--verbose", "--jobs", "3", PTPKG_CACHE_DIR=str(self.scratch / "other"))
        self.assertIn("| 3 3 3 none", done.stderr)
        self.assertRegex(done.stderr, r"warning: 'toy-1\.0-a': 3 jobs of 500\.0 GB each can need more than the .* of free memory.*: use --jobs 1")

    def test_the_memory_of_a_job_is_in_no_key_of_a_build(self):
        keys = []
        for extra in ("", ", memory_per_job: 2 GB"):
            plan = self.ptpkg_json("build", self.recipe("true\n", extra=extra), "--output", "dist", "--plan")
            keys.append(next(node["key"] for node in plan["nodes"] if node["stage"] == "build"))
        self.assertEqual(*keys)


class Failures(Project):
    """Real tools that fail among many jobs."""

    def ninja_project(self, body: str, files: int = 60):
        """Many files that take a moment and warn, and one, of the first, that fails."""
        harness.tool("ninja")
        sources = self.scratch / "sources"
        sources.mkdir()
        rules = ["rule cc", "  command = sh cc.sh $in $out", ""]
        for number in range(files):
            rules.append(f"build o{number}.o: cc f{number}.c")
            (sources / f"f{number}.c").write_text("int x;\n")
        (sources / "build.ninja").write_text("\n".join(rules) + "\n")
        (sources / "cc.sh").write_text(f"sleep 0.02\ncase $1 in\nf7.c) {body} ;;\n"
                                       "*) for i in 1 2 3 4 5; do echo \"$1:$i:1: warning: unused variable 'x'\"; done; : > $2 ;;\nesac\n")
        return sources

    def failing(self, script: str):
        done = self.ptpkg("build", self.recipe(script), "--output", "dist", exit_code=5)
        self.assertIn("dist/logs/toy-1.0-a.build.log", done.stderr)
        return done.stderr

    def test_a_failing_file_among_many_is_shown(self):
        sources = self.ninja_project("echo 'f7.c:3:1: error: expected a type'; exit 1")
        text = self.failing(f"cp -r {shlex.quote(str(sources))}/. .\nninja -j4 -k0\n")
        self.assertIn("FAILED: ", text)
        self.assertIn("f7.c:3:1: error: expected a type", text)
        block = text[text.index("FAILED: "):]
        self.assertNotIn("warning: unused variable", block)
        self.assertNotIn("last lines", text)

    def test_make_with_jobs(self):
        harness.tool("make")
        sources = self.ninja_project("echo \"f7.c:3:1: error: expected a type\"; exit 1")
        (sources / "Makefile").write_text("all: " + " ".join(f"o{n}.o" for n in range(60)) + "\n"
                                          + "".join(f"o{n}.o: f{n}.c\n\t@sh cc.sh f{n}.c o{n}.o\n" for n in range(60)))
        text = self.failing(f"cp -r {shlex.quote(str(sources))}/. .\nmake -j4 -k\n")
        self.assertRegex(text, r"f7\.c:3:1: error: expected a type\n\s+make: \*\*\* \[Makefile:\d+: o7\.o\] Error 1")

    def test_a_killed_compiler_is_named(self):
        sources = self.ninja_project("echo 'c++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1")
        text = self.failing(f"cp -r {shlex.quote(str(sources))}/. .\nninja -j4\n")
        self.assertRegex(text, r"error: the build script of 'toy-1\.0-a' exited with status 1: 'cc1plus' was killed")

    def test_a_process_that_is_really_killed(self):
        text = self.failing("bash -c 'kill -9 $$'\n")
        self.assertRegex(text, r"exited with status 137: one of its programs was killed \(signal 9\)")

    def test_memory_that_is_refused(self):
        text = self.failing("ulimit -v 200000\npython3 -c 'b = bytearray(10**9)'\n")
        self.assertRegex(text, r"ran out of memory")
        self.assertIn("--jobs", text)

    def test_a_cmake_error_with_a_known_cause(self):
        harness.tool("cmake")
        sources = self.scratch / "cmake-sources"
        (sources / "third_party/cpuinfo").mkdir(parents=True)
        (sources / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(x NONE)\nadd_subdirectory(third_party/cpuinfo)\n")
        text = self.failing(f"cp -r {shlex.quote(str(sources))}/. .\ncmake -S . -B build\n")
        self.assertIn("CMake Error at CMakeLists.txt:3 (add_subdirectory):", text)
        self.assertIn("git submodule update --init --recursive", text)

    def test_a_traceback(self):
        text = self.failing("cat > x.py <<'EOF'\ndef f():\n    raise ValueError('no')\nf()\nEOF\n"
                            "python3 x.py || (for i in $(seq 1 100); do echo after $i; done; exit 1)\n")
        self.assertRegex(text, r"Traceback \(most recent call last\):\n(.*\n)+?.*ValueError: no")
        self.assertNotIn("after 100", text)

    def test_what_failed_before_the_real_build_is_not_shown(self):
        sources = self.ninja_project("echo 'the real cause: error: here'; exit 1")
        text = self.failing("echo '[1/2] probe'; echo 'FAILED: probe.o'; echo 'probe.c:1: error: no such header'\n"
                            f"cp -r {shlex.quote(str(sources))}/. .\nninja -j1\n")
        self.assertIn("the real cause", text)
        self.assertNotIn("no such header", text)

    def test_an_unknown_failure_keeps_the_last_lines(self):
        text = self.failing("for i in $(seq 1 100); do echo line $i; done\nexit 3\n")
        self.assertIn("line 61\n", text)
        self.assertIn("line 100\n", text)
        self.assertNotIn("line 60\n", text)


if __name__ == "__main__":
    harness.main()
