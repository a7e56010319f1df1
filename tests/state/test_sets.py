"""Sets iterate as they did, now and after more is added; where that can't be had it is told."""

from __future__ import annotations

from typing import Any

import pytest

from flor.state import Rebinding, capture, decode, encode, restore


def back(value: Any, live: Any) -> Rebinding:
    snapshot = capture({"main": {"it": value}}, project=lambda _: False)
    snapshot.digest()
    graph, blobs = encode(snapshot)
    kept = {blob.name: memoryview(bytes(blob.data or b"")) for blob in blobs}
    return restore(decode(graph, kept.__getitem__), {"main": {"it": live}}, project=lambda _: False)


def grown(count: int, left: int) -> set[int]:
    """A set that had many elements once."""
    found = {number * 37 for number in range(count)}
    for number in range(count - left):
        found.discard(number * 37)
    return found


@pytest.mark.parametrize("count", [0, 3, 5, 20, 100])
def test_a_set_that_only_grew_iterates_as_it_did(count: int) -> None:
    value = {number * 37 for number in range(count)}
    done = back(value, set())
    again = done.values["main"]["it"]
    assert not done.doubts
    for number in range(40):
        again.add(number * 11)
        value.add(number * 11)
        assert list(again) == list(value)


def test_a_set_that_was_larger_once_is_told() -> None:
    done = back(grown(30, 2), set())
    assert done.values["main"]["it"] == grown(30, 2)
    assert ["order" in doubt for doubt in done.doubts] == [True]


def test_a_live_set_of_the_same_history_is_not_told() -> None:
    live = grown(30, 2)
    done = back(grown(30, 2), live)
    assert done.values["main"]["it"] is live
    assert not done.doubts


def test_a_live_set_in_another_order_is_rewritten() -> None:
    first, second = {8, 0}, {0, 8}  # both want the same slot: who comes first has it
    assert list(first) != list(second)
    done = back(first, second)
    assert list(done.values["main"]["it"]) == list(first)
    assert not done.doubts


def test_a_set_that_was_popped_from_is_told() -> None:
    value = {8, 16, 24, 3}
    value.pop()
    assert back(value, set()).doubts
    live = {8, 16, 24, 3}
    live.pop()
    assert not back(value, live).doubts
