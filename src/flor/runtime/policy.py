"""When to checkpoint: the paper's invariants, as arithmetic on numbers."""

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


def keeps_record_overhead(costs: BlockCosts, *, tolerance: float) -> bool:
    """The Record Overhead Invariant: all checkpoints cost less than their share of the computing (equation 1)."""
    return costs.materialize * costs.checkpoints < costs.compute * costs.executions * tolerance


def keeps_replay_latency(costs: BlockCosts, *, restore_ratio: float) -> bool:
    """The Replay Latency Invariant: saving and restoring is faster than computing once more (equation 3)."""
    return costs.materialize * (1 + restore_ratio) * costs.checkpoints < costs.compute * costs.executions


def should_checkpoint(costs: BlockCosts, *, tolerance: float, restore_ratio: float) -> bool:
    """The Joint Invariant: one more checkpoint keeps both (equation 4)."""
    budget = min(1 / (1 + restore_ratio), tolerance)
    return costs.materialize * (costs.checkpoints + 1) < costs.compute * costs.executions * budget


def overhead(spent: float, elapsed: float) -> float:
    """What was spent as a share of the time that the program would have taken without it."""
    return spent / max(elapsed - spent, 1e-9)


def affordable_from(spent: float, next_cost: float, *, begun: float, share: float) -> float:
    """The moment from which one more checkpoint keeps all that was spent under its share of the program's own time."""
    if share <= 0:
        return float("inf")
    return begun if share == float("inf") else begun + spent + (spent + next_cost) / share
