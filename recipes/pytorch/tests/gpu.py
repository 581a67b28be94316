"""What a torch for CUDA must do on a GPU, beyond works.py: products in four types, MAGMA, cuSOLVER, cuDNN, cuFFT, cuSPARSE, NVRTC,
the kernels that patches touch, autograd, training. Each check says one line; the exit code is 1 if any of them failed.

  python gpu.py [WORD ...]     WORD is looked for in torch.__config__.show(): "CUDA Runtime 13.0", "CuDNN", "Magma 2.9.0"
"""

import sys
import time
import traceback

import torch
import torch.nn.functional as F

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def relative(value, reference):
    """The distance of two results, the second made on the CPU in float64."""
    value = value.detach().cpu().to(reference.dtype)
    return ((value - reference).norm() / reference.norm()).item()


def within(limit, **distances):
    for name, distance in distances.items():
        assert distance < limit, "%s is off by %.2e, more than %.0e" % (name, distance, limit)
    return ", ".join("%s %.1e" % pair for pair in distances.items())


@check
def first_tensor():
    x = torch.rand(2, 2).to("cuda:0")
    assert x.device.type == "cuda" and x.is_contiguous() and (x @ x).shape == (2, 2)
    return repr(x).replace("\n", "")


@check
def products_in_four_types():
    a, b = (torch.randn(1024, 1024, dtype=torch.float64) for _ in range(2))
    said = []
    for dtype, limit in (torch.float64, 1e-13), (torch.float32, 1e-5), (torch.float16, 5e-3), (torch.bfloat16, 2e-2):
        left, right = a.to(dtype), b.to(dtype)
        said.append(within(limit, **{str(dtype)[6:]: relative(left.cuda() @ right.cuda(), left.double() @ right.double())}))
    return ", ".join(said)


def solve_everything():
    """Factorisations, systems and spectra in float64 and complex128, by what preferred_linalg_library says."""
    worst = {}
    for dtype in torch.float64, torch.complex128:
        for shape in (200, 200), (8, 24, 24):
            a = torch.randn(*shape, dtype=dtype, device="cuda") + 10 * torch.eye(shape[-1], dtype=dtype, device="cuda")
            hermitian = a @ a.mH
            b = torch.randn(*shape[:-1], 3, dtype=dtype, device="cuda")
            q, r = torch.linalg.qr(a)
            u, s, vh = torch.linalg.svd(a)
            values, vectors = torch.linalg.eigh(hermitian)
            factor = torch.linalg.cholesky(hermitian)
            lu, pivots = torch.linalg.lu_factor(a)
            found = {
                "cholesky": factor @ factor.mH - hermitian,
                "cholesky_solve": hermitian @ torch.cholesky_solve(b, factor) - b,
                "lu": torch.linalg.lu_solve(lu, pivots, a @ b) - b,
                "solve": a @ torch.linalg.solve(a, b) - b,
                "inv": torch.linalg.inv(a) @ a - torch.eye(shape[-1], dtype=dtype, device="cuda"),
                "qr": q @ r - a,
                "svd": u * s.unsqueeze(-2) @ vh - a,
                "eigh": vectors * values.unsqueeze(-2) @ vectors.mH - hermitian,
                "lstsq": a @ torch.linalg.lstsq(a, b).solution - b,
            }
            for name, residual in found.items():
                worst[name] = max(worst.get(name, 0), (residual.abs().max() / a.abs().max()).item())
    return within(1e-10, **worst)


@check
def linalg_through_magma():
    assert torch.cuda.has_magma
    torch.backends.cuda.preferred_linalg_library("magma")
    try:
        said = solve_everything()
        # Only MAGMA has these.
        a = torch.randn(100, 100, dtype=torch.float64, device="cuda")
        values, vectors = torch.linalg.eig(a)
        other = a + a.mT
        ld, pivots = torch.linalg.ldl_factor(other)
        assert ld.shape == other.shape and pivots.shape == (100,)
        return said + ", " + within(1e-10, eig=(a.to(vectors.dtype) @ vectors - vectors * values).abs().max().item())
    finally:
        torch.backends.cuda.preferred_linalg_library("default")


@check
def linalg_through_cusolver():
    torch.backends.cuda.preferred_linalg_library("cusolver")
    try:
        return solve_everything()
    finally:
        torch.backends.cuda.preferred_linalg_library("default")


