"""Classes and modules: by name; the data attributes of the project's own classes are state."""

from __future__ import annotations

import ctypes
import enum
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.names import library_folders, lookup, name_of
from flor.state.snapshot import ATOMS, Node, Slot

CODE = (
    property,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    type(type("Fields", (ctypes.Structure,), {"_fields_": [("n", ctypes.c_int)]}).n),  # type: ignore[attr-defined]
)

_WRAPPERS = (staticmethod, classmethod)


def state_of(cls: type) -> dict[str, Any]:
    """The attributes of a class that may be state: no descriptor; functions for their defaults and cells."""
    if isinstance(cls, enum.EnumMeta):
        return dict(cls._member_map_)
    found = {}
    for name, value in list(cls.__dict__.items()):
        if name.startswith("_abc_") or isinstance(value, CODE):
            continue
        value = value.__func__ if isinstance(value, _WRAPPERS) else value
        if not name.startswith("__") or _remembers(value):
            found[name] = value
    return found


def _remembers(method: Any) -> bool:
    """True for a special method that has a state of its own: a cache, a mutable default, a closure, attributes."""
    if not isinstance(method, types.FunctionType):
        return type(method) is functools._lru_cache_wrapper
    if method.__code__.co_filename.startswith(("<", *library_folders())):  # made by dataclasses and the like
        return False
    defaults = [*(method.__defaults__ or ()), *(method.__kwdefaults__ or {}).values()]
    cells = [name for name in method.__code__.co_freevars if name != "__class__"]
    return bool(cells or vars(method)) or any(type(default) not in ATOMS for default in defaults)


def is_code(cls: type, name: str) -> bool:
    """True for a special name that no checkpoint gives a value to; a special method may have a state of its own."""
    value = cls.__dict__.get(name)
    kept = value.__func__ if isinstance(value, _WRAPPERS) else value
    return name.startswith("__") and not isinstance(kept, types.FunctionType | functools._lru_cache_wrapper)


class ClassHandler(Handler):
    """Classes: found, never made."""

    kind = "class"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The name, and its data if the class is the project's."""
        node = Node(self.kind, "builtins:type", {"name": name_of(obj)})
        if walk.project(obj.__module__):
            node.attrs = {name: walk.slot(value) for name, value in state_of(obj).items()}
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """The class of the same name."""
        return isinstance(live, type) and name_of(live) == node.meta["name"]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """By attribute name."""
        present = state_of(live) if node.attrs else {}
        return ((slot, present[name]) for name, slot in node.attrs.items() if name in present)

    def lacking(self, node: Node) -> str:
        """A class is code: it can be found by name, never made."""
        found = lookup(node.meta["name"])
        return "" if isinstance(found, type) else "this process has no such class"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live class, or the one of that name."""
        return lookup(node.meta["name"]) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Data attributes that differ; those that appeared since are deleted."""
        if not node.attrs:
            return
        present = state_of(obj)
        for name, slot in node.attrs.items():
            value = load(slot)
            if name.startswith("__"):  # the method itself stays; what it remembers has been put into it
                continue
            if present.get(name, MISSING) is not value and not isinstance(obj.__dict__.get(name), _WRAPPERS):
                type.__setattr__(obj, name, value)
        for name in present.keys() - node.attrs.keys():
            if not name.startswith("__") and not load.is_added(f"{node.meta['name']}.{name}"):
                type.__delattr__(obj, name)


class ModuleHandler(Handler):
    """Modules: by name; the globals of the project's modules are scopes of their own."""

    kind = "module"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The name; and the names in it, if the script has made the module itself."""
        name = types.ModuleType.__getattribute__(obj, "__name__")
        node = Node(self.kind, "builtins:module", {"name": name})
        if type(obj) is types.ModuleType and sys.modules.get(name) is not obj and _origin(obj) is None:
            node.meta["made"] = True
            node.attrs = {name: walk.slot(value) for name, value in _names_in(obj).items()}
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """The module of the same name."""
        return isinstance(live, types.ModuleType) and live.__name__ == node.meta["name"]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """By name."""
        present = _names_in(live) if node.attrs else {}
        return ((slot, present[name]) for name, slot in node.attrs.items() if name in present)

    def lacking(self, node: Node) -> str:
        """It must be importable, unless the script has made it."""
        found = "made" in node.meta or lookup(node.meta["name"] + ":") is not None
        return "" if found else "this process has no such module"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live module, or the one of that name, or a new one."""
        if live is not MISSING:
            return live
        return types.ModuleType(node.meta["name"]) if "made" in node.meta else sys.modules.get(node.meta["name"])

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The names in a module that the script has made."""
        if "made" in node.meta:
            own = vars(obj)
            for name in _names_in(obj).keys() - node.attrs.keys():
                del own[name]
            own.update((name, load(slot)) for name, slot in node.attrs.items())


def _origin(module: types.ModuleType) -> Any:
    return vars(module).get("__spec__")


def _names_in(module: types.ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}


class EnumHandler(Handler):
    """Members of enumerations: by class and name."""

    kind = "enum"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The member's name; a combination of flags has a value only."""
        name = object.__getattribute__(obj, "_name_")
        known = name in type(obj)._member_map_
        node = Node(self.kind, name_of(type(obj)), {"name": name if known else None})
        node.attrs = {"__class__": walk.slot(type(obj))}
        if not known:
            node.items = [walk.slot(object.__getattribute__(obj, "_value_"))]
        elif walk.project(type(obj).__module__):
            own = attributes.read(obj).items()
            node.attrs = {**node.attrs} | {name: walk.slot(value) for name, value in own if not name.startswith("_")}
        return node

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The member of the class in this process."""
        cls = load(node.attrs["__class__"])
        return cls(load(node.items[0])) if node.items else cls._member_map_[node.meta["name"]]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The class, and what was put on the member."""
        return attributes.pairs(node.attrs, live)

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """What was put on the member."""
        own = attributes.namespace(obj)
        if own is None or node.items:
            return
        for name in [name for name in own if not name.startswith("_") and name not in node.attrs]:
            del own[name]
        own.update((name, load(slot)) for name, slot in node.attrs.items() if name != "__class__")
