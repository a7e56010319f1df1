"""Numbers that are addresses of objects are those of the restored objects afterwards."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import torch

from flor.state import Snapshot, capture, differences, restore
from tests.state.conftest import Trip, is_project


class Thing:
    """Something whose hash is its identity."""

    def __init__(self, name: str) -> None:
        self.name = name


def registry() -> dict[str, Any]:
    """A program that keeps books by address, its objects where this process has put them."""
    things = [Thing("a"), Thing("b"), Thing("c")]
    weights = [torch.zeros(4), torch.zeros(8)[4:]]
    return {
        "padding": [bytearray(1) for _ in range(id(things) % 97)],  # the next program's objects lie elsewhere
        "things": things,
        "weights": weights,
        "calls": Counter({id(thing): number for number, thing in enumerate(things)}),
        "seen": {id(things[2]), id(things[0])},
        "hashes": {hash(thing): [thing.name] for thing in things},
        "pointers": {tensor.data_ptr(): number for number, tensor in enumerate(weights)},
        "pair": (id(things[0]), id(weights[1])),
        "last": id(things[1]),
        "words": {str(id(things[0])): "str", hex(id(things[1])): "hex"},
        "plain": [2**40 + 1, 7, -(2**50), "1234567890123456"],
    }


def check(scope: dict[str, Any]) -> None:
    things, weights = scope["things"], scope["weights"]
    assert [scope["calls"][id(thing)] for thing in things] == [0, 1, 2]
    assert list(scope["calls"]) == [id(thing) for thing in things]
    assert scope["seen"] == {id(things[0]), id(things[2])}
    assert [scope["hashes"][hash(thing)] for thing in things] == [["a"], ["b"], ["c"]]
    assert [scope["pointers"][tensor.data_ptr()] for tensor in weights] == [0, 1]
    assert scope["pair"] == (id(things[0]), id(weights[1]))
    assert scope["last"] == id(things[1])
    assert scope["words"] == {str(id(things[0])): "str", hex(id(things[1])): "hex"}
    assert scope["plain"] == [2**40 + 1, 7, -(2**50), "1234567890123456"]


def taken(trip: Trip, scope: dict[str, Any]) -> Snapshot:
    return trip.through_bytes(trip.take({"s": scope}))


def test_books_by_address_are_right_in_another_program(trip: Trip) -> None:
    first, second = registry(), registry()
    saved = taken(trip, first)
    second["calls"].clear()
    second["hashes"].clear()
    check(trip.put(saved, {"s": second}).values["s"])


def test_books_by_address_are_right_where_nothing_is_there_yet(trip: Trip) -> None:
    check(trip.put(taken(trip, registry()), {"s": {}}).values["s"])


def test_the_same_books_at_other_addresses_do_not_differ(trip: Trip) -> None:
    first, second = registry(), registry()
    second["padding"] = first["padding"]
    assert differences(taken(trip, first), trip.take({"s": second})) == []


def test_books_on_another_object_differ(trip: Trip) -> None:
    first, second = registry(), registry()
    second["padding"] = first["padding"]
    second["last"] = id(second["things"][2])
    found = differences(taken(trip, first), trip.take({"s": second}))
    assert [difference.path for difference in found] == ["s:last"]


def test_a_value_keyed_by_address_stays_the_same_object(trip: Trip) -> None:
    scope = registry()
    names = scope["hashes"][hash(scope["things"][0])]
    values = trip.after({"s": scope}, lambda: names.append("later"))
    assert values["hashes"][hash(scope["things"][0])] is names and names == ["a"]


def test_the_address_of_what_is_gone_is_kept_and_says_nothing(trip: Trip) -> None:
    thing = Thing("kept")
    scope = {"thing": thing, "gone": id(thing) + 4096}
    other = {"thing": thing, "gone": id(thing) + 8192}
    assert trip.put(taken(trip, scope), {"s": {}}).values["s"]["gone"] == id(thing) + 4096
    assert differences(taken(trip, scope), trip.take({"s": other})) == []
    assert differences(taken(trip, scope), trip.take({"s": {"thing": thing, "gone": 3}})) != []


def test_a_long_list_of_addresses_is_translated(trip: Trip) -> None:
    things = [Thing(str(number)) for number in range(600)]
    values = trip.put(taken(trip, {"things": things, "ids": [id(t) for t in things]}), {"s": {}}).values["s"]
    assert values["ids"] == [id(thing) for thing in values["things"]]


def test_a_nan_is_found_by_its_identity(trip: Trip) -> None:
    own = float("nan")
    scope = {"own": own, "losses": [1.0, own], "many": [0.5] * 600 + [own], "row": (math.nan, np.nan), "by": {own: 1}}
    values = trip.put(taken(trip, scope), {"s": {}}).values["s"]
    assert values["own"] in values["losses"] and values["own"] in values["many"] and values["own"] in values["by"]
    assert math.nan in values["row"] and np.nan in values["row"] and math.nan not in values["losses"]
    assert math.isnan(values["own"]) and len(values["many"]) == 601


def test_equal_texts_are_one_object_again(trip: Trip) -> None:
    done = "".join(["<do", "ne>"])
    values = trip.put(taken(trip, {"DONE": done, "status": done}), {"s": {}}).values["s"]
    assert values["status"] is values["DONE"]


def test_nothing_is_looked_for_on_the_training_thread() -> None:
    scope = registry()
    snapshot = capture({"s": scope}, project=is_project)
    assert snapshot.places is not None and type(snapshot.roots["s"]["last"]) is int
    restore(snapshot, {"s": scope}, project=is_project)
    check(scope)
