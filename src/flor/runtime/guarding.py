"""A conductor whose failures do not come out into the user's loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

from flor.runtime.session import Conductor
from flor.runtime.sites import LoopFrame

OnFailure = Callable[[Exception], None]


class Idle:
    """A conductor that lets all loops run."""

    def entering(self, frame: LoopFrame, caller: FrameType) -> None:
        """A loop begins."""

    def boundary(self, frame: LoopFrame, caller: FrameType, now: float, index: int) -> bool:
        """An iteration is about to begin."""
        return True

    def leaving(self, frame: LoopFrame, caller: FrameType, now: float) -> None:
        """A loop ended by exhaustion or `break`."""

    def left(self, frame: LoopFrame, now: float) -> None:
        """A loop was left in any way."""

    def probing(self, place: str, caller: FrameType) -> None:
        """A doubtful probe is about to run."""

    def probed(self, place: str, caller: FrameType) -> None:
        """That probe has run."""


class Guarded:
    """Passes everything on; what the conductor raises goes to whoever started it, never to the script."""

    def __init__(self, conductor: Conductor, on_failure: OnFailure) -> None:
        self.conductor: Conductor = conductor
        self.on_failure = on_failure

    def forsake(self) -> None:
        """In a forked child: its loops are nobody's to steer."""
        self.conductor = Idle()

    def entering(self, frame: LoopFrame, caller: FrameType) -> Callable[[Iterable[Any]], Iterator[Any]] | None:
        """A loop begins."""
        try:
            return self.conductor.entering(frame, caller)
        except Exception as error:
            self.on_failure(error)
            return None

    def boundary(self, frame: LoopFrame, caller: FrameType, now: float, index: int) -> bool:
        """An iteration is about to begin."""
        try:
            return self.conductor.boundary(frame, caller, now, index)
        except Exception as error:
            self.on_failure(error)
            return True

    def leaving(self, frame: LoopFrame, caller: FrameType, now: float) -> None:
        """A loop ended by exhaustion or `break`."""
        try:
            self.conductor.leaving(frame, caller, now)
        except Exception as error:
            self.on_failure(error)

    def left(self, frame: LoopFrame, now: float) -> None:
        """A loop was left in any way."""
        try:
            self.conductor.left(frame, now)
        except Exception as error:
            self.on_failure(error)

    def probing(self, place: str, caller: FrameType) -> None:
        """A doubtful probe is about to run."""
        try:
            self.conductor.probing(place, caller)
        except Exception as error:
            self.on_failure(error)

    def probed(self, place: str, caller: FrameType) -> None:
        """That probe has run."""
        try:
            self.conductor.probed(place, caller)
        except Exception as error:
            self.on_failure(error)
