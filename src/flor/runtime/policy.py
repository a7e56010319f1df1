"""When to checkpoint: the paper's Joint Invariant, as arithmetic on numbers."""

from __future__ import annotations

from dataclasses import dataclass

TOLERANCE = 1 / 15
RESTORE_RATIO = 1.0


@dataclass(frozen=True)
class BlockCosts:
    """What is known of one block when it ends, in seconds of a monotonic clock."""

    materialize: float
    compute: float
    executions: int
    checkpoints: int


def should_checkpoint(costs: BlockCosts, *, tolerance: float, restore_ratio: float) -> bool:
    """True if one more checkpoint keeps both invariants (paper, equation 4)."""
    budget = min(1 / (1 + restore_ratio), tolerance)
    return costs.materialize * (costs.checkpoints + 1) < costs.compute * costs.executions * budget


def affordable_from(spent: float, next_cost: float, *, begun: float, share: float) -> float:
    """The moment from which one more checkpoint keeps all that was spent under its share of the time since `begun`."""
    return begun + (spent + next_cost) / share if share > 0 else float("inf")
