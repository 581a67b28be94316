"""GPU code that a recipe asks for is in the package, or nothing is published. The libraries are assembled here, without
CUDA: tests/peers/elf/device_code.py has those of nvcc.
"""

import pathlib
import struct
import subprocess

import harness

PTX, CUBIN = 1, 2


def element(kind: int, number: int) -> bytes:
    payload = b"payload."
    return struct.pack("<HHIQIIHHIQQQQ", kind, 0x101, 64, len(payload), 0, 0, 8, 1, number, 0, 0x11, 0, 0) + payload


def container(elements: list[tuple[int, int]]) -> bytes:
    body = b"".join(element(*one) for one in elements)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


class DeviceCode(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        harness.tool("gcc")
        self.root = self.scratch / "recipe"
        (self.root / "files").mkdir(parents=True)
        self.output = self.scratch / "dist"

    def library(self, name: str, elements: list[tuple[int, int]]) -> pathlib.Path:
        """A shared library, or an archive of one object, with one container."""
        source = self.scratch / f"{name}.s"
        data = ", ".join(str(byte) for byte in container(elements)) if elements else ""
        source.write_text((f'.section .nv_fatbin,"a"\n.balign 8\n.byte {data}\n' if data else "") +
                          f'.text\n.globl {pathlib.Path(name).stem}\n{pathlib.Path(name).stem}: ret\n'
                          '.section .note.GNU-stack,"",%progbits\n')
        path = self.root / "files" / name
        if name.endswith(".a"):
            harness.tool("ar")
            subprocess.run(["gcc", "-c", source, "-o", self.scratch / "member.o"], check=True)
            subprocess.run(["ar", "rcs", path, self.scratch / "member.o"], check=True)
        else:
            subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{name}", "-o", path, source], check=True)
        return path

    def recipe(self, device_code: str, variants: str = "") -> None:
        (self.root / "recipe.yaml").write_text(
            'package: {name: toycuda, version: "1.0"}\nsource: {path: files}\n'
            'build:\n  script: mkdir -p "$PREFIX/lib" && cp lib* "$PREFIX/lib"\n'
            "about: {license: MIT}\n"
            f"extra:\n  ptpkg:\n    formats: [conda]\n    device_code: {device_code}\n")
        (self.root / "variants.yaml").write_text(variants)

    def build(self, exit_code: int = 0) -> str:
        return self.ptpkg("build", self.root, "--env", "system", "--output", self.output, exit_code=exit_code).stderr

    def published(self) -> list[pathlib.Path]:
        return sorted((self.output / "conda").rglob("*.conda"))

    def test_a_build_for_other_architectures_is_not_published(self):
        self.library("liba.so", [(CUBIN, 80), (CUBIN, 90), (PTX, 90)])
        self.library("libb.a", [(CUBIN, 80), (CUBIN, 75)])
        self.recipe('"8.0;9.0+PTX"')
        said = self.build(exit_code=1)
        self.assertIn("lib/libb.a [device-code-mismatch] machine code for sm_90 is missing; machine code for sm_75 was not "
                      "requested; PTX for compute_90 is missing", said)
        self.assertNotIn("liba.so [", said)
        self.assertEqual(self.published(), [])

        self.library("libb.a", [(CUBIN, 80), (CUBIN, 90), (PTX, 90)])
        self.build()
        package, = self.published()
        # The package carries the list, so a later check knows it; who checks may ask for another one.
        self.ptpkg("check", package)
        facts, = self.ptpkg_json("check", package)
        self.assertEqual([(item["file"], item["sass"], item["ptx"]) for item in facts["device_code"]],
                         [(name, ["sm_80", "sm_90"], ["compute_90"]) for name in ("lib/liba.so", "lib/libb.a")])
        done = self.ptpkg("check", package, "--device-code", "8.0", exit_code=1)
        self.assertIn("and 1 more: error: machine code for sm_90 was not requested", done.stderr)
        self.assertIn("GPU code of 2 files: sm_80 sm_90 compute_90", done.stdout)
        self.ptpkg("check", package, "--device-code", "any")

    def test_a_build_without_any_is_not_published(self):
        self.library("liba.so", [])
        self.recipe("${{ arch_list }}", 'arch_list: ["8.0"]\n')
        self.assertIn("[device-code-absent]", self.build(exit_code=1))
        self.assertEqual(self.published(), [])
        self.recipe("${{ arch_list }}", 'arch_list: [any]\n')
        self.build()
        self.assertEqual(len(self.published()), 1)

    def test_another_list_packs_again_and_compiles_nothing(self):
        self.library("liba.so", [(CUBIN, 80)])
        self.recipe('"8.0"')
        self.build()
        self.recipe('["8.0", "liba.so=sm_80"]')
        summary = self.ptpkg_json("build", self.root, "--env", "system", "--output", self.output)
        ran = {stage: ran for (stage, _), ran in self.stage_states(summary).items()}
        self.assertFalse(ran["build"])
        self.assertTrue(ran["check"])

    def test_what_is_no_list(self):
        self.library("liba.so", [(CUBIN, 80)])
        self.recipe("Hopper")
        said = self.build(exit_code=3)
        self.assertIn("recipe.yaml:9:18: error: unknown GPU architecture 'Hopper'", said)
        self.assertIn("hint: write architectures as in TORCH_CUDA_ARCH_LIST", said)
        self.recipe("${{ '' }}")
        self.assertIn("'device_code' has no value", self.build(exit_code=3))
        done = self.ptpkg("check", self.root / "files", "--device-code", "all", exit_code=2)
        self.assertIn("unknown GPU architecture 'all'", done.stderr)

    def test_a_folder(self):
        self.library("liba.so", [(CUBIN, 80)])
        tree = self.root / "files"
        outcome, = self.ptpkg_json("check", tree, "--device-code", "8.0")
        self.assertEqual(outcome["findings"], [])
        self.assertEqual(outcome["device_code"][0]["embedded"]["sass"], {"sm_80": {"elements": 1, "bytes": 72}})
        library = tree / "liba.so"
        library.write_bytes(library.read_bytes().replace(container([(CUBIN, 80)]), b"x" * 88))
        outcome, = self.ptpkg_json("check", tree)
        self.assertEqual([(one["id"], one["severity"]) for one in outcome["findings"]],
                         [("device-code-unreadable", "warning")])
        self.ptpkg("check", tree, "--device-code", "8.0", exit_code=1)


if __name__ == "__main__":
    harness.main()
