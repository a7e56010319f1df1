"""Hears when a library has been imported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class Arrivals(MetaPathFinder):
    """A finder that finds nothing itself: it lets the others find, and calls back after the module was executed."""

    def __init__(self, names: frozenset[str], arrived: Callable[[str, ModuleType], None]) -> None:
        self.names, self.arrived = names, arrived
        self._asking: set[str] = set()

    def start(self) -> None:
        """Be asked first, and tell of those that are here already."""
        sys.meta_path.insert(0, self)
        for name in sorted(self.names & set(sys.modules)):
            self.arrived(name, sys.modules[name])

    def stop(self) -> None:
        """Be asked no more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The others' spec, with an ear on its loader."""
        if fullname not in self.names or fullname in self._asking:  # another such finder may ask us back
            return None
        self._asking.add(fullname)
        try:
            others = [finder for finder in list(sys.meta_path) if finder is not self and hasattr(finder, "find_spec")]
            spec = next((found for one in others if (found := one.find_spec(fullname, path, target))), None)
        finally:
            self._asking.discard(fullname)
        if spec is not None and spec.loader is not None:
            self._listen(fullname, spec.loader)
        return spec

    def _listen(self, name: str, loader: Loader) -> None:
        execute = loader.exec_module

        def heard(module: ModuleType) -> None:
            execute(module)
            self.arrived(name, module)

        if not isinstance(loader, type):
            loader.exec_module = heard  # type: ignore[method-assign]
