"""recipes/torch_scatter against our own torch: built, packed both ways, and run in empty environments beside it.

PTPKG_TORCH_OUTPUT names a build of torch (on_torch.py), such as "dist" in the folder that PTPKG_PYTORCH_WHOLE names for
pytorch_test.py: its conda package is what the extension is compiled against, its wheel what the extension's is installed beside.
PTPKG_TORCH_SCATTER_SOURCE names the sources that the recipe says. Without them the tests are skipped.
What torch needs of others comes from the Python index.
"""

import pathlib

import harness
import on_torch

RECIPE = on_torch.RECIPES / "torch_scatter"
VERSION = on_torch.VERSION
LOCAL = f"pt{''.join(VERSION.split('.')[:2])}cpu"


class TorchScatter(on_torch.OnTorch):
    def setUp(self) -> None:
        self.source = on_torch.named("PTPKG_TORCH_SCATTER_SOURCE")
        super().setUp()
        if self.source is None:
            self.skipTest("PTPKG_TORCH_SCATTER_SOURCE does not name the sources of torch-scatter 2.1.2")
        self.stem = f"torch_scatter-2.1.2-py{self.python}_torch{VERSION}_cpu_0"

    def assert_works(self, prefix: pathlib.Path) -> None:
        """The package's own test, and each library comes from the prefix, without a path of the machine's."""
        printed = self.run_clean(prefix / "bin/python", RECIPE / "tests/works.py")
        self.assertIn(f"torch_scatter 2.1.2+{LOCAL} with torch {self.torch_version}: 7 sums on cpu", printed)
        print(printed, flush=True)
        libraries = sorted(prefix.glob(f"lib/python{self.python}/site-packages/torch_scatter/*.so"))
        self.assertEqual([path.name for path in libraries],
                         ["_scatter_cpu.so", "_segment_coo_cpu.so", "_segment_csr_cpu.so", "_version_cpu.so"])
        self.assert_finds_torch(libraries, prefix, "../torch/lib")

    def test_built_against_our_torch_and_installed_beside_it(self):
        self.build("torch_scatter", self.source, torch_version=VERSION)
        made = harness.artifacts(self.output)
        wheel = f"wheels/torch_scatter-2.1.2+{LOCAL}-{self.tag}-{self.tag}-linux_x86_64.whl"
        for name in (f"conda/linux-64/{self.stem}.conda", f"conda/linux-64/{self.stem}.tar.bz2", wheel):
            self.assertIn(name, made)
            print(f"{(self.output / name).stat().st_size} {made[name]} {name}", flush=True)
        self.assertIn("7 sums on cpu", (self.output / f"logs/{self.stem}.test.log").read_text(errors="replace"))
        wheels = self.dependencies()

        with self.subTest("conda"):
            prefix, installed = self.conda_prefix(wheels, "torch_scatter")
            self.assertIn(f"pytorch-{VERSION}-py{self.python}_cpu_0", installed)
            self.assert_works(prefix)
            self.remove(prefix)

        with self.subTest("wheel"):
            self.assert_works(self.virtual_environment(wheels, self.output / wheel))

    def test_another_torch_than_the_one_that_is_there_is_refused(self):
        done = self.build("torch_scatter", self.source, exit_code=4, torch_version="2.5.1")
        self.assertIn(f"no package of the output channel satisfies 'pytorch ==2.5.1 py{self.python}_cpu_*'", done.stderr)


if __name__ == "__main__":
    harness.main()
