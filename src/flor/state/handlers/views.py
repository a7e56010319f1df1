"""What shows another object: mapping proxies, views of dicts, memoryviews."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterable, Iterator
from typing import Any

from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot

_MAKERS: dict[str, Any] = {
    "builtins:mappingproxy": types.MappingProxyType,
    "builtins:dict_keys": lambda shown: shown.keys(),
    "builtins:dict_values": lambda shown: shown.values(),
    "builtins:dict_items": lambda shown: shown.items(),
    "collections:odict_keys": lambda shown: shown.keys(),
    "collections:odict_values": lambda shown: shown.values(),
    "collections:odict_items": lambda shown: shown.items(),
}


class ViewHandler(Handler):
    """A view: the object that it shows."""

    kind = "view"

    def save(self, obj: Any, walk: Walk) -> Node:
        """What is shown."""
        shown = _shown(obj)
        if isinstance(shown, type):
            raise Refused("it shows the attributes of a class")
        meta = {"format": obj.format, "shape": list(obj.shape or ())} if type(obj) is memoryview else None
        return Node(self.kind, type_name(obj), meta, [walk.slot(shown)])

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """What is shown."""
        try:
            yield node.items[0], _shown(live)
        except Refused:
            return

    def needs(self, node: Node) -> Iterable[Slot]:
        """What is shown."""
        return node.items

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live view if it shows the restored object, else a new one."""
        shown = load(node.items[0])
        if live is not MISSING and _shows(live, shown):
            return live
        if node.cls == "builtins:memoryview":
            return memoryview(shown).cast("B").cast(node.meta["format"], node.meta["shape"])
        return _MAKERS[node.cls](shown)


def _shows(live: Any, shown: Any) -> bool:
    try:
        return _shown(live) is shown
    except Refused:
        return False


def _shown(view: Any) -> Any:
    if type(view) is memoryview:
        shown: Any = view.obj
        if type(shown) not in (bytes, bytearray) or not view.c_contiguous or view.nbytes != len(shown):
            raise Refused("it shows a part of an object, or memory of a library")
        return shown
    found = gc.get_referents(view)
    if len(found) != 1:
        raise Refused("what it shows is not known")
    return found[0]