@check
def convolutions_through_cudnn():
    assert torch.backends.cudnn.is_available()
    x, w = torch.randn(4, 16, 33, 31, dtype=torch.float64), torch.randn(32, 16, 3, 3, dtype=torch.float64)
    said = []
    for dtype, limit in (torch.float64, 1e-13), (torch.float32, 1e-5), (torch.float16, 5e-3), (torch.bfloat16, 2e-2):
        image, kernel = x.to(dtype), w.to(dtype)
        reference = F.conv2d(image.double(), kernel.double(), padding=1)
        # By its name: this one has no other way than cuDNN.
        found = torch.cudnn_convolution(image.cuda(), kernel.cuda(), (1, 1), (1, 1), (1, 1), 1, False, True, False)
        said.append(within(limit, **{str(dtype)[6:]: relative(found, reference)}))
    layers = {
        "conv1d": (torch.nn.Conv1d(8, 4, 5), (2, 8, 50)),
        "conv3d": (torch.nn.Conv3d(4, 6, 3, stride=2), (2, 4, 9, 9, 9)),
        "transposed": (torch.nn.ConvTranspose2d(6, 3, 4, stride=2), (2, 6, 9, 9)),
        "grouped": (torch.nn.Conv2d(8, 8, 3, groups=8), (2, 8, 12, 12)),
        "batch norm": (torch.nn.BatchNorm2d(5), (8, 5, 7, 7)),
        "lstm": (torch.nn.LSTM(6, 7, num_layers=2, bidirectional=True), (11, 3, 6)),
        "gru": (torch.nn.GRU(6, 7), (11, 3, 6)),
    }
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        for name, (layer, shape) in layers.items():
            value = torch.randn(*shape)
            reference = layer.double()(value.double())
            found = layer.float().cuda()(value.cuda())
            if isinstance(reference, tuple):
                reference, found = reference[0], found[0]
            said.append(within(1e-5, **{name: relative(found, reference)}))
    return "cuDNN %s: " % torch.backends.cudnn.version() + ", ".join(said)


@check
def attention():
    q, k, v = (torch.randn(2, 4, 128, 64, dtype=torch.float64) for _ in range(3))
    reference = F.scaled_dot_product_attention(q, k, v)
    return within(1e-2, half=relative(F.scaled_dot_product_attention(q.cuda().half(), k.cuda().half(), v.cuda().half()), reference))


@check
def transforms_by_cufft():
    x = torch.randn(3, 250, 96, dtype=torch.float64)
    return within(1e-12, fft=relative(torch.fft.fft(x.cuda()), torch.fft.fft(x)), rfft2=relative(torch.fft.rfft2(x.cuda()), torch.fft.rfft2(x)),
                  back=relative(torch.fft.irfft(torch.fft.rfft(x.cuda()), n=96), x))


@check
def sparse_by_cusparse():
    a = torch.randn(300, 200, dtype=torch.float64)
    a = a * (torch.rand(300, 200) < 0.05)
    b = torch.randn(200, 17, dtype=torch.float64)
    return within(1e-12, coo=relative(torch.sparse.mm(a.to_sparse().cuda(), b.cuda()), a @ b),
                  csr=relative(a.to_sparse_csr().cuda() @ b.cuda(), a @ b))


@check
def what_cub_does():
    """The kernels that patch 0003 is for, and others that sort, scan and select."""
    x = torch.randint(0, 1000, (100_003,))
    y = torch.randn(100_003, dtype=torch.float64)
    d, e = x.cuda(), y.cuda()
    table = torch.randn(1000, 8, dtype=torch.float64)
    offsets = torch.arange(0, 100_003, 7)
    index = torch.arange(100_003) % 512
    for name, one, other in (
            ("unique", torch.unique(d, return_inverse=True, return_counts=True), torch.unique(x, return_inverse=True, return_counts=True)),
            ("unique_consecutive", torch.unique_consecutive(d), torch.unique_consecutive(x)),
            ("unique of rows", torch.unique(d[:3000].reshape(-1, 3) % 3, dim=0), torch.unique(x[:3000].reshape(-1, 3) % 3, dim=0)),
            ("sort", torch.sort(d, stable=True), torch.sort(x, stable=True)),
            ("topk", torch.topk(e, 100).values, torch.topk(y, 100).values),
            ("kthvalue", torch.kthvalue(e, 500).values, torch.kthvalue(y, 500).values),
            ("nonzero", torch.nonzero(d > 900), torch.nonzero(x > 900)),
            ("masked_select", d[d > 500], x[x > 500]),
            ("cumsum", torch.cumsum(d, 0), torch.cumsum(x, 0)),
            ("cummax", torch.cummax(e, 0).values, torch.cummax(y, 0).values),
            ("bincount", torch.bincount(d), torch.bincount(x)),
            ("histc", torch.histc(e, 50), torch.histc(y, 50)),
            ("searchsorted", torch.searchsorted(torch.sort(e).values, e[:99]), torch.searchsorted(torch.sort(y).values, y[:99])),
            ("mode", torch.mode(d[:5000]).values, torch.mode(x[:5000]).values),
            ("randperm", torch.sort(torch.randperm(5000, device="cuda")).values, torch.arange(5000))):
        pairs = zip(one, other) if isinstance(one, (tuple, list)) else [(one, other)]
        for got, wanted in pairs:
            assert torch.equal(got.cpu(), wanted), name
    sums = []
    for device in "cpu", "cuda":
        weight = table.detach().clone().to(device).requires_grad_()
        F.embedding_bag(x.to(device), weight, offsets.to(device), mode="sum").pow(2).sum().backward()
        bag, weight.grad = weight.grad, None
        F.embedding(x.to(device), weight).pow(2).sum().backward()
        plain = weight.grad
        into = torch.zeros(512, dtype=torch.float64, device=device)
        into.index_put_((index.to(device),), y.to(device), accumulate=True)
        sums.append((bag, plain, into))
    return within(1e-10, embedding_bag=relative(sums[1][0], sums[0][0]), embedding=relative(sums[1][1], sums[0][1]),
                  index_put=relative(sums[1][2], sums[0][2])) + ", and 15 that are equal"


