"""The order in which elements must go into a set so that it iterates as it did."""

from __future__ import annotations

from typing import Any

_TRIES = 100


def arranged(wanted: list[Any]) -> list[Any]:
    """An order of insertion that gives this order of iteration, or the best that was found.

    A set iterates by slots, and who comes first takes the slot; so an element that comes too late
    is put in before the one that stands in its place, until all stand right.
    """
    order = list(wanted)
    place = {id(element): index for index, element in enumerate(wanted)}
    for _ in range(_TRIES):
        got = [place[id(element)] for element in set(order)]
        wrong = next((index for index, position in enumerate(got) if index != position), None)
        if wrong is None:
            return order
        late, early = wanted[wrong], wanted[got[wrong]]
        order.remove(late)
        order.insert(next(i for i, element in enumerate(order) if element is early), late)
    return order
