"""What an installed torch_scatter must do: what plain torch gives, forwards and backwards; on a GPU too where it is built
for one and one is here."""

import torch
import torch_scatter


def check(device):
    torch.manual_seed(1)
    index = torch.randint(0, 7, (1000,), device=device)
    values = torch.randn(1000, 3, dtype=torch.float64, device=device, requires_grad=True)
    spread = index.unsqueeze(1).expand_as(values)

    expected = torch.zeros(7, 3, dtype=torch.float64, device=device).scatter_add(0, spread, values)
    summed = torch_scatter.scatter_add(values, index, dim=0, dim_size=7)
    assert torch.allclose(summed, expected, atol=1e-12), (summed - expected).abs().max()

    counts = torch.bincount(index, minlength=7).unsqueeze(1)
    assert torch.allclose(torch_scatter.scatter_mean(values, index, dim=0, dim_size=7), expected / counts, atol=1e-12)

    # scatter_max and the segment functions are kernels of its own, also backwards.
    largest, where = torch_scatter.scatter_max(values, index, dim=0, dim_size=7)
    for row in range(7):
        assert torch.equal(largest[row], values[index == row].max(dim=0).values)
    assert torch.equal(largest, values.gather(0, where))
    weights = torch.randn(7, 3, dtype=torch.float64, device=device)
    (largest * weights).sum().backward()
    assert torch.equal(values.grad, torch.zeros_like(values).scatter(0, where, weights))

    ordered, order = index.sort()
    ends = torch.searchsorted(ordered, torch.arange(8, device=device))
    values.grad = None
    segments = torch_scatter.segment_csr(values[order], ends, reduce="sum")
    assert torch.allclose(segments, expected, atol=1e-12)
    (segments * weights).sum().backward()
    assert torch.equal(values.grad, weights[index])
    assert torch.autograd.gradcheck(lambda t: torch_scatter.scatter(t, index[:9], dim=0, dim_size=7, reduce="mul"),
                                    values[:9].detach().requires_grad_())
    return summed.shape[0]


print(f"torch_scatter {torch_scatter.__version__} with torch {torch.__version__}: {check('cpu')} sums on cpu")
if torch_scatter.cuda_version != -1:
    print(f"and {check('cuda')} on {torch.cuda.get_device_name(0)}" if torch.cuda.is_available() else
          "no GPU here: only the CPU was used")
