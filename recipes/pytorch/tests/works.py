"""What an installed torch must do: arithmetic, LAPACK, autograd, jit; on a GPU too where it is built for one and one is here."""

import sys

import torch


def check(device):
    a = torch.arange(9, dtype=torch.float64, device=device).reshape(3, 3)
    assert torch.equal((a + a).cpu(), (2 * a).cpu())
    assert (a @ a).cpu()[2, 2].item() == 6 * 2 + 7 * 5 + 8 * 8

    # LAPACK: a build without it says so only when it is called.
    b = a + 10 * torch.eye(3, dtype=torch.float64, device=device)
    u, s, v = torch.svd(b)
    residual = (u @ torch.diag(s) @ v.t() - b).abs().max().item()
    assert residual < 1e-12, residual

    x = torch.ones(3, dtype=torch.float64, device=device, requires_grad=True)
    (b @ x).pow(2).sum().backward()
    assert torch.allclose(x.grad, 2 * b.t() @ (b @ x).detach())

    layer = torch.nn.Linear(3, 2).double().to(device)
    assert layer(a).shape == (3, 2)
    return residual


@torch.jit.script
def clamped_sum(t, limit: float):
    total = 0.0
    for i in range(t.size(0)):
        value = float(t[i])
        if value < limit:
            total += value
    return total


assert clamped_sum(torch.tensor([1.0, 2.0, 30.0]), 10.0) == 3.0
assert torch.from_numpy(torch.ones(2).numpy()).sum().item() == 2.0
print("torch %s, Python %d.%d: residual of SVD on cpu %.2e" % ((torch.__version__,) + sys.version_info[:2] + (check("cpu"),)))
if torch.version.cuda or getattr(torch.version, "hip", None):
    if torch.cuda.is_available():
        print("and on %s %.2e" % (torch.cuda.get_device_name(0), check("cuda")))
    else:
        print("no GPU here: only the CPU was used")
