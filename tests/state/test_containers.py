"""Containers come back with their contents, their identity and their aliases."""

from __future__ import annotations

import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest

MUTABLE: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "list": (lambda: [1, "a", None], lambda x: x.append(2)),
    "long list of floats": (lambda: [0.1 * i for i in range(2000)], lambda x: x.clear()),
    "long list of big ints": (lambda: [2**70] * 600, lambda x: x.pop()),
    "dict": (lambda: {"a": 1, 2: [3], None: 4, True: 5}, lambda x: x.clear()),
    "OrderedDict": (lambda: OrderedDict(a=1, b=2), lambda x: x.move_to_end("a")),
    "defaultdict": (lambda: defaultdict(list, a=[1]), lambda x: x["b"].append(1)),
    "Counter": (lambda: Counter("aab"), lambda x: x.update("b")),
    "set": (lambda: {1, "a", (2, 3)}, lambda x: x.add(9)),
    "deque": (lambda: deque([1, 2], maxlen=3), lambda x: x.extend([5, 6, 7])),
    "bytearray": (lambda: bytearray(b"abc"), lambda x: x.extend(b"d")),
    "array": (lambda: array.array("i", [1, 2]), lambda x: x.pop()),
}


@pytest.mark.parametrize("name", MUTABLE)
def test_a_mutable_container_is_restored_in_place(name: str, trip: Any) -> None:
    make, change = MUTABLE[name]
    x = make()
    values = trip.after({"s": {"x": x, "y": [x]}}, lambda: change(x))
    assert values["x"] is x and values["y"][0] is x
    assert x == make() and type(x) is type(make())


@pytest.mark.parametrize("name", MUTABLE)
def test_a_missing_container_is_made_anew_once(name: str, trip: Any) -> None:
    make, _ = MUTABLE[name]
    x = make()
    saved = trip.through_bytes(trip.take({"s": {"x": x, "y": [x]}}))
    values = trip.put(saved, {"s": {}}).values["s"]
    assert values["x"] == x and type(values["x"]) is type(x)
    assert values["y"][0] is values["x"]


def test_a_dict_keeps_its_order_of_insertion(trip: Any) -> None:
    x = {"b": 1, "a": 2}

    def change() -> None:
        del x["b"]
        x["b"] = 1

    trip.after({"s": {"x": x}}, change)
    assert list(x) == ["b", "a"]


def test_a_default_factory_still_works_after_a_trip(trip: Any) -> None:
    saved = trip.through_bytes(trip.take({"s": {"x": defaultdict(list)}}))
    restored = trip.put(saved, {"s": {}}).values["s"]["x"]
    restored["new"].append(1)
    assert restored == {"new": [1]}


def test_two_names_for_one_list_stay_one_list_where_the_live_ones_are_two(trip: Any) -> None:
    one = [1]
    saved = trip.through_bytes(trip.take({"s": {"a": one, "b": one}}))
    values = trip.put(saved, {"s": {"a": [5], "b": [6]}}).values["s"]
    assert values["a"] is values["b"] and values["a"] == [1]


def test_two_lists_stay_two_where_the_live_ones_are_one(trip: Any) -> None:
    saved = trip.through_bytes(trip.take({"s": {"a": [1], "b": [2]}}))
    shared: list[int] = []
    values = trip.put(saved, {"s": {"a": shared, "b": shared}}).values["s"]
    assert values == {"a": [1], "b": [2]} and values["a"] is shared


def test_a_tuple_is_kept_if_its_elements_are_and_made_anew_if_not(trip: Any) -> None:
    inner = [1]
    kept = (inner, 0.1)
    values = trip.after({"s": {"x": kept}}, inner.clear)
    assert values["x"] is kept and inner == [1]
    saved = trip.through_bytes(trip.take({"s": {"x": (1, 2)}}))
    assert trip.put(saved, {"s": {"x": (1, 3)}}).values["s"]["x"] == (1, 2)


def test_names_that_appeared_later_are_unbound(trip: Any) -> None:
    saved = trip.through_bytes(trip.take({"s": {"a": 1}}))
    rebinding = trip.put(saved, {"s": {"a": 2, "b": 3, "__name__": "m"}})
    assert rebinding.values == {"s": {"a": 1}} and rebinding.unbind == {"s": {"b"}}


def test_a_set_of_strings_iterates_as_before(trip: Any) -> None:
    x = {f"name{i}" for i in range(50)}
    order = list(x)
    trip.after({"s": {"x": x}}, lambda: None)
    assert list(x) == order


def test_a_set_that_iterates_in_another_order_is_told(trip: Any) -> None:
    x = set(range(0, 8 * 40, 8))
    saved = trip.through_bytes(trip.take({"s": {"x": x}}))
    order = list(x)
    saved.nodes[saved.roots["s"]["x"]].meta["order"].reverse()
    rebinding = trip.put(saved, {"s": {}})
    assert rebinding.values["s"]["x"] == x
    assert (list(rebinding.values["s"]["x"]) == order[::-1]) is (not rebinding.doubts)


def test_floats_and_ints_are_exact(trip: Any) -> None:
    values = {"nan": float("nan"), "inf": -float("inf"), "zero": -0.0, "tiny": 5e-324, "big": 10**5000, "b": b"\xff"}
    saved = trip.through_bytes(trip.take({"s": dict(values)}))
    restored = trip.put(saved, {"s": {}}).values["s"]
    assert str(restored["nan"]) == "nan" and str(restored["zero"]) == "-0.0"
    assert {k: v for k, v in restored.items() if k != "nan"} == {k: v for k, v in values.items() if k != "nan"}


def test_a_deep_and_a_wide_graph_need_no_recursion(trip: Any) -> None:
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    snapshot = trip.take({"s": {"deep": deep}})
    assert not snapshot.refusals and len(snapshot.nodes) > 50_000
    restored = trip.put(trip.through_bytes(snapshot), {"s": {}}).values["s"]["deep"]
    for _ in range(50_000):
        (restored,) = restored
    assert restored == []
