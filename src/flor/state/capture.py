"""Live objects to a snapshot, without the script noticing."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from flor.state import closure, loaded
from flor.state.copying import demand, give_back, plan, seen, take
from flor.state.demand import Admit, Answer, always
from flor.state.handlers.classes import CODE
from flor.state.late import LateCopy
from flor.state.memory import Memory
from flor.state.names import lookup, name_of, type_name
from flor.state.paths import Paths, all_roots
from flor.state.snapshot import Refusal, Slot, Snapshot
from flor.state.walk import TooMany, Walker
from flor.state.world import world

OPTIONAL_BULK = 4 << 20
"""Dead names may cost so many bytes of their own, no more."""

Scopes = Mapping[str, Mapping[str, Any]]


def capture(
    scopes: Scopes,
    *,
    project: Callable[[str], bool],
    optional: Mapping[str, AbstractSet[str]] | None = None,
    of_classes: AbstractSet[str] = frozenset(),
    memory: Memory | None = None,
    budget_nodes: int | None = None,
    admit: Admit = always,
) -> Snapshot:
    """The state of these scopes now, if `admit` wants what it needs. Never raises: what goes wrong is a refusal."""
    snapshot = Snapshot()
    if memory is not None:
        memory.barrier.settle()
    try:
        with quiet_torch(), no_collection():
            memory = memory or Memory()
            walk = Walker(project, budget_nodes, memory.kinds)
            _capture(snapshot, scopes, walk, optional or {}, of_classes, memory, admit)
    except TooMany:
        snapshot.declined = True
        snapshot.refusals.append(Refusal("", "graph", f"more than {budget_nodes} objects are reachable"))
    except Exception as error:  # P2: a failure of flor never stops training
        if memory is not None:
            memory.barrier.settle()
            give_back(snapshot, memory)
        snapshot.refusals.append(Refusal("", "graph", f"capture failed: {type(error).__name__}: {error}"))
    return snapshot


def capture_one(obj: Any, project: Callable[[str], bool]) -> Snapshot:
    """One object alone, under the name `it`, without the world; used to compare a live object with a saved one."""
    snapshot = Snapshot()
    walk = Walker(project)
    snapshot.nodes, snapshot.blobs = walk.nodes, walk.blobs
    snapshot.roots = {"it": {"it": walk.slot(obj)}}
    walk.run()
    walk.finish()
    snapshot.places = walk.places()
    memory = Memory()
    for use in walk.uses.values():
        take(plan(use, memory, closure.Moving()), snapshot, memory)
    _name_refusals(snapshot, walk)
    return snapshot


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """No garbage is collected inside: many new nodes would set it off, and finalizers are the user's code."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def quiet_torch() -> contextlib.AbstractContextManager[Any]:
    """No `__torch_function__` of the user's tensors or modes runs inside."""
    torch = loaded.torch()
    return contextlib.nullcontext() if torch is None else torch._C.DisableTorchFunction()


def _capture(
    snapshot: Snapshot,
    scopes: Scopes,
    walk: Walker,
    optional: Mapping[str, AbstractSet[str]],
    of_classes: AbstractSet[str],
    memory: Memory,
    admit: Admit,
) -> None:
    snapshot.nodes, snapshot.blobs = walk.nodes, walk.blobs
    snapshot.world = {name: walk.slot(generator) for name, generator in world().items()}
    _walk_required(snapshot, walk, scopes, optional)
    if of_classes:
        _walk_classes(snapshot, walk, of_classes)
    for name, owner in closure.hidden_owners(walk, memory):
        snapshot.hidden[name] = walk.slot(owner)
        walk.run()
    _walk_optional(snapshot, walk, scopes, optional)
    walk.soften(slot for names in all_roots(snapshot).values() for slot in names.values())
    walk.finish()
    snapshot.places = walk.places()
    snapshot.unaccounted = dict(walk.unaccounted)
    _name_refusals(snapshot, walk)
    if snapshot.refusals and admit is not always:
        return  # nothing is copied for a snapshot that is of no use
    moving = closure.moving_regions(walk)
    takings = [plan(use, memory, moving) for use in walk.uses.values()]
    needed = demand(takings, memory)
    answer = admit(needed)
    if answer is Answer.DECLINE:
        snapshot.declined = True
        return
    if answer is not Answer.LOOK:
        memory.staging.expect(sum(size * count for size, count in needed.sizes.items()))
    if any(taking.use.region.device != "cpu" for taking in takings):
        loaded.synchronize()
    late = LateCopy() if answer is Answer.LATE else None
    for taking in takings:
        take(taking, snapshot, memory, look=answer is Answer.LOOK, late=late)
    if late is not None and not late.is_empty:
        snapshot.late = late
        memory.barrier.watch(late)
    _wire(snapshot, memory, [(t.use.region.key, t.use, t.use.node.blob or 0) for t in takings])


