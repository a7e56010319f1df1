"""Whether a snapshot is taken, and how, once it is known what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from flor.runtime.budget import MARGIN, Budget
from flor.runtime.sites import clock
from flor.runtime.writer import Writer
from flor.state import Answer, Demand
from flor.state.staging import Staging

LATE = 4 << 20  # bytes: fewer are copied at once
COLD = 8 << 20  # bytes: for less it is not worth to wait until memory is ready
TRIFLE = 0.1  # ... nor if the whole price is less than this part of what can be afforded
TOO_DEAR = "it would have cost more than the tolerance allows"


def never() -> bool:
    """Copies are made at once."""
    return False


@dataclass
class Admission:
    """Answers one capture, and keeps the reason."""

    budget: Budget
    writer: Writer
    staging: Staging
    room: int  # bytes that copies may take
    begun: float
    may_wait: Callable[[], bool] = never  # whether copies may be made beside training
    preview: bool = False  # nothing is taken yet: memory is made ready
    demand: Demand = field(default_factory=Demand)
    walked: float = 0.0
    late: bool = False
    awaits_memory: bool = False
    answer: Answer = Answer.DECLINE
    reason: str = "more objects than can be walked in the time that is left"

    def __call__(self, demand: Demand) -> Answer:
        """Called when the objects were walked and nothing was copied yet."""
        self.demand = demand
        self.walked = clock() - self.begun
        self.budget.prices.rehearsed(self.staging.rate)
        self.late = demand.late >= LATE and not self.writer.busy and self.may_wait()
        self.answer = self._answer()
        return self.answer

    @property
    def at_once(self) -> Demand:
        """What the training thread copies itself."""
        return self.demand.without_late() if self.late else self.demand

    @property
    def stall(self) -> float:
        """What the training thread will pay, from the beginning of the walk."""
        prices = self.budget.prices
        looks = self.writer.waits or not self._fits()
        return self.walked + (prices.streaming(self.demand) if looks else prices.stall(self.at_once))

    @property
    def slowdown(self) -> float:
        """What it will pay while the rest is done in the background."""
        return 0.0 if self.writer.waits else self.budget.prices.slowdown(self.demand.nbytes)

    def price_when_ready(self) -> float:
        """What it will pay in all, once there is memory for the copies."""
        self.budget.prices.rehearsed(self.staging.rate)
        return self.walked + self.budget.prices.stall(replace(self.at_once, cold=0)) + self.slowdown

    def _answer(self) -> Answer:
        if self.preview:
            if self._fits() and self._should_wait_for_memory():
                self._ask_for_memory()
            return Answer.DECLINE
        if self.writer.waits or self.writer.forks:
            return self._if_affordable(Answer.LOOK)
        if not self._fits():
            self.reason = f"{self.demand.nbytes / 1e9:.1f} GB to copy are more than the {self.room / 1e9:.1f} GB for it"
            if self.writer.busy or self.demand.elsewhere > self.room:
                return Answer.DECLINE
            return self._if_affordable(Answer.LOOK, f"{self.reason}, and to have training wait for them costs too much")
        if self._should_wait_for_memory():
            self._ask_for_memory()
            self.reason = "memory for its copy was not ready yet"
            return Answer.DECLINE
        return self._if_affordable(Answer.LATE if self.late else Answer.COPY)

    def _fits(self) -> bool:
        staged = sum(size * count for size, count in self.demand.sizes.items())
        return staged + self.demand.elsewhere <= self.room

    def _if_affordable(self, answer: Answer, else_because: str = TOO_DEAR) -> Answer:
        price = self.stall + self.slowdown
        if self.budget.allows(price, clock()):
            return answer
        self.reason = else_because
        self.budget.next_price = MARGIN * price  # the next look should not be in vain again
        return Answer.DECLINE

    def _ask_for_memory(self) -> None:
        self.awaits_memory = True
        self.writer.warm(self.staging, self.demand.sizes)

    def _should_wait_for_memory(self) -> bool:
        trifle = self.budget.allows((self.stall + self.slowdown) / TRIFLE, clock())
        return self.demand.cold >= COLD and not trifle
