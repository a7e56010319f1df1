"""Which state a checkpoint holds, and where it lies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flor.model.positions import Execution, Level, Position, readable

_PACK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\.safetensors")


@dataclass(frozen=True, slots=True)
class Key:
    """The moment of a checkpoint: an iteration of a loop execution is about to begin, or (None) it has ended."""

    execution: Execution
    iteration: int | None

    def readable(self, names: dict[str, str]) -> str:
        """The moment for people: `main/epoch=3`, or `the end of main/epoch=3/batch`."""
        level = Level(self.execution.loop, self.execution.occurrence, self.iteration or 0)
        text = readable((*self.execution.parent, level), names)
        return text if self.iteration is not None else f"the end of {text.rpartition('=')[0] or text}"

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "parent": [list(level) for level in self.execution.parent],
            "loop": self.execution.loop,
            "occurrence": self.execution.occurrence,
            "iteration": self.iteration,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Key:
        """What `as_json` wrote."""
        return cls(execution_from_json(values), values["iteration"])


def execution_from_json(values: Mapping[str, Any]) -> Execution:
    """The loop execution that a record speaks of."""
    return Execution(position_from_json(values["parent"]), str(values["loop"]), int(values["occurrence"]))


def position_from_json(levels: list[list[Any]]) -> Position:
    """A position from plain JSON."""
    return tuple(Level(str(loop), int(occurrence), int(iteration)) for loop, occurrence, iteration in levels)


FileFact = tuple[int, int, str]
"""A written file: size, time of change in ns, content hash (empty if it is large); size -1: it was not there."""


@dataclass(frozen=True, slots=True)
class FilesNow:
    """What the files that the script has written hold at a checkpoint; of small ones the content, by its hash."""

    facts: Mapping[str, FileFact] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    shapes: Mapping[str, str] = field(default_factory=dict)


def content_name(digest: str) -> str:
    """The blob that holds the content of a file."""
    return f"file-{digest}"


@dataclass(frozen=True, slots=True)
class Unaccounted:
    """An object whose state a checkpoint does not hold: the names that lead to it, its type, and why."""

    names: tuple[str, ...]
    type: str
    reason: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that exists: announced in the journal after its bytes were durable."""

    key: Key
    graph: str  # the blob with the graph
    blobs: Mapping[str, str]  # content hash -> pack file
    seconds: float  # what it cost the training thread
    bytes_logical: int
    bytes_written: int
    unkept: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    files: Mapping[str, FileFact] = field(default_factory=dict)
    inputs: int = 0  # how many readings of the clock and the like came before it
    unaccounted: tuple[Unaccounted, ...] = ()
    digest: str = ""  # XXH3-128 of the graph; empty in runs of earlier versions
    shapes: Mapping[str, str] = field(default_factory=dict)  # path -> folder, link or permissions of what was written

    def as_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "key": self.key.as_json(),
            "graph": self.graph,
            "digest": self.digest,
            "blobs": dict(self.blobs),
            "seconds": self.seconds,
            "bytes_logical": self.bytes_logical,
            "bytes_written": self.bytes_written,
            "files": {path: list(fact) for path, fact in self.files.items()},
            "shapes": dict(self.shapes),
            "inputs": self.inputs,
            "unaccounted": [[list(one.names), one.type, one.reason] for one in self.unaccounted],
            "unkept": {scope: dict(names) for scope, names in self.unkept.items()},
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Checkpoint:
        """What `as_json` wrote; ValueError if a pack would lie elsewhere than among the packs of its run."""
        files = {
            str(path): (int(size), int(time), str(digest)) for path, (size, time, digest) in values["files"].items()
        }
        shapes = {str(path): str(shape) for path, shape in values.get("shapes", {}).items()}  # older ones have none
        packs = [str(values["graph"]).partition("/")[0], *values["blobs"].values()]
        if not all(type(pack) is str and _PACK.fullmatch(pack) for pack in packs):
            raise ValueError("a checkpoint in a file that is no pack")
        lacking = values.get("unaccounted", ())  # older ones have none
        others = tuple(Unaccounted(tuple(names), kind, reason) for names, kind, reason in lacking)
        plain = {"key": Key.from_json(values["key"]), "files": files, "shapes": shapes, "unaccounted": others}
        return cls(**{**values, **plain})
