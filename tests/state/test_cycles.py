"""itertools.cycle, wherever it has come to and whatever the live one has."""

from __future__ import annotations

import warnings
from itertools import cycle, islice
from typing import Any

import pytest

from flor.state import Snapshot, capture, decode, differences, encode, restore
from flor.state.handlers.reduced import pieces


def moved(steps: int) -> cycle[int]:
    wheel = cycle([1, 2, 3])
    list(islice(wheel, steps))
    return wheel


def taken(wheel: cycle[int]) -> Snapshot:
    snapshot = capture({"main": {"wheel": wheel}}, project=lambda _: False)
    snapshot.digest()
    return snapshot


def restored(snapshot: Snapshot, live: cycle[int]) -> Any:
    graph, blobs = encode(snapshot)
    kept = {blob.name: memoryview(bytes(blob.data or b"")) for blob in blobs}
    saved = decode(graph, kept.__getitem__)
    return restore(saved, {"main": {"wheel": live}}, project=lambda _: False).values["main"]["wheel"]


@pytest.mark.parametrize("saved", range(8))
@pytest.mark.parametrize("live", range(8))
def test_a_cycle_goes_on_where_it_was(saved: int, live: int) -> None:
    again = restored(taken(moved(saved)), moved(live))
    assert list(islice(again, 7)) == list(islice(moved(saved), 7))


@pytest.mark.parametrize("more", range(7))
def test_a_restored_cycle_is_taken_as_the_true_one_is(more: int) -> None:
    again = restored(taken(moved(4)), moved(0))
    list(islice(again, more))
    assert list(differences(taken(moved(4 + more)), taken(again), limit=5)) == []


class Old:
    """As the iterators of itertools are in Python 3.12 and 3.13: whoever takes it apart is warned."""

    __module__ = "itertools"

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        text = "Pickle, copy, and deepcopy support will be removed from itertools in Python 3.14."
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return Old, ()


def test_whoever_turns_warnings_into_errors_has_iterators_kept_all_the_same() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert taken(moved(2)).usable
        assert pieces(Old()) == (Old, (), None, [], [])


def test_a_script_that_takes_iterators_apart_is_still_warned() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pieces(Old())
        with pytest.raises(DeprecationWarning):
            Old().__reduce_ex__(4)
