"""Calls back when a library is imported, or at once if it is there already."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from flor.runtime.interrupts import lets_through

Callback = Callable[[ModuleType], None]


class ImportWatch(MetaPathFinder):
    """A finder that finds nothing itself: it lets the others find, and hears when the module has been executed."""

    def __init__(self, on_trouble: Callable[[str], None]) -> None:
        self.callbacks: dict[str, list[Callback]] = {}
        self.on_trouble = on_trouble

    def when(self, name: str, callback: Callback) -> None:
        """Call back with the module once it is imported."""
        module = sys.modules.get(name)
        if module is not None:
            self._tell(callback, module)
        else:
            self.callbacks.setdefault(name, []).append(callback)

    def install(self) -> None:
        """Be asked first."""
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Be asked no more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The others' spec, with an ear on its loader, for the watched modules only."""
        if fullname not in self.callbacks:
            return None
        spec = next((found for finder in self._others() if (found := finder.find_spec(fullname, path, target))), None)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            self._listen(fullname, spec)
        return spec

    def _others(self) -> list[MetaPathFinder]:
        return [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]  # type: ignore[misc]

    def _listen(self, name: str, spec: ModuleSpec) -> None:
        loader = spec.loader
        assert loader is not None
        execute = loader.exec_module

        @lets_through
        def heard(module: ModuleType) -> None:
            loader.__dict__.pop("exec_module", None)
            execute(module)
            for callback in self.callbacks.pop(name, ()):
                self._tell(callback, module)

        try:
            loader.exec_module = heard  # type: ignore[method-assign]
        except AttributeError:
            pass  # a loader without a __dict__: this library is not heard of

    def _tell(self, callback: Callback, module: ModuleType) -> None:
        try:
            callback(module)
        except Exception as error:  # a failure of ours never stops an import
            self.on_trouble(f"{module.__name__}: {type(error).__name__}: {error}")
