"""What an installed torchaudio must do: a recursive filter, whose kernel is of its own library from 0.8 on."""

import torch
import torchaudio
import torchaudio.functional

sound = torch.tensor([[0.5, 0.0, 0.0, 0.25, 0.0, -0.5]])
expected, last = [], 0.0
for value in sound[0].tolist():
    last = value + 0.5 * last
    expected.append(last)
made = torchaudio.functional.lfilter(sound, torch.tensor([1.0, -0.5]), torch.tensor([1.0, 0.0]))
assert torch.allclose(made, torch.tensor([expected])), (made, expected)
print("torchaudio %s with torch %s" % (torchaudio.__version__, torch.__version__))
