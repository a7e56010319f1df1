"""What a checkpoint will cost, learned from those before; how much the writer slows training down."""

from __future__ import annotations

from collections import Counter

import pytest

from flor.runtime.pricing import CAREFUL, COLD, COPY, HARM, Prices
from flor.runtime.sites import LoopFrame, Site
from flor.runtime.slowdown import Slowdown, Watch, Write
from flor.state import Demand

GB = 10**9


def test_memory_that_is_not_ready_makes_a_copy_dearer() -> None:
    prices = Prices()
    assert prices.stall(Demand(GB)) == pytest.approx(COPY * GB)
    assert prices.stall(Demand(GB, cold=GB)) == pytest.approx(COLD * GB)
    assert prices.stall(Demand(GB, cold=GB)) > 5 * prices.stall(Demand(GB))


def test_rates_follow_what_is_measured() -> None:
    prices = Prices()
    for _ in range(20):
        prices.copied(Demand(GB, 0, Counter({GB: 1})), seconds=0.05)
        prices.copied(Demand(GB, GB, Counter({GB: 1})), seconds=0.5)
        prices.walked(1000, seconds=0.01)
        prices.slowed(GB, seconds=0.2)
    assert prices.stall(Demand(GB)) == pytest.approx(0.05, rel=0.01)
    assert prices.stall(Demand(GB, cold=GB)) == pytest.approx(0.5, rel=0.01)
    assert prices.walk == pytest.approx(1e-5, rel=0.01)
    assert prices.slowdown(GB) == pytest.approx(0.2, rel=0.01)


def test_a_copy_that_was_tried_is_believed_until_one_was_made() -> None:
    prices = Prices()
    prices.rehearsed(None)
    assert prices.copy == COPY
    prices.rehearsed(1e-10)
    assert prices.stall(Demand(GB)) == pytest.approx(CAREFUL * 0.1)
    for _ in range(20):
        prices.copied(Demand(GB, 0, Counter({GB: 1})), seconds=0.5)
    prices.rehearsed(1e-10)
    assert prices.stall(Demand(GB)) == pytest.approx(0.5, rel=0.01)


def test_a_few_bytes_say_nothing_about_a_rate() -> None:
    prices = Prices()
    prices.copied(Demand(100), seconds=1.0)
    prices.slowed(100, seconds=1.0)
    assert prices == Prices()


def test_a_write_that_seems_to_speed_training_up_costs_nothing() -> None:
    prices = Prices()
    for _ in range(9):
        prices.slowed(GB, seconds=-1.0)
    assert prices.slowdown(GB) == HARM


def loop(*durations: float) -> LoopFrame:
    frame = LoopFrame(Site("train.py::<module>#0", 0), 0, None)
    frame.durations.extend(durations)
    return frame


def test_slower_iterations_while_a_write_is_under_way_are_what_it_cost() -> None:
    frame = loop(*[1.0] * 10)
    slowdown = Slowdown()
    slowdown.begin([frame], begun=10.0, stall=0.5, expected=0.1)
    frame.durations.append(1.0 + 0.5 + 0.2)  # the stall is in it, and it began before the stall
    slowdown.iteration(frame, now=11.7)
    frame.durations.append(1.3)
    slowdown.iteration(frame, now=13.0)
    expected, lost = slowdown.end(Write(seconds=2.0, cpu=0.1, nbytes=GB))
    assert expected == 0.1 and lost == pytest.approx(0.5)
    assert not slowdown.watching


def test_a_write_cannot_cost_more_than_it_lasted() -> None:
    watch = Watch(begun=0.0, stall=0.0, expected=0.0, excess=5.0, covered=9.0)
    assert watch.slowdown(Write(seconds=1.0, cpu=0.2, nbytes=GB)) == 1.0


def test_where_no_iteration_was_seen_the_processor_time_of_the_writer_counts() -> None:
    watch = Watch(begun=0.0, stall=0.0, expected=0.0, excess=0.0, covered=0.1)
    assert watch.slowdown(Write(seconds=1.0, cpu=0.2, nbytes=GB)) == 0.2


def test_a_loop_that_goes_by_in_chunks_tells_nothing() -> None:
    frame = loop(*[1.0] * 10)
    frame.given = lambda: 3
    slowdown = Slowdown()
    slowdown.begin([frame], begun=0.0, stall=0.0, expected=0.0)
    assert slowdown.typical == {}


def test_two_writes_are_told_apart_by_their_order() -> None:
    slowdown = Slowdown()
    slowdown.begin([], begun=0.0, stall=0.0, expected=1.0)
    slowdown.begin([], begun=1.0, stall=0.0, expected=2.0)
    assert slowdown.end(Write(1.0, 0.25, 0)) == (1.0, 0.25)
    assert slowdown.end(Write(1.0, 0.5, 0)) == (2.0, 0.5)
