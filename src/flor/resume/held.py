"""Which files are held open by libraries or other processes, so that no other file can take their place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

WRITES = os.O_WRONLY | os.O_RDWR


def held(paths: Iterable[str]) -> set[str]:
    """The paths whose files are open or mapped in this process, or open for writing or mapped in any other one."""
    wanted = {}
    for path in paths:
        try:
            found = os.stat(path)
        except OSError:
            continue
        wanted[found.st_dev, found.st_ino] = path
    numbers = [name for name in os.listdir("/proc") if name.isdigit()] if wanted else []
    return {wanted[file] for number in numbers for file in _open_files(Path("/proc", number)) if file in wanted}


def _open_files(process: Path) -> Iterator[tuple[int, int]]:
    """Device and inode of what a process holds; nothing of one that belongs to somebody else."""
    is_own = process.name == str(os.getpid())
    try:
        for descriptor in os.listdir(process / "fd"):
            try:
                found = os.stat(process / "fd" / descriptor)
                if is_own or _flags(process / "fdinfo" / descriptor) & WRITES:
                    yield found.st_dev, found.st_ino
            except (OSError, ValueError):
                continue
        for line in (process / "maps").read_text(errors="surrogateescape").splitlines():
            words = line.split(maxsplit=5)
            if len(words) == 6 and words[1].endswith("s") and "w" in words[1]:
                major, _, minor = words[3].partition(":")
                yield os.makedev(int(major, 16), int(minor, 16)), int(words[4])
    except OSError:
        return


def _flags(info: Path) -> int:
    lines = info.read_text().splitlines()
    return next((int(line.split()[1], 8) for line in lines if line.startswith("flags:")), 0)
