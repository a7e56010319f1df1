"""How much memory copies may take: by the machine, its control groups, and the ranks that share it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

SHARE = 0.25  # of what is available may go to copies, all ranks of a machine together
UNKNOWN = 1 << 62
RANKS = ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE", "WORLD_SIZE")
"""Variables that tell how many ranks run on this machine; the last one counts those of other machines too."""


def memory_for_copies(environment: Mapping[str, str] | None = None, root: Path = Path("/")) -> int:
    """Bytes that this process's staging buffers may take, both snapshots together."""
    available = min(_of_machine(root), *_of_groups(root), UNKNOWN)
    ranks = local_ranks(os.environ if environment is None else environment)
    return available if available == UNKNOWN else int(SHARE * available / ranks)


def local_ranks(environment: Mapping[str, str]) -> int:
    """How many processes of this job share the machine's memory."""
    for name in RANKS:
        text = environment.get(name, "").partition("(")[0]  # Slurm writes 8(x2) for two nodes
        if text.isdigit() and int(text):
            return int(text)
    return 1


def _of_machine(root: Path) -> int:
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return UNKNOWN


def _of_groups(root: Path) -> Iterator[int]:
    """What the control group of this process, and each one around it, has left."""
    for folder in _groups(root):
        for limit, used, unused in (
            ("memory.max", "memory.current", "inactive_file"),  # version 2
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),  # version 1
        ):
            with suppress(OSError, ValueError):  # there is no such file, or it says "max"
                bound = int((folder / limit).read_text())
                yield max(0, bound - int((folder / used).read_text()) + _stat(folder, unused))


def _stat(folder: Path, name: str) -> int:
    """Pages of files that the kernel drops when memory is needed count as used there, and are available."""
    with suppress(OSError, ValueError):
        for line in (folder / "memory.stat").read_text().splitlines():
            if line.split()[0] == name:
                return int(line.split()[1])
    return 0


def _groups(root: Path) -> list[Path]:
    """The folders of this process's memory groups, up to the mount point, which in a container is its own group."""
    found: dict[Path, None] = {}
    with suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            number, kinds, path = (*line.split(":", 2), "", "")[:3]
            if number == "0" or "memory" in kinds.split(","):
                places = ("", "unified") if number == "0" else ("memory",)
                for mount in (root / "sys/fs/cgroup" / place for place in places):
                    own = mount / path.strip("/")
                    found.update(dict.fromkeys([own, *(p for p in own.parents if p.is_relative_to(mount)), mount]))
    return list(found)
