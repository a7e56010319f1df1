"""Which wall keeps a replay's files apart on this machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

from flor.errors import UsageError
from flor.launch.overlay import Overlay
from flor.launch.overlay.scratch import SOCKETS
from flor.launch.wall import landlock
from flor.launch.wall.layer import KernelLayer, delete
from flor.launch.wall.mounts import SYSTEM

FileLayer = Overlay | KernelLayer


class Wall(StrEnum):
    """The ways, the best first."""

    OVERLAY = "overlay"  # the kernel keeps every write in the layer, also of C code and of children
    LANDLOCK = "landlock"  # writes of Python code go to the layer, the kernel refuses all others
    PYTHON = "python"  # writes of Python code go to the layer, others are not seen


def best_wall(folder: Path, wanted: str | None = None) -> Wall:
    """The best wall that this machine allows for layers in a folder; UsageError if a wanted one can't be had."""
    found = Wall.OVERLAY if _can(_try_overlay, folder) else Wall.LANDLOCK if landlock.version() else Wall.PYTHON
    if wanted is None:
        return found
    if list(Wall).index(Wall(wanted)) < list(Wall).index(found):
        raise UsageError(
            f"This machine does not allow the wall {wanted!r}.", todo=f"Leave --wall out: the best one here is {found}."
        )
    return Wall(wanted)


def build(
    wall: Wall,
    folder: Path,
    *,
    pass_through: Sequence[Path],
    expected: Sequence[str] = (),
    shown: tuple[str, str] = ("", ""),
) -> FileLayer:
    """The layer for this process's files, with its wall around it; before the process has a second thread.

    With overlays a folder can be shown under another path: that at which a moved project was recorded.
    """
    if wall is Wall.OVERLAY:
        layer = KernelLayer(folder, pass_through=pass_through, expected=expected, shown=shown)
        if landlock.version():  # so that /proc/<pid>/root of a process outside is no way round the overlays
            landlock.confine([*map(Path, layer.namespace.lower), *pass_through, *map(Path, SYSTEM)])
        return layer
    if wall is Wall.LANDLOCK:
        sockets = tempfile.mkdtemp(prefix=SOCKETS)  # before the rest of the folder that it is in is closed
        landlock.confine([folder.parent, *pass_through, *map(Path, SYSTEM), Path(sockets)])
        return Overlay(folder, pass_through=pass_through, sockets=sockets)
    return Overlay(folder, pass_through=pass_through)


def _try_overlay(folder: Path) -> None:
    KernelLayer(folder, pass_through=[folder])


def _can(attempt: Callable[[Path], None], where: Path) -> bool:
    """True if a child process can do it; this one stays as it is."""
    if not hasattr(os, "fork"):
        return False
    folder = Path(tempfile.mkdtemp(prefix="wall-", dir=where))
    try:
        child = os.fork()
        if not child:
            try:
                attempt(folder)
                os._exit(0)
            except BaseException:
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        delete(folder)
