"""The segments of a replay and the record around them, in one stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from flor.model.plan import Plan, Segment
from flor.model.positions import Execution
from flor.model.records import Channel, LogRecord, Record
from flor.replay.merging import Merged, Merger, Part


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

    def part(self, plan: Plan, segment: Segment, *, first: bool, extent: Extent) -> Part:
        """What a segment is compared with; only what reaches the end of the record may go on where that was cut."""
        recorded = self.of(segment, first=first)
        behind = () if segment.stop is None else self.recorded[self.at(segment.stop) :]
        at_end = all(record.channel is Channel.STDERR for record in behind)  # the traceback of a Ctrl-C, at most
        cut_off = extent.cut_off and at_end
        return Part(recorded, segment, plan.iterations, cut_off, extent.stopped, failed=extent.failed)


@dataclass(frozen=True)
class Extent:
    """How far the record of a rank goes, and how far its replay."""

    cut_off: bool = False  # the run was killed or interrupted
    stopped: bool = False  # the replay was
    failed: bool | None = None  # whether the recorded script ended with an error, if that is known


def weave(
    plan: Plan, parts: Parts, merger: Merger, streams: Mapping[int, Sequence[Record]], extent: Extent
) -> Iterator[Merged]:
    """One rank's records of the whole run, in order: what lies outside of all segments is as it was recorded."""
    first, last = plan.segments[0], plan.segments[-1]
    merger.gaps.clear()
    if first.start:
        yield from (Merged("recorded", record) for record in parts.recorded[: parts.at(first.start)])
    for number, segment in enumerate(plan.segments):
        broken = bool(merger.gaps)
        part = parts.part(plan, segment, first=number == 0, extent=extent)
        for merged in merger.merge(part, streams.get(number, ())):
            yield replace(merged, behind_gap=True) if broken else merged
    if last.stop is not None:
        after, broken = parts.recorded[parts.at(last.stop) :], bool(merger.gaps)
        yield from (Merged("recorded", record, behind_gap=broken) for record in after)
