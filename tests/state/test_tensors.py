"""Tensors: bytes, geometry, storages, gradients, identity."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from flor.errors import StateError
from flor.state import differences

DTYPES = [torch.float64, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.complex64, torch.int8, torch.bool]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_each_dtype_is_restored_bit_for_bit_in_place(dtype: torch.dtype, trip: Any) -> None:
    x = torch.tensor([0.0, 1.0, -2.0]).to(dtype)
    expected = x.clone().view(torch.uint8)
    place = x.data_ptr()
    values = trip.after({"s": {"x": x}}, lambda: x.view(torch.uint8).fill_(1))
    assert values["x"] is x and x.data_ptr() == place
    assert torch.equal(x.view(torch.uint8), expected)


def test_views_stay_views_of_one_storage(trip: Any) -> None:
    base = torch.arange(12.0)
    row, transposed = base[2:5], base.view(3, 4).t()
    saved = trip.through_bytes(trip.take({"s": {"row": row, "t": transposed}}))
    values = trip.put(saved, {"s": {}}).values["s"]
    values["row"][0] = 77.0
    assert values["t"].stride() == (1, 4) and values["t"][2, 0] == 77.0
    assert values["row"].storage_offset() == 2


def test_only_the_seen_part_of_a_large_storage_is_saved(trip: Any) -> None:
    piece = torch.zeros(1 << 20)[100:110]
    snapshot = trip.take({"s": {"x": piece}})
    assert snapshot.nbytes < 1 << 16
    assert trip.put(trip.through_bytes(snapshot), {"s": {}}).values["s"]["x"].storage_offset() == 100


def test_an_expanded_tensor_stays_expanded(trip: Any) -> None:
    x = torch.ones(1).expand(5)
    restored = trip.put(trip.through_bytes(trip.take({"s": {"x": x}})), {"s": {}}).values["s"]["x"]
    assert restored.stride() == (0,) and torch.equal(restored, x)


def test_tied_weights_stay_tied(trip: Any) -> None:
    model = nn.ModuleDict({"a": nn.Linear(3, 3, bias=False), "b": nn.Linear(3, 3, bias=False)})
    model["b"].weight = model["a"].weight
    saved = trip.through_bytes(trip.take({"s": {"model": model}}))
    fresh = trip.put(saved, {"s": {}}).values["s"]["model"]
    assert fresh["a"].weight is fresh["b"].weight
    assert torch.equal(fresh["a"](torch.ones(3)), model["a"](torch.ones(3)))


def test_requires_grad_grad_and_attributes_come_back(trip: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    x.grad, x.note = torch.tensor([3.0, 4.0]), ["a"]  # type: ignore[attr-defined]
    grad = x.grad

    def change() -> None:
        x.requires_grad_(False)
        x.grad = None
        x.note.append("b")  # type: ignore[attr-defined]

    trip.after({"s": {"x": x, "grad": grad}}, change)
    assert x.requires_grad and x.grad is grad and x.note == ["a"]  # type: ignore[attr-defined]


def test_a_gradient_that_appeared_is_gone(trip: Any) -> None:
    x = nn.Parameter(torch.ones(2))
    trip.after({"s": {"x": x}}, lambda: x.sum().backward())
    assert x.grad is None


def test_a_tensor_whose_shape_changed_keeps_its_identity(trip: Any) -> None:
    x = torch.arange(4.0)
    trip.after({"s": {"x": x}}, lambda: x.resize_(2, 3))
    assert torch.equal(x, torch.arange(4.0))


def test_a_parameter_is_made_anew_as_a_parameter(trip: Any) -> None:
    saved = trip.through_bytes(trip.take({"s": {"p": nn.Parameter(torch.ones(2), requires_grad=False)}}))
    restored = trip.put(saved, {"s": {}}).values["s"]["p"]
    assert type(restored) is nn.Parameter and not restored.requires_grad


def test_a_nonleaf_prints_the_same_and_its_backward_says_why_it_cannot(trip: Any) -> None:
    loss = (torch.ones(2, requires_grad=True) * 2).sum()
    shown = repr(loss)
    restored = trip.put(trip.through_bytes(trip.take({"s": {"loss": loss}})), {"s": {"loss": loss}}).values["s"]["loss"]
    assert repr(restored) == shown and restored.item() == 4.0
    with pytest.raises(StateError, match="autograd graph"):
        restored.backward()


def test_a_slice_of_a_nonleaf_and_its_clone_can_still_be_computed_with(trip: Any) -> None:
    hidden = torch.ones(2, 3, requires_grad=True).exp()
    restored = trip.put(trip.through_bytes(trip.take({"s": {"h": hidden}})), {"s": {}}).values["s"]["h"]
    assert torch.equal(restored.detach()[0] + 1, hidden.detach()[0] + 1)


def test_an_inference_tensor_is_restored_in_place(trip: Any) -> None:
    with torch.inference_mode():
        x = torch.ones(2)

    def change() -> None:
        with torch.inference_mode():
            x.zero_()

    trip.after({"s": {"x": x}}, change)
    assert x.tolist() == [1.0, 1.0]


def test_a_tensor_and_its_numpy_array_still_share(trip: Any) -> None:
    x = torch.zeros(3)
    saved = trip.through_bytes(trip.take({"s": {"x": x, "n": x.numpy()}}))
    values = trip.put(saved, {"s": {}}).values["s"]
    values["n"][1] = 5.0
    assert values["x"].tolist() == [0.0, 5.0, 0.0]


def test_a_tensor_from_numpy_still_shares(trip: Any) -> None:
    import numpy as np

    n = np.zeros(3, dtype=np.float32)
    saved = trip.through_bytes(trip.take({"s": {"n": n, "x": torch.from_numpy(n)}}))
    values = trip.put(saved, {"s": {}}).values["s"]
    values["n"][1] = 5.0
    assert values["x"].tolist() == [0.0, 5.0, 0.0]


def test_a_user_tensor_class_runs_no_code_in_capture(trip: Any) -> None:
    called = []

    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.ones(2).as_subclass(Loud)
    called.clear()
    snapshot = trip.take({"s": {"x": x, "Loud": Loud}})
    assert not snapshot.refusals and called == []


def test_capture_leaves_no_trace_in_versions_grads_or_rng(trip: Any) -> None:
    model = nn.Linear(2, 2)
    model(torch.ones(2)).sum().backward()
    before = [(p._version, p.grad._version, p.data_ptr()) for p in model.parameters()]  # type: ignore[union-attr]
    rng = torch.get_rng_state()
    trip.take({"s": {"model": model}}).digest()
    assert before == [(p._version, p.grad._version, p.data_ptr()) for p in model.parameters()]  # type: ignore[union-attr]
    assert torch.equal(rng, torch.get_rng_state())


def test_a_snapshot_is_private(trip: Any) -> None:
    x = torch.zeros(100_000)
    snapshot = trip.take({"s": {"x": x}})
    x.add_(1)
    trip.put(trip.through_bytes(snapshot), {"s": {"x": x}})
    assert not x.any()


def test_a_difference_names_the_parameter(trip: Any) -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    before = trip.take({"s": {"model": model}})
    with torch.no_grad():
        model[0].weight[0, 0] += 1
    assert [d.path for d in differences(before, trip.take({"s": {"model": model}}))] == ["s:model.0.weight"]
