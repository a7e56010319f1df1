"""Snapshots as bytes, and what they say when they differ."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flor.errors import Damaged, NewerFormat
from flor.state import capture, decode, differences, encode, restore

atoms = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
keys = st.text() | st.integers() | st.booleans() | st.tuples(st.integers(), st.text())
graphs = st.recursive(
    atoms,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.tuples(inner, inner) | st.sets(keys),
    max_leaves=20,
)


def nobody(module: str) -> bool:
    return False


@settings(max_examples=150, deadline=None)
@given(graphs, graphs)
def test_any_plain_graph_survives_and_overwrites_any_other(one: Any, other: Any) -> None:
    graph, blobs = encode(capture({"s": {"x": one}}, project=nobody))
    stored = {blob.name: bytes(blob.data or b"") for blob in blobs}
    saved = decode(graph, lambda name: memoryview(stored[name]))
    values = restore(saved, {"s": {"x": other}}, project=nobody).values
    assert repr(values["s"]["x"]) == repr(one) or "set" in repr(one) or "{" in repr(one)
    assert differences(saved, capture(values, project=nobody)) == []


def test_the_graph_is_plain_json_and_the_blobs_are_named_by_content(trip: Any) -> None:
    snapshot = trip.take({"s": {"x": torch.ones(3, dtype=torch.float16), "y": torch.ones(3, dtype=torch.float16)}})
    graph, blobs = encode(snapshot)
    assert json.loads(graph)["version"] == 1
    ones = [blob for blob in blobs if blob.dtype == "F16"]
    assert len(ones) == 1 and ones[0].shape == (3,) and len(ones[0].name) == 32


def test_equal_states_have_equal_graphs(trip: Any) -> None:
    make = lambda: {"s": {"a": [1, {"k": torch.ones(2)}], "b": {"x", "y", "z"}}}  # noqa: E731
    one, other = (json.loads(encode(trip.take(make()))[0]) for _ in range(2))
    assert one["nodes"] == other["nodes"]


def test_damaged_and_newer_graphs_are_told_apart() -> None:
    with pytest.raises(Damaged):
        decode(b"{}", lambda name: memoryview(b""))
    with pytest.raises(NewerFormat):
        decode(b'{"version": 99}', lambda name: memoryview(b""))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"x": 1}, {"x": 2}, "s:x: 1 was recorded, now 2"),
        ({"x": 1}, {"x": True}, "s:x: 1 was recorded, now True"),
        ({"x": 0.0}, {"x": -0.0}, "s:x: 0.0 was recorded, now -0.0"),
        ({"x": [1, 2]}, {"x": [1]}, "s:x: 2 elements were recorded, now 1"),
        ({"x": {"a": [1]}}, {"x": {"a": [2]}}, "s:x['a'][0]: 1 was recorded, now 2"),
        ({"x": [1]}, {"x": (1,)}, "s:x: a list was recorded, now a tuple"),
        ({"x": 1}, {}, "s:x: it was bound when recorded, now it is not"),
        ({"x": {1, 2}}, {"x": {1, 3}}, "s:x[1]: 2 was recorded, now 3"),
    ],
)
def test_a_difference_says_where_and_what(trip: Any, before: Any, after: Any, expected: str) -> None:
    found = differences(trip.take({"s": before}), trip.take({"s": after}))
    assert [str(difference) for difference in found] == [expected]


def test_no_difference_where_there_is_none(trip: Any) -> None:
    state = {"s": {"nan": float("nan"), "x": {("a", 1): {3, 1, 2}}, "f": print}}
    assert differences(trip.take(state), trip.take(state)) == []


def test_an_alias_that_broke_is_a_difference(trip: Any) -> None:
    one = [1]
    found = differences(trip.take({"s": {"a": one, "b": one}}), trip.take({"s": {"a": [1], "b": [1]}}))
    assert found and "same object" in found[0].what


def test_dead_names_and_handles_are_not_compared(trip: Any) -> None:
    import logging

    before = trip.take({"s": {"a": 1, "dead": 5, "log": logging.getLogger("a")}}, optional={"s": {"dead"}})
    after = trip.take({"s": {"a": 1, "log": logging.getLogger("b")}})
    assert differences(before, after) == [] == differences(after, before)
