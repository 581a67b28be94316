"""The checks that a release of PyTorch passes before it is published: its version, what it was built with, convolution, SVD in each type,
NumPy, workers of a DataLoader, and on a GPU errors of kernels and the compiler of torch. For torch 1.1 and later.

  python smoke.py [NAME=VALUE ...]     version=2.6.0+cu126 cuda=12.6 cudnn=on distributed=off mkldnn=on openmp=on
"""

import subprocess
import sys

import numpy
import torch
import torch.nn.functional as F
import torch.utils.data

EXPECTED = dict(word.split("=", 1) for word in sys.argv[1:])
DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()
RELEASE = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def switch(name, has):
    """One of the recipe's switches, where it is not left to PyTorch."""
    if EXPECTED.get(name) in ("on", "off"):
        assert has() == (EXPECTED[name] == "on"), "%s is not %s" % (name, EXPECTED[name])


def was_built_as_wanted():
    version = EXPECTED.get("version", torch.__version__)
    assert torch.__version__ == version, "version %s, not %s" % (torch.__version__, version)
    if "cuda" in EXPECTED:
        cuda = EXPECTED["cuda"] if EXPECTED["cuda"] != "none" else None
        assert torch.version.cuda == cuda, "CUDA %s, not %s" % (torch.version.cuda, cuda)
    switch("distributed", lambda: hasattr(torch.distributed, "is_available") and torch.distributed.is_available())
    switch("mkldnn", lambda: torch._C.has_mkldnn if hasattr(torch._C, "has_mkldnn") else torch.backends.mkldnn.is_available())
    switch("openmp", lambda: torch.backends.openmp.is_available() if hasattr(torch.backends, "openmp") else True)
    switch("cudnn", lambda: bool(torch._C.has_cudnn if hasattr(torch._C, "has_cudnn") else torch.backends.cudnn.version()))


def conv2d(device):
    """The three shapes that have algorithms of their own, against a convolution that is a product."""
    x = torch.rand(2, 4, 12, 10, device=device)
    for kernel, stride, padding in ((3, 2, 0), ((3, 5), (2, 1), (4, 2)), (1, 1, 0)):
        layer = torch.nn.Conv2d(4, 6, kernel, stride=stride, padding=padding).to(device)
        columns = F.unfold(x, layer.kernel_size, padding=layer.padding, stride=layer.stride)
        expected = (layer.weight.reshape(6, -1) @ columns + layer.bias.reshape(6, 1)).reshape(layer(x).shape)
        assert (layer(x) - expected).abs().max().item() < 1e-2


def svd(device):
    for dtype in (torch.float32, torch.float64):
        for shape in ((3, 3), (5, 2), (2, 5)):
            a = torch.rand(*shape, device=device).to(dtype)
            u, s, v = torch.svd(a)
            assert (u @ torch.diag(s) @ v.t() - a).abs().max().item() < 1e-4


def numpy_shares_memory():
    a = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    t = torch.from_numpy(a)
    t[0, 0] = 7
    assert a[0, 0] == 7 and (t.numpy() == a).all()


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.tensor(float(i * i))


def workers_bring_data():
    loader = torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=2)
    assert sum(batch.sum().item() for batch in loader) == sum(i * i for i in range(8))


def errors_of_kernels_are_told():
    """An assertion on the GPU ends its process: so in one of its own."""
    script = "import torch; t = torch.rand(3, device='cuda'); t[torch.tensor([5], device='cuda')]; torch.cuda.synchronize()"
    done = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
    said = done.communicate()[1].decode()
    assert done.returncode != 0 and "assert" in said, said


def compiles(device):
    """torch.compile, which on a GPU needs triton; its own errors count, a missing compiler does not."""
    try:
        import triton  # noqa: F401
    except ImportError:
        return "skipped: triton is not installed"
    f = torch.compile(lambda x: torch.sin(x) ** 2 + torch.cos(x) ** 2)
    assert torch.allclose(f(torch.rand(64, device=device)), torch.ones(64, device=device), atol=1e-5)
    return "works"


def main():
    was_built_as_wanted()
    numpy_shares_memory()
    workers_bring_data()
    for device in DEVICES:
        conv2d(device)
        svd(device)
    print("torch %s: smoke test on %s" % (torch.__version__, " and ".join(DEVICES)))
    if "cuda" in DEVICES:
        if torch.version.cuda:
            errors_of_kernels_are_told()
        if RELEASE >= (2, 0) and sys.version_info[:2] < (3, 14):
            print("torch.compile on the GPU %s" % compiles("cuda"))


if __name__ == "__main__":
    main()
