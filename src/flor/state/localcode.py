"""The code of functions that are defined in functions: found in the function around them, never made."""

from __future__ import annotations

import types
from typing import Any

from flor.state.names import lookup, name_of

LOCALS = ".<locals>."


def code_name(function: types.FunctionType) -> str:
    """Where the code of a function is from, `module:outer.<locals>.inner`, whatever name a decorator gave it."""
    return f"{function.__globals__.get('__name__', '')}:{function.__code__.co_qualname}"


def new_function(code: str, name: str, cells: tuple[Any, ...]) -> types.FunctionType | None:
    """A function of that code around these cells; None if this process has not exactly one such code."""
    module, _, qualified = code.partition(":")
    found = _code(module, qualified) if LOCALS in qualified else None
    namespace = lookup(f"{module}:")
    if found is None or namespace is None or len(found.co_freevars) != len(cells):
        return None
    function = types.FunctionType(found, vars(namespace), found.co_name, None, cells)
    function.__module__, _, function.__qualname__ = name.partition(":")
    function.__name__ = function.__qualname__.rpartition(".")[2]
    return function


def _code(module: str, qualified: str) -> types.CodeType | None:
    outer, local, _ = qualified.rpartition(LOCALS)
    if not local:
        return _code_of_named(f"{module}:{qualified}")
    around = _code(module, outer)
    inside = [part for part in around.co_consts if isinstance(part, types.CodeType)] if around else []
    found = [part for part in inside if part.co_qualname == qualified]
    return found[0] if len(found) == 1 else None


def _code_of_named(name: str) -> types.CodeType | None:
    """The code of a function that has a name, under any decorators that keep what they wrap."""
    found = lookup(name)
    while found is not None and not (isinstance(found, types.FunctionType) and code_name(found) == name):
        found = getattr(found, "__func__", None) or getattr(found, "__wrapped__", None)
    return found.__code__ if found is not None and name_of(found) else None
