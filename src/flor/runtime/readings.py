"""Functions that tell the program something of the world: each has a stand-in that the project's code calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FrameType
from typing import Any, Protocol

from flor.model.records import Atom
from flor.runtime import current

Given = tuple[Any, ...]
Options = Mapping[str, Any]
_frame = sys._getframe


class Inputs(Protocol):
    """Who is asked in place of the world while a session is under way."""

    count: int

    def read(self, reading: Reading, args: Given, options: Options, frame: FrameType) -> Any:
        """The value of one call."""
        ...

    def owns(self, frame: FrameType) -> bool:
        """True for a frame of the project."""
        ...


class Reading:
    """Stands for a function whose value differs from run to run; it is no descriptor, as a native function is none."""

    plain = True  # the value is kept as it is
    clock = False  # the values grow with time, in the clock's own unit

    def __init__(self, function: Any, module: str, name: str) -> None:
        self.__wrapped__ = function
        self.__module__, self.__name__, self.__qualname__ = module, name, name
        self.__doc__ = getattr(function, "__doc__", None)
        self.call = function  # what is asked in the end
        self.sites: dict[int, int] = {}  # identity of a code -> the number of the site; for who notes
        self.last: Any = None  # the latest answer; for who answers

    def __call__(self, *args: Any, **options: Any) -> Any:
        inputs = current.inputs
        if inputs is None:
            return self.call(*args, **options)
        return inputs.read(self, args, options, _frame(1))

    @property
    def title(self) -> str:
        """What the function is called, in messages and in the record."""
        return f"{self.__module__}.{self.__name__}"

    def asks(self, args: Given, options: Options) -> bool:
        """True if a call with these arguments asks the world; else it only converts something."""
        return True

    def ask(self, args: Given, options: Options) -> tuple[Any, Atom]:
        """Ask the world: the value, and how it is kept."""
        value = self.call(*args, **options)
        return value, value

    def answer(self, kept: Atom, args: Given, options: Options) -> Any:
        """The value that was kept so; who calls may rely on every effect of the true function."""
        return kept

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # a copy under way has nothing yet
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """For `isinstance` it is what it stands for."""
        return type(self.__wrapped__) if isinstance(self.__wrapped__, BuiltinFunctionType) else Reading


known: dict[int, Any] = {}
"""The stand-in for each function, by the function's identity."""
finders: list[Callable[[Any], Any]] = []
"""Asked in turn for the stand-in of a method, which is a new object at each look; None if it has none."""


def stand_in(value: Any) -> Any:
    """What the project's code gets where it names a function: the stand-in, or else the value itself."""
    found = known.get(id(value))
    if found is not None:
        return found
    for find in finders:
        found = find(value)
        if found is not None:
            return found
    return value
