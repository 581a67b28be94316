"""What an installed torchvision must do; the arguments name what image.so must have: png, jpeg. On a GPU too where torch sees one."""

import os
import sys
import tempfile

import torch
import torchvision
from torchvision.transforms import functional as transforms


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

    # The image is linear, so the mean over a region is the value in its middle, and the gradient's sum is 1.
    image.grad = None
    aligned = torchvision.ops.roi_align(image, region, (1, 1), 1.0, 2)
    assert abs(aligned.item() - image[0, 0, 2, 2].item()) < 1e-5, aligned
    aligned.sum().backward()
    assert abs(image.grad.sum().item() - 1) < 1e-5, image.grad


def read_back(pixels):
    """From files, by the decoder that image.so has."""
    image = torchvision.io.image
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "image")
        if "png" in sys.argv:
            image.write_png(pixels, name)
            assert torch.equal(image.read_image(name), pixels)
            assert torch.equal(image.decode_png(image.encode_png(pixels)), pixels)
        if "jpeg" in sys.argv:
            image.write_jpeg(torch.full_like(pixels, 99), name)
            assert (image.read_image(name).int() - 99).abs().max() <= 2
            assert (image.decode_jpeg(image.encode_jpeg(torch.full_like(pixels, 9))).int() - 9).abs().max() <= 2


check("cpu")
pixels = torch.arange(3 * 16 * 16).reshape(3, 16, 16).to(torch.uint8)
read_back(pixels)

picture = transforms.to_pil_image(pixels)
assert torch.equal((transforms.to_tensor(picture) * 255).round().to(torch.uint8), pixels)
assert torch.equal(transforms.to_tensor(transforms.hflip(picture)), transforms.to_tensor(picture).flip(-1))
assert transforms.to_tensor(transforms.resize(picture, [8, 4])).shape == (3, 8, 4)
model = torchvision.models.resnet18(num_classes=4).eval()
with torch.no_grad():
    assert model(torch.zeros(2, 3, 64, 64)).shape == (2, 4)
print("torchvision %s with torch %s: %s" % (torchvision.__version__, torch.__version__, " ".join(["cpu"] + sys.argv[1:])))
if torch.version.cuda or getattr(torch.version, "hip", None):
    if torch.cuda.is_available():
        check("cuda")
        print("and on %s" % torch.cuda.get_device_name(0))
    else:
        print("no GPU here: only the CPU was used")
