"""Snapshots as bytes: the graph as JSON, exact; bulk data apart, by name."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterator
from functools import cache
from sys import intern
from typing import Any

from flor.errors import Damaged, NewerFormat
from flor.state.shape import check_shape, whole
from flor.state.snapshot import Address, Blob, Node, Ref, Refusal, Slot, Snapshot

VERSION = 1
SLICE = 200
SHORT = 200
"""Shorter texts that are equal are one object again, since a script may ask `status is DONE`."""
_LIMIT = 1 << 4096


def encode(snapshot: Snapshot, breathe: Callable[[], None] = lambda: None) -> tuple[bytes, list[Blob]]:
    """The graph, and the blobs that it names; those without data are stored already.

    `breathe` is called every few hundred objects: a thread may let others have the interpreter there.
    """
    snapshot.digest()
    graph = {
        "version": VERSION,
        "roots": _scopes(snapshot.roots),
        "world": _scopes({"world": snapshot.world})["world"],
        "hidden": _scopes({"hidden": snapshot.hidden})["hidden"],
        "optional": snapshot.optional,
        "unkept": snapshot.unkept,
        "refusals": [[r.path, r.type, r.reason] for r in snapshot.refusals],
        "blobs": [[blob.name, blob.nbytes, blob.dtype, list(blob.shape)] for blob in snapshot.blobs],
    }
    text = f'{_json(graph)[:-1]},"nodes":[{",".join(_sliced(snapshot.nodes, breathe))}]}}'
    unique = {blob.name: blob for blob in sorted(snapshot.blobs, key=lambda blob: blob.data is not None)}
    return text.encode("ascii"), list(unique.values())


def _sliced(nodes: list[Node], breathe: Callable[[], None]) -> Iterator[str]:
    """The nodes as JSON, without the brackets of a list."""
    for start in range(0, len(nodes), SLICE):
        yield _json([_node(node) for node in nodes[start : start + SLICE]])[1:-1]
        breathe()


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def decode(graph: bytes, fetch: Callable[[str], memoryview]) -> Snapshot:
    """The snapshot again; bulk data is fetched when it is needed."""
    try:
        read = json.loads(graph)
        if read["version"] > VERSION:
            raise NewerFormat("the checkpoint was written by a later version of flor", todo="Upgrade flor.")
        return _snapshot(read, fetch)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, struct.error) as error:
        raise Damaged(f"the graph of a checkpoint cannot be read: {error}", todo="`flor fsck` tells more.") from error


def _snapshot(read: dict[str, Any], fetch: Callable[[str], memoryview]) -> Snapshot:
    snapshot = Snapshot(fetch=fetch)
    snapshot.roots = {scope: {n: _unslot(s) for n, s in names.items()} for scope, names in read["roots"].items()}
    snapshot.world = {name: _unslot(slot) for name, slot in read["world"].items()}
    snapshot.hidden = {name: _unslot(slot) for name, slot in read["hidden"].items()}
    snapshot.optional, snapshot.unkept = read["optional"], read["unkept"]
    snapshot.refusals = [Refusal(*refusal) for refusal in read["refusals"]]
    snapshot.nodes = [_unnode(node) for node in read["nodes"]]
    snapshot.blobs = [Blob(n, dtype, tuple(shape), None, name) for name, n, dtype, shape in read["blobs"]]
    check_shape(snapshot)
    return snapshot


def _scopes(roots: dict[str, dict[str, Slot]]) -> dict[str, dict[str, Any]]:
    return {scope: {name: _slot(slot) for name, slot in names.items()} for scope, names in roots.items()}


def _node(node: Node) -> list[Any]:
    attrs = {name: _slot(slot) for name, slot in node.attrs.items()}
    return [node.kind, node.cls, node.meta, [_slot(slot) for slot in node.items], attrs, node.blob]


def _unnode(read: list[Any]) -> Node:
    kind, cls, meta, items, attrs, blob = read
    slots = {name: _unslot(slot) for name, slot in attrs.items()}
    return Node(kind, cls, meta, [_unslot(slot) for slot in items], slots, blob)


def _slot(slot: Slot) -> Any:
    """Plain JSON where that is exact: a list is a reference, an object one of the special atoms."""
    kind = type(slot)
    if kind is Ref:
        return [int(slot)]
    if kind is Address:
        return {"a": [slot.form, slot.value, slot.node, slot.offset, slot.text]}
    if kind is float and (slot != slot or slot in (float("inf"), float("-inf"))):
        return {"f": struct.pack("<d", slot).hex()}
    if kind is int and not -_LIMIT < slot < _LIMIT:
        return {"i": hex(slot)}
    return {"b": base64.b64encode(slot).decode()} if kind is bytes else slot


@cache
def _special(text: str) -> float:
    found: float = struct.unpack("<d", bytes.fromhex(text))[0]
    return found


def _unslot(read: Any) -> Slot:
    if type(read) is list:
        (number,) = read
        return Ref(whole(number))
    if type(read) is not dict:
        return intern(read) if type(read) is str and len(read) <= SHORT else read
    (code, text), *_ = read.items()
    if code == "a":
        return Address(*text)
    if code == "f":
        return _special(text)
    return int(text, 16) if code == "i" else base64.b64decode(text)
