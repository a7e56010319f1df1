"""Functions of other modules replaced for a while, under every name they were imported by."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from flor.launch.overlay import native

# The system's own functions stay reachable here: the import machinery and this package call them.
UNTOUCHED = ("posix", "_io", native.__name__)
# Tables of functions that a library filled when it was imported: module, object, attribute.
TABLES = (("numpy.lib._datasource", "_file_openers", "_file_openers"),)


class Replacement:
    """Stands for a native function: it is no descriptor either, and is pickled by the native one's name."""

    def __init__(self, original: Any, module: str, name: str, call: Any) -> None:
        self.__wrapped__ = original
        self.__module__, self.__name__, self.__qualname__ = module, name, name
        self.__doc__ = getattr(original, "__doc__", None)
        self._call = call

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._call(*args, **options)

    def retire(self) -> None:
        """Wherever it may still be held, it is the native function again."""
        self._call = self.__wrapped__

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


class Patches:
    """What is replaced by what, put in place and taken out again."""

    def __init__(self) -> None:
        self._swaps: list[tuple[Any, Any]] = []
        self._sets: list[tuple[set[Any], Any]] = []
        self._owned: list[tuple[Any, str, Any]] = []

    def function(self, module: ModuleType, name: str, call: Any) -> None:
        """Replace a module's function, everywhere that it was imported to by `from module import name`."""
        original = vars(module)[name]
        self.swap(module, name, Replacement(original, module.__name__, name, call))

    def swap(self, module: ModuleType, name: str, new: Any) -> None:
        """Replace a module's attribute by one of the same use."""
        self._swaps.append((vars(module)[name], new))
        setattr(module, name, new)

    def attribute(self, owner: Any, name: str, new: Any) -> None:
        """Replace one attribute of a class or a module, here only."""
        self._owned.append((owner, name, vars(owner)[name]))
        setattr(owner, name, new)

    def join(self, members: set[Any], original: Any) -> None:
        """Let the replacement be in a set of functions that the original is in."""
        new = next((new for old, new in self._swaps if old is original), None)
        if new is not None and original in members:
            members.add(new)
            self._sets.append((members, new))

    def spread(self) -> None:
        """Replace under the other names as well."""
        _exchange(dict(self._swaps))

    def undo(self) -> None:
        """Everything as it was, also in modules that were imported meanwhile."""
        _exchange({new: old for old, new in self._swaps})
        for _, new in self._swaps:
            if isinstance(new, Replacement):
                new.retire()
        for owner, name, old in reversed(self._owned):
            setattr(owner, name, old)
        for members, new in self._sets:
            members.discard(new)
        self._swaps, self._owned, self._sets = [], [], []


def _exchange(table: dict[Any, Any]) -> None:
    kinds = {type(old) for old in table}  # functions and classes: equal only if identical
    for namespace in _namespaces():
        for name, value in list(namespace.items()):
            if type(value) in kinds and value in table:
                namespace[name] = table[value]


def _namespaces() -> Iterator[dict[str, Any]]:
    for name, module in list(sys.modules.items()):
        if name not in UNTOUCHED and isinstance(module, ModuleType):
            yield vars(module)
    for name, held, attribute in TABLES:
        table = getattr(getattr(sys.modules.get(name), held, None), attribute, None)
        if isinstance(table, dict):
            yield table
