"""Where the state of a replay is not the recorded one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from flor.state.allowance import NOTHING_DIFFERS, Allowance
from flor.state.equal import Pairing
from flor.state.paths import all_roots, pretty
from flor.state.snapshot import Ref, Slot, Snapshot


@dataclass(frozen=True, slots=True)
class Difference:
    """One place that differs, and how."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def differences(
    recorded: Snapshot, now: Snapshot, limit: int = 5, allowed: Allowance = NOTHING_DIFFERS
) -> list[Difference]:
    """The first few places that differ; the same in every process."""
    recorded.digest()
    now.digest()
    return [Difference(pretty(path), what) for path, what in islice(_all(recorded, now, allowed), limit)]


def _all(recorded: Snapshot, now: Snapshot, allowed: Allowance) -> Iterator[tuple[str, str]]:
    pairing = Pairing(recorded, now, allowed)
    before, after = all_roots(recorded), all_roots(now)
    for scope in dict.fromkeys([*before, *after]):
        if scope.startswith("owner:") and scope not in before:
            continue  # a probe's, or a record of an earlier version
        mine, yours = before.get(scope, {}), after.get(scope, {})
        forgiven = _forgiven(recorded, scope) | _forgiven(now, scope)
        for name in dict.fromkeys([*mine, *yours]):
            path = f"{scope}:{name}"
            if name in mine and name in yours:
                yield from pairing.walk(mine[name], yours[name], path)
            elif name not in forgiven and not _is_handle(recorded, mine.get(name)):
                yield path, "it was bound when recorded, now it is not" if name in mine else "it was not bound before"


def _is_handle(recorded: Snapshot, slot: Slot) -> bool:
    """True for a file, a progress bar and the like: a restore cannot bind one that this process does not have."""
    return type(slot) is Ref and recorded.nodes[slot].kind in ("inert", "output", "logger")


def _forgiven(snapshot: Snapshot, scope: str) -> set[str]:
    return {*snapshot.optional.get(scope, ()), *snapshot.unkept.get(scope, {})}
