"""Which epochs `--start` and `--stop` ask for, in terms of the recorded run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flor.errors import UsageError
from flor.model.checkpoints import Key
from flor.model.explicit import Construct
from flor.model.plan import Segment
from flor.query.runs import Run


@dataclass(frozen=True)
class Bounds:
    """What `args.start` and `args.stop` were when the run was recorded."""

    start: int
    stop: int | None


def recorded_bounds(run: Run) -> Bounds | None:
    """The bounds that `flor.checkpoint_resume` saw first, if it saw any."""
    note = next((note for note in run.notes if note.kind == "bounds"), None)
    if note is None or note.values["start"] is None:
        return None
    return Bounds(note.values["start"], note.values["stop"])


def segment_of(recorded: Bounds, start: int, stop: int | None, iterations: int, points: Iterable[int]) -> Segment:
    """The part of the main loop from `start` to `stop`, and the resume point that leads to it."""
    first = start - recorded.start
    last = iterations if stop is None else stop - recorded.start
    if not 0 <= first < last <= iterations:
        raise UsageError(
            f"The run has no epochs {start} to {stop}: it went from {recorded.start} to {recorded.start + iterations}.",
            todo="Give a --start and --stop within these.",
        )
    resume = max((point for point in points if point <= first), default=None)
    return Segment(first, None if last == iterations else last, resume)


def earlier_end(checkpoints: Iterable[Key], epoch: int) -> Key | None:
    """The last end of a block, outside of all named loops, that came before an epoch."""
    blocks = [key for key in checkpoints if key.execution.loop.startswith(Construct.BLOCK.value)]
    found = [key for key in blocks if not key.execution.parent and key.execution.occurrence < epoch]
    return max(found, key=lambda key: key.execution.occurrence, default=None)
