"""What can go of a run that stays: bytes that no checkpoint needs any more, counted entry by entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flor.store.retention.holdings import HeldPack, Holding
from flor.store.retention.references import HeldCheckpoint

WORTH = 0.1  # a pack is written anew without what nobody needs if that is at least this share of it


@dataclass(frozen=True, slots=True)
class Sweep:
    """Checkpoints that end, packs that go, packs of which only some entries stay, and scraps."""

    dropped: frozenset[str] = frozenset()
    deleted: tuple[str, ...] = ()
    rewritten: Mapping[str, frozenset[str]] = field(default_factory=dict)
    scraps: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.dropped or self.deleted or self.rewritten or self.scraps)


def sweep_of(holding: Holding, kept: Iterable[HeldCheckpoint]) -> Sweep:
    """What goes if of its checkpoints only these are kept; nothing where it is not sure what is needed."""
    scraps = tuple(holding.scraps)
    if holding.references.doubt:
        return Sweep(scraps=scraps)
    staying = list(kept)
    needed = _needed(staying)
    free = {name: pack for name, pack in holding.packs.items() if name not in holding.references.pinned}
    return Sweep(
        dropped=frozenset(each.graph for each in holding.checkpoints) - {each.graph for each in staying},
        deleted=tuple(name for name in free if name not in needed),
        rewritten={name: needed[name] for name, pack in free.items() if name in needed and _worth(pack, needed[name])},
        scraps=scraps,
    )


def bytes_after(holding: Holding, sweep: Sweep) -> int:
    """What the run then takes on disk, to within the headers of its packs."""
    gone = sum(holding.packs[name].size for name in sweep.deleted if holding.packs[name].links == 1)
    gone += sum(_dead(holding.packs[name], needed) for name, needed in sweep.rewritten.items())
    return holding.size - gone - sum(holding.scraps[path] for path in sweep.scraps)


def _needed(kept: list[HeldCheckpoint]) -> dict[str, frozenset[str]]:
    """Pack -> entries: the reference count, of which only zero or not matters."""
    found: dict[str, set[str]] = {}
    for checkpoint in kept:
        for file, name in checkpoint.entries:
            found.setdefault(file, set()).add(name)
    return {file: frozenset(names) for file, names in found.items()}


def _worth(pack: HeldPack, needed: frozenset[str]) -> bool:
    return pack.links == 1 and _dead(pack, needed) >= max(1, WORTH * pack.size)


def _dead(pack: HeldPack, needed: frozenset[str]) -> int:
    """Bytes of a pack that nobody needs; none if its entries are not known."""
    return sum(size for name, size in (pack.entries or {}).items() if name not in needed)
