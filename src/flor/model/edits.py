"""How the sources of a replay differ from the recorded ones: probes, other changes, and where each line went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["maybe", "certain"]
Kind = Literal[
    "print", "logging", "flor.log", "tensorboard", "wandb", "mlflow", "trackio", "comet", "tqdm", "file", "support"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Doubt:
    """A way in which an added statement could disturb training; a `certain` one is refused unless forced."""

    level: Level
    reason: str
    line: int


@dataclass(frozen=True, slots=True)
class Probe:
    """An added statement that logs, or serves one that does; lines are those of the present file.

    `carries` has the added names whose value comes from an earlier iteration of a recorded loop: no
    checkpoint holds them, so nothing may be skipped between their writes and their reads. A `deferred`
    probe is handed over (a hook, a callback) and may log from anywhere.
    """

    file: str
    function: str
    first_line: int
    last_line: int
    kind: Kind
    reads: frozenset[str]
    doubts: tuple[Doubt, ...] = ()
    carries: frozenset[str] = frozenset()
    deferred: bool = False

    @property
    def refused(self) -> bool:
        """True if the statement is sure to disturb training."""
        return any(doubt.level == "certain" for doubt in self.doubts)


@dataclass(frozen=True, slots=True)
class Change:
    """An edit that is no probe; `only_logs` if all it takes away are log statements."""

    file: str
    line_recorded: int | None
    line_present: int | None
    what: str
    diff: str
    only_logs: bool = False


@dataclass(frozen=True, slots=True)
class LineMap:
    """Where the lines of the statements that are in both versions stand in each."""

    forward: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    backward: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    added: Mapping[str, frozenset[int]] = field(default_factory=dict)
    same: frozenset[str] = frozenset()

    def present(self, file: str, recorded_line: int) -> int | None:
        """The line in the present file, or None if the statement is gone."""
        return recorded_line if file in self.same else self.forward.get(file, {}).get(recorded_line)

    def recorded(self, file: str, present_line: int) -> int | None:
        """The line in the recorded file, or None if the statement is new."""
        return present_line if file in self.same else self.backward.get(file, {}).get(present_line)

    def is_probe(self, file: str, present_line: int) -> bool:
        """True if the line belongs to an added statement."""
        return present_line in self.added.get(file, frozenset())


@dataclass(frozen=True, slots=True)
class Edit:
    """All that differs between the recorded and the present sources."""

    probes: tuple[Probe, ...] = ()
    others: tuple[Change, ...] = ()
    lines: LineMap = field(default_factory=LineMap)
