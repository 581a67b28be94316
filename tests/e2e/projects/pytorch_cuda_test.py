"""The whole of PyTorch 2.6.0 with CUDA 13: MAGMA's closure first, then torch against it, both from their sources. The wheel is
installed into an empty environment and tested there; on a GPU with recipes/pytorch/tests/gpu.py and the CUDA part of test/test_nn.py.

PTPKG_PYTORCH_SOURCE names Debian's sources, 2.6.0+dfsg-7, unpacked, with CUTLASS and cuDNN's front end in third_party
(recipes/pytorch/variants_torch_debian_cuda.yaml has the versions), PTPKG_MAGMA_SOURCE those of MAGMA 2.9.0, and
PTPKG_PYTORCH_CUDA_WHOLE a folder that keeps the build, which takes 20 minutes on 32 cores. Without them the test is skipped.
nvcc 13.0 and cuDNN are the machine's.
"""

import os
import pathlib
import re
import shutil
import subprocess

import harness
import pytorch_test

PYTORCH, MAGMA = harness.REPOSITORY / "recipes/pytorch", harness.REPOSITORY / "recipes/magma"
PYTHON = os.environ.get("PTPKG_PYTHON") or "/usr/bin/python3"
# Seen on an H100 with cuDNN 9.14: the first is rounding; cuDNN's RNNs use TF32 where these compare in float32.
KNOWN_FAILURES = pytorch_test.KNOWN_FAILURES | {
    "test_variable_sequence_cuda_float32", "test_RNN_cudnn_weight_norm", "test_cudnn_weight_tying", "test_partial_flat_weights"}


def variants(recipe: pathlib.Path, *names: str) -> list:
    return [word for name in names for word in ("--variants", recipe / f"{name}.yaml")]


class PytorchCuda(harness.Case):
    def setUp(self) -> None:
        super().setUp()
        names = ("PTPKG_PYTORCH_SOURCE", "PTPKG_MAGMA_SOURCE", "PTPKG_PYTORCH_CUDA_WHOLE")
        lacking = [name for name in names if not os.environ.get(name)]
        if not shutil.which("nvcc"):
            lacking.append("nvcc on PATH")
        if lacking:
            self.skipTest(f"lacks {', '.join(lacking)}")
        self.source, magma, whole = (pathlib.Path(os.environ[name]).resolve() for name in names)
        harness.peers_python()
        self.output = whole / "dist"
        mine = whole / "mine.yaml"
        whole.mkdir(parents=True, exist_ok=True)
        version = self.run_clean(PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
        mine.write_text(f'python: ["{version}"]\ntorch_libtorch: ["off"]\n')
        common = ("--env", "auto", "--output", self.output, "--cache-dir", whole / "cache")
        environment = {"PATH": os.environ["PATH"], "PTPKG_PYTHON": PYTHON}
        self.ptpkg("build", MAGMA, *variants(MAGMA, "variants", "variants_pytorch"), "--source", f"magma={magma}", *common, **environment)
        self.ptpkg("build", PYTORCH / "torch.yaml", *variants(PYTORCH, "variants_torch", "variants_torch_debian", "variants_torch_debian_cuda"),
                   "--variants", mine, "--source", f"pytorch={self.source}", *common, **environment)
        self.wheel, = (self.output / "wheels").glob("torch-2.6.0+cu130-*.whl")

    def test_what_was_made(self):
        for name, digest in harness.artifacts(self.output).items():
            print(f"{(self.output / name).stat().st_size} {digest} {name}", flush=True)
            facts, = self.ptpkg_json("check", self.output / name)
            self.assertFalse([one for one in facts["findings"] if one["severity"] == "error"], facts["findings"])
        self.ptpkg("slice", self.wheel, "--gpu", "9.0", "--output", self.scratch)
        part, = self.scratch.glob("torch-2.6.0+cu130.sm90-*.whl")
        self.ptpkg("check", part)

    def test_the_wheel_in_an_empty_environment(self):
        venv = self.scratch / "venv"
        self.run_clean(PYTHON, "-m", "venv", "--without-pip", venv)
        python = venv / "bin/python"
        pytorch_test.pip("--python", python, "install", self.wheel, "numpy", "expecttest", "hypothesis", "setuptools<82")
        print(self.run_clean(python, PYTORCH / "tests/works.py").strip(), flush=True)
        if not shutil.which("nvidia-smi"):
            self.skipTest("no GPU here: the wheel was installed and used on the CPU alone")
        print(self.run_clean(python, PYTORCH / "tests/gpu.py", "CUDA Runtime 13.0", "CuDNN", "Magma 2.9.0"), flush=True)
        shutil.copy(self.source / "test/test_nn.py", self.scratch)
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.scratch), "LANG": "C.UTF-8"}
        done = subprocess.run([python, "test_nn.py", "TestNN", "TestNNDeviceTypeCUDA"], cwd=self.scratch, env=env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        ran = re.search(r"^Ran (\d+) tests in .*\n\n((?:OK|FAILED).*)$", done.stdout, re.MULTILINE)
        self.assertIsNotNone(ran, done.stdout[-2000:])
        failed = set(re.findall(r"^(?:FAIL|ERROR): (\w+) ", done.stdout, re.MULTILINE))
        self.assertLessEqual(failed, KNOWN_FAILURES, done.stdout[-4000:])
        self.assertGreater(int(ran[1]), 2200)  # 2,331 in 2.6.0
        print(f"test_nn.py TestNN TestNNDeviceTypeCUDA: {ran[1]} tests, {ran[2]}", flush=True)


if __name__ == "__main__":
    harness.main()
