"""A snapshot back into the live objects, in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flor.errors import RestoreMismatch, StateError
from flor.state import loaded
from flor.state.allowance import NOTHING_DIFFERS, Allowance
from flor.state.capture import quiet_torch
from flor.state.handlers.settings import put_settings
from flor.state.kinds import HANDLERS
from flor.state.loading import Loading
from flor.state.match import Matching
from flor.state.paths import path_of
from flor.state.snapshot import Rebinding, Slot, Snapshot, target
from flor.state.trust import Trust

Scopes = Mapping[str, Mapping[str, Any]]
Root = tuple[str, str, Slot]


def restore(
    snapshot: Snapshot, scopes: Scopes, *, project: Callable[[str], bool], allowed: Allowance = NOTHING_DIFFERS
) -> Rebinding:
    """Put the saved state back; what cannot be is found before anything is changed."""
    if snapshot.refusals:
        raise StateError(f"the checkpoint is not complete: {snapshot.refusals[0]}")
    snapshot.digest()
    with quiet_torch(), _no_grad():
        live = Matching(snapshot, project).run(scopes)
        kept = _kept_roots(snapshot, live, dict(Trust(snapshot, live, project).refused()))
        reached = _reach(snapshot, kept)
        loading = Loading(snapshot, live, reached, allowed, project)
        loading.make_all()
        loading.fill_all()
    put_settings(snapshot, loading, reached)
    return _rebinding(snapshot, scopes, kept, loading)


def _no_grad() -> Any:
    torch = loaded.torch()
    return quiet_torch() if torch is None else torch.no_grad()


def _kept_roots(snapshot: Snapshot, live: dict[int, Any], refused: dict[int, str]) -> list[Root]:
    """All names but the dead ones that this process cannot have; raises for a needed one that it cannot have."""
    lacking = {**refused, **dict(_lacking(snapshot, live))}
    needed: list[Root] = []
    dead: list[Root] = []
    for scope, names in [("world", snapshot.world), ("hidden", snapshot.hidden), *snapshot.roots.items()]:
        for name, slot in names.items():
            (dead if name in snapshot.optional.get(scope, ()) else needed).append((scope, name, slot))
    impossible = sorted(_reach(snapshot, needed) & lacking.keys())
    if impossible:
        raise _mismatch(snapshot, impossible, lacking)
    return needed + [root for root in dead if not _reach(snapshot, [root]) & lacking.keys()]


def _lacking(snapshot: Snapshot, live: dict[int, Any]) -> Iterator[tuple[int, str]]:
    for number, node in enumerate(snapshot.nodes):
        if number not in live:
            reason = HANDLERS[node.kind].lacking(node)
            if reason:
                yield number, reason


def _mismatch(snapshot: Snapshot, impossible: list[int], lacking: dict[int, str]) -> RestoreMismatch:
    first = impossible[0]
    others = f" (and {len(impossible) - 1} more)" if len(impossible) > 1 else ""
    return RestoreMismatch(
        f"{snapshot.nodes[first].cls.replace(':', '.')} cannot be restored: {lacking[first]}{others}",
        where=path_of(snapshot, first),
        todo="Replay begins at an earlier checkpoint or at the start of the script instead.",
    )


def _reach(snapshot: Snapshot, roots: list[Root]) -> set[int]:
    reached = {number for _, _, slot in roots if (number := target(slot)) is not None}
    todo = list(reached)
    while todo:
        fresh = [int(ref) for ref in snapshot.nodes[todo.pop()].refs() if int(ref) not in reached]
        reached.update(fresh)
        todo.extend(fresh)
    return reached


def _rebinding(snapshot: Snapshot, scopes: Scopes, kept: list[Root], load: Loading) -> Rebinding:
    values: dict[str, dict[str, Any]] = {scope: {} for scope in snapshot.roots}
    for scope, name, slot in kept:
        if scope in values:
            values[scope][name] = load(slot)
    unbind = {scope: _gone(snapshot, scopes.get(scope, {}), scope) for scope in values}
    return Rebinding(values, unbind, tuple(load.doubts))


def _gone(snapshot: Snapshot, here: Mapping[str, Any], scope: str) -> set[str]:
    known = snapshot.roots[scope].keys() | snapshot.unkept.get(scope, {}).keys()
    return {name for name in here if name not in known and not (name.startswith("__") and name.endswith("__"))}
