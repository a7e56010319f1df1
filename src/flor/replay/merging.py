"""The workers' logs and the recorded ones in one stream: the order of the full run, each record once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from flor.model.checkpoints import execution_from_json
from flor.model.edits import LineMap
from flor.model.plan import Segment
from flor.model.positions import Execution, Position
from flor.model.records import Channel, LogRecord, Note, Record, Tag
from flor.source.rates import is_bar, is_rate, without_rates

Origin = Literal["recorded", "hindsight"]
STREAMS = (Channel.STDOUT, Channel.STDERR)
TEXTS = (Tag.STR, Tag.REPR, Tag.JSON)


@dataclass(frozen=True, slots=True)
class Merged:
    """One record of the full run that would have been."""

    origin: Origin
    record: LogRecord
    rank: int = 0


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
    divergences: list[Divergence] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """True if nothing was other than recorded."""
        return not self.divergences


@dataclass
class Merger:
    """Aligns one worker's stream with its part of the record."""

    lines: LineMap
    is_volatile: Callable[[str, int], bool]
    findings: Findings = field(default_factory=Findings)
    whole: bool = True

    def merge(self, recorded: Sequence[LogRecord], events: Iterable[Record], whole: bool) -> Iterator[Merged]:
        """The part's records in order; not `whole` if the record was cut off, so that it may end before the replay."""
        at, self.whole = 0, whole
        collecting = False
        for event in events:
            if isinstance(event, Note):
                if event.kind == "segment":
                    collecting = True
                elif event.kind in ("checked", "doubted"):
                    self._state(event)
                elif event.kind == "skipped" and collecting:
                    end = _after(recorded, at, execution_from_json(event.values))
                    yield from (Merged("recorded", record) for record in recorded[at:end])
                    at = end
                elif event.kind == "lost file" and collecting:
                    text = f"the script reads {event.values['path']}, whose content of that time is lost"
                    self.findings.divergences.append(Divergence((), "", "", "", text))
                elif event.kind == "disturbed":
                    text = f"the probe changes the training: {event.values['differences'][0]}"
                    self.findings.divergences.append(Divergence((), event.values["probe"], "", "", text, True))
                elif event.kind == "ended early":
                    self._diverge((), "", f"{event.values['stop']} iterations", f"{event.values['at']} iterations")
            elif isinstance(event, LogRecord) and collecting:
                if self.lines.is_probe(event.statement.file, event.statement.line):
                    yield Merged("hindsight", event)
                elif not self._passed_over(event):
                    at = yield from self._pair(recorded, at, event)
        rest = recorded[at:]
        missing = next((record for record in rest if not self._unsteady(record)), None)
        if missing is not None and whole:
            self._diverge(missing.position, str(missing.statement), _text(missing), "nothing")
        yield from (Merged("recorded", record) for record in rest)

    def _pair(self, recorded: Sequence[LogRecord], at: int, event: LogRecord) -> Generator[Merged, None, int]:
        """Find the recorded twin of a replayed record; what cannot have a twin is passed on."""
        twin = at
        while twin < len(recorded) and not self._same_place(recorded[twin], event):
            if not self._unsteady(recorded[twin]):
                break
            twin += 1
        if twin >= len(recorded) or not self._same_place(recorded[twin], event):
            cut_off = twin >= len(recorded) and not self.whole
            if not cut_off and not self._event_unsteady(event):
                want = _text(recorded[twin]) if twin < len(recorded) else "nothing"
                self._diverge(event.position, str(event.statement), want, _text(event))
            return at
        yield from (Merged("recorded", record) for record in recorded[at : twin + 1])
        self._compare(recorded[twin], event)
        return twin + 1

    def _compare(self, recorded: LogRecord, event: LogRecord) -> None:
        if recorded.data == event.data and recorded.tag == event.tag:
            self.findings.identical += 1
        elif self._unsteady(recorded) or _differ_in_rates(recorded, event):
            self.findings.volatile += 1
        else:
            self._diverge(event.position, str(event.statement), _text(recorded), _text(event))

    def _same_place(self, recorded: LogRecord, event: LogRecord) -> bool:
        if recorded.channel != event.channel or recorded.name != event.name:
            return False
        statement = recorded.statement
        present = self.lines.present(statement.file, statement.line) if statement.file else 0
        return statement.file == event.statement.file and present in (event.statement.line, None)

    def _passed_over(self, event: LogRecord) -> bool:
        return event.channel is Channel.STDERR

    def _unsteady(self, record: LogRecord) -> bool:
        """True if whether, when and how often this is logged depends on the clock."""
        if record.channel is Channel.STDERR or _is_bar(record):
            return True
        return self.is_volatile(record.statement.file, record.statement.line)

    def _event_unsteady(self, event: LogRecord) -> bool:
        if _is_bar(event):
            return True
        line = self.lines.recorded(event.statement.file, event.statement.line)
        return line is not None and self.is_volatile(event.statement.file, line)

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


def _is_bar(record: LogRecord) -> bool:
    """True for a piece of a progress bar."""
    return record.channel is Channel.STDOUT and is_bar(record.data.decode("utf-8", "replace"))


def _differ_in_rates(recorded: LogRecord, event: LogRecord) -> bool:
    """True if the two are equal but for values that are times or rates by their names."""
    if recorded.tag != event.tag or is_rate(recorded.name):
        return recorded.tag == event.tag
    texts = [record.data.decode("utf-8", "replace") for record in (recorded, event)]
    return recorded.tag in TEXTS and without_rates(texts[0]) == without_rates(texts[1])


def _after(recorded: Sequence[LogRecord], at: int, execution: Execution) -> int:
    """Behind the last record of the skipped loop execution; other threads' records may lie between."""
    end = at
    for index in range(at, len(recorded)):
        position = recorded[index].position
        if execution.encloses(position):
            end = index + 1
        elif position:
            break
    return end


@dataclass(frozen=True)
class Parts:
    """The recorded logs, cut at iterations of the main loop; `end` is the first one behind that loop."""

    recorded: Sequence[LogRecord]
    main: Execution | None
    end: int

    def of(self, segment: Segment, *, first: bool) -> Sequence[LogRecord]:
        """What a segment covers; the first one has what came before the loop, an open one what came after."""
        begin = 0 if first and segment.start == 0 else self.at(segment.start)
        stop = len(self.recorded) if segment.stop is None else self.at(segment.stop)
        return self.recorded[begin:stop]

    def at(self, iteration: int) -> int:
        """The index of the first record at or after an iteration of the main loop."""
        if self.main is None:
            return 0
        depth = len(self.main.parent)
        for index, record in enumerate(self.recorded[: self.end]):
            if self.main.encloses(record.position) and record.position[depth].iteration >= iteration:
                return index
        return self.end


def _text(record: LogRecord) -> str:
    """A value as a message shows it."""
    if record.tag in (Tag.STR, Tag.REPR, Tag.JSON, Tag.INT):
        text = record.data.decode("utf-8", "replace")
        return repr(text[:120])
    if record.tag is Tag.FLOAT:
        import struct

        return repr(struct.unpack("<d", record.data)[0])
    return record.tag.name.lower()
