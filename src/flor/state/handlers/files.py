"""Files in memory, files around them, and files that no other process can have: their content and place."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

from flor.state import attributes
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.handlers.shells import class_of
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot

LIMIT = 64 << 20
"""A private file with more bytes is refused."""


class MemoryFileHandler(Handler):
    """io.BytesIO and io.StringIO, rewritten in place."""

    kind = "memory-file"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The content, the place and attributes; at the end of the walk, when what writes into it was flushed."""
        if obj.closed:
            return Node(self.kind, type_name(obj), {"closed": True})
        state = _state(obj)
        meta = {"closed": False, "place": 0, "newline": state[1] if len(state) == 4 else None}
        node = Node(self.kind, type_name(obj), meta, [walk.slot(state[-1])])
        if walk.project(type(obj).__module__):
            node.attrs = {"__class__": walk.slot(type(obj))}

        def finish(_: Any) -> None:
            state = _state(obj)
            content = state[0] if isinstance(state[0], bytes) else state[0].encode("utf-8", "surrogatepass")
            node.meta["place"], node.blob = state[-2], walk.blob(content)

        walk.later(finish)
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """An open one for an open one."""
        return super().accepts(node, live) and (node.meta["closed"] or not live.closed)

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The attributes."""
        if node.items and not live.closed:
            yield node.items[0], _state(live)[-1]

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live file or an empty one."""
        return class_of(node, load)() if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Content and place."""
        if node.meta["closed"]:
            obj.close()
            return
        file: Any = obj  # of which the stubs do not know the method
        data, place, own = bytes(load.data(node) or b""), node.meta["place"], load(node.items[0])
        if isinstance(obj, io.StringIO):
            text = data.decode("utf-8", "surrogatepass")
            file.__setstate__((text, node.meta["newline"], place, own))
            return
        try:
            file.__setstate__((data, place, own))
        except BufferError:  # somebody looks into its buffer, so that its length can't change
            obj.getbuffer()[:] = data
            obj.seek(place)


def _state(file: Any) -> Any:
    """What pickling would take: content, (newline,) place, attributes."""
    return io.BytesIO.__getstate__(file) if isinstance(file, io.BytesIO) else io.StringIO.__getstate__(file)


class WrappedFileHandler(Handler):
    """A file of C code around one in memory: what is under it, and the place."""

    kind = "wrapped-file"
    rank = 3

    def save(self, obj: Any, walk: Walk) -> Node:
        """What is under it, flushed, and the place."""
        if obj.closed:
            return Node(self.kind, type_name(obj), {"closed": True})
        if obj.writable():
            obj.flush()
        meta = {"closed": False, "place": obj.tell() if obj.seekable() else None}
        return Node(self.kind, type_name(obj), meta, [walk.slot(_under(obj))])

    def accepts(self, node: Node, live: Any) -> bool:
        """An open one for an open one."""
        return super().accepts(node, live) and (node.meta["closed"] or not live.closed)

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """What is under it."""
        if not live.closed:
            yield from zip(node.items, [_under(live)], strict=False)

    def needs(self, node: Node) -> Iterable[Slot]:
        """What is under it."""
        return node.items

    def lacking(self, node: Node) -> str:
        """How it was opened is not known."""
        return "how it was opened is not known, and this process has none at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live one; what waits in it goes down now, since what is under it is rewritten next."""
        if not live.closed and live.writable():
            live.flush()
        if node.items and _under(live) is not load(node.items[0]):
            raise Refused("another file is under it now")
        return live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The place."""
        if node.meta["closed"]:
            obj.close()
        elif node.meta["place"] is not None:
            obj.seek(0)  # drops what was read ahead
            obj.seek(node.meta["place"])


def _under(file: Any) -> Any:
    return file.buffer if isinstance(file, io.TextIOWrapper) else file.raw


class PrivateFileHandler(Handler):
    """A temporary file: its content goes with it, since no name leads to it in another process."""

    kind = "private-file"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Content and place."""
        if obj.closed:
            return Node(self.kind, type_name(obj), {"closed": True})
        if obj.writable():
            obj.flush()
        found = os.fstat(obj.fileno())
        if found.st_size > LIMIT:
            raise Refused(f"a temporary file of {found.st_size} bytes is too large to be kept")
        node = Node(self.kind, type_name(obj), {"closed": False, "place": obj.tell()})
        node.blob = walk.blob(os.pread(obj.fileno(), found.st_size, 0))
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """An open one for an open one."""
        return super().accepts(node, live) and (node.meta["closed"] or not live.closed)

    def lacking(self, node: Node) -> str:
        """It belongs to the system."""
        return "a temporary file belongs to the system, and this process has none at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live file."""
        return live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved content and place."""
        if node.meta["closed"]:
            obj.close()
            return
        data = bytes(load.data(node) or b"")
        obj.seek(0)
        os.ftruncate(obj.fileno(), 0)
        written = 0
        while written < len(data):
            written += os.pwrite(obj.fileno(), data[written:], written)
        obj.seek(node.meta["place"])


class TemporaryHandler(Handler):
    """tempfile's object around a named temporary file: the file; its name belongs to this process."""

    kind = "temporary"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The attributes but the name and what deletes the file."""
        own = {name: value for name, value in attributes.read(obj).items() if name not in ("name", "_closer")}
        # Methods of the file that were asked for are kept by the object itself, wrapped in functions of tempfile's.
        kept = {name: value for name, value in own.items() if not _is_of_tempfile(value)}
        return Node(self.kind, type_name(obj), None, (), {name: walk.slot(value) for name, value in kept.items()})

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """By attribute name."""
        return attributes.pairs(node.attrs, live)

    def lacking(self, node: Node) -> str:
        """It belongs to the system."""
        return "a temporary file belongs to the system, and this process has none at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live one."""
        return live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The attributes; bound methods of the live file stay."""
        own = attributes.namespace(obj) or {}
        own.update((name, load(slot)) for name, slot in node.attrs.items() if not callable(own.get(name)))


def _is_of_tempfile(value: Any) -> bool:
    return isinstance(value, FunctionType) and value.__globals__.get("__name__") == "tempfile"


def kind_of_file(file: Any, parent: Any) -> str:
    """Which of the kinds above an object of C code for files has; empty for any other file."""
    if type(parent).__name__ == "_TemporaryFileWrapper" and type(parent).__module__ == "tempfile":
        return PrivateFileHandler.kind
    if file in (sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__):
        return ""
    inner = file
    while isinstance(inner, io.TextIOWrapper | io.BufferedReader | io.BufferedWriter | io.BufferedRandom):
        try:
            inner = _under(inner)
        except ValueError:  # detached
            return ""
    if isinstance(inner, io.BytesIO | io.StringIO):
        return WrappedFileHandler.kind
    return PrivateFileHandler.kind if _is_unlinked(inner) else ""


def _is_unlinked(file: Any) -> bool:
    try:
        number = file.fileno()
        found = os.fstat(number)
    except (OSError, ValueError, AttributeError):
        return False
    return number > 2 and found.st_nlink == 0 and stat.S_ISREG(found.st_mode)
