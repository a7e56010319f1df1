"""Live iterators of a DataLoader: made again under the RNG of their birth, and moved forward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flor.state.handler import Handler, Load, Refused, Walk
from flor.state.loaders import Birth, birth_of, reborn
from flor.state.names import type_name
from flor.state.snapshot import Node, Slot

LATE = 7


class LoaderIteratorHandler(Handler):
    """The loader, how many batches were taken, and the RNG states at birth and at the first batch."""

    kind = "loader-iterator"
    rank = LATE

    def save(self, obj: Any, walk: Walk) -> Node:
        """Refused if the iterator was made before flor watched."""
        birth = birth_of(obj)
        if birth is None:
            raise Refused("this DataLoader iterator was made before flor watched, or its loader is gone")
        node = Node(self.kind, type_name(obj), {"taken": int(obj._num_yielded)})
        node.items = [walk.slot(birth.loader()), walk.slot(birth.before), walk.slot(birth.first)]
        return node

    def accepts(self, node: Node, live: Any) -> bool:
        """Never in place: how far a live one has gone ahead cannot be told."""
        return False

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """None: see accepts; the loader is paired through `hints`."""
        return iter(())

    def hints(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """The live iterator's loader, which may be reached in no other way."""
        birth = birth_of(live)
        if birth is not None:
            yield node.items[0], birth.loader()

    def is_late(self, node: Node) -> bool:
        """Its loader must be in place."""
        return True

    def needs(self, node: Node) -> Iterable[Slot]:
        """Nothing: it is made when all else is in place."""
        return ()

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """A new iterator; the caller restores the RNG afterwards."""
        loader, before, first = (load(slot) for slot in node.items)
        return reborn(Birth(lambda: loader, before, first), node.meta["taken"])
