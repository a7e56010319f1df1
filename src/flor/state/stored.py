"""Which attributes a class's own methods set: the state of a project's class that is derived from a handle."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator


def stored_names(cls: type, project: Callable[[str], bool]) -> frozenset[str]:
    """The names that methods of the project's classes among the ancestors assign, as `self.name = ...` does."""
    owners = [owner for owner in cls.__mro__ if project(owner.__module__)]
    return frozenset(
        name for owner in owners for function in _functions(owner) for name in _assigned(function.__code__)
    )


def _functions(cls: type) -> Iterator[types.FunctionType]:
    for value in cls.__dict__.values():
        if isinstance(value, types.FunctionType):
            yield value


def _assigned(code: types.CodeType) -> Iterator[str]:
    yield from (str(step.argval) for step in dis.get_instructions(code) if step.opname == "STORE_ATTR")
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _assigned(inner)
