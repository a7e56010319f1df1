"""The workers' logs and the recorded ones in one stream: the order of the full run, each record once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from flor.model.checkpoints import execution_from_json, position_from_json
from flor.model.edits import LineMap
from flor.model.plan import Segment
from flor.model.positions import Execution, Position
from flor.model.records import Channel, Ended, LogRecord, Note, Record, Statement, Tag
from flor.replay.children import SPANNING, UNHEARD
from flor.runtime.speakers import is_tracker
from flor.source.rates import is_bar, is_rate, without_rates

Origin = Literal["recorded", "hindsight"]
NO_WORD = "its worker ended without a word"
SCRIPT_ENDS = ("finished", "exited", "raised")  # how a worker ends that came to the end of the script
TEXTS = (Tag.STR, Tag.REPR, Tag.JSON)


@dataclass(frozen=True, slots=True)
class Merged:
    """One record of the full run that would have been."""

    origin: Origin
    record: LogRecord
    rank: int = 0
    behind_gap: bool = False  # something before it is missing, since the replay was stopped


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place where the replay was not the record."""

    position: Position
    statement: str
    recorded: str
    replayed: str
    state: str = ""
    by_probe: bool = False

    def __str__(self) -> str:
        parts = [f"recorded {self.recorded}, replayed {self.replayed}" if self.recorded or self.replayed else ""]
        return "; ".join(part for part in (*parts, self.state) if part)


@dataclass
class Findings:
    """What the comparison found."""

    identical: int = 0
    volatile: int = 0
    checkpoints: int = 0
    library: str = ""  # the first record of a library's logging that differs; these are not compared
    divergences: list[Divergence] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """True if nothing was other than recorded."""
        return not self.divergences


@dataclass(frozen=True)
class Part:
    """The records that one segment covers, and how far its two sides are known to go."""

    recorded: Sequence[LogRecord]
    segment: Segment
    iterations: int = 0  # of the main loop, as far as it was recorded
    cut_off: bool = False  # the run was killed in here: it may have logged more than was kept
    stopped: bool = False  # the replay was stopped: what it has not come to is not missed
    in_worker: bool = True  # a process of its own, which says how it ended
    failed: bool | None = None  # whether the recorded script ended with an error, if that is known

    def ended_otherwise(self, ended: Mapping[str, Any]) -> str:
        """What is wrong with the end of a worker, in words; empty if it has done the whole segment."""
        status = ended.get("status", "")
        if not self.in_worker or (self.cut_off and status in SCRIPT_ENDS):
            return ""
        if self.segment.stop is not None:
            end = f"iteration {self.segment.stop} of the main loop"
            return "" if status == "stopped" else f"the replay did not come to {end}: {status or NO_WORD}"
        if status not in SCRIPT_ENDS:
            return f"the replay did not come to the script's end: {status or NO_WORD}"
        failed = status == "raised" or bool(ended.get("code"))
        if self.failed in (None, failed):
            return ""
        return f"the recorded script {_how(self.failed)}, the replayed one {_how(failed)}"

    def is_early(self, at: int) -> bool:
        """True if the main loop had more iterations when it was recorded than when it was replayed."""
        stop = self.segment.stop
        return stop is not None and (at < stop or stop < self.iterations)


@dataclass(frozen=True)
class Gap:
    """Where a replay that was stopped lacks something: in which segment, behind which position."""

    segment: Segment
    position: Position


