"""A name of a file or a progress bar that this process does not have is no difference of the training."""

from __future__ import annotations

import io
from typing import Any

from flor.state import Snapshot, capture, differences


def taken(**names: Any) -> Snapshot:
    return capture({"main": names}, project=lambda _: False)


def test_a_handle_that_is_not_bound_now_is_forgiven() -> None:
    with open(__file__) as opened:
        assert differences(taken(n=1, opened=opened), taken(n=1)) == []


def test_an_object_that_is_not_bound_now_is_told() -> None:
    found = differences(taken(n=1, text=io.StringIO("a")), taken(n=1))
    assert [difference.path for difference in found] == ["main:text"]
