"""Unchanged memory is not copied again; a wrong prediction is found out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from flor.state import Memory, differences

BIG = 100_000


def copied(snapshot: Any) -> int:
    return sum(blob.nbytes for blob in snapshot.blobs if blob.data is not None and blob.nbytes > 1 << 16)


def test_a_frozen_tensor_is_copied_once(trip: Any, memory: Memory) -> None:
    scopes = {"s": {"x": torch.ones(BIG)}}
    first = trip.take(scopes, memory=memory)
    trip.through_bytes(first)
    second = trip.take(scopes, memory=memory)
    saved = trip.through_bytes(second)
    assert copied(first) == 4 * BIG and copied(second) == 0
    assert second.failed_prediction is None and second.usable
    assert torch.equal(trip.put(saved, {"s": {}}).values["s"]["x"], torch.ones(BIG))
    assert differences(first, second) == []


def test_a_changed_tensor_is_copied_again(trip: Any, memory: Memory) -> None:
    x = torch.ones(BIG)
    trip.take({"s": {"x": x}}, memory=memory).digest()
    x.add_(1)
    assert copied(trip.take({"s": {"x": x}}, memory=memory)) == 4 * BIG


def test_a_write_that_no_version_shows_fails_the_prediction_once(trip: Any, memory: Memory) -> None:
    x = torch.ones(BIG)
    scopes = {"s": {"model": {"x": x}}}
    trip.take(scopes, memory=memory).digest()
    x.data.add_(1)
    wrong = trip.take(scopes, memory=memory)
    wrong.digest()
    assert wrong.failed_prediction == "s:model['x']" and not wrong.usable
    x.data.add_(1)
    right = trip.take(scopes, memory=memory)
    right.digest()
    assert right.usable and copied(right) == 4 * BIG


def test_a_comparison_sees_what_is_there_when_a_prediction_failed(trip: Any, memory: Memory) -> None:
    x = torch.ones(BIG)
    before = trip.take({"s": {"x": x}}, memory=memory)
    before.digest()
    x.data.add_(1)
    after = trip.take({"s": {"x": x}}, memory=memory)
    assert [str(difference) for difference in differences(before, after)] == ["s:x: its content differs"]
    assert differences(trip.take({"s": {"x": x}}), after) == []


def test_what_an_optimizer_steps_is_never_predicted(trip: Any, memory: Memory) -> None:
    layer = nn.Linear(400, 400)
    optimizer = torch.optim.Adam(layer.parameters(), fused=True)
    layer(torch.ones(400)).sum().backward()
    optimizer.step()
    layer.requires_grad_(False)
    scopes = {"s": {"layer": layer, "optimizer": optimizer}}
    trip.take(scopes, memory=memory).digest()
    again = trip.take(scopes, memory=memory)
    again.digest()
    assert copied(again) == 3 * 4 * 160_000 + 4 * 160_000 and again.usable


def test_a_large_array_is_hashed_in_place(trip: Any, memory: Memory) -> None:
    x = np.zeros(1 << 20)
    trip.take({"s": {"x": x}}, memory=memory).digest()
    assert copied(trip.take({"s": {"x": x}}, memory=memory)) == 0
    x[7] = 1
    assert copied(trip.take({"s": {"x": x}}, memory=memory)) == x.nbytes


def test_a_prediction_keeps_the_memory_until_it_is_hashed(trip: Any, memory: Memory) -> None:
    x = torch.ones(BIG)
    trip.take({"s": {"x": x}}, memory=memory).digest()
    second = trip.take({"s": {"x": x}}, memory=memory)
    del x
    second.digest()
    assert second.usable


def test_released_buffers_are_used_again(trip: Any, memory: Memory) -> None:
    x = torch.ones(BIG, requires_grad=True)
    first = trip.take({"s": {"x": x}}, memory=memory)
    (buffer,) = [blob.data.obj for blob in first.blobs if blob.nbytes == 4 * BIG]
    first.digest()
    first.release()
    second = trip.take({"s": {"x": x}}, memory=memory)
    assert [blob.data.obj for blob in second.blobs if blob.nbytes == 4 * BIG] == [buffer]


def test_another_tensor_at_the_same_place_is_copied(trip: Any, memory: Memory) -> None:
    storage = torch.ones(BIG).untyped_storage()
    first = torch.empty(0).set_(storage)
    trip.take({"s": {"x": first}}, memory=memory).digest()
    other = torch.empty(0).set_(storage)
    while other._version < first._version:
        other.add_(0)
    del first
    other.data.add_(1)  # as a batch that is made anew where the last one was
    snapshot = trip.take({"s": {"x": other}}, memory=memory)
    snapshot.digest()
    assert snapshot.usable and copied(snapshot) == 4 * BIG
