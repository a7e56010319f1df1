"""A run that several processes trained together: a run for each of its ranks, and what they have in common."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flor.errors import NothingToReplay
from flor.model.checkpoints import Key
from flor.query.runs import Run
from flor.replay.history import History
from flor.store.run import RunFolder


@dataclass(frozen=True, slots=True)
class RankFolder(RunFolder):
    """The folder of a run, of which only one rank's journal is read."""

    journal: Path | None = None

    def fragments(self) -> list[Path]:
        """The journal of this rank."""
        return [self.journal] if self.journal is not None else []


def ranks_of(run: Run) -> list[Run]:
    """A run for each rank, in order; a run of one process is its only rank."""
    journals = run.folder.fragments()
    if len(journals) < 2:
        return [run]
    found = [Run(RankFolder(run.name, run.folder.path, journal=journal)) for journal in journals]
    worlds = {int(rank.facts.get("variables", {}).get("WORLD_SIZE", 1)) for rank in found}
    if [rank.facts.get("rank") for rank in found] != list(range(len(found))) or worlds != {len(found)}:
        raise NothingToReplay(
            f"{run.name} has {len(found)} journals, but not one for each of {max(worlds)} ranks.",
            todo="Its logs can be read with `flor logs`.",
        )
    return found


def in_common(histories: Sequence[History]) -> History:
    """The first rank's history, with those checkpoints only that every rank has, and has alike."""
    first = histories[0]
    if len(histories) == 1:
        return first
    common = {key: held for key, held in first.checkpoints.items() if all(_alike(key, first, h) for h in histories)}
    return replace(first, checkpoints=common)


def not_in_common(histories: Sequence[History]) -> tuple[str, ...]:
    """The checkpoints that some rank lacks, by their text: skipped by one, they would leave the others waiting."""
    common = in_common(histories).checkpoints.keys()
    every = {key for history in histories for key in history.checkpoints}
    return tuple(sorted(str(key) for key in every - common))


def _alike(key: Key, first: History, other: History) -> bool:
    """True if the other rank has the checkpoint too, and lacks the same names in it."""
    held = other.checkpoints.get(key)
    return held is not None and _unkept(first, key) == _unkept(other, key)


def _unkept(history: History, key: Key) -> dict[str, list[str]]:
    return {scope: sorted(names) for scope, names in history.checkpoints[key].unkept.items()}


def rendezvous(world: int) -> dict[str, str]:
    """What ranks of this machine need to find each other, on a port that is free now."""
    if world == 1:
        return {}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "ROLE_WORLD_SIZE": str(world),
        "TORCHELASTIC_RUN_ID": "none",  # what torchrun sets; scripts ask for it to know that it started them
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
    }
