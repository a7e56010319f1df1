"""Travelling: the way from the script's first line to a checkpoint, from where somebody else takes over."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType, GeneratorType
from typing import Any, NoReturn

from flor.errors import ReplayError, RestoreMismatch
from flor.model.checkpoints import Key
from flor.model.positions import Execution
from flor.runtime.restoring import Checkpoints, Restorer
from flor.runtime.session import Session
from flor.runtime.sites import LoopFrame, clock

SKIP = "skip"


@dataclass
class Traveller:
    """The conductor of a resumed run until it is at its checkpoint.

    Loops around the checkpoint are begun at their own latest resume points, loops before it are skipped where their
    end was kept and executed where it was not: so the iterators of all loops under way are as they were, too.
    """

    target: Key
    checkpoints: Checkpoints
    restorer: Restorer
    never_skip: frozenset[str]
    arrived: Callable[[list[str]], None]
    lost: Callable[[Exception], NoReturn]
    session: Session = field(init=False)
    doubts: list[str] = field(default_factory=list)

    def entering(self, frame: LoopFrame, caller: FrameType) -> Callable[[Iterable[Any]], Iterator[Any]] | None:
        """Jump into the loop, skip it, or let it run."""
        execution = self._execution(frame)
        goal = self._goal(execution)
        if goal is None:
            return self._skip(frame) if self._skippable(execution) else None
        start = goal if execution == self.target.execution else self._latest(execution, goal)
        return self._jump(frame, start) if start else None

    def boundary(self, frame: LoopFrame, caller: FrameType, now: float, index: int) -> bool:
        """Restore where a jump ends; arrive if that is the checkpoint."""
        if frame.key == SKIP:
            return False
        if frame.key == index and index:
            frame.key = None
            key = Key(self._execution(frame), index)
            self._restore(key, frame, caller)
            if key == self.target:
                self.arrived(self.doubts)
        return True

    def leaving(self, frame: LoopFrame, caller: FrameType, now: float) -> None:
        """Put a skipped loop's end in place; a loop around the checkpoint must not end before it."""
        execution = self._execution(frame)
        if frame.key == SKIP:
            self._restore(Key(execution, None), frame, caller)
        elif self._goal(execution) is not None:
            self.lost(ReplayError(f"The loop {execution.loop} ended before the checkpoint was reached."))

    def left(self, frame: LoopFrame, now: float) -> None:
        """Arrive, if the checkpoint is the end of this loop."""
        execution = Execution(self.session.position(), frame.site.loop, frame.occurrence)
        if frame.key == SKIP and Key(execution, None) == self.target:
            self.arrived(self.doubts)

    def probing(self, place: str, caller: FrameType) -> None:
        """Training is not watched."""

    def probed(self, place: str, caller: FrameType) -> None:
        """Training is not watched."""

    def _goal(self, execution: Execution) -> int | None:
        """The iteration of a loop in which the checkpoint is; None if it is not in this loop."""
        if execution == self.target.execution:
            return self.target.iteration
        parent = self.target.execution.parent
        return parent[len(execution.parent)].iteration if execution.encloses(parent) else None

    def _latest(self, execution: Execution, goal: int) -> int:
        keys = [key for key in self.checkpoints.found if key.execution == execution and key.iteration is not None]
        points = [key.iteration or 0 for key in keys if self.checkpoints.usable(key)]
        return max((point for point in points if point <= goal), default=0)

    def _skippable(self, execution: Execution) -> bool:
        return execution.loop not in self.never_skip and self.checkpoints.usable(Key(execution, None))

    def _skip(self, frame: LoopFrame) -> Callable[[Iterable[Any]], Iterator[Any]]:
        frame.key = SKIP
        return lambda _: iter(())

    def _jump(self, frame: LoopFrame, start: int) -> Callable[[Iterable[Any]], Iterator[Any]]:
        frame.key = frame.seen = start
        return lambda iterable: self._from(frame, iterable, start)

    def _from(self, frame: LoopFrame, iterable: Iterable[Any], start: int) -> Iterator[Any]:
        """The items from the resume point on; a generator's own state is in no checkpoint."""
        if isinstance(iterable, GeneratorType):
            key = Key(self._execution(frame), start)
            self.lost(RestoreMismatch("The loop runs over a generator, whose state can't be restored.", where=str(key)))
        return self.session.usual(frame, iterable, drop=start)

    def _restore(self, key: Key, frame: LoopFrame, caller: FrameType) -> None:
        self.doubts = self.restorer.restore(key, frame, caller)

    def _execution(self, frame: LoopFrame) -> Execution:
        position, stack = self.session.position(), self.session.stack
        above = position[: stack.index(frame)] if frame in stack else position
        return Execution(above, frame.site.loop, frame.occurrence)


def count_what_was_before(stack: Iterable[LoopFrame], seconds: float) -> None:
    """Give the loops under way the iterations that another process ran, each with its share of that time."""
    for frame in stack:
        before = frame.iteration
        seconds /= max(1, before)
        frame.durations = array("f", [seconds]) * before
        frame.tick = clock()
