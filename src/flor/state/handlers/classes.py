"""Classes and modules: by name; the data attributes of the project's own classes are state."""

from __future__ import annotations

import enum
import sys
import types
from collections.abc import Iterator
from typing import Any

from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.names import lookup, name_of
from flor.state.snapshot import Node, Slot

_CODE = (
    property,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)

_WRAPPERS = (staticmethod, classmethod)


def state_of(cls: type) -> dict[str, Any]:
    """The attributes of a class that may be state: no dunder, no descriptor; functions for their defaults and cells."""
    if isinstance(cls, enum.EnumMeta):
        return {}
    found = {}
    for name, value in list(cls.__dict__.items()):
        if name.startswith(("__", "_abc_")) or isinstance(value, _CODE):
            continue
        found[name] = value.__func__ if isinstance(value, _WRAPPERS) else value
    return found


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
        found = lookup(node.meta["name"], load=True)
        return "" if isinstance(found, type) else "this process has no such class"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live class, or the one of that name."""
        return lookup(node.meta["name"], load=True) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Data attributes that differ; those that appeared since are deleted."""
        if not node.attrs:
            return
        present = state_of(obj)
        for name, slot in node.attrs.items():
            value = load(slot)
            if present.get(name, MISSING) is not value and not isinstance(obj.__dict__.get(name), _WRAPPERS):
                type.__setattr__(obj, name, value)
        for name in present.keys() - node.attrs.keys():
            if not load.is_added(f"{node.meta['name']}.{name}"):
                type.__delattr__(obj, name)


class ModuleHandler(Handler):
    """Modules: by name; the globals of the project's modules are scopes of their own."""

    kind = "module"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The name."""
        return Node(self.kind, "builtins:module", {"name": types.ModuleType.__getattribute__(obj, "__name__")})

    def accepts(self, node: Node, live: Any) -> bool:
        """The module of the same name."""
        return isinstance(live, types.ModuleType) and live.__name__ == node.meta["name"]

    def lacking(self, node: Node) -> str:
        """It must be importable."""
        return "" if lookup(node.meta["name"] + ":", load=True) is not None else "this process has no such module"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live module, or the one of that name."""
        return sys.modules.get(node.meta["name"]) if live is MISSING else live


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
        return node

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The member of the class in this process."""
        cls = load(node.attrs["__class__"])
        return cls(load(node.items[0])) if node.items else cls._member_map_[node.meta["name"]]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The class."""
        yield node.attrs["__class__"], type(live)
