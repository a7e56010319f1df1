"""A copy's hash is that of its bytes, in whatever order and by whomever they were copied."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest
import torch
import xxhash

from flor.state import Answer, Memory, Snapshot, capture
from flor.state.hashing import Hashing

DATA = memoryview(os.urandom(1000))


def test_pieces_in_order_are_hashed_as_they_come() -> None:
    hashing = Hashing(DATA)
    for start in range(0, 1000, 100):
        hashing.go_on(start, 100)
    assert hashing.done == 1000
    assert hashing.name() == xxhash.xxh3_128_hexdigest(DATA)


@pytest.mark.parametrize("order", [[1, 0], [0, 2, 1], [0, 1], []])
def test_what_was_left_out_is_hashed_at_the_end(order: list[int]) -> None:
    hashing = Hashing(DATA)
    for number in order:
        hashing.go_on(250 * number, 250)
    assert hashing.done < 1000
    assert hashing.name() == xxhash.xxh3_128_hexdigest(DATA)


def late_snapshot(weight: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    monkeypatch.setattr("flor.state.late.PIECE", 1 << 12)
    memory = Memory()
    assert memory.barrier.usable()
    optimizer = torch.optim.SGD([weight])
    scopes = {"s": {"weight": weight, "optimizer": optimizer}}
    return capture(scopes, project=lambda _: False, memory=memory, admit=lambda _: Answer.LATE)


def hash_of(weight: torch.Tensor) -> str:
    return xxhash.xxh3_128_hexdigest(memoryview(weight.detach().numpy()).cast("B"))


def only_hashing(snapshot: Snapshot) -> Hashing:
    (hashing,) = [blob.hashing for blob in snapshot.blobs if blob.hashing is not None]
    return hashing


def in_a_thread(work: Any) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)


def test_the_writer_hashes_while_it_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.randn(300, 300, requires_grad=True)
    snapshot = late_snapshot(weight, monkeypatch)
    in_a_thread(snapshot.complete)
    assert only_hashing(snapshot).done == 4 * weight.numel()
    snapshot.digest()
    assert hash_of(weight) in [blob.name for blob in snapshot.blobs]


def test_the_training_thread_copies_without_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.randn(300, 300, requires_grad=True)
    snapshot = late_snapshot(weight, monkeypatch)
    snapshot.complete()
    assert only_hashing(snapshot).done == 0
    snapshot.digest()
    assert hash_of(weight) in [blob.name for blob in snapshot.blobs]


def test_the_hash_of_a_copy_made_by_both_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.randn(300, 300, requires_grad=True)
    snapshot = late_snapshot(weight, monkeypatch)
    assert snapshot.late is not None
    hashing, copy = only_hashing(snapshot), snapshot.late
    go_on = hashing.go_on

    def until_the_step_comes(start: int, count: int) -> None:
        go_on(start, count)
        if len(copy.pieces) == 40:
            copy.thread = threading.get_ident()  # as the training thread does: all the rest, without a hash
            copy._copy()

    monkeypatch.setattr(hashing, "go_on", until_the_step_comes)
    in_a_thread(snapshot.complete)
    monkeypatch.undo()
    assert copy.is_copied and 0 < hashing.done < 4 * weight.numel()
    copy.thread = threading.get_ident()
    snapshot.digest()
    assert snapshot.usable and hash_of(weight) in [blob.name for blob in snapshot.blobs]
