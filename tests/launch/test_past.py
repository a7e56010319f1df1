"""The clock of a replay's libraries and files: that of the record."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from flor.launch.inputs.past import NANO, FileTime, PastClock

BEGAN = 1_500_000_000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> PastClock:
    """A clock over one that the test sets, in seconds since the process began."""
    now = [2_000_000_000 * NANO]
    monkeypatch.setattr(time, "time_ns", lambda: now[0])
    made = PastClock(BEGAN)
    vars(made)["go"] = lambda seconds: now.__setitem__(0, now[0] + int(seconds * NANO))
    return made


def go(clock: PastClock, seconds: float) -> None:
    vars(clock)["go"](seconds)


def test_it_begins_with_the_run_and_goes_on(clock: PastClock) -> None:
    go(clock, 3)
    assert clock.time() == BEGAN + 3


def test_it_follows_what_the_script_is_told_forward_and_back(clock: PastClock) -> None:
    for answer in (BEGAN + 100, BEGAN + 50):
        clock.told(answer)
        go(clock, 1)
        assert clock.time() == answer + 1


def test_a_start_that_takes_longer_than_the_recorded_one_hardly_passes_the_first_reading(clock: PastClock) -> None:
    clock.first = int((BEGAN + 2) * NANO)
    go(clock, 7)
    assert BEGAN + 2 < clock.time() < BEGAN + 3
    clock.told(BEGAN + 2)
    go(clock, 7)
    assert clock.time() == BEGAN + 9


def test_files_keep_the_order_in_which_they_were_written_whatever_the_clock_does(clock: PastClock) -> None:
    written = []
    for answer in (BEGAN + 100, BEGAN + 101, BEGAN + 90, BEGAN + 200):
        go(clock, 5)
        clock.told(answer)
        go(clock, 5)
        written.append(clock.real_ns())
    ages = [clock.of_file(then) for then in written]
    assert ages == sorted(set(ages))


def test_what_is_written_after_files_were_put_in_place_is_younger_than_these(clock: PastClock) -> None:
    clock.not_before(int((BEGAN + 500) * NANO))
    go(clock, 1)
    assert clock.of_file(clock.real_ns()) > (BEGAN + 500) * NANO


def test_a_file_that_was_there_before_keeps_its_age_and_a_new_one_has_that_of_the_record(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("x")
    os.utime(old, (1000, 1000))
    clock = PastClock(BEGAN)
    time.sleep(0.05)  # the clock of files is coarse
    new.write_text("xy")
    look = FileTime(os.stat, "os", "stat", clock)
    found = look(new)
    assert look(old).st_mtime == 1000
    assert abs(found.st_mtime - BEGAN) < 60 and found.st_mtime_ns // NANO == int(found.st_mtime) == found[8]
    assert (found.st_size, found.st_ino, found.st_mode) == (2, os.stat(new).st_ino, os.stat(new).st_mode)
    assert abs(FileTime(os.path.getmtime, "posixpath", "getmtime", clock)(new) - BEGAN) < 60


def test_libraries_are_told_the_past_until_it_is_taken_away() -> None:
    clock, real = PastClock(BEGAN), time.time
    remove = clock.install()
    try:
        assert abs(time.time() - BEGAN) < 60 and abs(time.time_ns() - BEGAN * NANO) < 60 * NANO
        assert repr(time.time) == repr(real)
    finally:
        remove()
    assert time.time is real