def _wire(snapshot: Snapshot, memory: Memory, uses: list[tuple[Hashable, Any, int]]) -> None:
    """When the hashes are known they are remembered; when the bytes are written their buffers are free."""
    facts = [(key, seen(use, ""), number) for key, use, number in uses]  # no live object may be held here

    def remember(done: Snapshot) -> None:
        for key in done.distrusted:
            memory.distrust(key)
        before = memory.known
        memory.remember({key: fact.named(done.blobs[number].name, before.get(key)) for key, fact, number in facts})

    def release(done: Snapshot) -> None:
        done.confirm()  # nobody copies into a buffer that is free
        give_back(done, memory)

    snapshot.on_digest = remember
    snapshot.on_release = release


def _walk_required(snapshot: Snapshot, walk: Walker, scopes: Scopes, optional: Mapping[str, AbstractSet[str]]) -> None:
    for scope, names in scopes.items():
        dead = optional.get(scope, frozenset())
        snapshot.roots[scope] = {name: walk.slot(obj) for name, obj in _named(names) if name not in dead}
    walk.run()


def _walk_classes(snapshot: Snapshot, walk: Walker, attributes: AbstractSet[str]) -> None:
    """Attributes that the script puts on classes of libraries that it does not name: on those of the objects here."""
    for cls in dict.fromkeys(owner for met in walk.classes() for owner in met.__mro__):
        own = type.__dict__["__dict__"].__get__(cls)
        if walk.project(cls.__module__) or lookup(name_of(cls)) is not cls:
            continue
        for name in sorted(attributes & own.keys()):
            if not isinstance(own[name], CODE):
                snapshot.roots.setdefault(f"owner:{name_of(cls)}", {})[name] = walk.slot(own[name])
    walk.run()


def _walk_optional(snapshot: Snapshot, walk: Walker, scopes: Scopes, optional: Mapping[str, AbstractSet[str]]) -> None:
    for scope, names in scopes.items():
        dead = optional.get(scope, frozenset())
        for name, obj in _named(names):
            if name in dead:
                _try(snapshot, walk, scope, name, obj)


def _try(snapshot: Snapshot, walk: Walker, scope: str, name: str, obj: Any) -> None:
    mark, before = walk.mark(), walk.bulk
    refused = len(walk.refused)
    slot: Slot = None
    try:
        slot = walk.slot(obj)
        walk.run()
        reason = walk.refused[refused][1] if len(walk.refused) > refused else ""
    except TooMany:
        reason = "too many objects"
    if not reason and walk.bulk - before > OPTIONAL_BULK:
        reason = f"{walk.bulk - before} bytes of its own, and it is not read again"
    if reason:
        walk.back(mark)
        snapshot.unkept.setdefault(scope, {})[name] = reason
    else:
        snapshot.roots[scope][name] = slot
        snapshot.optional.setdefault(scope, []).append(name)


def _named(names: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """All but what the interpreter itself puts into a module."""
    return [(name, obj) for name, obj in list(names.items()) if not (name.startswith("__") and name.endswith("__"))]


def _name_refusals(snapshot: Snapshot, walk: Walker) -> None:
    if not walk.refused:
        return
    paths = Paths(snapshot)
    for number, reason in walk.refused:
        kind = type_name(walk.objects[number]).replace(":", ".").removeprefix("builtins.")
        snapshot.refusals.append(Refusal(paths.of(number), kind, reason))
