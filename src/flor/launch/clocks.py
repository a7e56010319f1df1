"""Numbers that are readings of a clock: a state may hold them, and no two runs have the same."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SLACK = 2.0  # seconds between a run's first line of ours and its facts, at the most


def readings() -> dict[str, float]:
    """What the clocks say now."""
    return {"time": time.time(), "monotonic": time.monotonic(), "perf_counter": time.perf_counter()}


@dataclass(frozen=True)
class Clocks:
    """Knows a number that was read off a clock while a run was recorded, or off the same clock in this process."""

    then: Mapping[str, float]  # when the run began
    seconds: float  # how long it took
    begun: Mapping[str, float] = field(default_factory=readings)  # when this process began

    @classmethod
    def of(cls, facts: Mapping[str, Any], ended: Mapping[str, Any]) -> Clocks:
        """The clocks of a run; one that has not ended may have gone on until now."""
        lasted = ended.get("seconds")
        return cls(facts.get("clocks", {}), time.time() - facts["started"] if lasted is None else lasted)

    def read(self, recorded: object, present: object) -> bool:
        """True if both are readings of one clock: the recorded one of that time, the other of then or of now."""
        if type(recorded) is not float or type(present) is not float:
            return False
        now = readings()
        for name, then in self.then.items():
            if _between(recorded, then, then + self.seconds):
                first = (
                    min(then, now[name]) if now[name] < self.begun[name] else self.begun[name]
                )  # a clock of the past
                return _between(present, then, then + self.seconds) or _between(present, first, now[name])
        return False


def _between(value: float, first: float, last: float) -> bool:
    return first - SLACK <= value <= last + SLACK
