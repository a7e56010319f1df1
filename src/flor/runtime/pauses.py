"""When to work beside training: while it waits, for data or for an accelerator."""

from __future__ import annotations

import time
from threading import Event

LOOK = 0.01  # seconds from one look to the next
IDLE = 0.2  # of one processor: a process that uses less of it waits
SHARE, LONGEST = 0.1, 0.25  # waited for at most: this part of the time since the last work, and so many seconds


def patience(since: float) -> float:
    """How long work may wait for a pause, if there was none for so many seconds."""
    return min(SHARE * since, LONGEST)


def wait_for_a_pause(at_most: float, hurry: Event) -> None:
    """Return when the process leaves the processor alone, when its time is over, or when somebody is in a hurry."""
    wall, cpu = time.perf_counter(), time.process_time()
    end = wall + at_most
    while wall < end and not hurry.wait(min(LOOK, end - wall)):
        before, used = (wall, cpu), time.process_time()
        wall, cpu = time.perf_counter(), used
        if cpu - before[1] < IDLE * (wall - before[0]):
            return
