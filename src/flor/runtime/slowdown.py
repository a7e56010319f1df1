"""How much the writer slows training down: iterations while it works beside iterations while it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from flor.runtime.sites import LoopFrame

ENOUGH = 4  # iterations before a typical one is known
SAMPLE = 64  # of the latest iterations


@dataclass(frozen=True)
class Write:
    """One write that is over: the seconds that it took, and those that it kept a processor busy."""

    seconds: float
    cpu: float
    nbytes: int


@dataclass
class Watch:
    """One write under way, and the iterations that were seen meanwhile."""

    begun: float  # when the stall began
    stall: float
    expected: float  # the slow-down that was reserved for it
    excess: float = 0.0
    covered: float = 0.0

    def slowdown(self, write: Write) -> float:
        """What training lost: as seen, if enough was seen; else no more than the processor time that it took."""
        if self.covered < write.seconds / 2:
            return write.cpu
        return min(self.excess, write.seconds)


@dataclass
class Slowdown:
    """Watches one write after the other; the iterations of the innermost loop are what is compared."""

    typical: dict[str, float] = field(default_factory=dict)  # seconds of an iteration while nothing is written
    watches: list[Watch] = field(default_factory=list)

    @property
    def watching(self) -> bool:
        """True as long as there is a write whose end was not noted."""
        return bool(self.watches)

    def begin(self, frames: list[LoopFrame], begun: float, stall: float, expected: float) -> None:
        """A snapshot was handed over; the loops under way say what is usual."""
        if not self.watches:
            for frame in frames:
                self.learn(frame)
        self.watches.append(Watch(begun, stall, expected))

    def learn(self, frame: LoopFrame) -> None:
        """Note what an iteration of a loop takes; one that goes by in chunks tells nothing."""
        if len(frame.durations) >= ENOUGH and frame.given is None:
            self.typical[frame.site.loop] = median(frame.durations[-SAMPLE:])

    def iteration(self, frame: LoopFrame, now: float) -> None:
        """An iteration ended while something was written."""
        usual = self.typical.get(frame.site.loop)
        if usual is None or not frame.durations or frame.given is not None or not self.watches:
            return
        watch = self.watches[0]
        lasted = frame.durations[-1]
        if now - lasted < watch.begun:  # the stall itself is in this one
            lasted -= watch.stall
        watch.excess += lasted - usual
        watch.covered += lasted

    def end(self, write: Write) -> tuple[float, float]:
        """The oldest write is over: what was expected of it, and what it did."""
        watch = self.watches.pop(0)
        return watch.expected, watch.slowdown(write)
