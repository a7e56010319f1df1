"""Objects, classes, functions: attributes past all user code, identity kept."""

from __future__ import annotations

import csv
import dataclasses
import io
import logging
import queue
import types
from typing import Any

import pytest

from flor.errors import RestoreMismatch

CALLS: list[str] = []


class Trainer:
    best: float = 0.0
    seen: list[int] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.epoch = 0
        self.history: list[float] = []
        self.callback = self.step

    def step(self, cache: dict[str, int] = {}) -> None:  # noqa: B006
        cache["n"] = cache.get("n", 0) + 1
        self.epoch += 1
        Trainer.best += 0.5
        Trainer.seen.append(self.epoch)


class Slotted:
    __slots__ = ("__dict__", "a", "b")


class Derived(list):  # type: ignore[type-arg]
    def append(self, value: Any) -> None:
        CALLS.append("append")
        super().append(value)


class Watchful:
    """Notes every call that python code could see."""

    def __init__(self) -> None:
        self.__dict__["x"] = [1]

    @property
    def total(self) -> int:
        CALLS.append("property")
        return 1

    def __getattr__(self, name: str) -> Any:
        CALLS.append(f"getattr {name}")
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        CALLS.append("setattr")

    def __eq__(self, other: object) -> bool:
        CALLS.append("eq")
        return False

    def __hash__(self) -> int:
        CALLS.append("hash")
        return 1

    def __len__(self) -> int:
        CALLS.append("len")
        return 0

    def __reduce_ex__(self, protocol: Any) -> Any:
        CALLS.append("reduce")
        return super().__reduce_ex__(protocol)

    def __getstate__(self) -> Any:
        CALLS.append("getstate")

    def __del__(self) -> None:
        CALLS.append("del")


@dataclasses.dataclass(slots=True)
class Config:
    lr: float
    steps: list[int]


def test_instance_class_and_default_are_restored_in_place(trip: Any) -> None:
    trainer = Trainer()
    trainer.step()
    seen = Trainer.seen
    scopes = {"s": {"trainer": trainer, "Trainer": Trainer}}
    values = trip.after(scopes, lambda: [trainer.step() for _ in range(3)])
    assert values["trainer"] is trainer and trainer.epoch == 1
    assert Trainer.best == 0.5 and Trainer.seen == [1] and Trainer.seen is seen
    assert Trainer.step.__defaults__ == ({"n": 1},)
    assert trainer.callback.__self__ is trainer


def test_attributes_that_appeared_are_gone_and_their_order_is_the_saved_one(trip: Any) -> None:
    x = types.SimpleNamespace(a=1, b=[2])

    def change() -> None:
        del x.a
        x.c, x.a = 3, 4

    values = trip.after({"s": {"x": x}}, change)
    assert values["x"] == types.SimpleNamespace(a=1, b=[2])
    assert list(vars(values["x"])) == ["a", "b"]


def test_slots_are_restored_and_unset_ones_unset(trip: Any) -> None:
    x = Slotted()
    x.a, x.extra = [1], 2

    def change() -> None:
        x.a, x.b, x.extra = [], 5, 6

    trip.after({"s": {"x": x}}, change)
    assert x.a == [1] and x.extra == 2 and not hasattr(x, "b")


def test_a_slotted_dataclass_comes_back(trip: Any) -> None:
    saved = trip.through_bytes(trip.take({"s": {"x": Config(0.1, [1])}}))
    assert trip.put(saved, {"s": {}}).values["s"]["x"] == Config(0.1, [1])


def test_no_code_of_the_user_runs_in_capture_or_restore(trip: Any) -> None:
    x, plain = Watchful(), Derived([1])
    holder = {"a": x, "list": plain, "s": "x"}
    CALLS.clear()
    values = trip.after({"s": {"x": x, "holder": holder}}, lambda: x.__dict__.update(x=[2]))
    assert CALLS == []
    assert values["holder"]["a"] is x and x.__dict__["x"] == [1]


def counter() -> Any:
    total = [0]
    n = 0

    def count() -> int:
        nonlocal n
        n += 1
        total.append(n)
        return n

    count.calls = [1]  # type: ignore[attr-defined]
    return count


def test_closure_cells_and_function_attributes_are_restored(trip: Any) -> None:
    count = counter()
    count()

    def change() -> None:
        count(), count()
        count.calls.append(2)

    trip.after({"s": {"f": count}}, change)
    assert count() == 2 and count.calls == [1]
    assert count.__closure__[1].cell_contents == [0, 1, 2]


def one_of_two(first: int) -> Any:
    """A lambda that its name does not tell from another."""
    return [lambda: first, lambda: first + 1][0]


def test_a_closure_without_a_live_one_is_made_of_its_code(trip: Any) -> None:
    count = counter()
    count()
    saved = trip.through_bytes(trip.take({"s": {"fs": [count]}}))
    assert trip.put(saved, {"s": {}}).values["s"]["fs"][0]() == 2
    assert count() == 2


def test_a_closure_whose_code_is_not_sure_is_a_mismatch_that_names_the_place(trip: Any) -> None:
    saved = trip.through_bytes(trip.take({"s": {"fs": [one_of_two(1)]}}))
    with pytest.raises(RestoreMismatch, match=r"s:fs\[0\]"):
        trip.put(saved, {"s": {}})


def test_a_mismatch_is_found_before_anything_changes(trip: Any) -> None:
    live = [1]
    saved = trip.through_bytes(trip.take({"s": {"a": [2], "f": one_of_two(1)}}))
    with pytest.raises(RestoreMismatch):
        trip.put(saved, {"s": {"a": live}})
    assert live == [1]


