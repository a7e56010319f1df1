"""Which folders a private copy of the file system consists of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flor.launch.devices import SHARED_MEMORY
from flor.launch.wall.syscalls import (
    MS_NOATIME,
    MS_NODEV,
    MS_NODIRATIME,
    MS_NOEXEC,
    MS_NOSUID,
    MS_RELATIME,
)

SYSTEM = ("/proc", "/sys", "/dev", "/run")
"""The kernel's own trees, and the sockets and pids of services: they stay shared."""

NO_FILES = frozenset(("autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "proc", "sysfs"))
FLAGS = {
    "nosuid": MS_NOSUID,
    "nodev": MS_NODEV,
    "noexec": MS_NOEXEC,
    "noatime": MS_NOATIME,
    "nodiratime": MS_NODIRATIME,
    "relatime": MS_RELATIME,
}


@dataclass(frozen=True)
class Mount:
    """One line of /proc/self/mountinfo."""

    point: str
    kind: str
    options: frozenset[str]

    @property
    def is_writable(self) -> bool:
        """True if files of the user's may be changed in it."""
        return "rw" in self.options and self.kind not in NO_FILES

    @property
    def flags(self) -> int:
        """The flags that a change of this mount must keep."""
        return sum(FLAGS[name] for name in self.options & FLAGS.keys())


def parse(text: str) -> list[Mount]:
    """The mounts of /proc/self/mountinfo; of several at one point the last, which covers the others."""
    found: dict[str, Mount] = {}
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        words = before.split()
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), words[4])
        found.pop(point, None)
        found[point] = Mount(point, after.split()[0], frozenset(words[5].split(",")))
    return list(found.values())


@dataclass(frozen=True)
class Cover:
    """The folders of one mount that get an overlay; what lies between them is made read-only."""

    mount: Mount
    folders: tuple[str, ...]
    is_shared: bool = False  # what lies between them stays as it is

    @property
    def is_whole(self) -> bool:
        """True if one overlay covers all of the mount."""
        return self.folders == (self.mount.point,)


def covers(mounts: Sequence[Mount]) -> list[Cover]:
    """How to cover each mount that has files: the kernel takes no folder that has another mount in it.

    No overlay can take the place of `/` itself while the process is in it, so its folders are covered one by one.
    """
    points = [mount.point for mount in mounts]
    files = [mount for mount in mounts if mount.is_writable and not _is_under(mount.point, SYSTEM)]
    found = [Cover(mount, tuple(_folders(mount.point, points))) for mount in files]
    memory = next((mount for mount in mounts if mount.point == SHARED_MEMORY and mount.is_writable), None)
    if memory is not None:
        found.append(Cover(memory, tuple(_in_memory(points)), is_shared=True))
    return found


def _in_memory(points: Sequence[str]) -> Iterator[str]:
    """The user's own folders in shared memory; what processes share lies beside them."""
    for entry in sorted(os.scandir(SHARED_MEMORY), key=lambda entry: entry.name):
        is_mounted = any(_is_under(point, (entry.path,)) for point in points)
        if entry.is_dir(follow_symlinks=False) and os.access(entry.path, os.W_OK) and not is_mounted:
            yield entry.path


def _folders(point: str, points: Sequence[str]) -> Iterator[str]:
    if point != "/" and not any(_is_under(other, (point,)) and other != point for other in points):
        yield point
        return
    for entry in sorted(os.scandir(point), key=lambda entry: entry.name):
        is_other = entry.path in points or _is_under(entry.path, SYSTEM)
        if not is_other and entry.is_dir(follow_symlinks=False):
            yield from _folders(entry.path, points)


def _is_under(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