@dataclass
class Merger:
    """Aligns one worker's stream with its part of the record."""

    lines: LineMap
    is_volatile: Callable[[str, int], bool]
    prints: Callable[[str, int], bool] = lambda file, line: False  # lines that print by themselves: no library's bar
    findings: Findings = field(default_factory=Findings)
    gaps: list[Gap] = field(default_factory=list)
    names: frozenset[str] = frozenset()  # values that the user calls volatile
    own: frozenset[str] = frozenset()  # names that the project gives itself: no library's times and rates
    part: Part = field(init=False)

    def merge(self, part: Part, events: Iterable[Record]) -> Iterator[Merged]:
        """The part's records in order, with what the probes logged between them."""
        self.part, recorded, at = part, part.recorded, 0
        collecting = restored = False
        last: Position = ()
        ended: Mapping[str, Any] = {}
        for event in events:
            if isinstance(event, Note):
                if event.kind == "segment":
                    collecting = True
                elif event.kind == "restored":
                    restored |= bool(event.values.get("jump"))
                elif event.kind == "skipped" and collecting:
                    at = yield from self._skip(at, execution_from_json(event.values))
                elif event.kind != "lost file" or collecting or restored:
                    self._heard(event)
            elif isinstance(event, Ended):
                ended = event.values
            elif isinstance(event, LogRecord) and collecting:
                last = event.position or last
                if self.lines.is_probe(event.statement.file, event.statement.line):
                    yield Merged("hindsight", event)
                elif event.channel is not Channel.STDERR:
                    at = yield from self._pair(recorded, at, event)
        if not part.stopped:
            self._missed(recorded[at:])
            self._must_have_run(collecting, ended)
        is_gap = part.stopped and (not collecting or bool(part.ended_otherwise(ended)))
        if is_gap:
            self.gaps.append(Gap(part.segment, last))
        yield from (Merged("recorded", record, behind_gap=is_gap) for record in recorded[at:])

    def _heard(self, note: Note) -> None:
        """Take in what a worker says of its state, its files and its probes."""
        values = note.values
        if note.kind in ("checked", "doubted"):
            self._state(note)
        elif note.kind == "lost file":
            self._say(f"the script reads {values['path']}, whose content of that time is lost")
        elif note.kind == "disturbed":
            text = f"the probe changes the training: {values['differences'][0]}"
            self.findings.divergences.append(Divergence((), values["probe"], "", "", text, True))
        elif note.kind == "unanswered":
            text = "the record does not say what it was told there, so that it was told the present"
            position = position_from_json(values["position"])
            self.findings.divergences.append(Divergence(position, values["what"], "", "", text))
        elif note.kind == SPANNING:
            self._say("a probe logs in a process that was forked before the segment or outlives it, and reads ahead")
        elif note.kind == UNHEARD:
            self._say(f"a process that the script started could not be listened to: {values['error']}")
        elif note.kind == "ended early" and self.part.is_early(values["at"]):
            stop = max(values["stop"], self.part.iterations)
            self._diverge((), "", f"{stop} iterations", f"{values['at']} iterations")

    def _must_have_run(self, began: bool, ended: Mapping[str, Any]) -> None:
        """A worker that did not come to its segment, or not to its end, has proved nothing."""
        text = self.part.ended_otherwise(ended)
        if not began and self.part.in_worker:
            text = f"the replay did not come to iteration {self.part.segment.start} of the main loop"
        if text:
            self._say(text)

    def _missed(self, rest: Sequence[LogRecord]) -> None:
        """Recorded values that the replay has not logged."""
        missing = next((record for record in rest if not self._unsteady(record) and not self._is_gone(record)), None)
        if missing is not None:
            self._diverge(missing.position, str(missing.statement), _text(missing), "nothing")

    def _skip(self, at: int, execution: Execution) -> Generator[Merged, None, int]:
        """Take the records of a skipped loop execution as they were recorded; those before it are missing."""
        recorded = self.part.recorded
        end, first = _after(recorded, at, execution)
        self._missed(recorded[at:first])
        yield from (Merged("recorded", record) for record in recorded[at:end])
        return end

    def _pair(self, recorded: Sequence[LogRecord], at: int, event: LogRecord) -> Generator[Merged, None, int]:
        """Find the recorded twin of a replayed record; what cannot have a twin is passed on."""
        twin = at
        while twin < len(recorded) and not self._same_place(recorded[twin], event):
            if not self._unsteady(recorded[twin]) and not self._is_gone(recorded[twin]):
                break
            twin += 1
        if twin >= len(recorded) or not self._same_place(recorded[twin], event):
            beyond = twin >= len(recorded) and self.part.cut_off
            if not beyond and not self._event_unsteady(event):
                want = _text(recorded[twin]) if twin < len(recorded) else "nothing"
                self._diverge(event.position, str(event.statement), want, _text(event))
            return at
        yield from (Merged("recorded", record) for record in recorded[at : twin + 1])
        self._compare(recorded[twin], event)
        return twin + 1

    def _compare(self, recorded: LogRecord, event: LogRecord) -> None:
        same = recorded.data == event.data and recorded.tag == event.tag
        if same and _same_moment(recorded.position, event.position):
            self.findings.identical += 1
        elif _is_librarys(recorded):
            self._differs_in_library(recorded, event)
        elif self._unsteady(recorded) or (not same and _differ_in_rates(recorded, event, self.own)):
            self.findings.volatile += 1
        elif same:
            where = [f"{_text(record)} in iteration {_iterations(record)}" for record in (recorded, event)]
            self._diverge(event.position, str(event.statement), *where)
        else:
            self._diverge(event.position, str(event.statement), _text(recorded), _text(event))

    def _differs_in_library(self, recorded: LogRecord, event: LogRecord) -> None:
        """Keep the first record of a library that is another one now, so that it can be told."""
        if recorded.channel is Channel.LIBRARY and not is_tracker(recorded.name) and not self.findings.library:
            told = f"{recorded.name} at {event.statement}: recorded {_text(recorded)}, replayed {_text(event)}"
            self.findings.library = told

    def _same_place(self, recorded: LogRecord, event: LogRecord) -> bool:
        here, there = recorded.statement, event.statement
        if (recorded.channel, recorded.name, here.file) != (event.channel, event.name, there.file):
            return False
        return not here.file or self._present(here) == there.line

    def _present(self, statement: Statement) -> int | None:
        """The line that a recorded statement has now; None if it is gone."""
        if statement.file in self.lines.forward or statement.file in self.lines.same:
            return self.lines.present(statement.file, statement.line)
        return statement.line  # not a file of the edit

    def _is_gone(self, record: LogRecord) -> bool:
        """True for what a statement logged that is no longer there: nothing can log it again."""
        return bool(record.statement.file) and self._present(record.statement) is None

    def _unsteady(self, record: LogRecord) -> bool:
        """True if whether, when and how often this is logged depends on the clock."""
        statement = record.statement
        if record.channel is Channel.STDERR or self.is_volatile(statement.file, statement.line):
            return True
        if _is_librarys(record):
            return True
        if record.name and record.name in self.names:
            return True
        return _is_bar(record) and not self.prints(statement.file, statement.line)

    def _event_unsteady(self, event: LogRecord) -> bool:
        line = self.lines.recorded(event.statement.file, event.statement.line)
        if line is not None and self.is_volatile(event.statement.file, line):
            return True
        if (event.name and event.name in self.names) or _is_librarys(event):
            return True
        return _is_bar(event) and not (line is not None and self.prints(event.statement.file, line))

    def _state(self, note: Note) -> None:
        self.findings.checkpoints += 1
        if note.values["differences"]:
            execution = execution_from_json(note.values)
            iteration = note.values["iteration"]
            where = "the end of the loop" if iteration is None else f"iteration {iteration}"
            text = f"at {where}: {note.values['differences'][0]}"
            self.findings.divergences.append(Divergence(execution.parent, execution.loop, "", "", text))

    def _diverge(self, position: Position, statement: str, recorded: str, replayed: str) -> None:
        self.findings.divergences.append(Divergence(position, statement, recorded, replayed))

    def _say(self, text: str) -> None:
        self.findings.divergences.append(Divergence((), "", "", "", text))


