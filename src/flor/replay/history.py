"""What the record says that a plan needs: loop executions, their times, the checkpoints, the main loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from flor.model.checkpoints import Checkpoint, Key, execution_from_json
from flor.model.explicit import is_block
from flor.model.positions import Execution
from flor.model.records import Channel, Inputs, LogRecord, Note
from flor.query.runs import Run
from flor.store.reader import read_journal


@dataclass(frozen=True)
class LoopRun:
    """One execution of a loop as it was measured; an unfinished one has no seconds."""

    execution: Execution
    iterations: int
    seconds: float | None
    durations: tuple[float, ...] = ()

    def cost(self, start: int, stop: int) -> float:
        """The seconds that these iterations took, as far as they were measured."""
        return sum(self.costs(stop)[start:])

    def costs(self, stop: int) -> list[float]:
        """The seconds of each of so many iterations; where one was not measured, its share of the rest."""
        known = self.durations[:stop]
        return [*known, *repeat(self._rest, stop - len(known))]

    @property
    def _rest(self) -> float:
        """The seconds of an iteration that was not measured by itself."""
        if self.seconds is None:
            return sum(self.durations) / max(1, len(self.durations))
        return max(0.0, self.seconds - sum(self.durations)) / max(1, self.iterations - len(self.durations))


@dataclass
class History:
    """The loops and checkpoints of one run."""

    loops: dict[Execution, LoopRun] = field(default_factory=dict)
    checkpoints: dict[Key, Checkpoint] = field(default_factory=dict)
    entered: dict[str, frozenset[str]] = field(default_factory=dict)
    logs: list[LogRecord] = field(default_factory=list)  # in the order of the run
    ends: dict[Execution, int] = field(default_factory=dict)  # loop execution -> how many logs came before its end
    reads: dict[str, tuple[int, int]] = field(default_factory=dict)  # data file -> size, time
    made: dict[str, str] = field(default_factory=dict)  # path -> what the run first did to it
    unseen: set[str] = field(default_factory=set)  # those of them that C code or other processes changed
    children_print: bool = False  # processes that the script started may have printed: that is not in the record
    forked: bool = False  # the script forked, and what its children entered is not in the record
    resumed: bool = False  # True if several processes trained it, one after the other
    explicit: bool = False  # True if the user's script named its loops and blocks, and began the run itself
    complete: bool = True  # False if the run was killed: then `entered` is not known
    interrupted: bool = False  # by Ctrl-C: it would have gone on
    failed: bool | None = None  # whether the script ended with an error, if that is known
    seconds: float = 0.0
    inputs: list[Inputs] = field(default_factory=list)  # what the world told it, in the order of the run

    @property
    def cut_off(self) -> bool:
        """True if the script would have gone on: what it logged is not all that a replay logs."""
        return not self.complete or self.interrupted

    @classmethod
    def of(cls, run: Run) -> History:
        """Read it off a run."""
        history = cls(explicit=bool(run.facts.get("explicit")))
        for note in history._notes(run):
            if note.kind == "checkpoint":
                checkpoint = Checkpoint.from_json(note.values)
                if checkpoint.graph not in run.dropped:
                    history.checkpoints[checkpoint.key] = checkpoint
            elif note.kind == "loop":
                execution = execution_from_json(note.values)
                history.ends[execution] = len(history.logs)
                history.loops[execution] = LoopRun(
                    execution, note.values["iterations"], note.values["seconds"], tuple(note.values["durations"])
                )
            elif note.kind == "read":
                history.reads[note.values["path"]] = (note.values["size"], note.values["time"])
            elif note.kind == "resumed":
                history.resumed = True
            elif note.kind == "printing child":
                history.children_print = True
            elif note.kind == "file":
                history.made.setdefault(note.values["path"], note.values["change"])
                if note.values.get("unseen") and note.values["change"] != "mkdir":
                    history.unseen.add(note.values["path"])
        ended = run.ended
        history.complete = bool(ended)
        history.interrupted = ended.get("status") == "interrupted"
        history.failed = {"finished": False, "failed": True}.get(ended.get("status", ""))
        history.forked = bool(ended.get("forks", True))
        history.children_print |= bool(ended.get("children_print"))
        history.seconds = float(ended.get("seconds", 0.0))
        if not history.resumed:  # else only the last process of several says what it has entered
            history.entered = {loop: frozenset(facts["functions"]) for loop, facts in ended.get("loops", {}).items()}
        history._add_unfinished()
        return history

    def _notes(self, run: Run) -> Iterator[Note]:
        """The first rank's notes in their order, with its log records kept on the way."""
        fragments = run.folder.fragments()
        for record in read_journal(fragments[0]) if fragments else ():
            if isinstance(record, LogRecord):
                self.logs.append(record)
            elif isinstance(record, Inputs):
                self.inputs.append(record)
            elif isinstance(record, Note):
                yield record

    def _add_unfinished(self) -> None:
        """Loops that were under way when the run stopped: known from where it logged and from its checkpoints."""
        reached: dict[Execution, int] = {}
        positions = {record.position for record in self.logs}
        positions |= {(*key.execution.parent,) for key in self.checkpoints}
        for position in positions:
            for depth, level in enumerate(position):
                execution = Execution(position[:depth], level.loop, level.occurrence)
                reached[execution] = max(reached.get(execution, 0), level.iteration + 1)
        for key in self.checkpoints:
            if key.iteration is not None:
                reached[key.execution] = max(reached.get(key.execution, 0), key.iteration + 1)
        for execution, iterations in reached.items():
            if execution not in self.loops:
                self.loops[execution] = LoopRun(execution, iterations, None)

    def main(self) -> LoopRun | None:
        """The longest-running outermost loop; through loops of one iteration, the longest inside of it."""
        chosen = self._longest(())
        while chosen is not None and chosen.iterations == 1:
            inside = self._longest((*chosen.execution.parent, _level(chosen.execution)))
            if inside is None:
                break
            chosen = inside
        return chosen

    def _longest(self, parent: Any) -> LoopRun | None:
        at_parent = (loop for loop in self.loops.values() if loop.execution.parent == parent)
        found = [loop for loop in at_parent if not is_block(loop.execution.loop)]
        return max(found, key=lambda loop: (self.under_way(loop), loop.seconds or 0.0, loop.iterations), default=None)

    def under_way(self, loop: LoopRun) -> bool:
        """True if the run was killed in this loop; other loops of unknown length were too short to be noted."""
        if self.interrupted and loop.seconds is not None:  # the exception ended it, if nothing came after it
            behind = self.logs[self.ends.get(loop.execution, 0) :]
            silent = all(record.channel is Channel.STDERR for record in behind)  # but for the traceback
            return silent and Key(loop.execution, None) not in self.checkpoints
        if self.complete or loop.seconds is not None:
            return False
        last = self.logs[-1].position if self.logs else ()
        return loop.execution.encloses(last) or bool(self.resume_points(loop.execution))

    def resume_points(self, execution: Execution) -> list[int]:
        """The iterations of a loop execution that have a checkpoint at their beginning."""
        return sorted(
            key.iteration for key in self.checkpoints if key.execution == execution and key.iteration is not None
        )


def _level(execution: Execution) -> Any:
    from flor.model.positions import Level

    return Level(execution.loop, execution.occurrence, 0)