def test_an_optional_name_that_cannot_be_had_is_left_out(trip: Any) -> None:
    snapshot = trip.take({"s": {"a": [2], "f": one_of_two(1)}}, optional={"s": {"f"}})
    rebinding = trip.put(trip.through_bytes(snapshot), {"s": {"a": [1]}})
    assert rebinding.values["s"] == {"a": [2]}


def test_a_local_class_is_found_through_its_name(trip: Any) -> None:
    class Local:
        pass

    x = Local()
    x.n = 1  # type: ignore[attr-defined]
    saved = trip.through_bytes(trip.take({"s": {"Local": Local, "x": x}}))
    values = trip.put(saved, {"s": {"Local": Local}}).values["s"]
    assert type(values["x"]) is Local and values["x"].n == 1


def test_a_class_that_is_gone_is_a_mismatch(trip: Any) -> None:
    snapshot = trip.take({"s": {"x": Trainer()}})
    for node in snapshot.nodes:
        if node.kind == "class":
            node.meta["name"] = "nowhere:Trainer"
    with pytest.raises(RestoreMismatch, match="no such class"):
        trip.put(trip.through_bytes(snapshot), {"s": {}})


def test_a_generator_is_refused_with_its_place(trip: Any) -> None:
    holder = {"stream": (i for i in range(3))}
    (refusal,) = trip.take({"s": {"h": holder}}).refusals
    assert refusal.path == "s:h['stream']" and refusal.type == "generator" and "suspended" in refusal.reason


def test_a_dead_generator_and_dead_bulk_are_left_out_silently(trip: Any) -> None:
    scopes = {"s": {"a": 1, "g": (i for i in range(3)), "big": bytes(5 << 20), "small": [1]}}
    snapshot = trip.take(scopes, optional={"s": {"g", "big", "small"}})
    assert not snapshot.refusals
    assert snapshot.unkept["s"].keys() == {"g", "big"} and snapshot.roots["s"].keys() == {"a", "small"}


def test_a_budget_of_nodes_is_kept(trip: Any) -> None:
    snapshot = trip.take({"s": {"x": [[i] for i in range(100)]}}, budget_nodes=50)
    assert "more than 50" in snapshot.refusals[0].reason


def test_capture_never_raises(trip: Any) -> None:
    snapshot = trip.take({"s": object()})
    assert "capture failed" in snapshot.refusals[0].reason


class Sink(logging.Handler):
    """A handle of a library with state of the project's own."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def test_state_that_a_project_adds_to_a_handle_is_kept(trip: Any) -> None:
    sink = Sink()
    sink.lines.append("one")

    def change() -> None:
        sink.lines.append("two")
        sink.setLevel(50)

    trip.after({"s": {"sink": sink}}, change)
    assert sink.lines == ["one"] and sink.level == 0


def test_a_handle_is_left_as_it_is_even_if_two_names_were_two_handles(trip: Any) -> None:
    one, two = csv.writer(io.StringIO()), csv.writer(io.StringIO())
    saved = trip.through_bytes(trip.take({"s": {"a": one, "b": two}}))
    values = trip.put(saved, {"s": {"a": one, "b": one}}).values["s"]
    assert values["a"] is one and values["b"] is one


def test_a_handle_that_is_not_there_is_a_mismatch_not_a_none(trip: Any) -> None:
    saved = trip.through_bytes(trip.take({"s": {"h": csv.writer(io.StringIO())}}))
    with pytest.raises(RestoreMismatch, match="left alone"):
        trip.put(saved, {"s": {"h": None}})


def test_a_queue_made_anew_works(trip: Any) -> None:
    made: queue.Queue[int] = queue.Queue()
    made.put(1)
    restored = trip.put(trip.through_bytes(trip.take({"s": {"q": made}})), {"s": {}}).values["s"]["q"]
    restored.put(2)
    assert [restored.get(), restored.get()] == [1, 2]


def test_a_namespace_is_restored_in_place(trip: Any) -> None:
    x = types.SimpleNamespace(a=1)
    assert trip.after({"s": {"x": x}}, lambda: setattr(x, "a", 2))["x"] is x
    assert x.a == 1


def test_keys_that_are_objects_find_their_values_by_identity(trip: Any) -> None:
    a, b = Slotted(), Slotted()
    a.a, b.a = 1, 2
    table = {a: [1], b: [2]}
    saved = trip.through_bytes(trip.take({"s": {"table": table, "a": a, "b": b}}))
    live_a, live_b = [5], [6]
    fresh = {b: live_b, a: live_a}
    values = trip.put(saved, {"s": {"table": fresh, "a": a, "b": b}}).values["s"]
    assert list(values["table"]) == [a, b]
    assert values["table"][a] is live_a and values["table"][b] is live_b and live_a == [1]


@pytest.mark.parametrize("kind", [int, float, str], ids=str)
def test_values_of_derived_plain_classes_keep_their_class(kind: type, trip: Any) -> None:
    derived = type("Derived", (kind,), {"__module__": __name__})
    x = derived("3")
    saved = trip.through_bytes(trip.take({"s": {"x": x, "cls": derived}}))
    restored = trip.put(saved, {"s": {"cls": derived}}).values["s"]["x"]
    assert type(restored) is derived and restored == x


def test_an_exception_that_was_kept_comes_back(trip: Any) -> None:
    error = ValueError("bad", 3)
    restored = trip.put(trip.through_bytes(trip.take({"s": {"e": error}})), {"s": {}}).values["s"]["e"]
    assert type(restored) is ValueError and restored.args == ("bad", 3)
