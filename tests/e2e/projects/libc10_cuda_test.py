"""libc10 and libc10_cuda of PyTorch 2.6 with CUDA 13: c10 compiled once, two packages, loaded, and used where there is a GPU.

PTPKG_PYTORCH_SOURCE names the unpacked sources of PyTorch 2.6.0 (recipes/pytorch/recipe.yaml says which); without it the
test is skipped. CUDA comes from the Python index: 250 MB once. About 100 CPU seconds.

PTPKG_PYTORCH_1_13_SOURCE names those of 1.13.1, and PTPKG_CUDA_HOME the toolkits 11.8 and 12.4: then the builds of three toolkits come
into one channel, from which a solver chooses.
"""

import collections
import os
import pathlib
import re

import harness
import toolkits_test

RECIPE = harness.REPOSITORY / "recipes/pytorch"


class LibC10Cuda(harness.Case):
    def test_two_packages_of_one_compilation(self):
        place = os.environ.get("PTPKG_PYTORCH_SOURCE", "")
        if not place:
            self.skipTest("PTPKG_PYTORCH_SOURCE does not name the sources of PyTorch 2.6.0")
        output = self.scratch / "dist"
        self.ptpkg("build", RECIPE / "c10_cuda.yaml", "--variants", RECIPE / "variants_c10_cuda.yaml", "--select",
                   "cuda_compiler_version=13.0", "--env", "wheels", "--source", f"pytorch={pathlib.Path(place).resolve()}", "--output", output)
        made = harness.artifacts(output)
        names = sorted(re.sub(r"_h[0-9a-f]{7}_13", "", path.rsplit("/", 1)[1]) for path in made)
        self.assertEqual(names, [f"{name}-2.6.0-cuda130.{ending}" for name in ("libc10", "libc10_cuda")
                                 for ending in ("conda", "tar.bz2")])
        log, = (output / "logs").glob("*.build.log")  # of the staging output: the packages only take their files
        text = log.read_text(errors="replace")
        compiled = re.findall(r"Building CXX object (\S+)", text)
        of_cuda = [name for name in compiled if name.startswith("c10/cuda/")]
        self.assertEqual([name for name, count in collections.Counter(compiled).items() if count > 1], [], "compiled twice")
        self.assertGreaterEqual(len(compiled), 90)  # 99 in 2.6.0, 11 of them of c10_cuda
        self.assertTrue(of_cuda)
        tested = next((output / "logs").glob("libc10_cuda-*.test.log")).read_text(errors="replace")
        said, = re.findall(r"^libc10_cuda is loaded.*", tested, re.MULTILINE)
        if "0 GPUs" not in said:
            self.assertRegex(tested, r"allocated 67108864 bytes, last one is 7, after the release 0")
        print(f"{said}; objects: {len(compiled)}, of them {len(of_cuda)} of c10_cuda")
        for name, digest in made.items():
            print(f"{(output / name).stat().st_size} {digest} {name}")
        for name in made:
            facts, = self.ptpkg_json("check", output / name)
            self.assertFalse([one for one in facts["findings"] if one["severity"] == "error"], facts["findings"])

    def test_three_toolkits_in_one_channel(self):
        names = ("PTPKG_PYTORCH_SOURCE", "PTPKG_PYTORCH_1_13_SOURCE", "PTPKG_CUDA_HOME")
        missing = [name for name in names if not os.environ.get(name)]
        if missing:
            self.skipTest(f"{' and '.join(missing)} do not name sources and toolkits")
        new, old = (pathlib.Path(os.environ[name]).resolve() for name in names[:2])
        output = self.scratch / "dist"
        # Debian's archive of 1.13.1 lists submodules that it does not have.
        for cuda, source, options in (("11.8", old, ("--env", "system", "--no-preflight")), ("12.4", new, ("--env", "system")),
                                      ("13.0", new, ("--env", "wheels"))):
            self.ptpkg("build", RECIPE / "c10_cuda.yaml", "--variants", RECIPE / "variants_c10_cuda.yaml", "--select",
                       f"cuda_compiler_version={cuda}", "--source", f"pytorch={source}", "--output", output, *options)
        toolkits_test.assert_choices(self, output / "conda")


if __name__ == "__main__":
    harness.main()
