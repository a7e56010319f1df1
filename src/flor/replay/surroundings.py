"""What around a run is not as it was when it was recorded: data files, versions."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flor.model.records import Ended, Record
from flor.query.runs import Run
from flor.replay.history import History

SHOWN = 3


def changed_inputs(history: History) -> list[str]:
    """A sentence for each file that the run had read and that is gone or changed, and was not written by the run."""
    found = [text for path, fact in history.reads.items() if path not in history.made and (text := _change(path, fact))]
    rest = [f"and {len(found) - SHOWN} more data files"] if len(found) > SHOWN else []
    return [*found[:SHOWN], *rest]


def _change(path: str, fact: tuple[int, int]) -> str:
    try:
        now = os.stat(path)
    except OSError:
        return f"{path}, which the run had read, is gone"
    if now.st_size != fact[0]:
        return f"{path}, which the run had read, has changed: {fact[0]:,} bytes then, {now.st_size:,} now"
    return f"{path} was written again since the run had read it" if now.st_mtime_ns != fact[1] else ""


def other_versions(run: Run, streams: Iterable[Iterable[Record]]) -> list[str]:
    """A sentence for each package, and Python, that has another version now."""
    then = dict(run.ended.get("packages") or _noted(run))
    now: dict[str, str] = {}
    for records in streams:
        for record in records:
            if isinstance(record, Ended):
                now.update(record.values.get("packages", {}))
    then["Python"], now["Python"] = str(run.facts.get("python")), platform.python_version()
    return list(_differences(then, now))


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(then.keys() & now.keys()):
        if then[name] != now[name]:
            yield f"{name} is {now[name]} now, it was {then[name]} when the run was recorded"


def _noted(run: Run) -> dict[str, str]:
    """What a run that was killed says of versions."""
    return {note.kind: note.values["version"] for note in run.notes if note.kind in ("torch", "numpy")}
