"""Handles of the operating system and of libraries: left as they are, not walked, not compared."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from typing import Any

from flor.state import attributes, outside
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.inert import inert_reason, opaque_reason
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot
from flor.state.stored import stored_names

_STREAMS = ("stdin", "stdout", "stderr")
_FRESH = {"_thread:lock": threading.Lock, "_thread:RLock": threading.RLock}


class InertHandler(Handler):
    """Locks, files, sockets, writers, trackers, figures, descriptors, code.

    A class of the project that is derived from one is a handle too; what its own methods set is state.
    """

    kind = "inert"
    claims = False

    def save(self, obj: Any, walk: Walk) -> Node:
        """What it is, and what is known of it: whether a lock is held, the place in a file."""
        what = inert_reason(type(obj), walk.project)
        busy = outside.busy(obj, what, walk.project)
        if busy:
            raise Refused(f"{busy}, whose state cannot be saved")
        node = Node(self.kind, type_name(obj), {"what": what, **outside.facts(obj, what, own=_is_own(walk))})
        if id(obj) in (streams := {id(getattr(sys, name)): name for name in _STREAMS}):
            node.meta["stream"] = streams[id(obj)]
        opaque = opaque_reason(type(obj), walk.project)
        if opaque:
            article = "an" if opaque[0] in "aeiou" else "a"
            walk.account(f"the state of {article} {opaque} is in no checkpoint")
        elif what == "file" and outside.is_untold(obj):
            walk.account("how far it was read is in no checkpoint, since it does not tell")
        own = stored_names(type(obj), walk.project)
        if own:
            node.attrs = {name: walk.slot(value) for name, value in attributes.read(obj).items() if name in own}
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """Any handle at the same place will do, unless it has state that must go into one of its class."""
        return not node.attrs or super().accepts(node, live)

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """What the project's own methods set."""
        return attributes.pairs(node.attrs, live) if node.attrs else iter(())

    def lacking(self, node: Node) -> str:
        """Only locks can be had anew; every process has the standard streams."""
        if node.cls in _FRESH or "stream" in node.meta:
            return ""
        return f"a {node.meta['what']} is left alone, and this process has none at this place"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live handle, or a standard stream, or a new lock."""
        if live is not MISSING:
            return live
        return getattr(sys, node.meta["stream"]) if "stream" in node.meta else _FRESH[node.cls]()

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """What the project's own methods set, and what is known of it; nothing else of it."""
        outside.put(obj, node.meta, node.meta["what"])
        own = attributes.namespace(obj) if node.attrs else None
        if own is not None:
            own.update((name, load(slot)) for name, slot in node.attrs.items())


def _is_own(walk: Walk) -> bool:
    """True for an object that a name, a plain container or an object of the project's leads to."""
    parent = walk.parent()
    return parent is None or type(parent) in (list, dict, tuple, set) or walk.project(type(parent).__module__)


class RefusedHandler(Handler):
    """What could not be saved stands as itself in the graph, so that the rest is still there."""

    kind = "refused"

    def accepts(self, node: Node, live: Any) -> bool:
        """Nothing is known of it."""
        return False

    def lacking(self, node: Node) -> str:
        """The reason of the capture."""
        return str(node.meta["reason"])


class WitnessHandler(Handler):
    """Objects whose state can't be had, but that show whether it has changed: a digest, a count of lines."""

    kind = "witness"

    def save(self, obj: Any, walk: Walk) -> Node:
        """What it shows."""
        return Node(self.kind, type_name(obj), {"shows": WITNESSES[type_name(obj)](obj)})

    def accepts(self, node: Node, live: Any) -> bool:
        """One that shows the same."""
        return super().accepts(node, live) and WITNESSES[node.cls](live) == node.meta["shows"]

    def lacking(self, node: Node) -> str:
        """It can't be made."""
        return f"it had come to {node.meta['shows']} then, and this process has none that has"

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live one."""
        return live


def _digest(obj: Any) -> str:
    return f"{obj.name} {obj.hexdigest() if obj.digest_size else obj.hexdigest(32)}"


WITNESSES: dict[str, Any] = {
    "weakref:finalize": lambda finalizer: "its call" if not finalizer.alive else "no call yet",
    "_csv:reader": lambda reader: reader.line_num,
    "_hashlib:HASH": _digest,
    "_hashlib:HASHXOF": _digest,
    "_hashlib:HMAC": _digest,
    **{f"_{module}:{name}": _digest for module, names in {
        "blake2": ("blake2b", "blake2s"),
        "md5": ("md5",),
        "sha1": ("sha1",),
        "sha256": ("sha256", "sha224"),
        "sha512": ("sha512", "sha384"),
        "sha2": ("SHA224Type", "SHA256Type", "SHA384Type", "SHA512Type"),
        "sha3": ("sha3_224", "sha3_256", "sha3_384", "sha3_512", "shake_128", "shake_256"),
    }.items() for name in names},
}  # fmt: skip
