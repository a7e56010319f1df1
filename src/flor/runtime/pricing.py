"""What a checkpoint will cost training, learned from those before it."""

from __future__ import annotations

from dataclasses import dataclass

from flor.state import Demand

WALK = 1e-5  # seconds an object: a guess, until the first walk was measured
COPY = 0.3e-9  # seconds a byte into memory that is ready: a guess, until a copy was tried or made
CAREFUL = 1.25  # a real copy may take so many times what a tried one took
COLD = 2e-9  # seconds a byte into memory that the system has yet to give: in a virtual machine far more than the copy
STREAM = 2e-9  # seconds a byte that is written to disk while training waits
SLOW = 0.15e-9  # seconds a byte that training is slowed down by while the writer works
HARM = 2e-3  # seconds that training is slowed down by in any case
LEARN = 0.5  # the weight of the latest observation
ENOUGH = 1 << 20  # bytes: fewer say nothing about a rate


@dataclass
class Prices:
    """Rates in seconds a byte; each observation moves them."""

    walk: float = WALK
    copy: float = COPY
    cold: float = COLD
    stream: float = STREAM
    slow: float = SLOW
    learned: bool = False  # whether a copy was made and measured

    def stall(self, demand: Demand) -> float:
        """Seconds that the copies of a snapshot will take."""
        return self.copy * (demand.nbytes - demand.cold) + self.cold * demand.cold

    def streaming(self, demand: Demand) -> float:
        """Seconds that writing from live memory will take."""
        return self.stream * demand.nbytes

    def slowdown(self, nbytes: int) -> float:
        """Seconds that training will lose while so many bytes are written in the background."""
        return HARM + self.slow * nbytes

    def walked(self, objects: int, seconds: float) -> None:
        """A walk was over after so long."""
        if objects:
            self.walk = _moved(self.walk, seconds / objects)

    def rehearsed(self, rate: float | None) -> None:
        """A copy was tried, if any: believed until a real one was made."""
        if rate is not None and not self.learned:
            self.copy = CAREFUL * rate

    def copied(self, demand: Demand, seconds: float) -> None:
        """The copies took so long."""
        if demand.nbytes < ENOUGH:
            return
        if demand.cold > demand.nbytes / 2:
            self.cold = _moved(self.cold, seconds / demand.nbytes)
        elif not demand.cold:
            self.copy = _moved(self.copy, seconds / demand.nbytes)
            self.learned = True

    def streamed(self, demand: Demand, seconds: float) -> None:
        """Writing from live memory took so long."""
        if demand.nbytes >= ENOUGH:
            self.stream = _moved(self.stream, seconds / demand.nbytes)

    def slowed(self, nbytes: int, seconds: float) -> None:
        """Training lost so much while that was written; it may be less than nothing, by chance."""
        if nbytes >= ENOUGH:
            self.slow = max(0.0, _moved(self.slow, (seconds - HARM) / nbytes))


def _moved(rate: float, seen: float) -> float:
    return rate + LEARN * (seen - rate)
