"""What became of the boundaries at which a checkpoint was considered."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from flor.runtime.materializing import Ledger


@dataclass
class Tally:
    """Counts for the run's last lines and for `flor show`."""

    taken: int = 0
    stall: float = 0.0  # seconds that the training thread itself has paid
    slowdown: float = 0.0  # seconds that it lost while checkpoints were written, as estimated
    late: int = 0  # of those that were taken, copied beside training
    left_out: Counter[str] = field(default_factory=Counter)
    refusals: dict[str, str] = field(default_factory=dict)

    @property
    def spent(self) -> float:
        """All that checkpoints have cost training."""
        return self.stall + self.slowdown

    def account(self, ledger: Ledger) -> dict[str, Any]:
        """Plain JSON of all that is known of a run's checkpoints."""
        loops: dict[str, dict[str, int]] = {}
        for checkpoint in ledger.written:
            key = checkpoint.key
            kinds = loops.setdefault(key.execution.loop, {"ends": 0, "points": 0})
            kinds["ends" if key.iteration is None else "points"] += 1
        mispredicted = {"memory that was believed unchanged had changed": ledger.mispredicted}
        return {
            "written": len(ledger.written),
            "seconds": self.spent,
            "stall": self.stall,
            "slowdown": self.slowdown,
            "late": self.late,
            "bytes": ledger.bytes_written,
            "bytes_logical": ledger.bytes_logical,
            "loops": loops,
            "left_out": {**self.left_out, **(mispredicted if ledger.mispredicted else {})},
            "refused": self.refusals,
        }
