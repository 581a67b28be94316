"""A standard descriptor that is closed at the start opens on a device: no file of ptpkg or patchelf gets its number."""

import pathlib
import shutil
import subprocess
import unittest

import harness

# Appends the standard descriptors of the ptpkg that began this script.
LIST = r"""
process=$PPID
while [ "$process" -gt 1 ]; do
  case "$(cat "/proc/$process/cmdline" | tr '\0' ' ')" in *" bench "*) top=$process ;; esac
  process=$(sed 's/.*) //' "/proc/$process/stat" | cut -d' ' -f2)
done
for number in 0 1 2; do readlink "/proc/$top/fd/$number" || echo closed; done > "$1"
"""


class Descriptors(harness.Case):
    def call(self, words: list, redirections: str) -> int:
        """Exit status of a program with some descriptors closed."""
        return subprocess.run(["sh", "-c", f'exec "$@" {redirections}', "sh", *words], check=False, env=self.environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode

    def test_ptpkg(self):
        script, shown = self.scratch / "list.sh", self.scratch / "shown"
        script.write_text(LIST)
        # Without standard output the result cannot be printed.
        for closed, status in (([0], 0), ([2], 0), ([0, 2], 0), ([1], 6), ([0, 1, 2], 6)):
            with self.subTest(closed=closed):
                words = [harness.Settings.ptpkg, "bench", "--rounds", "4", "--warmup", "0", "--", "sh", script, shown]
                self.assertEqual(self.call(words, " ".join(f"{number}>&-" for number in closed)), status)
                found = shown.read_text().splitlines()
                self.assertEqual([found[number] for number in closed], ["/dev/full" if number else "/dev/null" for number in closed], found)

    @unittest.skipUnless(shutil.which("gcc"), "gcc is missing")
    def test_patchelf_never_takes_its_input_for_an_output(self):
        (self.scratch / "one.c").write_text("int one(void) { return 1; }")
        library = self.scratch / "one.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "one.c", "-o", library], cwd=self.scratch, check=True)
        before = library.read_bytes()
        patchelf = harness.Settings.ptpkg.parent / "patchelf"
        outputs = [("/dev/stdout", "1>&-", {1}), ("/dev/stderr", "2>&-", {1}), ("/dev/stdout", "0<&- 1>&- 2>&-", {1}), ("/dev/stdout", "", {0}),
                   ("/dev/stdout", "1<>one.so", {1})]
        outputs += [(f"/proc/self/fd/{number}", "", {1}) for number in range(3, 12)]
        for output, redirections, statuses in outputs:
            with self.subTest(output=output, redirections=redirections):
                library.write_bytes(before)
                words = [patchelf, "--set-rpath", "/n", "--output", output, library]
                self.assertIn(self.call(words, redirections.replace("one.so", str(library))), statuses)
                self.assertEqual(library.read_bytes(), before)
                self.assertEqual(sorted(path.name for path in pathlib.Path(self.scratch).iterdir() if "ptpkg" in path.name), [])


if __name__ == "__main__":
    harness.main()
