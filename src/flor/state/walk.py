"""The walk over the object graph: breadth first, each object once, with an explicit queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

from flor.state.addresses import Places
from flor.state.bulk import blob_from
from flor.state.handler import Refused
from flor.state.kinds import HANDLERS, UNSETTLED, choose, refine
from flor.state.names import type_name
from flor.state.regions import Region, Use
from flor.state.snapshot import ATOMS, LONG_TEXT, Blob, Node, Ref, Slot
from flor.state.standins import STAND_IN

OUTPUT_KINDS = frozenset({"output", "logger"})


class TooMany(Exception):
    """The graph has more objects than the caller is ready to pay for."""


class Walker:
    """One capture's walk. Numbers are given in order of discovery, which depends on the objects alone."""

    def __init__(
        self, project: Callable[[str], bool], budget: int | None = None, kinds: MutableMapping[type, str] | None = None
    ) -> None:
        self.nodes: list[Node] = []
        self.objects: list[Any] = []
        self.blobs: list[Blob] = []
        self.uses: dict[Any, Use] = {}
        self.refused: list[tuple[int, str]] = []
        self.unaccounted: dict[int, str] = {}  # what no checkpoint can hold, and why
        self.bulk = 0
        self._memo: dict[int, Ref] = {}
        self._parents: list[int] = []  # who led to each object first
        self._namespaces: dict[int, Ref] = {}  # whose `__dict__` each one was first
        self._kinds: dict[type, str] = {}
        self._chosen: MutableMapping[type, str] = {} if kinds is None else kinds  # by earlier walks too
        self._modules: dict[str, bool] = {}
        self._ask, self._budget = project, budget
        self._later: list[Callable[[Callable[[Any], Slot]], None]] = []
        self._views: list[Use] = []
        self._next = 0
        self._saving = False

    def project(self, module: str) -> bool:
        """True if the module is the user's."""
        known = self._modules.get(module)
        if known is None:
            known = self._modules[module] = isinstance(module, str) and bool(self._ask(module))
        return known

    def slot(self, obj: Any) -> Slot:
        """The slot that refers to an object, which is queued if it is new."""
        kind = type(obj)
        if kind in ATOMS and (kind is not str or len(obj) <= LONG_TEXT) and obj == obj:  # a NaN has an identity
            return obj
        if kind is bytes and len(obj) <= LONG_TEXT:
            return obj
        known = self._memo.get(id(obj))
        return self._enqueue(id(obj), obj) if known is None else known

    def _enqueue(self, key: int, obj: Any) -> Ref:
        if self._budget is not None and len(self.objects) >= self._budget:
            raise TooMany
        ref = Ref(len(self.objects))
        self._parents.append(self._next if self._saving else -1)
        self.objects.append(obj)  # also keeps it alive, so that no id is used twice
        self._memo[key] = ref
        return ref

    def shares(self, namespace: dict[str, Any]) -> Ref | None:
        """An object before the one that is being saved that has this very `__dict__`."""
        first = self._namespaces.setdefault(id(namespace), Ref(self._next))
        return first if first != self._next else None

    def region(self, region: Region, span: tuple[int, int], dtype: str, shape: list[int], version: Any) -> Ref:
        """The slot of a memory region, which learns of one more view."""
        use = self.uses.get(region.key)
        if use is None:
            node = Node("memory", "", {"nbytes": region.nbytes, "device": region.device, "torch": False})
            use = self.uses[region.key] = Use(self._enqueue(-1 - id(region), region), node, region)
        use.node.meta["torch"] |= hasattr(region.owner, "_cdata")
        use.add(span, dtype, shape, version)
        self._views.append(use)
        self.bulk += span[1] - span[0] if len(use.views) == 1 else 0
        return use.ref

    def blob(self, data: bytes | memoryview, dtype: str = "U8") -> int:
        """The number of a new blob."""
        self.blobs.append(blob_from(data, dtype))
        self.bulk += self.blobs[-1].nbytes
        return len(self.blobs) - 1

    def parent(self) -> Any:
        """The object that led to the one that is being saved; None if a name did."""
        number = self._parents[self._next]
        return None if number < 0 else self.objects[number]

    def account(self, reason: str) -> None:
        """Note that the object that is being saved has state which the snapshot does not hold."""
        self.unaccounted[self._next] = reason

    def later(self, finish: Callable[[Callable[[Any], Slot]], None]) -> None:
        """Call back when all is walked."""
        self._later.append(finish)

    def run(self) -> None:
        """Save what is queued, and what that leads to."""
        objects, nodes, save = self.objects, self.nodes, self._save
        self._saving = True
        while self._next < len(objects):
            nodes.append(save(objects[self._next]))
            self._next += 1
        self._saving = False

    def soften(self, slots: Iterable[Slot]) -> None:
        """What was refused inside objects of output only is left alone and unaccounted: it costs no checkpoint."""
        if not any(map(self._is_in_output, (number for number, _ in self.refused))):
            return
        reached = {int(slot) for slot in slots if type(slot) is Ref}
        todo = list(reached)
        while todo:
            node = self.nodes[todo.pop()]
            fresh = [] if node.kind in OUTPUT_KINDS else [int(ref) for ref in node.refs() if int(ref) not in reached]
            reached.update(fresh)
            todo.extend(fresh)
        for number, reason in self.refused:
            if number not in reached:
                self.nodes[number] = Node("inert", self.nodes[number].cls, {"what": "part of an output"})
                self.unaccounted[number] = reason
        self.refused = [(number, reason) for number, reason in self.refused if number in reached]

    def finish(self) -> None:
        """Settle what waited for the end of the walk."""
        for finish in self._later:
            finish(self.known)

    def classes(self) -> list[type]:
        """The classes of what was met so far."""
        return list(self._kinds)

    def places(self) -> Places:
        """Where everything was that this walk met."""
        return Places(self._memo, [(use.region.address, use.ref) for use in self.uses.values()])

    def known(self, obj: Any) -> Slot:
        """The slot of an object that was reached, else None."""
        return self._memo.get(id(obj))

    def _save(self, obj: Any) -> Node:
        cls = type(obj)
        if cls is Region:
            return self.uses[obj.key].node
        kind = self._kinds.get(cls)
        try:
            if kind is None:
                kind = self._kinds[cls] = self._kind(cls)
            if kind in UNSETTLED:
                kind = refine(kind, obj, self.parent())
            return self._save(obj.__wrapped__) if kind == STAND_IN else HANDLERS[kind].save(obj, self)
        except Refused as refused:
            return self._refuse(obj, str(refused))
        except TooMany:
            raise
        except Exception as error:
            return self._refuse(obj, f"saving it failed: {type(error).__name__}: {error}")

    def _kind(self, cls: type) -> str:
        kind = self._chosen.get(cls)
        if kind is None:
            kind = self._chosen[cls] = choose(cls, self.project)
        return kind

    def _refuse(self, obj: Any, reason: str) -> Node:
        self.refused.append((self._next, reason))
        return Node("refused", type_name(obj), {"reason": reason})

    def _is_in_output(self, number: int) -> bool:
        """True if the way on which an object was found goes through an object of output."""
        while number >= 0:
            if self.nodes[number].kind in OUTPUT_KINDS:
                return True
            number = self._parents[number]
        return False

    def mark(self) -> tuple[int, ...]:
        """Where the walk is now, to come back to."""
        assert self._next == len(self.objects)
        return len(self.objects), len(self.blobs), len(self.refused), len(self._later), len(self._views), self.bulk

    def back(self, mark: tuple[int, ...]) -> None:
        """Forget everything since the mark."""
        objects, blobs, refused, later, views, self.bulk = mark
        for obj in self.objects[objects:]:
            self._memo.pop(id(obj), None)
            if type(obj) is Region:
                self._memo.pop(-1 - id(obj), None)
        for use in self._views[views:]:
            use.views.pop()
        self.uses = {key: use for key, use in self.uses.items() if use.views}
        self._namespaces = {key: ref for key, ref in self._namespaces.items() if ref < objects}
        self.unaccounted = {number: why for number, why in self.unaccounted.items() if number < objects}
        del self.objects[objects:], self.nodes[objects:], self.blobs[blobs:], self._parents[objects:]
        del self.refused[refused:], self._later[later:], self._views[views:]
        self._next = len(self.objects)
