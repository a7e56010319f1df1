"""Tensors whose autograd graph is gone: they print as before, and backward says why it cannot work."""

from __future__ import annotations

from typing import Any

from flor.errors import StateError
from flor.state import loaded


def graph_name(tensor: Any) -> str | None:
    """The name that `print` shows for a tensor's grad_fn; None for a leaf."""
    function = tensor.grad_fn
    if function is None:
        return None
    name = type(function).__name__
    return function.name().rsplit("::", maxsplit=1)[-1] if name == "CppFunction" else name


def with_tripwire(tensor: Any, name: str, where: str) -> Any:
    """The same tensor as the result of a function of this name, whose backward raises."""
    torch = loaded.torch()
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor

    class Tripwire(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, _: Any) -> Any:
            return tensor

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise StateError(
                "backward() reached a tensor whose autograd graph was made before the checkpoint",
                where=where,
                todo="Replay from an earlier checkpoint, or detach the tensor at the end of the iteration.",
            )

    Tripwire._backward_cls.__name__ = name
    with torch.enable_grad():
        return Tripwire.apply(torch.empty(0, requires_grad=True, device=tensor.device))
