"""Making what is missing, then filling everything, memory first and random numbers last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flor.errors import FlorError, RestoreMismatch
from flor.state.addresses import address_now
from flor.state.allowance import Allowance
from flor.state.handler import MISSING, Handler
from flor.state.handlers.loader_iterators import LATE
from flor.state.kinds import HANDLERS
from flor.state.names import name_of
from flor.state.paths import Paths
from flor.state.snapshot import Address, Node, Ref, Slot, Snapshot, target


class Loading:
    """One restore under way: saved nodes and the objects that stand for them."""

    def __init__(
        self,
        snapshot: Snapshot,
        live: dict[int, Any],
        wanted: set[int],
        allowed: Allowance,
        project: Callable[[str], bool],
    ) -> None:
        self._snapshot, self._live, self._allowed, self._project = snapshot, live, allowed, project
        self._wanted = sorted(wanted)
        self._made: dict[int, Any] = {}
        self._paths: Paths | None = None
        self.doubts: list[str] = []
        self._late = self._waiting()
        self._numbers = {id(node): number for number, node in enumerate(snapshot.nodes)}

    def __call__(self, slot: Slot) -> Any:
        """The live object of a slot."""
        if type(slot) is Ref:
            return self._made[int(slot)]
        return self._address(slot) if type(slot) is Address else slot

    def _address(self, slot: Address) -> Slot:
        """Where the object is in this process; that of one which is gone stays as it was."""
        return slot.value if slot.node is None else address_now(slot, self._made[slot.node])

    def node(self, slot: Slot) -> Node:
        """The saved node of a reference."""
        return self._snapshot.nodes[slot]

    def name(self, node: Node) -> str:
        """The content hash of a node's bulk data; empty if it has none yet."""
        return self._snapshot.blobs[node.blob].name if node.blob is not None else ""

    def data(self, node: Node) -> memoryview | None:
        """A node's bulk data; None if it is known to be in place already."""
        assert node.blob is not None
        data = self._snapshot.data(node.blob)
        if data is None and self._numbers[id(node)] not in self._live:
            raise RestoreMismatch("bulk data that was stored earlier cannot be fetched", where=self.where(node))
        return data

    def where(self, node: Node) -> str:
        """The node's path."""
        if self._paths is None:
            self._paths = Paths(self._snapshot)
        return self._paths.of(self._numbers[id(node)])

    def doubt(self, node: Node, what: str) -> None:
        """Note that something may not be exactly as it was."""
        self.doubts.append(f"{self.where(node)}: {what}")

    def with_added(self, saved: list[Any], live: list[Any]) -> list[Any]:
        """A list's saved elements, and where they stood the live ones that the recorded program cannot have had."""
        added = {kind for kind in set(map(type, live)) if self._allowed.added(name_of(kind))}
        mixed = list(saved) if added else saved
        for place, element in enumerate(live if added else ()):
            if type(element) in added:
                mixed.insert(place, element)
        return mixed

    def is_added(self, name: str) -> bool:
        """True for a class or method, as `module:qualname`, that the recorded program did not have."""
        return self._allowed.added(name)

    def project(self, module: str) -> bool:
        """True if the module is the user's."""
        return isinstance(module, str) and bool(self._project(module))

    def make_all(self) -> None:
        """An object for every wanted node; those that wait for a loader's iterator get a stand-in."""
        for number in self._wanted:
            if number in self._late:
                self._made[number] = None
        for number in self._wanted:
            self._make_from(number)

    def _waiting(self) -> set[int]:
        """Nodes that can only be made when all else is in place, and what is made of them."""
        late = {n for n in self._wanted if self._handler(n).is_late(self._snapshot.nodes[n])}
        grown = bool(late)
        while grown:
            more = {n for n in self._wanted if n not in late and late.intersection(self._needs(n))}
            late |= more
            grown = bool(more)
        return late

    def _needs(self, number: int) -> list[int]:
        node = self._snapshot.nodes[number]
        return [needed for slot in HANDLERS[node.kind].needs(node) if (needed := target(slot)) is not None]

    def _handler(self, number: int) -> Handler:
        return HANDLERS[self._snapshot.nodes[number].kind]

    def _make_from(self, number: int) -> None:
        stack, waiting = [number], set[int]()
        while stack:
            top = stack[-1]
            missing = [] if top in waiting else [n for n in self._needs(top) if n not in self._made]
            waiting.add(top)
            if missing and top not in self._made:
                stack.extend(missing)
                continue
            stack.pop()
            if top not in self._made:
                self._made[top] = self._make(top)

    def _make(self, number: int) -> Any:
        node = self._snapshot.nodes[number]
        try:
            return HANDLERS[node.kind].make(node, self._live.get(number, MISSING), self)
        except FlorError:
            raise
        except Exception as error:
            raise self._failed(node, "made", error) from error

    def fill_all(self) -> None:
        """Contents by rank; what was made late is then put wherever it is referred to."""
        ranked = sorted(self._wanted, key=lambda number: self._handler(number).rank)
        early = [n for n in ranked if n not in self._late and self._handler(n).rank < LATE]
        for number in early:
            self._fill(number)
        if self._late:
            self._make_late(early)
        for number in ranked:
            if number not in self._late and self._handler(number).rank > LATE:
                self._fill(number)

    def _make_late(self, early: list[int]) -> None:
        for number in self._late:
            del self._made[number]
        for number in sorted(self._late):
            self._make_from(number)
        for number in sorted(self._late):
            self._fill(number)
        for number in early:
            if self._late.intersection(map(int, self._snapshot.nodes[number].refs())):
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
