"""Which paths of the real file system an overlay's upper layer has changed, read after its process has ended."""

from __future__ import annotations

import filecmp
import os
import stat
from collections.abc import Iterator
from pathlib import Path

OPAQUE = ("trusted.overlay.opaque", "user.overlay.opaque")  # marks a folder that hides the real one below it


def changed(upper: Path, *, without: Path) -> list[str]:
    """Existing real files and links that were rewritten, replaced or removed; those under `without` are passed over."""
    store = os.path.realpath(without)
    found = _walk(str(upper), "")
    return sorted({path for path in found if not f"{path}/".startswith(f"{store}/")})


def _walk(upper: str, path: str) -> Iterator[str]:
    """The changed files in one folder of the layer."""
    with os.scandir(f"{upper}{path}" or "/") as entries:
        for entry in entries:
            real = f"{path}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if _is_opaque(entry.path):
                    yield from files_in(real)
                yield from _walk(upper, real)
            elif os.path.lexists(real) and not _is_same(entry.path, real):
                yield from files_in(real)


def files_in(path: str) -> Iterator[str]:
    """A file or link itself, or all that are in a folder; pipes, sockets and devices keep nothing."""
    mode = os.lstat(path).st_mode if os.path.lexists(path) else 0
    if stat.S_ISDIR(mode):
        for folder, folders, names in os.walk(path):
            links = [name for name in folders if os.path.islink(f"{folder}/{name}")]
            yield from (f"{folder}/{name}" for name in (*names, *links) if _keeps(f"{folder}/{name}"))
    elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
        yield path


def _keeps(path: str) -> bool:
    mode = os.lstat(path).st_mode
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _is_opaque(folder: str) -> bool:
    for name in OPAQUE:
        try:
            if os.getxattr(folder, name, follow_symlinks=False) == b"y":
                return True
        except OSError:
            continue
    return False


def _is_same(ours: str, real: str) -> bool:
    """True if the kernel has copied the file and nobody has changed it."""
    modes = os.lstat(ours).st_mode, os.lstat(real).st_mode
    if all(map(stat.S_ISLNK, modes)):
        return os.readlink(ours) == os.readlink(real)
    return all(map(stat.S_ISREG, modes)) and filecmp.cmp(ours, real, shallow=False)
