"""Logged values out of their bytes, without torch or numpy."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from typing import Any

from flor.model.records import Tag

SMALL = 1000
"""Tensors up to so many elements are given as nested lists."""

_CODES = {
    "float64": "d",
    "float32": "f",
    "float16": "e",
    "int64": "q",
    "int32": "i",
    "int16": "h",
    "int8": "b",
    "uint64": "Q",
    "uint32": "I",
    "uint16": "H",
    "uint8": "B",
    "bool": "?",
    "bfloat16": "H",
    "float8_e4m3fn": "B",
    "float8_e5m2": "B",
    "complex64": "f",
    "complex128": "d",
}

DTYPES = frozenset(_CODES)
"""The element types that a logged tensor may have; others are logged by their repr."""


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A logged tensor or array: dtype, shape, and its elements as little-endian bytes in C order."""

    dtype: str
    shape: tuple[int, ...]
    raw: bytes

    def tolist(self) -> Any:
        """The elements as nested lists of python numbers; a number if there are no dimensions.

        An array without elements that would be more than a few empty lists is one: its shape says the rest.
        """
        flat = self._flat()
        lists = math.prod(size for size in self.shape if size)
        return [] if not flat and lists > SMALL else _nested(flat, self.shape)

    def item(self) -> Any:
        """The only element."""
        flat = self._flat()
        if len(flat) != 1:
            raise ValueError(f"a tensor of {len(flat)} elements is not a number")
        return flat[0]

    def _flat(self) -> list[Any]:
        code = _CODES.get(self.dtype)
        if code is None:
            raise ValueError(f"elements of dtype {self.dtype} have no python counterpart")
        count = len(self.raw) // struct.calcsize(f"<{code}")
        if count * struct.calcsize(f"<{code}") != len(self.raw) or not self._fits(count):
            raise ValueError(f"{len(self.raw)} bytes are no {self.dtype} of shape {self.shape}")
        numbers = struct.unpack(f"<{count}{code}", self.raw)
        return _converted(self.dtype, numbers)

    def _fits(self, count: int) -> bool:
        """True if the shape has so many elements; a complex one is two numbers."""
        plain = all(type(size) is int and size >= 0 for size in self.shape)
        return plain and math.prod(self.shape) * (2 if self.dtype.startswith("complex") else 1) == count


def _converted(dtype: str, numbers: tuple[Any, ...]) -> list[Any]:
    if dtype == "bfloat16":
        return [struct.unpack("<f", struct.pack("<I", number << 16))[0] for number in numbers]
    if dtype == "float8_e4m3fn":
        return [_float8(number, exponent=4, mantissa=3) for number in numbers]
    if dtype == "float8_e5m2":
        return [struct.unpack("<e", struct.pack("<H", number << 8))[0] for number in numbers]
    if dtype.startswith("complex"):
        return [complex(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]
    return list(numbers)


def _float8(bits: int, *, exponent: int, mantissa: int) -> float:
    """One element of the `fn` kind: no infinities, NaN where all bits but the sign are set."""
    if bits & 0x7F == 0x7F:
        return math.nan
    bias, fraction = (1 << (exponent - 1)) - 1, bits & ((1 << mantissa) - 1)
    power = (bits & 0x7F) >> mantissa
    scale = 2.0 ** (max(power, 1) - bias - mantissa)
    value = (fraction + ((1 << mantissa) if power else 0)) * scale
    return -value if bits & 0x80 else value


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return flat
    step = math.prod(shape[1:])
    return [_nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


def decode_value(tag: Tag, data: bytes) -> Any:
    """The value; a big tensor as a TensorValue, a REPR as its text."""
    match tag:
        case Tag.NONE:
            return None
        case Tag.TRUE | Tag.FALSE:
            return tag is Tag.TRUE
        case Tag.INT:
            return int(data)
        case Tag.FLOAT:
            return struct.unpack("<d", data)[0]
        case Tag.JSON:
            return json.loads(data.decode("utf-8", "surrogatepass"))
        case Tag.TENSOR:
            return _tensor(data)
        case Tag.STR:
            return data.decode("utf-8", "surrogateescape")
        case Tag.REPR:
            return data.decode("utf-8", "replace")


def _tensor(data: bytes) -> Any:
    header, _, raw = data.partition(b"\n")
    facts = json.loads(header)
    value = TensorValue(facts["dtype"], tuple(facts["shape"]), raw)
    return value.tolist() if len(raw) <= SMALL * 16 and math.prod(value.shape) <= SMALL else value


def as_text(value: object) -> str:
    """What JSON has no way to say, as text: a complex number."""
    return str(value)
