"""Rows of logs."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from flor.query.rows import Row

VALUES = [0.5, math.inf, -0.0, 1e-300, 7, 10**30, True, None, 'caf\u00e9 \udcff "x"\n', [1, {"a": [2.5]}], {}]


def row(value: Any, replay: str | None = None) -> Row:
    loops = (("epoch", 3), ('odd "name"', 17))
    return Row("loss\t", value, "flor", "main/epoch=3", loops, "a.py:1", 1763.25, 1, "recorded", replay)


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("replay", [None, "r1"])
def test_the_quick_line_of_json_is_that_of_the_json_module(value: Any, replay: str | None) -> None:
    assert row(value, replay).json_line() == json.dumps(row(value, replay).as_json())


def test_what_is_no_number_is_written_as_json_does() -> None:
    assert row(math.nan).json_line() == json.dumps(row(math.nan).as_json())
