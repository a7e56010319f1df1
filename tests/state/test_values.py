"""Logged values: to bytes with torch, out of them without."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from flor.model.records import Tag
from flor.model.values import TensorValue, decode_value
from flor.state.values import encode_value

EXACT = [None, True, False, 3, -(10**40), 0.1, -0.0, math.inf, "é\n", "\udc80", [1, [2.5, "a"]], {"a": None}, ""]


@pytest.mark.parametrize("value", EXACT, ids=repr)
def test_plain_values_come_back_exactly(value: Any) -> None:
    decoded = decode_value(*encode_value(value))
    assert decoded == value and type(decoded) is type(value) and repr(decoded) == repr(value)


@pytest.mark.parametrize(
    "dtype",
    [
        ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "complex64", "complex128"],
        ["int64", "int32", "int16", "int8", "uint8", "bool"],
    ],
    ids=["inexact", "exact"],
)
def test_tensors_of_each_dtype_come_back_as_torch_reads_them(dtype: list[str]) -> None:
    for name in dtype:
        tensor = torch.tensor([[0.0, 1.5, -2.0], [100.0, 0.004, 3.0]]).to(getattr(torch, name))
        tag, data = encode_value(tensor.t())
        assert tag is Tag.TENSOR
        expected = tensor.t().to(torch.float64).tolist() if "float" in name else tensor.t().tolist()
        assert decode_value(tag, data) == expected


@pytest.mark.parametrize("value", [np.float32(0.1), np.arange(6).reshape(2, 3), np.array(2.5), np.array([1], ">f4")])
def test_numpy_numbers_come_back(value: Any) -> None:
    assert decode_value(*encode_value(value)) == value.tolist()


def test_numpy_scalars_of_python_kinds_are_logged_as_such() -> None:
    assert encode_value(np.float64(0.5))[0] is Tag.FLOAT
    assert encode_value(np.int32(5)) == (Tag.INT, b"5")
    assert encode_value(np.bool_(True))[0] is Tag.TRUE


def test_a_scalar_tensor_is_a_number_and_a_nonleaf_is_fine() -> None:
    loss = (torch.ones(2, requires_grad=True) * 0.1).sum()
    assert decode_value(*encode_value(loss)) == loss.item()


def test_a_big_tensor_stays_packed() -> None:
    value = decode_value(*encode_value(torch.arange(3000)))
    assert isinstance(value, TensorValue) and value.shape == (3000,) and value.tolist()[-1] == 2999
    with pytest.raises(ValueError, match="not a number"):
        value.item()


def test_tensors_inside_a_dict_are_plain_numbers() -> None:
    assert decode_value(*encode_value({"loss": torch.tensor(0.5), "n": np.int64(3)})) == {"loss": 0.5, "n": 3}


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("value", [Rude(), object(), {1: Rude()}, torch.eye(2).to_sparse(), {1, 2}], ids=type)
def test_anything_else_is_what_it_looks_like(value: Any) -> None:
    assert encode_value(value)[0] is Tag.REPR


def test_an_empty_tensor_is_an_empty_list() -> None:
    assert decode_value(*encode_value(torch.empty(0))) == []
    assert decode_value(*encode_value(torch.empty(2, 0))) == [[], []]
