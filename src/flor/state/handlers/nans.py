"""Not-a-number: a float that equals nothing, so that a script finds it again by its identity alone."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any

from flor.state import loaded
from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.names import type_name
from flor.state.snapshot import Node

_BITS = struct.Struct("<d")


class NanHandler(Handler):
    """`nan in losses` is true for the very object: it is the same one in each of its places after a restore too."""

    kind = "nan"

    def save(self, obj: Any, walk: Walk) -> Node:
        """Its bits, and the library that has it as a constant."""
        owner = next((name for name, constant in _constants() if constant is obj), "")
        return Node(self.kind, type_name(obj), {"bits": _BITS.pack(obj).hex(), "constant": owner})

    def accepts(self, node: Node, live: Any) -> bool:
        """One of the same bits and the same origin."""
        return type(live) is float and live != live and self.save(live, None).meta == node.meta  # type: ignore[arg-type]

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The library's, the live one or a new one."""
        constant = dict(_constants()).get(node.meta["constant"], live)
        return _BITS.unpack(bytes.fromhex(node.meta["bits"]))[0] if constant is MISSING else constant


def _constants() -> Iterator[tuple[str, float]]:
    yield "math", math.nan
    if loaded.numpy() is not None:
        yield "numpy", loaded.numpy().nan
