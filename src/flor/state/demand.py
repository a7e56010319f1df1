"""What a snapshot needs before anything is copied, and the answer to that."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Demand:
    """Bulk data that would have to be copied, and how much of it has no memory ready that it could be copied to."""

    nbytes: int = 0
    cold: int = 0
    sizes: Counter[int] = field(default_factory=Counter)  # of the staging buffers
    late: int = 0  # bytes that may be copied beside training
    elsewhere: int = 0  # bytes on other devices: they come to this one's memory however they are taken

    def without_late(self) -> Demand:
        """What is left if all that may be is copied beside training; into memory that is ready, or they would wait."""
        return Demand(self.nbytes - self.late, min(self.cold, self.nbytes - self.late))


class Answer(enum.Enum):
    """How a snapshot is to hold its bulk data."""

    COPY = "copied, so that training may go on"
    LATE = "copied as soon as can be beside training, before an optimizer's next step"
    LOOK = "left where it is: nothing may change it until it is written"
    DECLINE = "not at all: no snapshot is taken"


Admit = Callable[[Demand], Answer]


def always(demand: Demand) -> Answer:
    """Any snapshot is welcome."""
    return Answer.COPY
