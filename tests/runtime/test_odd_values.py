"""Odd things given to `flor.log`: none raises into training, each is read back as what it was or as text."""

from __future__ import annotations

from typing import Any

import pytest

from flor.model.values import decode_value
from flor.state.values import encode_value

numpy = pytest.importorskip("numpy")


def back(value: Any) -> Any:
    return decode_value(*encode_value(value))


def test_masked_elements_are_no_values() -> None:
    assert back(numpy.ma.masked_array([1.0, 2.0], [False, True])) == [1.0, None]
    assert back(numpy.ma.masked_array([1.0, 2.0])) == [1.0, 2.0]


def test_arrays_without_elements_are_read_at_once() -> None:
    for shape in ((0,), (10**9, 0), (0, 10**9), (10**6, 0, 10**6)):
        found = back(numpy.empty(shape))
        assert (found if isinstance(found, list) else found.tolist()) == []


def test_complex_arrays_come_back() -> None:
    assert back(numpy.array([1 + 2j])) == [1 + 2j]


def test_recursive_and_foreign_things_are_text() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert back(loop) == "[[...]]"
    assert isinstance(back(numpy.array([object()])), str)


def test_a_shape_that_lies_is_an_error_and_no_allocation() -> None:
    from flor.model.records import Tag

    with pytest.raises(ValueError, match="no float64 of shape"):
        decode_value(Tag.TENSOR, b'{"dtype":"float64","shape":[10,10]}\n' + bytes(8))
    with pytest.raises(ValueError, match="no float64 of shape"):
        decode_value(Tag.TENSOR, b'{"dtype":"float64","shape":[-1,-1]}\n' + bytes(8))
