"""Numpy dtypes: by the description that .npy files use."""

from __future__ import annotations

import ast
from typing import Any

from flor.state import loaded
from flor.state.handler import MISSING, Handler, Load, Refused, Walk
from flor.state.names import type_name
from flor.state.snapshot import Node


class DtypeHandler(Handler):
    """Plain and structured dtypes; equal ones need not be identical."""

    kind = "dtype"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The description as text."""
        text = obj.str if obj.fields is None and obj.subdtype is None else repr(_format().dtype_to_descr(obj))
        if not obj.isbuiltin and obj.fields is None and obj.kind == "V" and obj.char != "V":
            raise Refused(f"the dtype {obj} is not numpy's own")
        return Node(self.kind, type_name(obj), {"text": text})

    def accepts(self, node: Node, live: Any) -> bool:
        """Any dtype; it is compared when it is made."""
        return isinstance(live, loaded.numpy().dtype)

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live dtype if it is equal."""
        text = node.meta["text"]
        described = ast.literal_eval(text) if text.startswith(("[", "(", "{", "'")) else text
        made = _format().descr_to_dtype(described)
        return live if live is not MISSING and live == made else made


def _format() -> Any:
    from numpy.lib import format as npy

    return npy
