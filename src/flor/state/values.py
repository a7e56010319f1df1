"""Logged values to bytes, quickly and exactly: what the training thread pays for one `flor.log`."""

from __future__ import annotations

import ctypes
import json
import struct
import sys
from typing import Any

from flor.model.records import Tag
from flor.model.values import DTYPES
from flor.state import loaded

Encoded = tuple[Tag, bytes]

_pack = struct.Struct("<d").pack
_FLOAT, _INT, _STR, _JSON, _TENSOR, _REPR = Tag.FLOAT, Tag.INT, Tag.STR, Tag.JSON, Tag.TENSOR, Tag.REPR
_FIXED: dict[Any, Encoded] = {None: (Tag.NONE, b""), True: (Tag.TRUE, b""), False: (Tag.FALSE, b"")}
_INLINE = 1000
"""Arrays inside a list or dict are written out up to so many elements."""
_headers: dict[Any, bytes] = {}


def encode_value(value: Any) -> Encoded:
    """How a value is written; never raises."""
    kind = type(value)
    if kind is float:
        return _FLOAT, _pack(value)
    try:
        return _encode(value, kind)
    except Exception:
        return _REPR, _looks(value).encode("utf-8", "backslashreplace")


def _encode(value: Any, kind: type) -> Encoded:
    if kind is int:
        return _INT, str(value).encode()
    if kind is str:
        return _STR, value.encode("utf-8", "surrogateescape")
    if value is None or kind is bool:
        return _FIXED[value]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _TENSOR, _tensor(value)
    numpy = loaded.numpy()
    if numpy is not None and isinstance(value, numpy.generic | numpy.ndarray):
        return _numpy(value, numpy)
    if isinstance(value, list | tuple | dict | bool | int | float | str):
        return _JSON, json.dumps(value, ensure_ascii=False, default=_inner).encode("utf-8", "surrogatepass")
    return _REPR, _looks(value).encode("utf-8", "backslashreplace")


def _tensor(tensor: Any) -> bytes:
    if not tensor.is_cpu:
        tensor = tensor.detach().clone().cpu()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.detach().resolve_conj().resolve_neg()
    if not tensor.is_contiguous():
        tensor = tensor.detach().contiguous()
    nbytes = tensor.numel() * tensor.element_size()
    return _header(tensor.dtype, tensor.size()) + ctypes.string_at(tensor.data_ptr(), nbytes)


def _numpy(value: Any, numpy: Any) -> Encoded:
    if isinstance(value, numpy.bool_):
        return _FIXED[bool(value)]
    if isinstance(value, numpy.integer) and value.dtype.kind in "iu":
        return _INT, str(int(value)).encode()
    if isinstance(value, numpy.float64):
        return _FLOAT, _pack(value)
    if isinstance(value, numpy.ma.MaskedArray) and numpy.ma.is_masked(value):
        return _masked(value)
    array = numpy.asarray(value)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return _TENSOR, _header(array.dtype.name, array.shape) + array.tobytes()


def _masked(value: Any) -> Encoded:
    """A masked array with null where it is masked; the numbers behind the mask are no values."""
    if value.size > _INLINE:
        return _REPR, _looks(value).encode("utf-8", "backslashreplace")
    return _JSON, json.dumps(value.tolist()).encode()


def _header(dtype: Any, shape: Any) -> bytes:
    key = (dtype, shape)
    found = _headers.get(key)
    if found is None:
        if len(_headers) > 4096:
            _headers.clear()
        text = {"dtype": str(dtype).removeprefix("torch."), "shape": list(shape)}
        if text["dtype"] not in DTYPES:
            raise TypeError("no plain numbers")
        found = _headers[key] = json.dumps(text, separators=(",", ":")).encode() + b"\n"
    return found


def _inner(value: Any) -> Any:
    """Numbers of torch and numpy inside a list or dict, as python's."""
    torch, numpy = loaded.torch(), loaded.numpy()
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    is_array = numpy is not None and isinstance(value, numpy.ndarray)
    is_tensor = torch is not None and isinstance(value, torch.Tensor)
    if (is_array and value.size <= _INLINE) or (is_tensor and value.numel() <= _INLINE):
        return value.tolist()
    raise TypeError("not plain")


def _looks(value: Any) -> str:
    """repr(), or what can be said if that fails."""
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__}: repr() raised {type(error).__name__}>"
