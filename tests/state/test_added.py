"""What only the replayed program has is neither lost by a restore nor a difference; and objects with one `__dict__`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

from flor.state import capture, differences, restore
from flor.state.allowance import Allowance

HERE = __name__
ADDED = Allowance(added=lambda name: name in (f"{HERE}:Probe", f"{HERE}:Recorded.hook"))


class Recorded:
    """A class of the recorded program."""

    made: ClassVar[list[int]] = []

    def __init__(self, number: int) -> None:
        self.number = number


class Probe:
    """A class that a probe adds."""


class Borg:
    """All its objects have one state."""

    shared: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.__dict__ = Borg.shared


def is_mine(module: str) -> bool:
    return module == HERE


def snapshot_of(**names: Any) -> Any:
    return capture({"s": names}, project=is_mine, optional={})


def test_an_object_of_an_added_class_stays_in_its_list() -> None:
    first, probe = Recorded(1), Probe()
    callbacks: list[Any] = [first]
    saved = snapshot_of(callbacks=callbacks)
    callbacks.append(probe)
    first.number = 2
    restore(saved, {"s": {"callbacks": callbacks}}, project=is_mine, allowed=ADDED)
    assert callbacks == [first, probe]
    assert first.number == 1


def test_an_object_of_an_added_class_is_no_difference() -> None:
    callbacks: list[Any] = [Recorded(1)]
    saved = snapshot_of(callbacks=callbacks)
    callbacks.append(Probe())
    now = snapshot_of(callbacks=callbacks)
    assert differences(saved, now, allowed=ADDED) == []
    assert "1 elements were recorded, now 2" in str(differences(saved, now)[0])


def test_any_other_object_is_still_a_difference() -> None:
    callbacks: list[Any] = [Recorded(1)]
    saved = snapshot_of(callbacks=callbacks)
    callbacks.append(Recorded(2))
    assert differences(saved, snapshot_of(callbacks=callbacks), allowed=ADDED)


def test_an_added_method_stays_and_is_no_difference() -> None:
    model = Recorded(1)
    saved = snapshot_of(model=model)
    Recorded.hook = lambda self: "here"  # type: ignore[attr-defined]
    try:
        assert differences(saved, snapshot_of(model=model), allowed=ADDED) == []
        restore(saved, {"s": {"model": model}}, project=is_mine, allowed=ADDED)
        assert model.hook() == "here"  # type: ignore[attr-defined]
        restore(saved, {"s": {"model": model}}, project=is_mine)
        assert not hasattr(model, "hook")
    finally:
        if "hook" in vars(Recorded):
            del Recorded.hook  # type: ignore[attr-defined]


def test_objects_with_one_dict_have_one_dict_again() -> None:
    one, other = Borg(), Borg()
    Borg.shared["x"] = 1
    saved = snapshot_of(one=one, others=[other])
    Borg.shared["x"] = 2
    restored = restore(saved, {"s": {"one": one, "others": []}}, project=is_mine).values["s"]
    assert one.__dict__ is Borg.shared
    assert restored["others"][0].__dict__ is Borg.shared
    assert Borg.shared == {"x": 1}


class Wrapping:
    """An object whose method is wrapped in a function of its own, as metrics of torchmetrics are."""

    def __init__(self) -> None:
        self.calls = 0
        self.update = self.wrap(self.update)  # type: ignore[method-assign]

    def update(self, by: int) -> int:
        return self.calls + by

    def wrap(self, update: Callable[[int], int]) -> Callable[[int], int]:
        @functools.wraps(update)
        def wrapped(by: int) -> int:
            self.calls += 1
            return update(by)

        return wrapped


def test_a_function_of_a_function_is_made_of_code_that_is_there() -> None:
    metrics = [Wrapping()]
    metrics[0].update(1)
    saved = snapshot_of(metrics=metrics)
    assert not saved.refusals
    made: list[Any] = []
    restore(saved, {"s": {"metrics": made}}, project=is_mine)
    assert made[0] is not metrics[0]
    assert made[0].update(10) == 12
    assert (made[0].calls, metrics[0].calls) == (2, 1)
    assert differences(saved, snapshot_of(metrics=[Wrapping()])) != []
    made[0].calls = 1
    assert differences(saved, snapshot_of(metrics=made)) == []
