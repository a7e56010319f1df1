"""Switches of torch that a script may turn on its way: backends, threads, the default device, autocast."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from typing import Any

from flor.state import loaded

PLAIN = (bool, int, float, str, type(None))
_PRODUCTS = "torch.backends.cuda.matmul"
MORE = (
    "torch.backends.opt_einsum.enabled",
    "torch.backends.opt_einsum.strategy",
    "torch.backends.quantized.engine",
    f"{_PRODUCTS}.allow_tf32",
    f"{_PRODUCTS}.allow_fp16_reduced_precision_reduction",
    f"{_PRODUCTS}.allow_bf16_reduced_precision_reduction",
)
"""Switches that are not declared as the others are."""

ATTENTION = ("flash", "mem_efficient", "math", "cudnn")
"""Kernels of scaled dot product attention, each with its own switch."""


def flags() -> dict[str, Any]:
    """Each switch of a backend by its dotted name."""
    found: dict[str, Any] = {}
    for name in (*_declared(), *MORE):
        with suppress(Exception):
            value = reduce(getattr, name.split(".")[1:], loaded.torch())
            if isinstance(value, PLAIN):
                found[name] = value
    for kernel in ATTENTION:
        with suppress(Exception):
            found[kernel] = getattr(loaded.torch().backends.cuda, f"{kernel}_sdp_enabled")()
    return found


def set_flags(saved: dict[str, Any]) -> None:
    """Turn those that stand otherwise."""
    now = flags()
    for name in [name for name, value in saved.items() if name in now and now[name] != value]:
        if name in ATTENTION:
            getattr(loaded.torch().backends.cuda, f"enable_{name}_sdp")(saved[name])
        else:
            *path, last = name.split(".")[1:]
            setattr(reduce(getattr, path, loaded.torch()), last, saved[name])


def _declared() -> Iterator[str]:
    """The switches that backends declare as properties of their modules."""
    kind = loaded.attribute("torch.backends", "ContextProp")
    modules = [name for name in ("cudnn", "miopen", "mkldnn", "mps", "xeon", "nnpack") if kind is not None]
    for module in modules:
        found = sys.modules.get(f"torch.backends.{module}")
        for owner in type(found).__mro__:
            yield from (
                f"torch.backends.{module}.{name}" for name, prop in vars(owner).items() if isinstance(prop, kind)
            )


def threads() -> list[Any]:
    """The number of threads, the default device if one is set, and autocast on each kind of device."""
    torch = loaded.torch()
    device = loaded.attribute("torch.utils._device", "CURRENT_DEVICE")
    kinds = [kind for kind in ("cpu", "cuda") if hasattr(torch, "get_autocast_dtype")]
    cast = {kind: [torch.is_autocast_enabled(kind), _name(torch.get_autocast_dtype(kind))] for kind in kinds}
    return [torch.get_num_threads(), None if device is None else str(device), cast]


def set_threads(saved: list[Any]) -> None:
    """Put those back that differ."""
    torch = loaded.torch()
    now, (count, device, cast) = threads(), saved
    if now[0] != count:
        torch.set_num_threads(count)
    if now[1] != device:
        torch.set_default_device(device)
    for kind, (enabled, dtype) in cast.items():
        if now[2].get(kind) != [enabled, dtype]:
            torch.set_autocast_enabled(kind, enabled)
            torch.set_autocast_dtype(kind, getattr(torch, dtype))


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
