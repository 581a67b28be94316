#!/usr/bin/env python3
"""Operations of PyTorch on a GPU, from fixed seeds: prints one JSON object, of each operation a digest of its result or CUDA's error.

    python3 bench/gpu_operations.py

bench/gpu_slices.py runs it with the installed PyTorch and with sliced ones. One operation per family of kernels: a slice that lacks
one of them fails here.
"""

import hashlib
import json
import sys
import time

BEGIN = time.perf_counter()
import torch  # noqa: E402 (its time is measured)

IMPORTED = time.perf_counter()
from torch.nn import functional  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

HALF, DOUBLE = torch.float16, torch.float64


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, device="cuda").to(dtype)


def integers(high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(0, high, shape, device="cuda", dtype=dtype)


def positive_definite() -> torch.Tensor:
    square = random(128, 128, dtype=DOUBLE)
    return square @ square.T + 128 * torch.eye(128, device="cuda", dtype=DOUBLE)


def attention(backend: SDPBackend) -> torch.Tensor:
    with sdpa_kernel(backend):
        return functional.scaled_dot_product_attention(*(random(2, 4, 256, 64, dtype=HALF) for _ in range(3)))


def gradient() -> torch.Tensor:
    start = random(256, 256).requires_grad_()
    (functional.gelu(start) @ random(256, 64)).softmax(1).pow(2).sum().backward()
    return start.grad


def fp8() -> torch.Tensor:
    left, right = random(64, 64).to(torch.float8_e4m3fn), random(64, 64).to(torch.float8_e4m3fn).t()
    one = torch.tensor(1.0, device="cuda")
    return torch._scaled_mm(left, right, one, one, out_dtype=torch.bfloat16)


OPERATIONS = {
    "elementwise": lambda: torch.tanh(random(1 << 20)) * 3 + 1,
    "matmul, float": lambda: random(512, 512) @ random(512, 512),
    "matmul, double": lambda: random(512, 512, dtype=DOUBLE) @ random(512, 512, dtype=DOUBLE),
    "matmul, half": lambda: random(512, 512, dtype=HALF) @ random(512, 512, dtype=HALF),
    "matmul, bfloat16": lambda: random(512, 512, dtype=torch.bfloat16) @ random(512, 512, dtype=torch.bfloat16),
    "matmul, int8": lambda: torch._int_mm(integers(9, 64, 64, dtype=torch.int8), integers(9, 64, 64, dtype=torch.int8)),
    "matmul, fp8": fp8,
    "sort": lambda: torch.sort(random(1 << 18)),
    "topk": lambda: torch.topk(random(1 << 18), 100),
    "scan of integers": lambda: torch.cumsum(integers(1000, 1 << 18), 0),
    "reduction": lambda: (random(4096, 1024).sum(1), random(4096, 1024).var(0)),
    "convolution": lambda: functional.conv2d(random(8, 16, 64, 64), random(32, 16, 3, 3), padding=1),
    "attention, flash": lambda: attention(SDPBackend.FLASH_ATTENTION),
    "attention, memory-efficient": lambda: attention(SDPBackend.EFFICIENT_ATTENTION),
    "attention, plain": lambda: attention(SDPBackend.MATH),
    "FFT": lambda: torch.view_as_real(torch.fft.fft(random(64, 1024))),
    "Cholesky": lambda: torch.linalg.cholesky(positive_definite()),
    "singular values": lambda: torch.linalg.svdvals(random(96, 64)),
    "solve": lambda: torch.linalg.solve(positive_definite(), random(128, 8, dtype=DOUBLE)),
    "eigenvalues": lambda: torch.linalg.eigvalsh(positive_definite()),
    "gradient": gradient,
    "LSTM": lambda: torch.nn.LSTM(32, 64, 2).cuda()(random(20, 8, 32))[0],
    "embedding bag": lambda: functional.embedding_bag(torch.arange(1000, device="cuda") % 97, random(97, 32),
                                                      torch.arange(0, 1000, 10, device="cuda")),
    "unique": lambda: torch.unique(integers(1000, 1 << 16)),
    "interpolation": lambda: functional.interpolate(random(2, 3, 64, 64), scale_factor=2, mode="bicubic"),
    "layer norm": lambda: functional.layer_norm(random(512, 768), (768,)),
    "gather": lambda: random(1000, 64)[integers(1000, 5000)],
    "distances": lambda: torch.cdist(random(128, 32), random(256, 32)),
    "multinomial": lambda: torch.multinomial(random(64, 100).softmax(1), 10),
}


def digest(result: torch.Tensor | tuple) -> str:
    sums = hashlib.sha256()
    for tensor in result if isinstance(result, tuple) else (result,):
        sums.update(tensor.detach().contiguous().cpu().view(torch.uint8).numpy().tobytes())
    return sums.hexdigest()


def resident_mb() -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))


def main() -> int:
    results, first = {}, None
    for name, operation in OPERATIONS.items():
        torch.manual_seed(7)
        begin = time.perf_counter()
        try:
            result = operation()
            torch.cuda.synchronize()
            results[name] = digest(result)
        except RuntimeError as error:  # what PyTorch makes of CUDA's errors
            results[name] = "error: " + str(error).splitlines()[0]
        first = first or time.perf_counter() - begin
    json.dump({"file": torch.__file__, "import_s": IMPORTED - BEGIN, "first_operation_s": first, "resident_mb": resident_mb(),
               "results": results}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
