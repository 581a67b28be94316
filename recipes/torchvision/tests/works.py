"""What an installed torchvision must do; the arguments name what image.so must have: png, jpeg. On a GPU too where torch sees one."""

import sys

import torch
import torchvision


def check(device):
    boxes = torch.tensor([[0.0, 0.0, 10.0, 10.0], [1.0, 1.0, 10.0, 10.0], [20.0, 20.0, 30.0, 30.0]], device=device)
    scores = torch.tensor([0.8, 0.9, 0.5], device=device)
    assert torchvision.ops.nms(boxes, scores, 0.5).tolist() == [1, 2]

    image = torch.arange(64.0, device=device).reshape(1, 1, 8, 8).requires_grad_()
    region = torch.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]], device=device)
    pooled = torchvision.ops.roi_pool(image, region, (1, 1))
    assert pooled.item() == image[0, 0, :5, :5].max().item(), pooled
    pooled.sum().backward()
    assert image.grad.nonzero().tolist() == [[0, 0, 4, 4]]


check("cpu")
pixels = torch.arange(3 * 16 * 16).reshape(3, 16, 16).to(torch.uint8)
if "png" in sys.argv:
    assert torch.equal(torchvision.io.decode_png(torchvision.io.image.encode_png(pixels)), pixels)
if "jpeg" in sys.argv:
    grey = torch.full((3, 16, 16), 99, dtype=torch.uint8)
    assert (torchvision.io.decode_jpeg(torchvision.io.image.encode_jpeg(grey)).int() - 99).abs().max() <= 2
print("torchvision %s with torch %s: %s" % (torchvision.__version__, torch.__version__, " ".join(["cpu"] + sys.argv[1:])))
if torch.version.cuda or getattr(torch.version, "hip", None):
    if torch.cuda.is_available():
        check("cuda")
        print("and on %s" % torch.cuda.get_device_name(0))
    else:
        print("no GPU here: only the CPU was used")
