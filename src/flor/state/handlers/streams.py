"""Random number generators of python, numpy and torch; filled last of all."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from flor.state import attributes, loaded
from flor.state.handler import MISSING, Handler, Load, Walk
from flor.state.handlers.shells import attribute_slots, attribute_values, class_of, new_shell
from flor.state.names import type_name
from flor.state.regions import view
from flor.state.snapshot import Node, Slot

LAST = 9


class PythonRandomHandler(Handler):
    """random.Random and what is derived from it."""

    kind = "random"
    rank = LAST

    def save(self, obj: Any, walk: Walk) -> Node:
        """The words of the twister, and attributes."""
        version, words, gauss = random.Random.getstate(obj)
        node = Node(self.kind, type_name(obj), {"version": version}, [gauss])
        node.blob = walk.blob(array("I", words).tobytes())
        node.attrs = attribute_slots(obj, walk)
        return node

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """Attributes only."""
        return attributes.pairs(node.attrs, live)

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live generator or a new one."""
        return new_shell(node, load) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved words."""
        attributes.write(obj, attribute_values(node, load))
        words = array("I")
        words.frombytes(load.data(node) or b"")
        random.Random.setstate(obj, (node.meta["version"], tuple(words), node.items[0]))


class TorchGeneratorHandler(Handler):
    """torch.Generator of any device."""

    kind = "torch-generator"
    rank = LAST

    def save(self, obj: Any, walk: Walk) -> Node:
        """Its state as bytes."""
        state = obj.get_state()
        node = Node(self.kind, type_name(obj), {"device": str(obj.device)})
        node.blob = walk.blob(bytes(view(state.data_ptr(), state.numel())))
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """Of the same device."""
        return super().accepts(node, live) and str(live.device) == node.meta["device"]

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live generator or a new one."""
        return loaded.torch().Generator(node.meta["device"]) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved state."""
        torch = loaded.torch()
        obj.set_state(torch.frombuffer(bytearray(load.data(node) or b""), dtype=torch.uint8))


class NumpyRandomHandler(Handler):
    """RandomState and the bit generators: both give and take a dict."""

    kind = "numpy-random"
    rank = LAST

    def save(self, obj: Any, walk: Walk) -> Node:
        """The dict, walked, and the sequence from which its children get their seeds."""
        sequence = _sequence(obj)
        parts = [_state(obj)] if sequence is None else [_state(obj), sequence]
        return Node(self.kind, type_name(obj), None, [walk.slot(part) for part in parts])

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The sequence."""
        return zip(node.items[1:], [_sequence(live)], strict=False)

    def needs(self, node: Node) -> Iterable[Slot]:
        """The sequence."""
        return node.items[1:]

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live generator or a new one of its class."""
        return class_of(node, load)(*map(load, node.items[1:])) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """The saved dict."""
        state = load(node.items[0])
        _check_places(state)
        if hasattr(obj, "set_state"):
            obj.set_state(state)
        else:
            obj.state = state


def _check_places(state: Any) -> None:
    """A place outside of a generator's own words would have numpy read beside them."""
    inner = state.get("state") or {}
    if not 0 <= inner.get("pos", 0) <= 624 or not 0 <= state.get("buffer_pos", 0) <= 4:
        raise ValueError("the place in a generator's words is none")


def _sequence(obj: Any) -> Any:
    """What gives the seeds of a bit generator's children, if it is numpy's own; older generators have none."""
    found = getattr(obj, "seed_seq", None)
    return found if type(found) is loaded.numpy().random.SeedSequence else None


def _state(obj: Any) -> Any:
    return obj.get_state(legacy=False) if hasattr(obj, "get_state") else obj.state


class SeedSequenceHandler(Handler):
    """numpy.random.SeedSequence: its entropy, and how many children it has given seeds to."""

    kind = "seed-sequence"

    def save(self, obj: Any, walk: Walk) -> Node:
        """What it would be pickled by: entropy, children, words, their number, key."""
        return Node(self.kind, type_name(obj), None, [walk.slot(part) for part in _pickled(obj)])

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live one or a new one."""
        return loaded.numpy().random.SeedSequence(0) if live is MISSING else live

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Everything, in place."""
        entropy, children, pool, size, key = map(load, node.items)
        if str(getattr(pool, "dtype", "")) != "uint32" or pool.shape != (size,) or not isinstance(children, int):
            raise ValueError("the words of a seed sequence are none")
        obj.__setstate_cython__((entropy, children, pool, size, key))


def _pickled(sequence: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = sequence.__reduce_ex__(4)[2]
    return found


class NumpyGeneratorHandler(Handler):
    """numpy.random.Generator: a face of its bit generator."""

    kind = "numpy-generator"

    def save(self, obj: Any, walk: Walk) -> Node:
        """The bit generator."""
        return Node(self.kind, type_name(obj), None, [walk.slot(obj.bit_generator)])

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The bit generator."""
        yield node.items[0], live.bit_generator

    def needs(self, node: Node) -> Iterable[Slot]:
        """The bit generator."""
        return node.items

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The live one if it draws from the restored bit generator."""
        bits = load(node.items[0])
        return live if live is not MISSING and live.bit_generator is bits else loaded.numpy().random.Generator(bits)
