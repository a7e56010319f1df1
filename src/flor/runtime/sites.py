"""What is counted of each loop of the user's code while it runs."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterator, Sized
from itertools import islice
from operator import length_hint
from typing import Any, Protocol

clock = time.perf_counter

DEMOTE_AFTER = 1000
DEMOTE_BELOW = 20e-6  # seconds an execution, on average: above this our own microsecond does not show
KEPT_DURATIONS = 100_000
NOTHING = object()


class Site:
    """A loop of the source, with the sums over all its executions."""

    __slots__ = ("active", "demoted", "executions", "functions", "iterations", "logged", "loop", "number", "seconds")

    def __init__(self, loop: str, number: int) -> None:
        self.loop = loop
        self.number = number  # the id under which the journal knows it
        self.executions = 0
        self.iterations = 0
        self.seconds = 0.0
        self.active = 0
        self.logged = False
        self.demoted = False  # too short to matter: left alone from now on
        self.functions: set[str] = set()

    def left(self, iterations: int, seconds: float) -> None:
        """Count one execution that ended."""
        self.active -= 1
        self.executions += 1
        self.iterations += iterations
        self.seconds += seconds
        if self.executions >= DEMOTE_AFTER and not self.active and not self.logged:
            self.demoted = self.seconds < DEMOTE_BELOW * self.executions


class LoopFrame:
    """One execution of a loop that is under way."""

    __slots__ = (
        "begun", "caller", "children", "context", "durations", "given", "head", "item", "key", "occurrence", "origin",
        "seen", "site", "steady", "tick",
    )  # fmt: skip

    def __init__(self, site: Site, caller: int, parent: LoopFrame | None) -> None:
        self.site = site
        self.caller = caller  # id of the python frame, so that `end` pops its own loop only
        self.context: str = f"{parent.context}|{site.loop}" if parent else site.loop
        self.occurrence = parent.next_occurrence(site.loop) if parent else 0
        self.given: Callable[[], int] | None = None  # where the iterations can be read off the iterator
        self.seen = 0  # iterations begun, where they are counted one by one
        self.begun = self.tick = clock()
        self.children: dict[str, int] = {}
        self.origin = -1  # the iteration that `children` counts in
        self.durations = array("f")
        self.item: Any = NOTHING  # the item that was fetched and not yet given to the body
        self.key: Any = None  # for whoever steers: skip, jump or execute
        self.steady = False  # the loops around this one can't go on before it ends: it is in no generator
        self.head = b""  # its packed position up to the iteration, once a steady one has logged

    @property
    def begun_iterations(self) -> int:
        """How many iterations have begun."""
        return self.given() if self.given is not None else self.seen

    @property
    def iteration(self) -> int:
        """The iteration that is under way, from 0."""
        return max(0, self.begun_iterations - 1)

    def next_occurrence(self, loop: str) -> int:
        """How often the nested loop was begun before in this iteration."""
        now = self.iteration
        if now != self.origin:
            self.children.clear()
            self.origin = now
        number = self.children.get(loop, 0)
        self.children[loop] = number + 1
        return number

    def lap(self, now: float, iterations: int = 1) -> None:
        """Note that an iteration ended, or several that were let go by together: each took its share."""
        if len(self.durations) < KEPT_DURATIONS:
            self.durations.extend([(now - self.tick) / iterations] * iterations)
        self.tick = now


class Gauge(Protocol):
    """Iterates natively, a piece at a time, and can be read from outside."""

    def given(self) -> int:
        """How many items were given so far."""
        ...

    def left(self) -> int:
        """How many are left; 0 only at the end."""
        ...

    def take(self, size: int) -> Iterator[Any]:
        """The next so many items."""
        ...


class RangeGauge:
    """Gives a range as shorter ranges, so that an item costs hardly more than in the plain loop."""

    def __init__(self, whole: range) -> None:
        self.whole = whole
        self.total = len(whole)
        self.begun = 0  # items of all pieces so far
        self.piece = iter(range(0))

    def given(self) -> int:
        """How many items were given so far."""
        return self.begun - length_hint(self.piece)

    def left(self) -> int:
        """How many are left."""
        return self.total - self.given()

    def take(self, size: int) -> Iterator[Any]:
        """The next so many items."""
        start = self.given()
        self.begun = min(start + size, self.total)
        self.piece = iter(self.whole[start : self.begun])
        return self.piece


class IteratorGauge:
    """Reads how far a native iterator is, without a call of ours for each item."""

    def __init__(self, iterator: Iterator[Any], given: Callable[[], int], left: Callable[[], int]) -> None:
        self.iterator = iterator
        self.given = given
        self.left = left

    def take(self, size: int) -> Iterator[Any]:
        """The next so many items."""
        return islice(self.iterator, size)


def gauge_of(iterable: Any) -> Gauge | None:
    """How a native iterable is gone through; None if it can't be read how far that is."""
    if type(iterable) is range:
        return RangeGauge(iterable) if _is_countable(iterable) else None
    iterator = iter(iterable)
    if type(iterator) in SEQUENCES:
        return IteratorGauge(iterator, lambda: _index_in(iterator, iterable), lambda: length_hint(iterator))
    if type(iterator) is enumerate:
        inner, start = _state(iterator)[1]
        if type(inner) in RANGES + SEQUENCES:
            return IteratorGauge(iterator, lambda: int(_state(iterator)[1][1]) - start, lambda: length_hint(inner))
    return None


def _is_countable(numbers: range) -> bool:
    try:
        return len(numbers) >= 0
    except OverflowError:
        return False


def _index_in(iterator: Iterator[Any], sequence: Sized) -> int:
    """The index of a list or tuple iterator; the list may have grown since it was begun."""
    state = _state(iterator)
    return int(state[2]) if len(state) == 3 else len(sequence)


def _state(iterator: Iterator[Any]) -> tuple[Any, ...]:
    """What pickle would ask a native iterator; asking does not advance it."""
    state: Any = iterator.__reduce__()
    return tuple(state)


RANGES: tuple[type, ...] = (type(iter(range(0))), type(iter(range(1 << 70))))
SEQUENCES: tuple[type, ...] = (type(iter([])), type(iter(())))
