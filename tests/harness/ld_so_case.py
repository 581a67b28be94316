"""Small libraries, compiled here, before `ptpkg check` and before ld.so, which is the judge: a child process opens each with dlopen."""

import json
import pathlib
import struct
import subprocess

import harness
import ld_so

JUDGE = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
/* judge < paths: a line each: "ok", or why the child has not loaded and closed the library. */
int main(void) {
  char line[4096];
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    int ends[2];
    if (pipe(ends)) return 2;
    pid_t child = fork();
    if (child == 0) {
      dup2(ends[1], 1);
      dup2(ends[1], 2);
      alarm(3);
      void* library = dlopen(line, RTLD_LAZY);
      if (!library) {
        printf("refused: %s", dlerror());
        fflush(stdout);
        _exit(1);
      }
      dlclose(library);
      exit(0);
    }
    close(ends[1]);
    char said[600];
    size_t got = 0;
    ssize_t more;
    while (got < sizeof said - 1 && (more = read(ends[0], said + got, sizeof said - 1 - got)) > 0) got += more;
    said[got] = 0;
    close(ends[0]);
    for (char* at = said; *at; at++) if (*at == '\n') *at = ' ';
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) printf("died of signal %d: %s\n", WTERMSIG(status), said);
    else if (WEXITSTATUS(status)) printf("exit %d: %s\n", WEXITSTATUS(status), said);
    else printf("ok\n");
    fflush(stdout);
  }
}
"""


def segments(image: bytes) -> list[int]:
    offset, count = struct.unpack_from("<Q", image, 32)[0], struct.unpack_from("<H", image, 56)[0]
    return [offset + 56 * i for i in range(count)]


def dynamic(image: bytes) -> list[int]:
    at = next(at for at in segments(image) if struct.unpack_from("<I", image, at)[0] == 2)
    offset, size = struct.unpack_from("<Q", image, at + 8)[0], struct.unpack_from("<Q", image, at + 32)[0]
    entries = []
    for entry in range(offset, offset + size, 16):
        entries.append(entry)
        if struct.unpack_from("<Q", image, entry)[0] == 0:
            break
    return entries


def find(image: bytes, tag: int) -> int | None:
    return next((struct.unpack_from("<Q", image, at + 8)[0] for at in dynamic(image)
                 if struct.unpack_from("<Q", image, at)[0] == tag), None)


def file_offset(image: bytes, address: int) -> int:
    for at in segments(image):
        kind, _, offset, vaddr, _, size = struct.unpack_from("<IIQQQQ", image, at)
        if kind == 1 and vaddr <= address < vaddr + size:
            return offset + address - vaddr
    raise AssertionError(hex(address))


def symbol(image: bytes, accept) -> int:
    """The record of the first symbol whose number and name are accepted."""
    symbols, strings = file_offset(image, find(image, 6)), file_offset(image, find(image, 5))
    for at in range(symbols + 24, strings, 24):
        name = strings + struct.unpack_from("<I", image, at)[0]
        if accept((at - symbols) // 24, image[name:image.index(b"\0", name)]):
            return at
    raise AssertionError("no such symbol")


class LdSoCase(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        if not ld_so.available():
            self.skipTest("ld.so of x86-64 is missing")
        (self.scratch / "judge.c").write_text(JUDGE)
        self.gcc("-O1", "judge.c", "-o", "judge", "-ldl")

    def gcc(self, *arguments: str) -> None:
        subprocess.run(["gcc", *arguments], cwd=self.scratch, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def judge(self, files: list[pathlib.Path]) -> list[str]:
        # As bytes: names in the answers hold any of them, and text would take '\r' for the end of a line.
        done = subprocess.run([self.scratch / "judge"], input="".join(f"{file}\n" for file in files).encode(), check=True,
                              stdout=subprocess.PIPE)
        return done.stdout.decode(errors="replace").removesuffix("\n").split("\n")

    def check(self, roots: list[pathlib.Path]) -> list[dict]:
        done = subprocess.run([harness.Settings.ptpkg, "check", "--json", "--quiet", "--profile", "tree", *roots], text=True,
                              env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)

    def tree(self, name: str, files: dict[str, tuple[str, list[str]] | str]) -> pathlib.Path:
        """Path → source and options of a library, or the text of a file."""
        root = self.scratch / name
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                (root / path).write_text(content)
                continue
            (self.scratch / "one.c").write_text(content[0])
            self.gcc("-shared", "-fPIC", "one.c", "-o", str(root / path), *[option.format(root=root) for option in content[1]])
        return root

    def severities(self, root: pathlib.Path) -> dict[str, str]:
        return {finding["id"]: finding["severity"] for finding in self.check([root])[0]["findings"]}

    def errors(self, root: pathlib.Path) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for finding in self.check([root])[0]["findings"]:
            if finding["severity"] != "info":
                found.setdefault(finding["id"], set()).add(finding["file"])
        return found
