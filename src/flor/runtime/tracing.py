"""Keeps out of torch's way while it records a program of its own: what we do then would become part of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import CodeType, ModuleType


def is_tracing() -> bool:
    """True within torch.jit.trace, torch.fx, torch.export, vmap and grad, and under fake tensors."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    try:
        return bool(
            torch._C._get_tracing_state()
            or torch._C._len_torch_dispatch_stack()
            or torch._C._functorch.peek_interpreter_stack()
            or torch.fx._symbolic_trace._is_fx_tracing_flag
        )
    except AttributeError:  # it is only half imported, or another version: then it has no such tracer
        return False


def codes_of(owner: type) -> Iterator[CodeType]:
    """The code of each function of a class, and of the functions that are made in it."""
    for function in vars(owner).values():
        code = getattr(function, "__code__", None)
        if code is not None:
            yield code
            yield from (part for part in code.co_consts if isinstance(part, CodeType))


def hide_from_compiler(torch: ModuleType, codes: Iterable[CodeType]) -> None:
    """Let torch.compile run these functions of ours, and all that they call, as they are."""
    frames = torch._C._dynamo.eval_frame
    skip = frames._FrameAction.SKIP
    for code in codes:
        frames.set_code_exec_strategy(code, frames._FrameExecStrategy(skip, skip))
