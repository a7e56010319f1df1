"""What a replay says of values that the clock or the machine decides."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from flor.model.records import LogRecord, Note, Record, Tag
from flor.replay.result import Result
from flor.source.rates import is_rate, without_rates


def told(result: Result, workers: Iterable[Iterable[Record]], own: AbstractSet[str], *, noted: bool) -> list[str]:
    """Which values are not of the run; `own` are names that the project gives, `noted` if the run has its inputs."""
    asked = dict.fromkeys(
        event.values["what"]
        for events in workers
        for event in events
        if isinstance(event, Note) and event.kind == "probe asks"
    )
    said = [f"a probe asks {what} itself: what it logs of that is of now, not of the run" for what in asked]
    count = result.findings.volatile
    if count:
        values = "a value differs" if count == 1 else f"{count} values differ"
        touched = any(_is_timed(merged.record, own) for merged in result.hindsight)
        probes = "some of the probes' values are such" if touched else "the probes' values are not touched by that"
        said.append(f"{values} only by times or rates that a library measured or that you call volatile; {probes}")
    if result.findings.library:
        said.append(f"a library logs otherwise than in the record, which is not compared: {result.findings.library}")
    if not noted and not result.exact:
        said.append("this run does not have what the clock said, so that lines with times in them differ")
    return said


def _is_timed(record: LogRecord, own: AbstractSet[str]) -> bool:
    """True if a record has a library's time or rate in it."""
    text = record.data.decode("utf-8", "replace") if record.tag in (Tag.STR, Tag.REPR, Tag.JSON) else ""
    return is_rate(record.name, own) or without_rates(text, own) != text
