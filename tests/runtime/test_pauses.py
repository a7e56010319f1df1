"""The writer works while training waits, but it does not wait for that for ever."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import pytest

from flor.runtime import pauses
from flor.runtime.pauses import patience, wait_for_a_pause


@dataclass
class Training:
    """A clock, and a process that is busy until a moment."""

    busy_until: float
    now: float = 0.0
    hurried_at: float = float("inf")

    def perf_counter(self) -> float:
        return self.now

    def process_time(self) -> float:
        return min(self.now, self.busy_until)

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.now >= self.hurried_at


def waited(monkeypatch: pytest.MonkeyPatch, training: Training, at_most: float) -> float:
    hurry: Any = training
    monkeypatch.setattr(pauses, "time", training)
    wait_for_a_pause(at_most, hurry)
    return training.now


def test_work_begins_soon_after_training_has_begun_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0.05 < waited(monkeypatch, Training(busy_until=0.05), 0.25) <= 0.05 + 2 * pauses.LOOK


def test_a_process_that_never_waits_is_waited_for_so_long_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waited(monkeypatch, Training(busy_until=1e9), 0.25) == pytest.approx(0.25)


def test_without_patience_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waited(monkeypatch, Training(busy_until=1e9), 0.0) == 0.0


def test_at_the_end_of_a_run_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waited(monkeypatch, Training(busy_until=1e9, hurried_at=0.02), 0.25) == pytest.approx(0.02)


def test_patience_is_a_small_part_of_the_time_between_two_writes() -> None:
    assert patience(0.05) == pytest.approx(0.005)
    assert patience(3600.0) == 0.25


def test_the_true_clocks_tell_a_process_that_waits() -> None:
    wait_for_a_pause(600.0, threading.Event())  # else this test takes ten minutes
