"""What a replay yields: the merged records, what the comparison found, and the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flor.errors import ReplayError
from flor.model.plan import Plan
from flor.model.records import Channel, Ended, Record
from flor.replay.merging import Findings, Gap, Merged


@dataclass
class Result:
    """What a replay yielded."""

    merged: list[Merged]
    findings: Findings
    plan: Plan
    seconds: float
    executed: int = 0
    skipped: int = 0
    restored: int = 0
    restoring: float = 0.0  # seconds, of all workers
    materializing: float = 0.0  # seconds that the restored checkpoints had cost
    notes: list[str] = field(default_factory=list)  # why it took longer than planned
    warnings: list[str] = field(default_factory=list)
    escapes: list[str] = field(default_factory=list)  # programs that the script started: not isolated
    told: list[str] = field(default_factory=list)  # what around the run is not as it was
    events: str = ""  # the command that shows what probes gave to TensorBoard
    folder: Path | None = None  # of the replay
    stopped: bool = False  # it has not come to its end: what there is of it
    error: ReplayError | None = None  # why it has not
    gaps: list[Gap] = field(default_factory=list)  # where something is missing, if it was stopped

    @property
    def exact(self) -> bool:
        """True if all that could be compared is equal."""
        return self.findings.exact and not self.warnings

    @property
    def unbroken(self) -> list[Merged]:
        """What there is up to the first gap."""
        return [merged for merged in self.merged if not merged.behind_gap]

    @property
    def hindsight(self) -> list[Merged]:
        """What the probes logged."""
        return [merged for merged in self.merged if merged.origin == "hindsight"]

    def summary(self) -> dict[str, Any]:
        """The last object of `--json`."""
        return {
            "verdict": "stopped" if self.stopped else "exact" if self.exact else "diverged",
            "seconds": round(self.seconds, 3),
            "workers": len(self.plan.segments),
            "blocks_executed": self.executed,
            "blocks_skipped": self.skipped,
            "restores": self.restored,
            "restore_seconds": round(self.restoring, 3),
            "segments": [[segment.start, segment.stop] for segment in self.plan.segments],
            "values_identical": self.findings.identical,
            "values_volatile": self.findings.volatile,
            "checkpoints_identical": self.findings.checkpoints if self.findings.exact else None,
            "divergences": [str(divergence) for divergence in self.findings.divergences[:5]],
            "warnings": self.warnings,
            "told": self.told,
            "tensorboard": self.events,
            "escapes": self.escapes,
        }

    def count(self, events: Sequence[Record]) -> None:
        """Add what one worker says of itself."""
        for event in events:
            if isinstance(event, Ended):
                self.executed += int(event.values.get("executed", 0))
                self.skipped += int(event.values.get("skipped", 0))
                self.restored += int(event.values.get("restored", 0))
                self.restoring += float(event.values.get("restoring", 0))
                self.materializing += float(event.values.get("materializing", 0))
                if event.values.get("lost"):
                    self.warnings.append(f"{event.values['lost']} log records could not be kept")
                self.escapes += event.values.get("escapes", ())

    def stdout(self, everything: bool) -> Iterator[bytes]:
        """What goes to stdout: the probes' pieces, or all of them."""
        for merged in self.unbroken:
            if merged.record.channel is Channel.STDOUT and (everything or merged.origin == "hindsight"):
                yield merged.record.data
