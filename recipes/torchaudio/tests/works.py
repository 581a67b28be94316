"""What an installed torchaudio must do: a recursive filter, whose kernel is of its own library from 0.8 on, a spectrogram, another
sampling rate, and a WAV file there and back where SoundFile is installed to write it."""

import importlib.util
import math
import os
import tempfile

import torch
import torchaudio
import torchaudio.functional
import torchaudio.transforms

sound = torch.tensor([[0.5, 0.0, 0.0, 0.25, 0.0, -0.5]])
expected, last = [], 0.0
for value in sound[0].tolist():
    last = value + 0.5 * last
    expected.append(last)
made = torchaudio.functional.lfilter(sound, torch.tensor([1.0, -0.5]), torch.tensor([1.0, 0.0]))
assert torch.allclose(made, torch.tensor([expected])), (made, expected)


def tone(rate):
    """Half a second of 500 Hz."""
    return 0.5 * torch.sin(2 * math.pi * 500 * torch.arange(rate // 2, dtype=torch.float32) / rate).unsqueeze(0)


# Bins of 62.5 Hz: 500 Hz is the eighth.
spectrogram = torchaudio.transforms.Spectrogram(n_fft=128)(tone(8000))
assert spectrogram.shape[:2] == (1, 65) and spectrogram[0].mean(dim=1).argmax().item() == 8, spectrogram.shape

halved = torchaudio.transforms.Resample(8000, 4000)(tone(8000))
assert halved.shape == (1, 2000), halved.shape
assert (halved - tone(4000))[:, 100:-100].abs().max().item() < 0.02

done = "filter, spectrogram, resampling"
if importlib.util.find_spec("soundfile"):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "tone.wav")
        torchaudio.save(name, tone(8000), 8000)
        read, rate = torchaudio.load(name)
    assert rate == 8000 and read.shape == (1, 4000) and (read - tone(8000)).abs().max().item() < 1e-4
    done += ", WAV"
print("torchaudio %s with torch %s: %s" % (torchaudio.__version__, torch.__version__, done))
