"""The writer: what is announced is on disk, training never waits, and nothing of its failures comes out."""

from __future__ import annotations

import shutil
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.append(str(Path(__file__).parent))

from checkpoints import Bench, look

from flor.runtime import writer as writing
from flor.runtime.admission import Admission
from flor.runtime.budget import Budget
from flor.runtime.sites import clock
from flor.state import Answer, Demand

BIG = 1 << 20


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A disk that takes its time until the event is set."""
    go, real = threading.Event(), writing.materialize

    def slow(*args: Any) -> Any:
        go.wait(20)
        return real(*args)

    monkeypatch.setattr(writing, "materialize", slow)
    yield go
    go.set()


@pytest.mark.parametrize("how", ["thread", "sync"])
def test_what_is_announced_reads_back(bench: Bench, how: str) -> None:
    writer, x = bench.writer(how), torch.randn(BIG)
    assert writer.ready()
    writer.put(bench.take(x=x, step=3))
    assert writer.drain(20)
    (checkpoint,) = bench.announced()
    found = bench.values(checkpoint)
    assert torch.equal(found["x"], x) and found["step"] == 3
    assert checkpoint.bytes_written > 4 * BIG
    writer.close(20)


def test_training_goes_on_while_the_snapshot_is_written(bench: Bench, stuck: threading.Event) -> None:
    writer, x = bench.writer(), torch.ones(BIG)
    assert writer.ready()
    writer.put(bench.take(x=x))
    x.zero_()
    assert bench.announced() == [] and writer.busy
    stuck.set()
    writer.close(20)
    assert torch.equal(bench.values(bench.announced()[0])["x"], torch.ones(BIG))


def test_at_most_two_snapshots_are_staged(bench: Bench, stuck: threading.Event) -> None:
    writer = bench.writer()
    for value in (1.0, 2.0):
        assert writer.ready()
        writer.put(bench.take(x=torch.full((BIG,), value)))
    assert not writer.ready()
    assert bench.memory.staging.held == 2 * 4 * BIG
    stuck.set()
    assert writer.drain(20) and writer.ready()
    writer.give_back()
    writer.close(20)
    assert [bench.values(each)["x"][0].item() for each in bench.announced()] == [1.0, 2.0]


def test_unchanged_bytes_are_written_once(bench: Bench) -> None:
    writer, frozen, step = bench.writer(), torch.randn(BIG), torch.zeros(10)
    for number in range(3):
        assert writer.ready()
        step.fill_(number)
        writer.put(bench.take(frozen=frozen, step=step))
        assert writer.drain(20)
    first, *later = bench.announced()
    assert first.bytes_written > 4 * BIG and all(each.bytes_written < 100_000 for each in later)
    assert all(torch.equal(bench.values(each)["frozen"], frozen) for each in later)
    writer.close(20)


def test_a_failing_disk_is_told_once_and_earlier_checkpoints_read(bench: Bench) -> None:
    writer = bench.writer()
    assert writer.ready()
    writer.put(bench.take(x=torch.ones(BIG)))
    assert writer.drain(20)
    shutil.move(bench.run.packs, bench.run.path / "away")
    for value in (2.0, 3.0):
        assert writer._free.acquire(blocking=False)
        writer.put(bench.take(x=torch.full((BIG,), value)))
    writer.close(20)
    assert len(bench.troubles) == 1 and "can't be written" in bench.troubles[0]
    assert writer.failed and not writer.ready()
    shutil.move(bench.run.path / "away", bench.run.packs)
    (checkpoint,) = bench.announced()
    assert torch.equal(bench.values(checkpoint)["x"], torch.ones(BIG))


@pytest.mark.parametrize("error", [MemoryError, OSError, KeyboardInterrupt, SystemExit])
def test_whatever_the_writer_dies_of_is_told_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], error: type[BaseException]
) -> None:
    def fails(*_: Any) -> None:
        raise error("no more")

    monkeypatch.setattr(writing, "materialize", fails)
    writer = bench.writer()
    for _ in range(2):
        assert writer._free.acquire(blocking=False)
        writer.put(bench.take(x=torch.ones(BIG)))
    writer.close(20)
    assert bench.troubles == [f"checkpoints can no longer be written: {error.__name__}: no more"]
    assert capfd.readouterr() == ("", "")
    assert bench.announced() == []


def test_closing_waits_no_longer_than_it_may(bench: Bench, stuck: threading.Event) -> None:
    writer = bench.writer()
    assert writer.ready()
    writer.put(bench.take(x=torch.ones(BIG)))
    writer.close(0.01)
    assert bench.announced() == []


def test_warm_memory_is_there_when_it_is_asked_for(bench: Bench) -> None:
    writer, sizes = bench.writer(), Counter({4 * BIG: 2, 1 << 17: 1})
    writer.warm(bench.memory.staging, sizes)
    assert writer.drain(20)
    assert not bench.memory.staging.missing(sizes)
    assert bench.memory.staging.held == 8 * BIG + (1 << 17)
    writer.close(20)


def test_a_copy_is_tried_when_memory_is_made_ready_if_there_is_enough_to_tell(bench: Bench) -> None:
    staging = bench.memory.staging
    staging.warm(Counter({1 << 17: 3}))
    assert staging.rate is None
    staging.warm(Counter({1 << 22: 1, 1 << 17: 1}))
    assert staging.rate is not None and 0 < staging.rate < 1e-6


def test_nobody_looks_at_the_state_while_memory_is_made_ready(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, go_on = bench.writer(), threading.Event()
    monkeypatch.setattr(bench.memory.staging, "warm", lambda _: go_on.wait(30))
    writer.warm(bench.memory.staging, Counter({1 << 20: 1}))
    assert not writer.ready()
    go_on.set()
    writer.drain()
    assert writer.ready()


def test_sizes_that_change_do_not_pile_up_memory(bench: Bench) -> None:
    writer = bench.writer()
    for number in range(1, 30):
        assert writer.ready()
        writer.put(bench.take(x=torch.ones(number * (1 << 15))))
        assert writer.drain(20)
        assert bench.memory.staging.held <= 2 * 4 * number * (1 << 15)
    writer.close(20)


def test_live_memory_is_written_while_training_waits(bench: Bench) -> None:
    writer, x = bench.writer(), torch.randn(BIG)
    assert writer.ready()
    writer.put_now(bench.take(admit=look, x=x))
    assert bench.memory.staging.held == 0
    assert torch.equal(bench.values(bench.announced()[0])["x"], x)


def admission(bench: Bench, writer: Any, *, tolerance: float, room: int, elapsed: float = 100.0) -> Admission:
    budget = Budget(tolerance, begun=clock() - elapsed, next_price=0.0)
    return Admission(budget, writer, bench.memory.staging, room, clock())


GB = 10**9
WARM, COLD = Demand(GB, 0, Counter({GB: 1})), Demand(GB, GB, Counter({GB: 1}))


def test_what_can_be_afforded_is_copied(bench: Bench) -> None:
    assert admission(bench, bench.writer(), tolerance=0.05, room=9 * GB)(WARM) is Answer.COPY


def test_what_costs_too_much_is_declined_and_the_price_is_kept(bench: Bench) -> None:
    asked = admission(bench, bench.writer(), tolerance=0.001, room=9 * GB)
    assert asked(WARM) is Answer.DECLINE and "tolerance" in asked.reason
    assert asked.budget.next_price > 0.1


def test_memory_is_made_ready_before_a_large_copy(bench: Bench) -> None:
    writer = bench.writer()
    small = Demand(1 << 24, 1 << 24, Counter({1 << 24: 1}))
    asked = admission(bench, writer, tolerance=0.05, room=9 * GB, elapsed=1.0)
    assert asked(small) is Answer.DECLINE and "not ready" in asked.reason
    assert writer.drain(20) and bench.memory.staging.held == 1 << 24
    assert asked.awaits_memory and asked.price_when_ready() < asked.stall
    writer.close(20)


def test_a_preview_takes_nothing_and_has_memory_made_ready(bench: Bench) -> None:
    writer = bench.writer()
    asked = admission(bench, writer, tolerance=0.05, room=9 * GB, elapsed=1.0)
    asked.preview = True
    assert asked(Demand(1 << 24, 1 << 24, Counter({1 << 24: 1}))) is Answer.DECLINE
    assert asked(WARM) is Answer.DECLINE
    assert writer.drain(20) and bench.memory.staging.held == 1 << 24
    writer.close(20)


def test_memory_that_can_not_be_had_ends_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: object) -> None:
        raise MemoryError

    writer = bench.writer()
    monkeypatch.setattr(bench.memory.staging, "warm", none)
    writer.warm(bench.memory.staging, Counter({1 << 20: 1}))
    assert writer.drain(20) and not writer.failed and writer.ready()
    writer.close(20)


def test_where_no_thread_can_be_had_checkpoints_end_and_nobody_waits(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(writing.threads, "start", none)
    writer = bench.writer()
    assert writer.ready()
    writer.put(bench.take(x=torch.ones(BIG)))
    assert writer.failed and "can't start new thread" in bench.troubles[0]
    assert not writer.busy and writer.finished() is not None and bench.announced() == []
    writer.close(20)


def test_ctrl_c_while_training_waits_is_the_scripts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    writer = bench.writer("sync")
    monkeypatch.setattr(writing, "materialize", interrupted)
    assert writer.ready()
    with pytest.raises(KeyboardInterrupt):
        writer.put(bench.take(x=torch.ones(BIG)))
    assert not writer.failed and writer.ready() and writer.ready()


def test_a_long_run_does_not_wait_for_memory(bench: Bench) -> None:
    assert admission(bench, bench.writer(), tolerance=0.05, room=9 * GB, elapsed=1e6)(COLD) is Answer.COPY


def test_a_state_larger_than_the_room_for_copies_is_written_from_where_it_is(bench: Bench) -> None:
    asked = admission(bench, bench.writer(), tolerance=0.05, room=GB // 2, elapsed=1e4)
    assert asked(WARM) is Answer.LOOK
    short = admission(bench, bench.writer(), tolerance=0.05, room=GB // 2, elapsed=1.0)
    assert short(WARM) is Answer.DECLINE and "1.0 GB to copy are more than the 0.5 GB" in short.reason


def test_what_is_on_another_device_needs_room_here_however_it_is_taken(bench: Bench) -> None:
    asked = admission(bench, bench.writer(), tolerance=0.05, room=GB // 2, elapsed=1e6)
    assert asked(Demand(GB, elsewhere=GB)) is Answer.DECLINE and "more than" in asked.reason
    assert admission(bench, bench.writer(), tolerance=0.05, room=2 * GB)(Demand(GB, elsewhere=GB)) is Answer.COPY