def _how(failed: bool | None) -> str:
    return "failed" if failed else "did not fail"


def _is_librarys(record: LogRecord) -> bool:
    """True for what the code of an installed library says of itself: it may tell times, process ids and paths."""
    return record.channel is Channel.LIBRARY or (record.channel is Channel.STDOUT and bool(record.name))


def _is_bar(record: LogRecord) -> bool:
    """True for a piece of a progress bar."""
    return record.channel is Channel.STDOUT and is_bar(record.data.decode("utf-8", "replace"))


def _differ_in_rates(recorded: LogRecord, event: LogRecord, own: frozenset[str]) -> bool:
    """True if the two are equal but for values that are a library's times or rates by their names."""
    if recorded.tag != event.tag or is_rate(recorded.name, own):
        return recorded.tag == event.tag
    texts = [record.data.decode("utf-8", "replace") for record in (recorded, event)]
    return recorded.tag in TEXTS and without_rates(texts[0], own) == without_rates(texts[1], own)


def _same_moment(recorded: Position, replayed: Position) -> bool:
    """True if the loops that both have, from the outermost on, are in the same iterations.

    Short loops are no longer followed after a while, by the clock: a level may be on one side only.
    """
    for here, there in zip(recorded, replayed, strict=False):
        if here.loop != there.loop:
            return True
        if here != there:
            return False
    return True


def _iterations(record: LogRecord) -> str:
    return "/".join(str(level.iteration) for level in record.position) or "no loop"


def _after(recorded: Sequence[LogRecord], at: int, execution: Execution) -> tuple[int, int]:
    """Behind the last record of the skipped loop execution, and its first; other threads' may lie between."""
    end = first = at
    for index in range(at, len(recorded)):
        position = recorded[index].position
        if execution.encloses(position):
            first = index if end == at else first
            end = index + 1
        elif position:
            break
    return end, first


def _text(record: LogRecord) -> str:
    """A value as a message shows it."""
    if record.tag in (Tag.STR, Tag.REPR, Tag.JSON, Tag.INT):
        text = record.data.decode("utf-8", "replace")
        return repr(text[:120])
    if record.tag is Tag.FLOAT:
        import struct

        return repr(struct.unpack("<d", record.data)[0])
    return record.tag.name.lower()
