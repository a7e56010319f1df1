"""What a path is besides its content: a folder, a link, a second name of another file, and its permissions."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

GONE = "gone"


def shapes_of(paths: Iterable[str]) -> dict[str, str]:
    """One word or two for each path: `gone`, `folder 755`, `file 644`, `link TARGET`, `same PATH`."""
    first: dict[tuple[int, int], str] = {}
    found: dict[str, str] = {}
    for path in paths:
        try:
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
                other = first.setdefault((status.st_dev, status.st_ino), path)
                found[path] = _plain(path, status) if other == path else f"same {other}"
            else:
                found[path] = _plain(path, status)
        except OSError:
            found[path] = GONE
    return found


def _plain(path: str, status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        return f"link {os.readlink(path)}"
    kind = "folder" if stat.S_ISDIR(status.st_mode) else "file"
    return f"{kind} {stat.S_IMODE(status.st_mode):o}"


def make_folders(shapes: Mapping[str, str]) -> None:
    """Have the folders that were there and not those that were not, before files are put into them."""
    for path in sorted(path for path, shape in shapes.items() if shape.startswith("folder ")):
        if os.path.islink(path) or os.path.isfile(path):
            os.unlink(path)
        os.makedirs(path, exist_ok=True)
    for path in sorted((path for path, shape in shapes.items() if shape == GONE), reverse=True):
        if os.path.isdir(path) and not os.path.islink(path):
            with suppress(OSError):  # something is in it that the run has not made
                os.rmdir(path)


def has_other_names(path: str) -> bool:
    """True if what is written there changes another path too: it is a link, or one of several names of a file."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink > 1)


def part(path: str) -> None:
    """Make a file of its own of a path that has other names; a link to nowhere or to a folder goes."""
    content = Path(path).read_bytes() if os.path.isfile(path) else None
    os.unlink(path)
    if content is not None:
        Path(path).write_bytes(content)


def put_shapes(shapes: Mapping[str, str]) -> None:
    """Make links again, and set permissions, after the files have their content."""
    for path, shape in shapes.items():
        kind, _, rest = shape.partition(" ")
        with suppress(OSError, ValueError):  # a file whose content is lost may not be there; words may be damaged
            if kind == "link" and not (os.path.islink(path) and os.readlink(path) == rest):
                _remove(path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                os.symlink(rest, path)
            elif kind == "same" and not os.path.samefile(path, rest):
                _remove(path)
                os.link(rest, path)
            elif kind in ("file", "folder") and stat.S_IMODE(os.lstat(path).st_mode) != int(rest, 8):
                os.chmod(path, int(rest, 8))


def _remove(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)
