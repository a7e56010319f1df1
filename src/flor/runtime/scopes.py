"""The names that a loop can see: its frame, the frames of the project above it, the project's modules."""

from __future__ import annotations

import ctypes
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from inspect import CO_OPTIMIZED
from types import CodeType, FrameType
from typing import Any

from flor.model.positions import MODULE
from flor.model.trackers import tracker_of
from flor.runtime.interrupts import bottom
from flor.runtime.owners import bind_owners, read_owners
from flor.runtime.sites import NOTHING, LoopFrame
from flor.source.stores import Stores

Scopes = dict[str, dict[str, Any]]
ITEM = "item"
LOGGERS = "loggers"
LOOKS_AT_LOCALS = frozenset(("locals", "vars", "dir", "eval", "exec", "f_locals"))  # the script may hold that dict too
HIDDEN = frozenset(
    ("__builtins__", "__loader__", "__spec__", "__cached__", "__file__", "__name__", "__package__", "__doc__", "_flor")
)


class ScopeReader:
    """Reads and binds names of live frames and modules of the project."""

    def __init__(
        self,
        owns: Callable[[CodeType], bool],
        owns_module: Callable[[str], bool],
        stores: Callable[[], Stores] = Stores,
    ) -> None:
        self.owns = owns
        self.owns_module = owns_module
        self.stores = stores  # attributes that the sources put on what they import
        self._known: tuple[int, list[str]] = (0, [])

    def read(self, caller: FrameType, loop: LoopFrame | None) -> Scopes:
        """What the loop's frame, its callers and the project's modules bind; module level is under `module:NAME`."""
        scopes: Scopes = {}
        for frame in self.frames(caller):
            scopes[f"frame{len(scopes)}:{frame.f_code.co_qualname}"] = locals_of(frame)
        for name in sorted(self.modules()):
            scopes[f"module:{name}"] = visible(vars(sys.modules[name]))
        scopes.update(read_owners(self.stores(), self.owns_module))
        scopes[LOGGERS] = dict(loggers_in_use(self.owns_module))
        if loop is not None and loop.item is not NOTHING:
            scopes[ITEM] = {ITEM: loop.item}
        return scopes

    def frames(self, caller: FrameType) -> list[FrameType]:
        """The project's function frames, innermost first; what has started us is not the script's."""
        found, frame = [], caller
        while frame is not None and frame.f_code not in bottom:
            if self.owns(frame.f_code) and not is_module_level(frame):
                found.append(frame)
            frame = frame.f_back  # type: ignore[assignment]
        return found

    def modules(self) -> list[str]:
        """The names of the imported modules of the project; one that has two names (`__mp_main__`) has its first."""
        count = len(sys.modules)
        if self._known[0] != count:  # asking thousands of modules takes milliseconds
            names = [name for name, module in list(sys.modules.items()) if module is not None]
            own = {id(sys.modules[name]): name for name in reversed(names) if self.owns_module(name)}
            self._known = (count, list(reversed(own.values())))
        return self._known[1]

    def bind(self, caller: FrameType, values: Mapping[str, Mapping[str, Any]], unbind: Mapping[str, set[str]]) -> None:
        """Rebind names where the restored object is another one than is bound now."""
        for number, frame in enumerate(self.frames(caller)):
            scope = f"frame{number}:{frame.f_code.co_qualname}"
            bind_locals(frame, values.get(scope, {}), unbind.get(scope, set()))
        for name in self.modules():
            scope, namespace = f"module:{name}", vars(sys.modules[name])
            for key, value in values.get(scope, {}).items():
                namespace[key] = value
            for key in unbind.get(scope, set()):
                namespace.pop(key, None)
        bind_owners(values, unbind)


def loggers_in_use(owns_module: Callable[[str], bool] = lambda name: False) -> Iterator[tuple[str, logging.Logger]]:
    """The loggers with handlers or filters: these hold state that often no name of the script reaches.

    Those of trackers are not among them, which are silent on replay, nor those that a library keeps for itself.
    """
    for name, logger in [("root", logging.root), *logging.root.manager.loggerDict.items()]:
        if not isinstance(logger, logging.Logger) or tracker_of(name) is not None:
            continue
        if (logger.handlers or logger.filters) and not _is_librarys(name, logger, owns_module):
            yield name, logger


def _is_librarys(name: str, logger: logging.Logger, owns_module: Callable[[str], bool]) -> bool:
    """True for a logger that is called as an installed package and has a handler or filter of a class of its own."""
    package = name.partition(".")[0]
    if package not in sys.modules or owns_module(package):
        return False
    return any(type(each).__module__.partition(".")[0] == package for each in (*logger.handlers, *logger.filters))


def is_module_level(frame: FrameType) -> bool:
    """True if the names of a frame are those of its module."""
    return not frame.f_code.co_flags & CO_OPTIMIZED and frame.f_locals is frame.f_globals


def locals_of(frame: FrameType) -> dict[str, Any]:
    """What a frame binds now; nothing of it is kept alive by our having looked."""
    space = frame.f_locals
    found = dict(space)
    code = frame.f_code
    if sys.version_info < (3, 13) and code.co_flags & CO_OPTIMIZED and LOOKS_AT_LOCALS.isdisjoint(code.co_names):
        space.clear()  # the frame holds this dict until it ends: `del batch` would free nothing
    return found


def visible(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """A module's names without those that the import system made."""
    return {name: value for name, value in namespace.items() if name not in HIDDEN}


def bind_locals(frame: FrameType, values: Mapping[str, Any], unbind: set[str]) -> None:
    """Assign and delete local variables of a function that is under way."""
    space = frame.f_locals
    changed = False
    for name, value in values.items():
        if name not in space or space[name] is not value:
            space[name] = value
            changed = True
    for name in unbind.intersection(space):
        if sys.version_info < (3, 13):
            del space[name]
        else:  # a local cannot be unbound from outside there; None is the nearest thing
            space[name] = None
        changed = True
    if changed and sys.version_info < (3, 13):  # from 3.13 on f_locals writes through (PEP 667)
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(1))


def function_of(caller: FrameType) -> str:
    """The qualified name of the frame's function, as loops are named."""
    code = caller.f_code
    return MODULE if code.co_name == MODULE else code.co_qualname.replace(".<locals>", "")
