"""A fixed amount of work for `ptpkg bench`: trains a small network on a random batch, on the CPU or on a GPU. It uses the CPUs that the
process may run on, and starts from the same values each time, so the loss that it prints is the same too.

  ptpkg bench -- python bench.py cpu [STEPS]     or cuda; 10 or 500 steps without STEPS
"""

import os
import sys

import torch


def main(device, steps):
    torch.manual_seed(0)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(32, 64, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(64 * 16 * 16, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).to(device)
    x = torch.randn(64, 3, 32, 32).to(device)
    y = torch.randint(0, 10, (64,)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    # A GPU works behind the program: .item() waits for it.
    print("torch %s on %s: loss %.4f after %d steps" % (torch.__version__, device, loss.item(), steps))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else {"cpu": 10}.get(sys.argv[1], 500))
