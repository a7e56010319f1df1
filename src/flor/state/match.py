"""Saved nodes paired with live objects at the same places; nothing is changed here."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from flor.state import closure, loaded
from flor.state.addresses import address_now
from flor.state.capture import capture_one
from flor.state.equal import Pairing
from flor.state.handler import MISSING
from flor.state.handlers.files import PrivateFileHandler
from flor.state.handlers.loader_iterators import LoaderIteratorHandler
from flor.state.kinds import HANDLERS, choose, refine
from flor.state.makers import denied
from flor.state.names import lookup
from flor.state.snapshot import Address, Ref, Slot, Snapshot
from flor.state.standins import STAND_IN, original
from flor.state.world import world


class Matching:
    """Each saved node has at most one live object, each live object at most one node; the first meeting decides."""

    def __init__(self, snapshot: Snapshot, project: Callable[[str], bool]) -> None:
        self.snapshot, self.project = snapshot, project
        self.live: dict[int, Any] = {}
        self._kinds: dict[type, str] = {}
        self._claimed: dict[Hashable, int] = {}
        self._queue: deque[tuple[Slot, Any]] = deque()
        self._unsure: deque[tuple[int, Any]] = deque()
        self._alive: list[Any] = []  # pieces made on the way must keep their ids

    def run(self, scopes: Mapping[str, Mapping[str, Any]]) -> dict[int, Any]:
        """The live object of every node that has one."""
        present = world()
        self._offer((slot, present[name]) for name, slot in self.snapshot.world.items() if name in present)
        for scope, names in self.snapshot.roots.items():
            here = scopes.get(scope, {})
            self._offer((slot, here[name]) for name, slot in names.items() if name in here)
        self._drain()
        self._find_named()
        if self.snapshot.hidden:
            self._find_hidden()
        return self.live

    def _offer(self, pairs: Iterable[tuple[Slot, Any]]) -> None:
        self._queue.extend((slot, obj) for slot, obj in pairs if type(slot) is Ref)

    def _drain(self) -> None:
        while self._queue or self._unsure:
            while self._queue:
                self._meet(*self._queue.popleft())
            if self._unsure:
                number, obj = self._unsure.popleft()
                node = self.snapshot.nodes[number]
                self._offer(HANDLERS[node.kind].guesses(node, obj, self._known))

    def _known(self, slot: Slot) -> Any:
        if type(slot) is Address and slot.node is not None:
            live = self.live.get(slot.node, MISSING)
            return MISSING if live is MISSING else address_now(slot, live)
        return self.live.get(int(slot), MISSING) if type(slot) is Ref else slot

    def _meet(self, slot: Ref, obj: Any) -> None:
        number = int(slot)
        if number in self.live:
            return
        node = self.snapshot.nodes[number]
        handler = HANDLERS[node.kind]
        seen, kind = obj, self._kind(obj)
        if kind == STAND_IN:
            seen, kind = obj.__wrapped__, self._kind(obj.__wrapped__)
        if node.kind == PrivateFileHandler.kind and kind == "inert" and isinstance(obj, io.IOBase):
            kind = node.kind  # what makes it private is what it belongs to
        if isinstance(handler, LoaderIteratorHandler) and kind == node.kind:
            self._offer(handler.hints(node, seen))
        if kind != node.kind:
            return
        identity = handler.identity(obj)
        if identity in self._claimed or not handler.accepts(node, seen):
            return
        self._alive.append(obj)
        if node.kind != "reduced" or self._equal(slot, obj):
            self.live[number] = obj
            if handler.claims:
                self._claimed[identity] = number
        self._offer(handler.pairs(node, seen))
        if handler.guesses_needed(node):
            self._unsure.append((number, obj))

    def _kind(self, obj: Any) -> str:
        cls = type(obj)
        if cls.__name__ == "Region" and cls.__module__ == "flor.state.regions":
            return "memory"
        kind = self._kinds.get(cls)
        if kind is None:
            kind = self._kinds[cls] = choose(cls, self.project)
        return refine(kind, obj)

    def _find_named(self) -> None:
        """Classes and functions that no place leads to are found by their names; their state is theirs alone."""
        for number, node in enumerate(self.snapshot.nodes):
            if number not in self.live and node.kind in ("class", "function"):
                found = lookup(node.meta["name"])
                if found is not None and not denied(node.meta["name"], original(found), self.project):
                    self._offer([(Ref(number), found)])
        self._drain()

    def _find_hidden(self) -> None:
        """Modules that no name reaches are found by the parameters that an optimizer has."""
        if loaded.torch() is None:
            return
        known = {id(obj): obj for number, obj in self.live.items() if self.snapshot.nodes[number].kind == "tensor"}
        by_object = {id(obj): number for number, obj in self.live.items()}
        for module, held in closure.owners(known):
            for slot in self.snapshot.hidden.values():
                if type(slot) is Ref and by_object[id(held[0])] in self._below(slot):
                    self._offer([(slot, module)])
        self._drain()

    def _below(self, slot: Ref) -> set[int]:
        below, todo = {int(slot)}, [int(slot)]
        while todo:
            fresh = set(self.snapshot.nodes[todo.pop()].refs()) - below
            below |= fresh
            todo.extend(fresh)
        return below

    def _equal(self, slot: Ref, obj: Any) -> bool:
        """True if the live object, taken apart, is what was saved."""
        now = capture_one(obj, self.project)
        if now.refusals:
            return False
        now.digest()
        return next(Pairing(self.snapshot, now).walk(slot, now.roots["it"]["it"], ""), None) is None
