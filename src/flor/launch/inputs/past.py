"""The wall clock of a replay: libraries and files have the time of the record, as the script's own readings have.

What a script reads itself is answered from the record. It may compare that with what a library read or with the age of
a file, and must not find that these are of another day.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flor.runtime.readings import Given, Options, Reading

NANO = 1_000_000_000
APART = 10_000_000  # nanoseconds between two moments that are kept
SLOWER = 10  # times
_TIMES = ("atime", "mtime", "ctime")


class Told:
    """Stands for a function of `time`, also in a checkpoint."""

    def __init__(self, function: Callable[[], Any], tell: Callable[[], Any]) -> None:
        self.__wrapped__ = function
        self.__name__ = self.__qualname__ = function.__name__
        self.__module__, self.__doc__ = "time", function.__doc__
        self.tell = tell

    def __call__(self) -> Any:
        return self.tell()

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


class PastClock:
    """Goes on from the reading that the script was answered last, or from the beginning of the recorded run."""

    def __init__(self, began: float, first: object = None) -> None:
        """`first` is what the script was told first: a start that takes longer than that one does not pass it."""
        self.real, self.real_ns = time.time, time.time_ns
        self.started = self.real_ns()  # of this process: a younger file was written by the replay
        self.offset = int(began * NANO) - self.started
        self.first = _nanoseconds(first)
        self._real, self._past = [self.started], [int(began * NANO)]  # moments of this process, and of the record

    def install(self) -> Callable[[], None]:
        """Be the clock of every library that is imported from now on; gives what takes it away again."""
        time.time, time.time_ns = Told(self.real, self.time), Told(self.real_ns, self.time_ns)

        def remove() -> None:
            time.time, time.time_ns = self.real, self.real_ns

        return remove

    def time(self) -> float:
        """Seconds."""
        return self.time_ns() / NANO

    def time_ns(self) -> int:
        """Nanoseconds."""
        now = self.real_ns() + self.offset
        if self.first is None or now <= self.first:
            return now
        return self.first + (now - self.first) // SLOWER  # it never stands still: somebody may wait for it

    def told(self, answer: object) -> None:
        """The script was told this time."""
        then = _nanoseconds(answer)
        if then is not None:
            self.first = None
            self._set(then)

    def not_before(self, then: int) -> None:
        """Files of that age were put in place: what is written from now on is younger."""
        self._set(max(then, self.time_ns()), always=True)

    def _set(self, then: int, *, always: bool = False) -> None:
        now = self.real_ns()
        self.offset = then - now
        if always or now - self._real[-1] > APART:
            self._real.append(max(now, self._real[-1] + 1))
            self._past.append(max(then, self._past[-1] + 1))

    def of_file(self, then: int) -> int:
        """When a file was written, in nanoseconds; what was written later is younger, whatever the clock did since."""
        at = bisect_right(self._real, then) - 1
        if at < 0:
            return then
        real, past = self._real[at], self._past[at]
        if at + 1 == len(self._real):
            return past + then - real
        return past + (then - real) * (self._past[at + 1] - past) // (self._real[at + 1] - real)

    def method(self, value: Any) -> Reading | None:
        """The stand-in of a path's method that tells how old a file is."""
        owner, name = getattr(value, "__self__", None), getattr(value, "__name__", "")
        if name in ("stat", "lstat") and isinstance(owner, Path):
            return FileTime(value, "pathlib", f"Path.{name}", self)
        return None


def _nanoseconds(reading: object) -> int | None:
    """What `time.time` or `time.time_ns` told."""
    if isinstance(reading, float):
        return int(reading * NANO)
    return reading if isinstance(reading, int) else None


class FileTime(Reading):
    """`os.path.getmtime` and the like, `os.stat` and the `stat` of a path: worked out, not recorded."""

    plain = False

    def __init__(self, function: Any, module: str, name: str, past: PastClock) -> None:
        super().__init__(function, module, name)
        self.call = self._look
        self.past = past

    def asks(self, args: Given, options: Options) -> bool:
        """It tells nothing that the record would have to."""
        return False

    def _look(self, *args: Any, **options: Any) -> Any:
        found = self.__wrapped__(*args, **options)
        if isinstance(found, float):
            then = int(found * NANO)
            return found if then < self.past.started else self.past.of_file(then) / NANO
        return self._in_the_past(found) if isinstance(found, os.stat_result) else found

    def _in_the_past(self, found: os.stat_result) -> os.stat_result:
        times = {name: getattr(found, f"st_{name}_ns") for name in _TIMES}
        if max(times.values()) < self.past.started:
            return found
        then = {name: self.past.of_file(value) for name, value in times.items()}
        extra = {name: getattr(found, name) for name in dir(found) if name.startswith("st_")}
        extra |= {f"st_{name}_ns": value for name, value in then.items()}
        extra |= {f"st_{name}": value / NANO for name, value in then.items()}
        return os.stat_result((*found[:7], *(value // NANO for value in then.values())), extra)
