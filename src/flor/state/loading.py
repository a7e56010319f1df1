"""Making what is missing, then filling everything, memory first and random numbers last."""

from __future__ import annotations

from typing import Any

from flor.errors import FlorError, RestoreMismatch
from flor.state.handler import MISSING
from flor.state.handlers.loader_iterators import LATE
from flor.state.kinds import HANDLERS
from flor.state.paths import Paths
from flor.state.snapshot import Node, Ref, Slot, Snapshot


class Loading:
    """One restore under way: saved nodes and the objects that stand for them."""

    def __init__(self, snapshot: Snapshot, live: dict[int, Any], wanted: set[int]) -> None:
        self._snapshot, self._live = snapshot, live
        self._wanted = sorted(wanted)
        self._made: dict[int, Any] = {}
        self._paths: Paths | None = None
        self._late = False
        self.doubts: list[str] = []
        self._numbers = {id(node): number for number, node in enumerate(snapshot.nodes)}

    def __call__(self, slot: Slot) -> Any:
        """The live object of a slot."""
        return self._made[int(slot)] if type(slot) is Ref else slot

    def node(self, slot: Slot) -> Node:
        """The saved node of a reference."""
        return self._snapshot.nodes[slot]

    def data(self, node: Node) -> memoryview | None:
        """A node's bulk data; None if it is known to be in place already."""
        assert node.blob is not None
        return self._snapshot.data(node.blob)

    def where(self, node: Node) -> str:
        """The node's path."""
        if self._paths is None:
            self._paths = Paths(self._snapshot)
        return self._paths.of(self._numbers[id(node)])

    def doubt(self, node: Node, what: str) -> None:
        """Note that something may not be exactly as it was."""
        self.doubts.append(f"{self.where(node)}: {what}")

    def make_all(self) -> None:
        """An object for every wanted node, children that must be there first before their parents."""
        for number in self._wanted:
            self._make_from(number)

    def _make_from(self, number: int) -> None:
        stack, waiting = [number], set[int]()
        while stack:
            top = stack[-1]
            node = self._snapshot.nodes[top]
            missing = [] if top in self._made or top in waiting else self._first(node)
            waiting.add(top)
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if top not in self._made:
                self._made[top] = self._make(top, node)

    def _first(self, node: Node) -> list[int]:
        slots = HANDLERS[node.kind].needs(node)
        return [int(slot) for slot in slots if type(slot) is Ref and int(slot) not in self._made]

    def _make(self, number: int, node: Node) -> Any:
        if HANDLERS[node.kind].rank == LATE and not self._late:
            return None  # a stand-in until all else is in place
        try:
            return HANDLERS[node.kind].make(node, self._live.get(number, MISSING), self)
        except FlorError:
            raise
        except Exception as error:
            raise self._failed(node, "made", error) from error

    def fill_all(self) -> None:
        """Contents by rank; what is made late is then put wherever it is referred to."""
        ranked = sorted(self._wanted, key=lambda n: HANDLERS[self._snapshot.nodes[n].kind].rank)
        late = [n for n in ranked if HANDLERS[self._snapshot.nodes[n].kind].rank == LATE]
        early = [n for n in ranked if HANDLERS[self._snapshot.nodes[n].kind].rank < LATE]
        for number in early:
            self._fill(number)
        self._late = True
        for number in late:
            self._made[number] = self._make(number, self._snapshot.nodes[number])
        if late:
            self._refill(early, set(late))
        for number in ranked[len(early) + len(late) :]:
            self._fill(number)

    def _refill(self, early: list[int], late: set[int]) -> None:
        for number in early:
            if late.intersection(map(int, self._snapshot.nodes[number].refs())):
                self._fill(number)

    def _fill(self, number: int) -> None:
        node = self._snapshot.nodes[number]
        try:
            HANDLERS[node.kind].fill(node, self._made[number], self)
        except FlorError:
            raise
        except Exception as error:
            raise self._failed(node, "filled", error) from error

    def _failed(self, node: Node, what: str, error: Exception) -> RestoreMismatch:
        return RestoreMismatch(
            f"a {node.cls.replace(':', '.') or node.kind} could not be {what}: {type(error).__name__}: {error}",
            where=self.where(node),
            todo="The object or its class may have changed since the run was recorded.",
        )
