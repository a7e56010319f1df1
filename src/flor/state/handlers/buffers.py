"""Byte arrays, typed arrays, and texts and bytes too long for the graph."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.handlers.shells import attribute_slots, attribute_values, new_shell
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot


class TextHandler(Handler):
    """Long strings: immutable, one blob each."""

    kind = "text"

    def save(self, obj: Any, walk: Walk) -> Node:
        """UTF-8, lone surrogates included."""
        return Node(self.kind, "builtins:str", blob=walk.blob(obj.encode("utf-8", "surrogatepass")))

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """A new string: strings have no identity to keep."""
        return bytes(load.data(node) or b"").decode("utf-8", "surrogatepass")


class BytesHandler(Handler):
    """Bytes: immutable, short ones inline."""

    kind = "bytes"

    def save(self, obj: Any, walk: Walk) -> Node:
        """A blob, since bytes may be long."""
        return Node(self.kind, "builtins:bytes", blob=walk.blob(obj))

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live bytes if they are equal."""
        data = bytes(load.data(node) or b"")
        return live if live is not MISSING and live == data else data


class BufferHandler(Handler):
    """bytearray and array.array, resized and rewritten in place."""

    kind = "buffer"
    rank = 0

    def save(self, obj: Any, walk: Walk) -> Node:
        """A private copy of the bytes."""
        native = native_of(type(obj))
        if native is array and obj.typecode == "u":
            raise Refused("arrays of wide characters depend on the machine")
        node = Node(self.kind, type_name(obj), {"code": obj.typecode if native is array else ""})
        node.blob = walk.blob(bytes(memoryview(obj).cast("B")) if len(memoryview(obj)) else b"")
        if type(obj) is not native:
            node.attrs = attribute_slots(obj, walk)
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """Same class and type code."""
        return super().accepts(node, live) and getattr(live, "typecode", "") == node.meta["code"]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """Only attributes refer to anything."""
        return attributes.pairs(node.attrs, live) if node.attrs else iter(())

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live buffer or an empty one."""
        if live is not MISSING:
            return live
        if not node.meta["code"]:
            return new_shell(node, load)
        cls = load(node.attrs["__class__"]) if "__class__" in node.attrs else array
        return array.__new__(cls, node.meta["code"])

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved bytes, in the same object."""
        data = bytes(load.data(node) or b"")
        if node.meta["code"]:
            del obj[:]
            array.frombytes(obj, data)
        else:
            bytearray.__setitem__(obj, slice(None), data)
        if node.attrs:
            attributes.write(obj, attribute_values(node, load))


def native_of(cls: type) -> type:
    """The builtin that a buffer's class is derived from."""
    return array if issubclass(cls, array) else bytearray
