"""What a call is given, as it is at the call: containers anew, tensors and arrays by a copy of their bytes."""

from __future__ import annotations

import copy
import datetime
import decimal
import fractions
import logging
import pathlib
import sys
import types
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

Take = Callable[[Any], Any]
"""What stands for a tensor or an array in the snapshot."""

PLAIN: frozenset[type] = frozenset(
    (
        type(None), bool, int, float, complex, str, bytes, range, type, types.FunctionType, types.BuiltinFunctionType,
        types.ModuleType, pathlib.PosixPath, pathlib.WindowsPath, decimal.Decimal, fractions.Fraction, uuid.UUID,
        datetime.date, datetime.datetime, datetime.time, datetime.timedelta,
    )
)  # fmt: skip
PLAIN_OF_TORCH = ("dtype", "device", "Size", "layout", "memory_format")


class Unsnapshotable(Exception):
    """An argument that can change after the call and that no cheap copy protects."""


def freeze(value: Any, take: Take) -> Any:
    """The value as it is now; raises Unsnapshotable where only the live object would do."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in (list, tuple, set, frozenset):
        return kind([freeze(item, take) for item in value])
    if kind in (dict, OrderedDict):
        return kind([(freeze(key, take), freeze(item, take)) for key, item in value.items()])
    if is_array(value):
        return take(value)
    if kind is logging.LogRecord:
        return frozen_record(value)
    if is_plain(kind):
        return value
    raise Unsnapshotable(f"a {kind.__module__}.{kind.__qualname__}")


def is_array(value: Any) -> bool:
    """True for a tensor or an array whose bytes are all that it is; asks nothing of libraries that are not loaded."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    kind = type(value)
    if torch is not None and (kind is torch.Tensor or kind is torch.nn.Parameter):
        return value.layout is torch.strided and not value.is_quantized and value.device.type != "meta"
    return numpy is not None and kind is numpy.ndarray and not value.dtype.hasobject


def is_plain(kind: type) -> bool:
    """True for the immutable things of numpy and torch."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, numpy.generic):
        return kind not in (numpy.void, numpy.object_)
    return torch is not None and kind in {getattr(torch, name) for name in PLAIN_OF_TORCH}


def frozen_record(record: logging.LogRecord) -> logging.LogRecord:
    """A log record with its text made now: its arguments may change."""
    frozen = copy.copy(record)
    frozen.msg, frozen.args = record.getMessage(), None
    return frozen


def owned_copy(array: Any) -> Any:
    """A copy that a logger may keep for as long as it likes; a tensor's is a leaf on the CPU."""
    if hasattr(array, "detach"):
        made = array.detach().cpu() if array.device.type != "cpu" else array.detach().clone()
        return made.requires_grad_() if array.requires_grad else made
    return array.copy()


def size_of(array: Any) -> int:
    """Its bytes."""
    return int(array.numel() * array.element_size()) if hasattr(array, "numel") else int(array.nbytes)
