"""Functions, methods and closure cells: code by name, and the state that hides in them."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.handlers.tuples import same
from flor.state.inert import by_prefix
from flor.state.localcode import code_name, new_function
from flor.state.names import is_named, lookup, name_of, type_name
from flor.state.snapshot import Node, Slot

_EMPTY = "<empty cell>"


class FunctionHandler(Handler):
    """Python functions. Those of the project, and those without a name of their own, are looked into."""

    kind = "function"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The name; cells, defaults and attributes where they may be state."""
        node = Node(self.kind, type_name(obj), {"name": name_of(obj), "named": is_named(obj)})
        module = str(obj.__module__)
        if walk.project(module) or not (node.meta["named"] or by_prefix(module)):
            node.meta["code"] = code_name(obj)
            node.items = [walk.slot(cell) for cell in obj.__closure__ or ()]
            node.attrs = {name: walk.slot(value) for name, value in _parts(obj).items()}
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """The function of the same name and the same number of cells."""
        same_name = isinstance(live, types.FunctionType) and name_of(live) == node.meta["name"]
        return same_name and (not node.items or len(live.__closure__ or ()) == len(node.items))

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """Cells by order, parts by name."""
        yield from zip(node.items, live.__closure__ or (), strict=False)
        present = _parts(live)
        yield from ((slot, present[name]) for name, slot in node.attrs.items() if name in present)

    def needs(self, node: Node) -> Iterable[Slot]:
        """The cells, around which a function is made."""
        return node.items

    def lacking(self, node: Node) -> str:
        """A function is code: it can be found by name, or made of code that is there, around new cells."""
        found = _found(node, tuple(types.CellType() for _ in node.items))
        return "" if isinstance(found, types.FunctionType) else "this process has no such function at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live function, or the one of that name, or one of that code."""
        return _found(node, tuple(load(slot) for slot in node.items)) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Defaults and attributes; cells fill themselves."""
        if not node.attrs and not node.items:
            return
        values = {name: load(slot) for name, slot in node.attrs.items()}
        for name in ("__defaults__", "__kwdefaults__"):
            if name in values and getattr(obj, name) is not values[name]:
                setattr(obj, name, values[name])
        own = {name[1:]: value for name, value in values.items() if name.startswith(".")}
        if list(own.items()) != list(obj.__dict__.items()):
            obj.__dict__.clear()
            obj.__dict__.update(own)


def _found(node: Node, cells: tuple[Any, ...]) -> Any:
    """What stands for a function that no place leads to."""
    if node.meta["named"]:
        return lookup(node.meta["name"])
    return new_function(node.meta.get("code", ""), node.meta["name"], cells)


def _parts(function: Any) -> dict[str, Any]:
    parts = {name: getattr(function, name) for name in ("__defaults__", "__kwdefaults__")}
    own = attributes.namespace(function) or {}
    return {name: value for name, value in parts.items() if value} | {f".{name}": own[name] for name in own}


class CellHandler(Handler):
    """Closure cells, restored by their contents."""

    kind = "cell"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The contents, if any."""
        try:
            return Node(self.kind, type_name(obj), None, [walk.slot(obj.cell_contents)])
        except ValueError:
            return Node(self.kind, type_name(obj), _EMPTY)

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The contents."""
        try:
            contents = live.cell_contents
        except ValueError:
            return
        yield from ((slot, contents) for slot in node.items)

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live cell or an empty one."""
        return types.CellType() if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved contents."""
        for slot in node.items:
            obj.cell_contents = load(slot)


class MethodHandler(Handler):
    """Bound methods: a function and its `self`."""

    kind = "method"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Both parts."""
        return Node(self.kind, type_name(obj), None, [walk.slot(obj.__func__), walk.slot(obj.__self__)])

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """Both parts."""
        return zip(node.items, (live.__func__, live.__self__), strict=True)

    def needs(self, node: Node) -> Iterable[Slot]:
        """Both parts: a method cannot be filled."""
        return node.items

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live method if it binds the same objects."""
        function, owner = (load(slot) for slot in node.items)
        if live is not MISSING and live.__func__ is function and live.__self__ is owner:
            return live
        return types.MethodType(function, owner)


def _public_name(obj: Any) -> str:
    """The name under which it is found: `torch.mean` says that it is of a class which torch does not show."""
    own, short = name_of(obj), f"{obj.__module__}:{obj.__name__}"
    return short if lookup(own) is not obj and lookup(short) is obj else own


class BuiltinHandler(Handler):
    """Functions and methods written in C: by name, or by their `self` and name."""

    kind = "builtin"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The name, and the object it is bound to unless that is a module."""
        owner = getattr(obj, "__self__", None)
        if isinstance(owner, types.ModuleType):
            return Node(self.kind, type_name(obj), {"name": f"{owner.__name__}:{obj.__name__}"})
        node = Node(self.kind, type_name(obj), {"name": _public_name(obj), "method": obj.__name__})
        node.items = [] if owner is None else [walk.slot(owner)]
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """Same type and name."""
        return super().accepts(node, live) and live.__name__ == node.meta["name"].rpartition(".")[2].rpartition(":")[2]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """What it is bound to."""
        yield from ((slot, live.__self__) for slot in node.items)

    def needs(self, node: Node) -> Iterable[Slot]:
        """What it is bound to."""
        return node.items

    def lacking(self, node: Node) -> str:
        """An unbound one must be found by name."""
        return "" if node.items or lookup(node.meta["name"]) is not None else "this process has no such builtin"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live one if it binds the same object."""
        if not node.items:
            return live if live is not MISSING else lookup(node.meta["name"])
        owner = load(node.items[0])
        return live if live is not MISSING and same(live.__self__, owner) else _bound(owner, str(node.meta["method"]))


def _bound(owner: Any, name: str) -> Any:
    """A method of C code of an object or class, found past properties and `__getattr__`."""
    places = [*(owner.__mro__ if isinstance(owner, type) else ()), *type(owner).__mro__]
    found = next((place.__dict__[name] for place in places if name in place.__dict__), None)
    if not isinstance(found, _DESCRIPTORS):
        raise TypeError(f"{type(owner).__name__} has no method of C code called {name}")
    return getattr(owner, name)


_DESCRIPTORS = (
    *(types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType),
    *(types.BuiltinFunctionType, staticmethod),
)
