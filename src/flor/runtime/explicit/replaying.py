"""Replaying what the user declared: blocks are skipped by their ends, loops are jumped into where that is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from flor.errors import ObjectsDiffer, RestoreMismatch
from flor.model.checkpoints import Key
from flor.model.explicit import Construct, given_name
from flor.model.positions import Execution
from flor.runtime.explicit.declared import OBJECTS, Declared
from flor.runtime.explicit.session import ExplicitSession
from flor.runtime.replaying import JUMP, SKIP, Replayer
from flor.runtime.sites import LoopFrame
from flor.state import Snapshot
from flor.state.names import type_name
from flor.state.snapshot import ATOMS, Ref

LATE = "late"
"""The key of a main loop that is jumped into as soon as its body has declared what it hands on."""

PLAIN = frozenset(f"builtins:{kind.__name__}" for kind in ATOMS)


@dataclass
class ExplicitReplayer(Replayer):
    """The conductor of a replay of named loops and blocks."""

    shortened: int = 0  # iterations that the script itself leaves out, since its `args.start` was moved

    def entering(self, frame: LoopFrame, caller: FrameType) -> Callable[[Iterable[Any]], Iterator[Any]] | None:
        """As ever, but the state that training began with is put back wherever it was kept."""
        execution = self._execution(frame)
        if _is_start(frame.site.loop):
            frame.key = SKIP if self.checkpoints.usable(Key(execution, None)) else None
            return None
        if execution == self.plan.main and self.segment.resume and not self._declared().complete:
            frame.key = LATE
            return None
        return super().entering(frame, caller)

    def ahead(self, frame: LoopFrame) -> int:
        """How many items to pass over now that `flor.checkpoint` has said what the loop hands on; 0 for none."""
        resume = self.segment.resume
        if frame.key != LATE or not self._declared().once or not resume or frame.seen > resume:
            return 0
        frame.key = JUMP
        return resume - frame.seen

    def _declared(self) -> Declared:
        assert isinstance(self.restorer.scopes, Declared)
        return self.restorer.scopes

    def leaving(self, frame: LoopFrame, caller: FrameType, now: float) -> None:
        """Restoring the start is no skipped block; a loop that the script itself ends at its part's end is stopped."""
        if not _is_start(frame.site.loop):
            if self._execution(frame) == self.plan.main and frame.begun_iterations == self.segment.stop:
                self.stop()
            super().leaving(frame, caller, now)
        elif frame.key == SKIP:
            self._restore(Key(self._execution(frame), None), frame, caller)

    def _from(self, frame: LoopFrame, iterable: Iterable[Any], resume: int) -> Iterator[Any]:
        """The items from the resume point on, less those that the script leaves out itself."""
        return super()._from(frame, iterable, resume - self.shortened)

    def _skippable(self, execution: Execution) -> bool:
        """Also what the user does not want to be executed."""
        session = self.session
        if isinstance(session, ExplicitSession) and not session.wanted:
            return self.checkpoints.usable(Key(execution, None))
        return super()._skippable(execution)

    def _restore(self, key: Key, frame: LoopFrame, caller: FrameType) -> None:
        """Refuse before anything is changed if other objects are given than were recorded."""
        objects = self._declared().of(frame).objects
        recorded, given = _recorded_kinds(self.checkpoints.load(key)), [type_name(thing) for thing in objects]
        if len(recorded) != len(given) or any(_clash(pair) for pair in zip(recorded, given, strict=True)):
            raise ObjectsDiffer(
                f"{given_name(key.execution.loop)!r} was recorded with {_list(recorded)}, and is given {_list(given)}.",
                where=str(key),
            )
        try:
            super()._restore(key, frame, caller)
        except RestoreMismatch as error:  # what is refused must be told by its key, so that the next try does without
            raise RestoreMismatch(error.what, where=str(key), todo=error.todo) from error


def _is_start(loop: str) -> bool:
    return loop.startswith(Construct.START.value)


def _recorded_kinds(snapshot: Snapshot) -> list[str]:
    """The classes of the objects that were declared, in their order."""
    slots = list(snapshot.roots.get(OBJECTS, {}).values())
    return [snapshot.nodes[slot].cls if isinstance(slot, Ref) else type_name(slot) for slot in slots]


def _clash(kinds: tuple[str, str]) -> bool:
    """True if one can't become the other in place; a plain value is bound anew, whatever it was."""
    return kinds[0] != kinds[1] and not PLAIN.intersection(kinds)


def _list(kinds: list[str]) -> str:
    return ", ".join(kind.replace(":", ".").removeprefix("builtins.") for kind in kinds) or "nothing"
