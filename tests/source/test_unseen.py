"""Code that may write to a tensor past torch's bookkeeping is found; ordinary training is not."""

from __future__ import annotations

import ast

import pytest

from flor.source.unseen import may_write_unseen

UNSEEN = [
    "for p in net.parameters():\n    p.data.clamp_(-c, c)",
    "w = torch.from_numpy(array)",
    "view = net.weight.detach().numpy()\nview[0] = 1",
    "net.weight.detach().numpy()[0] = 1",
    "self.view = net.weight.detach().numpy()\nself.view += 1",
    "view = np.asarray(w)\nnp.add(view, 1, out=view)",
    "net.share_memory()",
    "import torch.multiprocessing as mp",
    "from torch import multiprocessing",
    "net = torch.compile(net)",
    "from torch import compile",
    "w.untyped_storage().resize_(0)",
    "import ctypes",
    "arrays = [p.detach().numpy() for p in net.parameters()]\nfor a in arrays:\n    a[0] = 0",
    "def clip(a):\n    a[rows] /= norm\nclip(net.weight.detach().numpy())",
    "view = w.numpy()\nrow = view[0]\nrow += 1",
]
SEEN = [
    "loss.backward()\noptimizer.step()",
    "pred = out.argmax(1).cpu().numpy()\nprint(pred[0])",
    "total += loss.item()",
    "losses[i] = float(loss)",
    "with torch.no_grad():\n    for p, q in zip(a.parameters(), b.parameters()):\n        p.copy_(q)",
    "from torch.utils.data import DataLoader\nimport numpy as np",
    "def shown(a):\n    return a.mean()\nprint(shown(out.numpy()))\ntotal += 1",
    "preds = [out.numpy() for out in outs]\nfor p in preds:\n    total += p.sum()",
    "from torch.utils import data\nloader = torch.utils.data.DataLoader(x)",
]


@pytest.mark.parametrize("text", UNSEEN)
def test_a_way_past_the_bookkeeping_is_found(text: str) -> None:
    assert may_write_unseen(ast.parse(text))


@pytest.mark.parametrize("text", SEEN)
def test_ordinary_code_is_trusted(text: str) -> None:
    assert not may_write_unseen(ast.parse(text))
