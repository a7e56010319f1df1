"""Memory of ctypes, anonymous mappings, protobuf messages: by their bytes."""

from __future__ import annotations

import ctypes
import mmap
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.handlers.shells import attribute_slots, attribute_values, class_of
from flor.state.names import lookup, type_name
from flor.state.snapshot import Node, Slot

_POINTERS = frozenset("zZPOX")
_PARTS = 1000  # of a message, that are looked at one by one


class ForeignHandler(Handler):
    """Values, arrays and structures of ctypes without pointers."""

    kind = "foreign"
    rank = 0

    def save(self, obj: Any, walk: Walk) -> Node:
        """The bytes, and attributes of a class of the project's."""
        if _points(type(obj)):
            raise Refused("it has a pointer, which is of no use in another process")
        node = Node(self.kind, type_name(obj), {"size": ctypes.sizeof(obj)})
        node.blob = walk.blob(ctypes.string_at(ctypes.addressof(obj), ctypes.sizeof(obj)))
        node.attrs = attribute_slots(obj, walk)
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """One of the same class and size."""
        return super().accepts(node, live) and ctypes.sizeof(live) == node.meta["size"]

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """Attributes only."""
        return attributes.pairs(node.attrs, live)

    def lacking(self, node: Node) -> str:
        """A class of arrays is made where it is used, and has no name."""
        found = "__class__" in node.attrs or isinstance(lookup(node.cls), type)
        return "" if found else "this process has none at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live one or a new one."""
        return class_of(node, load)() if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved bytes."""
        data = bytes(load.data(node) or b"")
        if len(data) != ctypes.sizeof(obj) or _points(type(obj)):  # the guarantee: no write beside it
            raise ValueError("the saved bytes are not those of such an object")
        ctypes.memmove(ctypes.addressof(obj), data, len(data))
        attributes.write(obj, attribute_values(node, load))


def _points(cls: Any) -> bool:
    if issubclass(cls, ctypes._SimpleCData):
        return str(cls._type_) in _POINTERS
    if issubclass(cls, ctypes.Array):
        return _points(cls._type_)
    if issubclass(cls, ctypes.Structure | ctypes.Union):
        fields = [field for owner in cls.__mro__ for field in vars(owner).get("_fields_", ())]
        return any(_points(field[1]) for field in fields)
    return True


class MappingHandler(Handler):
    """mmap.mmap: the bytes of an anonymous one, the place of one that is only read."""

    kind = "mapping"
    rank = 0

    def save(self, obj: Any, walk: Walk) -> Node:
        """The bytes, unless they are a file's."""
        try:
            size, place = len(obj), obj.tell()
        except ValueError:
            return Node(self.kind, type_name(obj), {"closed": True})
        node = Node(self.kind, type_name(obj), {"size": size, "place": place, "closed": False})
        if "access=ACCESS_READ," in repr(obj):
            return node
        if not _is_anonymous(obj):
            raise Refused("a file may be changed through it")
        node.blob = walk.blob(obj[:])
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """One of the same size that is open too."""
        if not super().accepts(node, live):
            return False
        try:
            return not node.meta["closed"] and len(live) == node.meta["size"]
        except ValueError:
            return bool(node.meta["closed"])

    def lacking(self, node: Node) -> str:
        """Only an anonymous one can be had anew."""
        return "" if node.blob is not None else "it maps a file, and this process has none at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live one or a new one."""
        return mmap.mmap(-1, node.meta["size"]) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved bytes and the place."""
        if node.blob is not None:
            obj[:] = bytes(load.data(node) or b"")
        if not node.meta["closed"]:
            obj.seek(node.meta["place"])


def _is_anonymous(mapping: Any) -> bool:
    """True if the system says that no file is behind it."""
    try:
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        maps = Path("/proc/self/maps").read_text()
    except (TypeError, ValueError, OSError):
        return False
    for line in maps.splitlines():
        found = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ (\d+) *(.*)", line)
        if found and int(found[1], 16) <= address < int(found[2], 16):
            return found[3] == "0" or found[4].startswith("/dev/zero")
    return False


class MessageHandler(Handler):
    """Messages of protobuf: serialized, and put back in place."""

    kind = "message"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The bytes."""
        if _has_held_part(obj):
            raise Refused("a part of the message has a name of its own")
        node = Node(self.kind, type_name(obj))
        node.blob = walk.blob(obj.SerializePartialToString(deterministic=True))
        return node

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live message or an empty one."""
        return class_of(node, load)() if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved fields, unless it has them."""
        data = bytes(load.data(node) or b"")
        if obj.SerializePartialToString(deterministic=True) != data:
            obj.Clear()
            obj.MergeFromString(data)


def _has_held_part(message: Any) -> bool:
    """True if somebody else has a reference to a part: it would no longer be a part of what is put back."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if sys.getrefcount(value) > 3:  # the tuple of ListFields, `value` and the argument
            return True
        if hasattr(value, "ListFields"):
            if _has_held_part(value):
                return True
        elif not hasattr(value, "keys") and any(map(_is_held_element, list(value[:_PARTS]))):
            return True
    return False


def _is_held_element(element: Any) -> bool:
    return sys.getrefcount(element) > 3 or _has_held_part(element)
