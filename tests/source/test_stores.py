"""Which attributes of imported things a source sets."""

from __future__ import annotations

import ast

import pytest

from flor.source.stores import stores_of


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("import numpy as np\nnp.counter = 1", ("numpy", (), "counter")),
        ("import torch.nn\ntorch.nn.Linear.calls += 1", ("torch", ("nn", "Linear"), "calls")),
        ("from torch import nn as n\nn.Linear.calls: int = 1", ("torch", ("nn", "Linear"), "calls")),
        ("def f():\n    import sys\n    del sys.flag", ("sys", (), "flag")),
        ("import builtins\nsetattr(builtins, 'STEP', 3)", ("builtins", (), "STEP")),
        ("import json\nvars(json)['level'] = 1", ("json", (), "level")),
        ("import json\njson.__dict__['level'] = 1", ("json", (), "level")),
        ("import json\nEncoder = json.JSONEncoder\nEncoder.calls = 0", ("json", ("JSONEncoder",), "calls")),
        ("from torch import nn\nfor kind in (nn.Linear, nn.Tanh): kind.calls = 0", ("torch", ("nn", "Tanh"), "calls")),
        ("import torch\nwith a as torch.flag: pass", ("torch", (), "flag")),
    ],
)
def test_an_attribute_of_something_imported_is_found(source: str, known: tuple[object, ...]) -> None:
    assert known in stores_of(ast.parse(source)).known


@pytest.mark.parametrize("source", ["type(layer).calls += 1", "self.__class__.calls = 1", "setattr(cls, 'calls', 1)"])
def test_an_attribute_of_some_class_is_found(source: str) -> None:
    assert stores_of(ast.parse(source)).of_classes == {"calls"}


@pytest.mark.parametrize("source", ["self.x = 1", "import numpy as np\nprint(np.x)", "from . import a\na.x = 1"])
def test_other_attributes_are_left_alone(source: str) -> None:
    found = stores_of(ast.parse(source))
    assert not found.known and not found.of_classes
