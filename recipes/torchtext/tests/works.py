"""What an installed torchtext must do: tokens and their numbers; from 0.7 on its library is loaded by the import."""

import collections
import importlib

import torch
import torchtext
import torchtext.vocab

counter = collections.Counter("a b b c c c".split())
version = tuple(int(part) for part in torchtext.__version__.split("+")[0].split(".")[:2])
if version >= (0, 7):
    importlib.import_module("torchtext._torchtext")
if version >= (0, 10):
    words = torchtext.vocab.vocab(collections.OrderedDict(counter.most_common()))
    assert words.lookup_indices(["c", "b", "a"]) == [0, 1, 2]
else:
    words = torchtext.vocab.Vocab(counter, specials=["<unk>"])
    assert [words.stoi[word] for word in "cba"] == [1, 2, 3]
print("torchtext %s with torch %s" % (torchtext.__version__, torch.__version__))
