"""Differences of state that are allowed for by their place, never by a bare name."""

from __future__ import annotations

import time

from flor.launch.clocks import Clocks, readings
from flor.launch.volatility import Volatile

SOURCE = {
    "train.py": "import time\nt = time.time()\nclass S:\n    def __init__(self):\n        self.t = 0.5\ns = S()\n"
}


def test_a_clock_under_a_name_does_not_excuse_another_variable_of_that_name() -> None:
    volatile = Volatile(SOURCE)
    assert not volatile("module:__main__:s.t")
    assert not volatile("module:__main__:t")


def test_what_a_user_calls_volatile_is_found_from_its_root() -> None:
    volatile = Volatile(SOURCE, names=("s.t", "meter"))
    assert volatile("module:__main__:s.t")
    assert volatile("frame1:train:meter.values[3]")
    assert not volatile("module:__main__:other.s.t")
    assert not volatile("module:__main__:meters")


def test_a_rate_is_a_librarys_unless_the_project_gives_that_name() -> None:
    assert Volatile({})("module:__main__:metrics['train_runtime']")
    own = {"train.py": "metrics = {'train_runtime': 3}\n"}
    assert not Volatile(own)("module:__main__:metrics['train_runtime']")


def test_a_reading_of_the_clock_may_differ_in_a_librarys_object_only() -> None:
    now = readings()
    clocks = Clocks({name: value - 5000 for name, value in now.items()}, 60.0, now)
    allowed = Volatile(SOURCE).allowance(clocks, lambda module: module == "__main__").values
    then = now["time"] - 4990
    assert allowed(then, time.time(), "somelibrary.trainer:Trainer", "start")
    assert allowed(then, time.time(), "__main__:S", "_librarys")
    assert not allowed(then, time.time(), "__main__:S", "t")
    assert not allowed(then, time.time(), "", "")