@check
def kernels_made_by_nvrtc():
    x = torch.rand(1000, dtype=torch.float64)
    square = torch.cuda.jiterator._create_jit_fn("template <typename T> T square_plus(T x, T y) { return x * x + y; }")
    return within(1e-12, jiterator=relative(square(x.cuda(), x.cuda()), x * x + x), bessel=relative(torch.special.i1e(x.cuda()), torch.special.i1e(x)))


@check
def products_of_eight_bits():
    """RowwiseScaledMM.cu, which is compiled for sm_90a."""
    if torch.cuda.get_device_capability()[0] < 9:
        return "not on this GPU"
    a, b = torch.randn(64, 128), torch.randn(128, 32)
    left, right = a.cuda().to(torch.float8_e4m3fn), b.cuda().t().contiguous().to(torch.float8_e4m3fn).t()
    rows, columns = torch.rand(64, 1, device="cuda") + 1, torch.rand(1, 32, device="cuda") + 1
    found = torch._scaled_mm(left, right, scale_a=rows, scale_b=columns, out_dtype=torch.bfloat16)
    return within(2e-2, rowwise=relative(found, (left.cpu().double() * rows.cpu()) @ (right.cpu().double() * columns.cpu())))


@check
def autograd():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 7, 7, dtype=torch.float64, device="cuda", requires_grad=True)
    w = torch.randn(4, 3, 3, 3, dtype=torch.float64, device="cuda", requires_grad=True)
    a = torch.randn(4, 4, dtype=torch.float64, device="cuda", requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, w: F.gelu(F.conv2d(x, w, padding=1)).sum((2, 3)), (x, w), nondet_tol=1e-10)
    assert torch.autograd.gradcheck(lambda a: torch.linalg.inv(a @ a.mT + torch.eye(4, dtype=a.dtype, device=a.device)), (a,))
    assert torch.autograd.gradgradcheck(lambda a: torch.tanh(a @ a).sum(), (a,))
    return "first and second derivatives as differences have them"


def training(dtype):
    """Whether the left side of a picture is the brighter one: a network must learn it."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32 * 8 * 8, 2)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def batch(count):
        x, left = torch.rand(count, 1, 16, 16, device="cuda"), torch.randint(0, 2, (count,), device="cuda")
        x[..., :8] += 0.2 * left.view(-1, 1, 1, 1)
        return x, left

    losses = []
    for _ in range(300):
        x, y = batch(256)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    x, y = batch(4096)
    with torch.no_grad():
        right = (model(x).argmax(1) == y).double().mean().item()
    assert losses[-1] < losses[0] / 2 and right > 0.95, (losses[0], losses[-1], right)
    return "loss %.3f to %.3f, %.1f %% right" % (losses[0], losses[-1], 100 * right)


@check
def a_training_loop_that_learns():
    return "float32: %s; bfloat16: %s" % (training(torch.float32), training(torch.bfloat16))


@check
def graphs_and_streams():
    x = torch.ones(1000, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        y = x * 2
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        z = y * 3 + x
    graph.replay()
    torch.cuda.synchronize()
    assert z.sum().item() == 7000
    return "captured and replayed"


@check
def two_gpus():
    if torch.cuda.device_count() < 2:
        return "one GPU here"
    x = torch.randn(100, 100, device="cuda:0")
    assert torch.equal(x.to("cuda:1").cpu(), x.cpu())
    return "copied from one to the other"


def main():
    config = torch.__config__.show()
    print(config)
    print("torch %s, Python %d.%d, %d of %s" % ((torch.__version__,) + sys.version_info[:2] + (torch.cuda.device_count(), torch.cuda.get_device_name(0))))
    failed = ["torch.__config__.show() does not name '%s'" % word for word in sys.argv[1:] if word not in config]
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    for function in CHECKS:
        start = time.monotonic()
        try:
            said = function()
        except Exception:
            traceback.print_exc()
            failed.append(function.__name__)
            said = "FAILED"
        print("%s: %s (%.1f s)" % (function.__name__, said, time.monotonic() - start), flush=True)
    print("%d checks, failed: %s" % (len(CHECKS), ", ".join(failed) or "none"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
