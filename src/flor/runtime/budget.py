"""One budget for every checkpoint of a run: what was spent, and from when on the next one can be afforded."""

from __future__ import annotations

from dataclasses import dataclass, field

from flor.runtime.policy import affordable_from
from flor.runtime.pricing import Prices

SEEN = 0.8  # of the tolerance may be spent on what is seen
UNSEEN = 0.0025  # of training's time is kept back, whatever is tolerated, for hooks and for steps slowed unseen
LEAST = 0.3  # of a small tolerance may be spent all the same
MARGIN = 1.25  # the next checkpoint may cost so many times what the last one did
ALL = 1.0  # from this tolerance on a checkpoint is taken wherever one may be, and only their sum is bounded
FEW_OBJECTS = 500  # take a few milliseconds


@dataclass
class Budget:
    """Seconds of training's time, spent and to be spent."""

    tolerance: float
    begun: float
    next_price: float
    spent: float = 0.0
    reserved: float = 0.0  # slow-down that is expected of writes under way
    last_price: float = 0.0
    prices: Prices = field(default_factory=Prices)

    @property
    def share(self) -> float:
        """The part of training's time that checkpoints may take."""
        return max(SEEN * self.tolerance - UNSEEN, LEAST * self.tolerance)

    @property
    def total(self) -> float:
        """All that was spent, and what is about to be."""
        return self.spent + self.reserved

    @property
    def adaptive(self) -> bool:
        """True if loops are held to the paper's invariants one by one."""
        return self.tolerance < ALL

    def from_when(self, price: float, part: float = 1.0) -> float:
        """The moment from which so much more can be afforded, out of that part of the tolerance."""
        return affordable_from(self.total, price, begun=self.begun, share=part * self.share)

    def allows(self, price: float, now: float, part: float = 1.0) -> bool:
        """True if so much more can be afforded now."""
        return now >= self.from_when(price, part)

    def objects(self, now: float) -> int | None:
        """How many objects a walk may meet before it costs more than can be afforded; None for any number."""
        if self.tolerance >= ALL:
            return None
        left = self.share * (now - self.begun - self.total) - self.total
        return max(FEW_OBJECTS, int(left / self.prices.walk))

    def spend(self, seconds: float) -> None:
        """So much was spent."""
        self.spent += seconds

    def taken(self, stall: float, slowdown: float) -> None:
        """A checkpoint was taken: it has cost so much and will cost so much more while it is written."""
        self.reserved += slowdown
        self.last_price = stall + slowdown
        self.next_price = MARGIN * self.last_price

    def settled(self, expected: float, slowdown: float) -> None:
        """A write is over: what it really cost replaces what was expected of it."""
        self.reserved = max(0.0, self.reserved - expected)
        self.spent += max(0.0, slowdown)
