"""Answers what a replayed program asks the world with what the recorded one was told at the same moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import get_ident
from types import FrameType
from typing import Any

from flor.launch.inputs.noting import site_name
from flor.launch.inputs.past import PastClock
from flor.launch.inputs.recorded import RecordedInputs
from flor.model.positions import Position
from flor.model.records import Atom, Note
from flor.runtime.readings import Given, Options, Reading
from flor.runtime.session import Session
from flor.runtime.sites import LoopFrame

TOLD = 20  # places of one kind that are noted, at the most
NOTHING = object()
WALL = ("time.time", "time.time_ns")


class Answering:
    """Gives each reading of the main thread its recorded value, the n-th of its site at the moment."""

    def __init__(
        self,
        recorded: RecordedInputs,
        session: Session,
        name_of: Callable[[str], str | None],
        note: Callable[[Note], None],
        is_probing: Callable[[FrameType], bool] = lambda _: False,
        *,
        complete: bool = True,
        clock: PastClock | None = None,
    ) -> None:
        self.clock = clock
        self.recorded = recorded
        self.session = session
        self.name_of = name_of
        self.note = note
        self.is_probing = is_probing
        self.complete = complete  # False if the run was killed: what it read at last is not known
        self.count = 0
        self.answered: dict[str, Reading] = {}  # every reading that was answered, by its title
        self._outside: dict[str, Iterator[Atom]] | None = None
        self._inside: dict[int, tuple[LoopFrame, int, dict[str, Iterator[Atom]]]] = {}
        self._told: set[tuple[str, str]] = set()

    def read(self, reading: Reading, args: Given, options: Options, frame: FrameType) -> Any:
        """The recorded value, or, where there is none, what the world says now."""
        if get_ident() != self.session.thread or not reading.asks(args, options):
            return reading.call(*args, **options)
        if self._in_transit():
            return reading.ask(args, options)[0]
        if self.is_probing(frame):
            self._tell("probe asks", reading.title, frame)
            return reading.ask(args, options)[0]
        site = self._site(reading, frame)
        values = self._moment().get(site)
        kept = next(values, NOTHING) if values is not None else NOTHING
        if kept is NOTHING:
            return self._missed(reading, args, options, site)
        self.count += 1
        if reading.clock:
            reading.last = kept
            self.answered[reading.title] = reading
            if self.clock is not None and reading.title in WALL:
                self.clock.told(kept)
        return reading.answer(kept, args, options)  # type: ignore[arg-type]

    def go_on(self) -> None:
        """Leave the clocks to the world; those whose zero means nothing go on from where the record has them."""
        for title, reading in self.answered.items():
            if title not in WALL:
                go_on(reading)

    def owns(self, frame: FrameType) -> bool:
        """True for a frame of the project."""
        return self.name_of(frame.f_code.co_filename) is not None

    def _in_transit(self) -> bool:
        """True while items are dropped on the way to a checkpoint: what is computed then is replaced."""
        return any(loop.key is not None for loop in self.session.stack)

    def _site(self, reading: Reading, frame: FrameType | None) -> str:
        while frame is not None:
            file = self.name_of(frame.f_code.co_filename)
            if file is not None:
                return site_name(reading, file, frame.f_code)
            frame = frame.f_back
        return ""

    def _moment(self) -> dict[str, Iterator[Atom]]:
        """What is left of the readings of the present moment."""
        stack = self.session.stack
        if not stack:
            if self._outside is None:
                self._outside = self.recorded.at(())
            return self._outside
        loop = stack[-1]
        held = self._inside.get(id(loop))
        if held is None or held[0] is not loop or held[1] != loop.iteration:
            held = self._inside[id(loop)] = (loop, loop.iteration, self.recorded.at(self.session.position()))
            if len(self._inside) > len(stack):
                self._inside = {id(other): self._inside[id(other)] for other in stack if id(other) in self._inside}
        return held[2]

    def _missed(self, reading: Reading, args: Given, options: Options, site: str) -> Any:
        """A reading that the record has not: a clock goes on from its last answer, and the verdict is told."""
        if getattr(reading, "told", True) and not self._beyond(self.session.position()):
            self._tell("unanswered", site)
        if reading.clock:
            go_on(reading)
        return reading.ask(args, options)[0]

    def _beyond(self, position: Position) -> bool:
        """True if the record of a killed run ends before this moment."""
        if self.complete:
            return False
        last = self.recorded.last
        if not position or not last:
            return not last
        same = position[0][:2] == last[0][:2]
        return same and position[0].iteration >= last[0].iteration

    def _tell(self, kind: str, what: str, frame: FrameType | None = None) -> None:
        if (kind, what) not in self._told and len(self._told) < TOLD:
            self._told.add((kind, what))
            levels = [list(level) for level in self.session.position()]
            self.note(Note(kind, {"what": what, "position": levels}))


def go_on(reading: Reading) -> None:
    """Let a clock go on from its last answer, so that a difference of two readings makes sense."""
    if reading.last is not None and type(reading.last) in (int, float):
        function, then = reading.__wrapped__, reading.last
        now = function()
        if type(now) is type(then):
            reading.call = lambda: function() - now + then
            reading.last = None
