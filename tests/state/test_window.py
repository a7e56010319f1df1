"""Memory that was given back while we look at it is told, not felt."""

from __future__ import annotations

import mmap

import pytest
import torch

from flor.state import Memory, capture
from flor.state.regions import address_of, view
from flor.state.window import SIZE, Window


def test_the_bytes_are_seen_as_they_are() -> None:
    data = bytes(range(256)) * (SIZE // 100)
    with Window() as window:
        assert b"".join(bytes(part) for part in window.look([memoryview(data), memoryview(b"end")])) == data + b"end"


def test_memory_that_is_gone_is_an_error() -> None:
    memory = mmap.mmap(-1, 4 * SIZE)
    seen = view(address_of(memory), 4 * SIZE)
    memory.close()
    with Window() as window, pytest.raises(OSError):
        list(window.look([seen]))


def test_where_the_system_has_no_such_file_memory_is_read_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.memfd_create")
    with Window() as window:
        assert [bytes(part) for part in window.look([memoryview(b"here")])] == [b"here"]


def test_a_tensor_that_moves_while_it_is_believed_unchanged_spoils_the_snapshot() -> None:
    data, memory = torch.randn(1 << 24), Memory()  # so large that the system has its memory back once it is free
    for _ in range(2):
        capture({"s": {"data": data}}, project=lambda _: False, memory=memory).digest()
    snapshot = capture({"s": {"data": data}}, project=lambda _: False, memory=memory)
    assert any(blob.live is not None for blob in snapshot.blobs)
    data.resize_(1 << 25)
    snapshot.digest()
    assert not snapshot.usable
