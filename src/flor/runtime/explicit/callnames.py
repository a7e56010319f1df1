"""By which names the arguments of a call are known to its caller, read off the bytecode."""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from flor.runtime.scopes import bind_locals

LOADS = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_DEREF")
PAIRS = ("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
BESIDE = ("PRECALL", "CACHE", "NOP", "EXTENDED_ARG")


def argument_names(caller: FrameType, count: int) -> tuple[str | None, ...]:
    """The names of the last `count` positional arguments of the call under way; None for what is no plain name."""
    return _names(caller.f_code, caller.f_lasti, count)


@lru_cache(maxsize=256)
def _names(code: CodeType, at: int, count: int) -> tuple[str | None, ...]:
    # While a call is under way `f_lasti` is at the call or, in 3.11, at one of the cache entries behind it.
    before = [step for step in dis.get_instructions(code) if step.offset <= at and step.opname not in BESIDE]
    if not before or not before.pop().opname.startswith("CALL"):
        return (None,) * count
    found: list[str | None] = []
    while before and len(found) < count:
        step = before.pop()
        if step.opname in PAIRS:
            found += list(reversed(step.argval))
        elif step.opname in LOADS:
            found.append(step.argval)
        else:
            break  # an expression: what stands before it is not looked at
    found = found[:count] + [None] * (count - len(found))
    return tuple(reversed(found))


def rebind(caller: FrameType, name: str, value: Any) -> bool:
    """Bind a variable of the caller, or of its module; False if it has none of that name."""
    if caller.f_locals is not caller.f_globals and name in caller.f_locals:
        bind_locals(caller, {name: value}, set())
        return True
    if name not in caller.f_globals:
        return False
    caller.f_globals[name] = value
    return True
