"""How densely checkpoints stand: which boundary of a loop, and which of its ends, is worth one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from flor.runtime.budget import Budget
from flor.runtime.policy import RESTORE_RATIO, BlockCosts, should_checkpoint
from flor.runtime.sites import Site

WORTH = 1.0  # a loop execution is memoized only if it took this many times what saving and restoring it costs
BESIDE = 0.2  # part of the tolerance up to which resume points are dense beside ends, which answer outer probes
NESTED_SHARE = 32  # within a nested loop at most one resume point each 1/32 of the time so far
NESTED_WAIT, LEAST_WAIT = 5.0, 1.0  # seconds from one to the next, and if overhead is no matter
DENSE_POINTS = 64  # resume points of an outermost loop: each of the first 64, then one each 1/64 of the time so far
SPARSE_POINTS = 4  # ... and one each 1/4 in any case: from one of them, by way of the ends, a worker comes to any other
SPARSE_WAIT = 10.0  # seconds: in so short a time ends lead through as fast
SMALL_POINTS, SMALL_RUN = 256, 1 << 30  # each of the first 256 while the run's packs are smaller than this
DENSE_ENDS = 2000  # memoized ends of a loop: each of the first 2,000
DENSE_BYTES = 4 << 30  # ... and all of them only while the run's packs are smaller than this


@dataclass
class Density:
    """What was taken where and when, and what follows from it for the next one."""

    budget: Budget
    restore_ratio: float = RESTORE_RATIO
    ends: Counter[str] = field(default_factory=Counter)  # memoized ends by loop
    last_end: dict[str, float] = field(default_factory=dict)
    last_nested: float = 0.0
    last_outer: float = 0.0

    def __post_init__(self) -> None:
        self.begin(self.budget.begun)

    def begin(self, now: float) -> None:
        """Training begins now: time before it earns nothing."""
        self.budget.begun = self.last_nested = self.last_outer = now

    def point_is_due(self, index: int, now: float, written: int) -> bool:
        """Every outer iteration as long as that is cheap; where ends are kept too, these come first."""
        since, elapsed = now - self.last_outer, now - self.budget.begun
        if self.ends and self.budget.adaptive and elapsed < SPARSE_WAIT:
            return False
        if self.ends and not self.budget.allows(self.budget.next_price, now, BESIDE):
            return since >= elapsed / SPARSE_POINTS
        dense = SMALL_POINTS if written < SMALL_RUN else DENSE_POINTS
        return index <= dense or since >= elapsed / DENSE_POINTS

    def nested_point_is_due(self, now: float) -> bool:
        """Rarely: what is not worth its price is soon computed again."""
        least = NESTED_WAIT if self.budget.adaptive else LEAST_WAIT
        affordable = self.budget.allows(self.budget.next_price, now, BESIDE)
        return affordable and now - self.last_nested >= max(least, (now - self.budget.begun) / NESTED_SHARE)

    def end_is_worth(self, site: Site, lasted: float) -> bool:
        """True if this execution, and the loop's executions together, keep the paper's Joint Invariant."""
        price = self.budget.next_price
        if lasted <= WORTH * (1 + self.restore_ratio) * price:
            return False
        if not self.budget.adaptive:
            return True
        executions = site.executions + 1
        mean = (site.seconds + lasted) / executions
        costs = BlockCosts(price, mean, executions, self.ends[site.loop])
        return should_checkpoint(costs, tolerance=self.budget.tolerance, restore_ratio=self.restore_ratio)

    def end_is_due(self, loop: str, now: float, written: int) -> bool:
        """Every end while there are not too many and they do not fill the disk, then ever more rarely."""
        rarely = self.ends[loop] > DENSE_ENDS or written > DENSE_BYTES
        if rarely and now - self.last_end.get(loop, 0.0) < (now - self.budget.begun) / DENSE_POINTS:
            return False
        self.last_end[loop] = now
        return True
