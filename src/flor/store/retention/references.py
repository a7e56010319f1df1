"""Which bytes of which packs the checkpoints of a run need."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flor.errors import StoreError
from flor.model.records import Facts, Note
from flor.store.reader import read_journal
from flor.store.run import RunFolder

PACK = ".safetensors"


@dataclass(frozen=True, slots=True)
class HeldCheckpoint:
    """An announced checkpoint: `graph` is its identity in the run, `entries` are the places of its bytes."""

    graph: str
    loop: str
    is_end: bool
    moment: str
    entries: frozenset[tuple[str, str]]
    digest: str = ""


@dataclass(frozen=True, slots=True)
class References:
    """What the journals of a run refer to; `doubt` says why that may not be all."""

    checkpoints: tuple[HeldCheckpoint, ...]
    pinned: frozenset[str]  # packs that something other than a checkpoint speaks of
    tags: tuple[str, ...]
    doubt: str


def read_references(run: RunFolder) -> References:
    """Read every journal of a run; nothing that it says is believed further than a name to compare with."""
    found: list[HeldCheckpoint] = []
    pinned: set[str] = set()
    tags: tuple[str, ...] = ()
    doubt = ""
    for path in run.fragments():
        try:
            reader = read_journal(path)
            for record in reader:
                if isinstance(record, Note):
                    _sort_in(record, found, pinned)
                elif isinstance(record, Facts) and not tags:
                    tags = _tags(record.values)
        except (StoreError, TypeError, KeyError, ValueError, AttributeError) as error:
            doubt = doubt or f"its journal {path.name} can't be read: {error}"
            continue
        if reader.damage:
            doubt = doubt or f"its journal {path.name} is damaged"
    return References(tuple(found), frozenset(pinned), tags, doubt)


def _sort_in(note: Note, found: list[HeldCheckpoint], pinned: set[str]) -> None:
    if note.kind == "checkpoint":
        found.append(_checkpoint(note.values))
    else:
        # A kind of note that this version does not know may need a pack: what it names stays.
        pinned.update(text.partition("/")[0] for text in _texts(note.values) if PACK in text)


def _checkpoint(values: Mapping[str, Any]) -> HeldCheckpoint:
    key, graph = values["key"], str(values["graph"])
    file, _, name = graph.partition("/")
    blobs = {(str(pack), str(blob)) for blob, pack in values["blobs"].items()}
    return HeldCheckpoint(
        graph=graph,
        loop=str(key["loop"]),
        is_end=key["iteration"] is None,
        moment=json.dumps(key, sort_keys=True),
        entries=frozenset({(file, name), *blobs}),
        digest=str(values.get("digest", "")),
    )


def _tags(values: Mapping[str, Any]) -> tuple[str, ...]:
    tags = values.get("tags")
    return tuple(map(str, tags)) if isinstance(tags, list) else ()


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
