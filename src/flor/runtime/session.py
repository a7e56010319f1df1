"""A session: the loops under way in the main thread, and who is told of them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from itertools import chain, islice, repeat
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from flor.model.positions import Level, Position
from flor.runtime.interrupts import deliver, pending
from flor.runtime.sites import NOTHING, Gauge, LoopFrame, Site, clock, gauge_of
from flor.runtime.tracing import is_tracing

if TYPE_CHECKING:
    from flor.runtime.logbook import Logbook

SHORT = 20e-6  # seconds: iterations shorter than this are let go by in chunks
CHUNK = 5e-3  # seconds a chunk should last
SUSPENDABLE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
DEEP = 24  # a recursion is followed this far: each level makes every position longer


class Conductor(Protocol):
    """Who is told of loops and may decide: recording or replaying."""

    def entering(self, frame: LoopFrame, caller: FrameType) -> Callable[[Iterable[Any]], Iterator[Any]] | None:
        """A loop begins; a function in place of the usual iteration, or None."""
        ...

    def boundary(self, frame: LoopFrame, caller: FrameType, now: float, index: int) -> bool:
        """Iteration `index` is about to begin; False ends a `while` loop here."""
        ...

    def leaving(self, frame: LoopFrame, caller: FrameType, now: float) -> None:
        """A loop ended by exhaustion or `break`."""
        ...

    def left(self, frame: LoopFrame, now: float) -> None:
        """A loop was left in any way."""
        ...

    def probing(self, place: str, caller: FrameType) -> None:
        """A probe that might disturb training is about to run."""
        ...

    def probed(self, place: str, caller: FrameType) -> None:
        """That probe has run."""
        ...


class Session:
    """The loop stack of the main thread."""

    def __init__(self, intern: Callable[[str], int], conductor: Conductor, *, in_chunks: bool = True) -> None:
        self.intern = intern
        self.conductor = conductor
        self.in_chunks = in_chunks  # a replay must see every iteration
        self.logbook: Logbook | None = None
        self.stack: list[LoopFrame] = []
        self.sites: dict[str, Site] = {}
        self.thread = threading.get_ident()
        self.outside: dict[str, int] = {}  # how often each loop was begun outside of all loops
        self.entered: set[tuple[str, str]] = set()  # (the loops under way, function) already noted
        self.context = ""

    # -- what instrumented code calls, by way of runtime.hooks --------------------------------

    def begin(self, loop: str, caller: FrameType) -> LoopFrame | None:
        """Push a loop, unless it is demoted, deep in a recursion, or torch is watching."""
        site = self.sites.get(loop)
        if site is None:
            site = self.sites[loop] = Site(loop, self.intern(loop))
        if site.demoted or site.active >= DEEP or is_tracing():
            return None
        if site.active and self._top(loop, caller) is not None:  # an exception came between its push and its `try`
            self.stack.pop().site.active -= 1
        parent = self.stack[-1] if self.stack else None
        frame = LoopFrame(site, id(caller), parent)
        frame.steady = not caller.f_code.co_flags & SUSPENDABLE
        if parent is None:
            frame.occurrence = self.outside.get(loop, 0)
            self.outside[loop] = frame.occurrence + 1
        site.active += 1
        self.stack.append(frame)
        self.context = frame.context
        return frame

    def iterate(self, loop: str, iterable: Iterable[Any], caller: FrameType) -> Iterable[Any]:
        """Push a `for` loop and give what it iterates over."""
        frame = self.begin(loop, caller)
        if frame is None:
            return iterable
        instead = self.conductor.entering(frame, caller)
        return instead(iterable) if instead else self.usual(frame, iterable)

    def usual(self, frame: LoopFrame, iterable: Iterable[Any], drop: int = 0) -> Iterator[Any]:
        """Iterate natively, with a call of ours between items; C iterators only, so no frame of ours is in tracebacks.

        `drop` items are taken first and not given: that is how a replay jumps.
        """
        if type(iterable) in (range, list, tuple, enumerate):
            gauge = gauge_of(iterable)
            if gauge is not None:
                take(gauge.take(drop), drop)
                return self._in_chunks(frame, gauge)
        if drop:
            frame.seen, iterable = drop, take(iter(iterable), drop)
        return self._one_by_one(frame, iterable)

    def _one_by_one(self, frame: LoopFrame, iterable: Iterable[Any]) -> Iterator[Any]:
        """A call of ours after each item was fetched and before the body sees it."""
        boundary, first = self.conductor.boundary, frame.seen

        def on_item(item: Any) -> Any:
            now = clock()
            if frame.seen > first:
                frame.lap(now)
            frame.seen += 1
            frame.item = item  # part of the state: fetching it again may draw other random numbers
            boundary(frame, sys._getframe(1), now, frame.seen - 1)
            item, frame.item = frame.item, NOTHING
            if pending:
                deliver()
            return item

        # chain() calls iter() at the first next(), so that its errors are raised in the user's frame.
        return map(on_item, chain(iterable))

    def _in_chunks(self, frame: LoopFrame, gauge: Gauge) -> Iterator[Any]:
        """One item at a time as long as iterations are long, many at a time when they are short."""
        boundary = self.conductor.boundary
        size, before = 1, gauge.given()

        def next_piece(_: None) -> Iterator[Any]:
            nonlocal size, before
            now, done = clock(), gauge.given()
            if done > before:
                lasted = (now - frame.tick) / (done - before)
                frame.lap(now, done - before)
                before = done
                short = lasted < SHORT and self.in_chunks
                size = min(2 * size, max(1, int(CHUNK / max(lasted, 1e-9)))) if short else 1
            else:
                frame.tick = now
            if not gauge.left():
                frame.seen, frame.given = done, None
                raise StopIteration  # ends map(), as the end of an iterator does
            frame.seen = done + 1
            frame.given = gauge.given if size > 1 else None  # within a chunk it is read off the iterator
            boundary(frame, sys._getframe(1), now, done)
            if pending:
                deliver()
            return gauge.take(size)

        return chain.from_iterable(map(next_piece, repeat(None)))

    def start_while(self, loop: str, caller: FrameType) -> None:
        """Push a `while` loop."""
        frame = self.begin(loop, caller)
        if frame is not None:
            self.conductor.entering(frame, caller)

    def turn(self, loop: str, caller: FrameType) -> bool:
        """An iteration of a `while` loop is about to be tested; False ends the loop."""
        frame = self.stack[-1] if self.stack else None
        if frame is None or frame.site.loop != loop or frame.caller != id(caller):
            return True
        now = clock()
        if frame.seen:
            frame.lap(now)
        frame.seen += 1
        return self.conductor.boundary(frame, caller, now, frame.seen - 1)

    def done(self, loop: str, caller: FrameType) -> None:
        """A loop ended by exhaustion or `break`."""
        frame = self._top(loop, caller)
        if frame is not None:
            self.conductor.leaving(frame, caller, clock())

    def end(self, loop: str, caller: FrameType) -> None:
        """Pop a loop that was left in any way; whatever is above it was left as well."""
        if self._top(loop, caller) is not None:
            self.pop()

    def pop(self) -> None:
        """The innermost loop was left."""
        frame, now = self.stack.pop(), clock()
        frame.site.left(frame.begun_iterations, now - frame.begun)
        self.context = self.stack[-1].context if self.stack else ""
        self.conductor.left(frame, now)

    def enter(self, function: str) -> None:
        """Note that the loops under way entered a function of the project."""
        key = (self.context, function)
        if key not in self.entered:
            self.entered.add(key)
            for frame in self.stack:
                frame.site.functions.add(function)

    def _top(self, loop: str, caller: FrameType) -> LoopFrame | None:
        """The frame of this loop execution, if it is under way; what was left above it is dropped."""
        stack = self.stack
        for depth in range(len(stack) - 1, -1, -1):
            frame = stack[depth]
            if frame.site.loop == loop and frame.caller == id(caller):
                for lost in stack[depth + 1 :]:
                    lost.site.active -= 1
                del stack[depth + 1 :]
                return frame
        return None

    # -- where we are ---------------------------------------------------------------------------

    def position(self) -> Position:
        """Where the main thread is."""
        return tuple(Level(frame.site.loop, frame.occurrence, frame.iteration) for frame in self.stack)

    def logged(self) -> None:
        """Something was logged here, so these loops keep being tracked."""
        for frame in self.stack:
            frame.site.logged = True


def take(iterator: Iterator[Any], count: int) -> Iterator[Any]:
    """The iterator after that many items were taken from it."""
    for _ in islice(iterator, count):
        pass
    return iterator
