"""The paper's mechanism: children that write what they see, are heard and reaped."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parent))

from checkpoints import Bench, look

from flor.runtime import forking

BIG = 1 << 20


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_child_writes_the_state_as_it_was_when_it_was_forked(bench: Bench) -> None:
    writer, x = bench.writer("fork"), torch.ones(BIG)
    assert writer.ready()
    writer.put(bench.take(admit=look, x=x, step=3))
    x.zero_()
    assert writer.drain(20)
    (checkpoint,) = bench.announced()
    found = bench.values(checkpoint)
    assert torch.equal(found["x"], torch.ones(BIG)) and found["step"] == 3
    assert bench.memory.staging.held == 0


def test_a_child_runs_none_of_the_scripts_handlers_and_ctrl_c_is_not_for_it() -> None:
    def handler(*_: object) -> None:
        """Save and exit, say."""

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        child = forking._fork_unheard()
        if child == 0:
            quiet = (
                signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            )
            os._exit(0 if quiet else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert signal.getsignal(signal.SIGUSR1) is handler
        assert signal.SIGUSR1 not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The children that are forked; other tests may have left some of their own."""
    found: list[int] = []
    real = os.fork

    def fork() -> int:
        found.append(real())
        return found[-1]

    monkeypatch.setattr(os, "fork", fork)
    return found


def assert_reaped(children: list[int]) -> None:
    assert children
    for child in children:
        with pytest.raises(ChildProcessError):
            os.waitpid(child, os.WNOHANG)


def test_children_are_reaped(bench: Bench, children: list[int]) -> None:
    writer = bench.writer("fork")
    for value in range(3):
        assert writer.drain(20) and writer.ready()
        writer.put(bench.take(admit=look, x=torch.full((BIG,), float(value))))
    writer.close(20)
    assert len(bench.announced()) == 3 and not writer.busy
    assert_reaped(children)


def test_small_snapshots_share_a_fork(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    forks, real = [], os.fork
    monkeypatch.setattr(os, "fork", lambda: forks.append(1) or real())  # type: ignore[func-returns-value]
    writer = bench.writer("fork")
    for number in range(20):
        assert writer.ready()
        writer.put(bench.take(admit=look, x=torch.full((10,), float(number))))
    assert forks == [] and bench.announced() == []
    writer.close(20)
    assert len(forks) == 1
    assert [bench.values(each)["x"][0].item() for each in bench.announced()] == [float(n) for n in range(20)]


def test_a_batch_of_many_objects_forks_by_itself(bench: Bench) -> None:
    writer = bench.writer("fork")
    objects = [[number] for number in range(forking.BATCH)]
    writer.put(bench.take(admit=look, objects=objects))
    assert writer.busy
    writer.close(20)
    assert bench.values(bench.announced()[0])["objects"] == objects


def test_at_most_two_children_live(bench: Bench, children: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "materialize", lambda *_: signal.pause())
    writer = bench.writer("fork")
    for value in (1.0, 2.0):
        assert writer.ready()
        writer.put(bench.take(admit=look, x=torch.full((BIG,), value)))
    assert not writer.ready()
    writer.close(0.05)  # those that need longer are ended
    assert_reaped(children)
    assert bench.announced() == []


def test_a_child_that_is_killed_is_told_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forking, "materialize", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    writer = bench.writer("fork")
    writer.put(bench.take(admit=look, x=torch.ones(BIG)))
    assert writer.drain(20)
    assert bench.troubles == ["checkpoints can no longer be written: a child ended with signal 9"]
    assert not writer.ready() and bench.announced() == []


def test_what_a_child_fails_of_is_told(bench: Bench) -> None:
    writer = bench.writer("fork")
    writer.put(bench.take(admit=look, x=torch.ones(BIG)))
    assert writer.drain(20)
    bench.run.packs.rename(bench.run.path / "away")
    bench.run.packs.mkdir(0o500)
    if os.access(bench.run.packs, os.W_OK):
        bench.run.packs.rmdir()
        bench.run.packs.touch()  # for root nothing is read-only
    writer.put(bench.take(admit=look, x=torch.zeros(BIG)))
    writer.drain(20)
    assert len(bench.troubles) == 1 and writer.failed
    assert len(bench.announced()) == 1


def test_unchanged_memory_is_written_once_and_a_wrong_belief_is_found_out(bench: Bench) -> None:
    writer, frozen = bench.writer("fork"), torch.randn(BIG)
    for _ in range(2):
        writer.put(bench.take(admit=look, frozen=frozen))
        assert writer.drain(20)
    first, second = bench.announced()
    assert second.bytes_written < 100_000 < first.bytes_written
    frozen.data.add_(1)  # which no version shows
    writer.put(bench.take(admit=look, frozen=frozen))
    assert writer.drain(20) and len(bench.announced()) == 2 and writer.ledger.mispredicted == 1
    writer.put(bench.take(admit=look, frozen=frozen))
    assert writer.drain(20)
    assert torch.equal(bench.values(bench.announced()[2])["frozen"], frozen)


def test_a_child_runs_no_kernel_after_the_parent_has_used_many_threads(bench: Bench) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        x = torch.randn(512, 512) @ torch.randn(512, 512)
        writer = bench.writer("fork")
        writer.put(bench.take(admit=look, x=x, bits=(x > 0), half=x.bfloat16()))
        assert writer.drain(20)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(bench.values(bench.announced()[0])["x"], x)
