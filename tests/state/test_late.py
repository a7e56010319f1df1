"""Copies made beside training: never of anything but what was there when the snapshot was taken."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

import pytest
import torch
from torch import nn

from flor.state import Answer, Memory, Snapshot, capture
from flor.state.late import LateCopy

Scopes = dict[str, dict[str, Any]]


def late(_: object) -> Answer:
    return Answer.LATE


@pytest.fixture
def trained() -> Scopes:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(300, 300), nn.Linear(300, 300))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    scopes = {"s": {"model": model, "optimizer": optimizer, "x": torch.randn(4, 300)}}
    step(scopes)
    return scopes


def step(scopes: Scopes) -> None:
    names = scopes["s"]
    names["model"](names["x"]).square().sum().backward()
    names["optimizer"].step()
    names["optimizer"].zero_grad()


def take(scopes: Scopes, memory: Memory | None, answer: Any = None) -> Snapshot:
    options = {} if answer is None else {"admit": answer}
    snapshot = capture(scopes, project=lambda _: False, memory=memory, **options)
    assert not snapshot.refusals
    return snapshot


def names(snapshot: Snapshot) -> list[str]:
    snapshot.digest()
    return [blob.name for blob in snapshot.blobs]


def ready() -> Memory:
    memory = Memory()
    assert memory.barrier.usable()
    return memory


def test_parameters_and_moments_wait_and_the_rest_does_not(trained: Scopes) -> None:
    snapshot = take(trained, ready(), late)
    assert snapshot.late is not None
    big = [p for p in trained["s"]["model"].parameters() if p.dim() == 2]
    assert len(snapshot.late.owners) == 3 * len(big)
    assert sum(piece.nbytes for piece in snapshot.late.pieces) == sum(12 * p.numel() for p in big)


def test_a_late_copy_is_what_a_copy_at_once_is(trained: Scopes) -> None:
    assert names(take(trained, ready(), late)) == names(take(trained, Memory()))


def test_the_next_step_waits_for_the_copies(trained: Scopes) -> None:
    expected = names(take(trained, Memory()))
    snapshot = take(trained, ready(), late)
    step(trained)  # nobody else has copied anything
    assert snapshot.late is not None and not snapshot.late.pieces
    assert names(snapshot) == expected and snapshot.usable


def test_the_next_capture_waits_for_the_copies(trained: Scopes) -> None:
    memory = ready()
    first = take(trained, memory, late)
    take(trained, memory, late)
    assert first.late is not None and not first.late.pieces


def test_many_hands_copy_each_piece_once(trained: Scopes) -> None:
    expected = names(take(trained, Memory()))
    snapshot = take(trained, ready(), late)
    assert snapshot.late is not None
    hands = [threading.Thread(target=snapshot.late.finish) for _ in range(4)]
    for hand in hands:
        hand.start()
    for hand in hands:
        hand.join()
    assert names(snapshot) == expected


@torch.no_grad()
def test_a_change_that_a_version_counter_sees_spoils_the_snapshot(trained: Scopes) -> None:
    memory = ready()
    snapshot = take(trained, memory, late)
    trained["s"]["model"][0].weight[0, 0] += 1
    snapshot.digest()
    assert not snapshot.usable


def test_a_change_through_data_of_a_whole_tensor_spoils_the_snapshot(trained: Scopes) -> None:
    snapshot = take(trained, ready(), late)
    trained["s"]["model"][1].weight.data.mul_(1.001)
    snapshot.digest()
    assert not snapshot.usable


def test_who_was_deceived_once_copies_at_once_ever_after(trained: Scopes) -> None:
    memory = ready()
    take(trained, memory, late).digest()
    assert memory.barrier.usable()
    snapshot = take(trained, memory, late)
    trained["s"]["optimizer"].state[trained["s"]["model"][0].weight]["exp_avg"].zero_()
    snapshot.digest()
    step(trained)
    assert not memory.barrier.usable()


def beside(work: Any) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_the_writer_waits_until_training_has_confirmed_its_copies(trained: Scopes) -> None:
    memory = ready()
    snapshot = take(trained, memory, late)
    writer = beside(snapshot.conclude)
    assert snapshot.late is not None and snapshot.late._done.wait(20)
    assert writer.is_alive()
    memory.barrier.pass_by()
    writer.join(20)
    assert not writer.is_alive() and memory.barrier.pending is None and snapshot.usable


def test_who_only_passes_by_copies_nothing(trained: Scopes) -> None:
    memory = ready()
    snapshot = take(trained, memory, late)
    memory.barrier.pass_by()
    assert snapshot.late is not None and snapshot.late.pieces and memory.barrier.pending is snapshot.late


@torch.no_grad()
def test_an_operator_that_ends_after_the_copy_spoils_the_snapshot(trained: Scopes) -> None:
    """Its counter moves when it is over; who looks before that sees an old one."""
    snapshot = take(trained, ready(), late)
    beside(snapshot.complete).join(20)
    assert snapshot.late is not None and snapshot.late.sound
    trained["s"]["model"][0].weight[0, 0] += 1
    snapshot.digest()
    assert not snapshot.usable


def test_after_ctrl_c_in_a_copy_nobody_waits_for_it(trained: Scopes, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = ready()
    snapshot = take(trained, memory, late)

    def interrupted(*_: object) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(ctypes, "memmove", interrupted)
    with pytest.raises(KeyboardInterrupt):
        step(trained)
    writer = beside(snapshot.conclude)
    writer.join(20)
    assert not writer.is_alive() and not snapshot.usable
    step(trained)


def test_a_failure_of_ours_does_not_reach_the_step(trained: Scopes, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = ready()
    take(trained, memory, late)
    monkeypatch.setattr(LateCopy, "_copy", lambda self: 1 / 0)
    step(trained)
    assert not memory.barrier.usable()


def test_parameters_that_another_optimizer_steps_without_hooks_do_not_wait(trained: Scopes) -> None:
    class Own(torch.optim.SGD):
        pass

    trained["s"]["other"] = Own(trained["s"]["model"].parameters(), lr=0.1)
    Own.step = lambda self, closure=None: None  # type: ignore[method-assign, assignment, misc]
    snapshot = take(trained, ready(), late)
    parameters = {p.data_ptr() for p in trained["s"]["model"].parameters()}
    assert snapshot.late is not None
    assert not parameters & {piece.source for piece in snapshot.late.pieces}


def test_gradients_do_not_wait(trained: Scopes) -> None:
    trained["s"]["model"](trained["s"]["x"]).square().sum().backward()
    expected = names(take(trained, Memory()))
    snapshot = take(trained, ready(), late)
    trained["s"]["model"][0].weight.grad.zero_()
    assert names(snapshot) == expected and snapshot.usable


def test_an_optimizer_without_hooks_is_not_relied_on(trained: Scopes) -> None:
    class Own(torch.optim.SGD):
        pass

    optimizer = Own(trained["s"]["model"].parameters(), lr=0.1)
    Own.step = lambda self, closure=None: None  # type: ignore[method-assign, assignment, misc]
    trained["s"]["optimizer"] = optimizer
    assert take(trained, ready(), late).late is None


def test_a_forked_child_leaves_the_copies_to_its_parent(trained: Scopes) -> None:
    snapshot = take(trained, ready(), late)
    assert snapshot.late is not None
    snapshot.late.pid = os.getpid() + 1
    snapshot.late.finish()
    assert snapshot.late.pieces


def test_nothing_waits_once_something_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = ready()
    monkeypatch.setattr("flor.state.barrier.compilations", lambda: 1)
    assert not memory.barrier.usable()


def test_memory_that_is_replaced_is_still_copied(trained: Scopes) -> None:
    expected = names(take(trained, Memory()))
    snapshot = take(trained, ready(), late)
    for parameter in trained["s"]["model"].parameters():
        parameter.data = torch.zeros_like(parameter)
    snapshot.digest()
    assert [blob.name for blob in snapshot.blobs] == expected or not snapshot.usable


def test_an_empty_copy_is_over_at_once() -> None:
    assert LateCopy().is_empty
