"""AMD's code as `ptpkg check --json` tells it is what clang-offload-bundler lists, for bundles that it makes here, plain and
compressed; and with hipcc, for a kernel that is compiled for two architectures. No GPU is needed. PTPKG_OFFLOAD_BUNDLERS
names further bundlers, separated by ':', beside those on PATH. Exit 77 is a skip.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ID = "hipv4-amdgcn-amd-amdhsa--"
TARGETS = ["gfx90a:sramecc+:xnack-", "gfx906", "gfx1100", "gfx9-generic"]
NAMES = ["clang-offload-bundler", *(f"clang-offload-bundler-{version}" for version in range(14, 31))]
KERNEL = """#include <hip/hip_runtime.h>
__global__ void add(float* a) { a[threadIdx.x] += 1; }
extern "C" void launch(float* a) { add<<<1, 32>>>(a); }
"""


def bundlers() -> list[str]:
    named = [one for one in os.environ.get("PTPKG_OFFLOAD_BUNDLERS", "").split(":") if one]
    return named + [path for path in map(shutil.which, NAMES) if path]


def run(*command, check: bool = True) -> subprocess.CompletedProcess:
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"$ {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done


class OffloadBundles(unittest.TestCase):
    ptpkg: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="ptpkg-peers-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        (cls.scratch / "empty.c").write_text("int nothing;\n")
        run("gcc", "-shared", "-fPIC", "-o", cls.scratch / "plain.so", cls.scratch / "empty.c")
        for number, _ in enumerate(TARGETS):
            (cls.scratch / f"code{number}").write_bytes(bytes(range(256)) * (number + 1) * 40)

    def library(self, name: str, bundle: bytes) -> pathlib.Path:
        """In a folder of its own."""
        folder = self.scratch / name
        folder.mkdir()
        (self.scratch / "section").write_bytes(bundle)
        run("objcopy", "--add-section", f".hip_fatbin={self.scratch / 'section'}", self.scratch / "plain.so", folder / "lib.so")
        return folder

    def check(self, folder: pathlib.Path, *arguments) -> dict:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.scratch), "XDG_CACHE_HOME": str(self.scratch / "cache")}
        done = subprocess.run([self.ptpkg, "check", "--profile", "tree", "--json", "--quiet", *arguments, folder], env=env,
                              text=True, capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return json.loads(done.stdout)[0]

    def bundle(self, bundler: str, *flags: str) -> bytes | None:
        """None: the bundler does not know the flags."""
        targets = ["host-x86_64-unknown-linux-gnu-", *(ID + target for target in TARGETS)]
        inputs = ["/dev/null", *(str(self.scratch / f"code{number}") for number, _ in enumerate(TARGETS))]
        output = self.scratch / "bundle"
        output.unlink(missing_ok=True)
        common = [bundler, *flags, "-type=bc", "-bundle-align=4096", f"-targets={','.join(targets)}"]
        for words in ([*(f"-input={one}" for one in inputs), f"-output={output}"], [f"-inputs={','.join(inputs)}", f"-outputs={output}"]):
            if run(*common, *words, check=False).returncode == 0:
                return output.read_bytes()
        return None

    def listed(self, bundler: str) -> set[str]:
        for word in ("-input", "-inputs"):
            done = run(bundler, "-list", "-type=bc", f"{word}={self.scratch / 'bundle'}", check=False)
            if done.returncode == 0:
                return {line.removeprefix(ID) for line in done.stdout.split() if line.startswith(ID)}
        raise AssertionError(done.stderr)

    def test_targets_are_those_that_the_bundler_lists(self):
        for bundler in bundlers():
            plain = self.bundle(bundler)
            self.assertIsNotNone(plain, bundler)
            for flags in ([], ["-compress"], ["-compress", "-compression-level=1"]):
                with self.subTest(bundler, flags=flags):
                    made = self.bundle(bundler, *flags)
                    if made is None:
                        self.skipTest(f"{bundler} does not compress")
                    names = self.listed(bundler)
                    self.assertEqual(names, set(TARGETS))
                    padding = bytes(-len(made) % 4096)
                    folder = self.library(f"{pathlib.Path(bundler).name}{len(flags)}", made + padding + made)
                    outcome = self.check(folder)
                    code, = outcome["device_code"]
                    self.assertEqual(set(code["sass"]), names)
                    self.assertEqual(code["embedded"]["containers"], 2)
                    amounts = code["embedded"]["sass"]
                    for number, target in enumerate(TARGETS):
                        self.assertEqual(amounts[target]["elements"], 2)
                        if not flags:
                            self.assertEqual(amounts[target]["bytes"], 2 * 256 * 40 * (number + 1))
                    self.assertLessEqual(sum(one["bytes"] for one in amounts.values()), len(made) * 2)
                    wanted = ["--device-code", "gfx90a:xnack-:sramecc+;gfx906 gfx1100,gfx9-generic"]
                    self.assertEqual([one["id"] for one in self.check(folder, *wanted)["findings"]
                                      if one["id"].startswith("device-code")], [])
                    message, = (one["message"] for one in self.check(folder, "--device-code", "gfx906;gfx942")["findings"]
                                if one["id"] == "device-code-mismatch")
                    self.assertEqual(message, "machine code for gfx942 is missing; machine code for gfx9-generic, "
                                              "gfx90a:sramecc+:xnack-, gfx1100 was not requested")

    def test_what_hipcc_compiles(self):
        if shutil.which("hipcc") is None:
            self.skipTest("peer 'hipcc' is missing")
        folder = self.scratch / "hip"
        folder.mkdir()
        source = self.scratch / "k.hip"
        source.write_text(KERNEL)
        common = ["hipcc", "--offload-arch=gfx90a", "--offload-arch=gfx1100", "-fPIC"]
        run(*common, "-shared", "-o", folder / "libplain.so", source)
        run(*common, "-c", "-o", folder / "plain.o", source)
        run(*common, "-fgpu-rdc", "-c", "-o", folder / "rdc.o", source)
        run(*common, "-fgpu-rdc", "--hip-link", "-shared", "-o", folder / "librdc.so", folder / "rdc.o")
        told = {one["file"]: one for one in self.check(folder)["device_code"]}
        self.assertEqual(set(told), {"libplain.so", "plain.o", "rdc.o", "librdc.so"})
        for file, code in told.items():
            self.assertEqual(set(code["sass"]), {"gfx90a", "gfx1100"}, file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ptpkg", type=pathlib.Path, required=True)
    options = parser.parse_args()
    OffloadBundles.ptpkg = options.ptpkg.resolve()
    missing = [tool for tool in ("gcc", "objcopy") if shutil.which(tool) is None]
    if not bundlers():
        missing.append("clang-offload-bundler")
    if missing:
        print(f"skipped: peer '{missing[0]}' is missing")
        return 77
    result = unittest.main(argv=[sys.argv[0]], exit=False).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
