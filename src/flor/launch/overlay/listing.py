"""What `os.scandir` gives of a folder that differs from the one outside."""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Iterator
from typing import Any

from flor.launch.overlay import native
from flor.launch.overlay.view import View


class Entry(os.PathLike[Any]):
    """A directory entry in the script's eyes."""

    __slots__ = ("_place", "_view", "name", "path")

    def __init__(self, view: View, place: str, name: Any, path: Any) -> None:
        self._view, self._place = view, place
        self.name, self.path = name, path

    def __fspath__(self) -> Any:
        return self.path

    def __repr__(self) -> str:
        return f"<DirEntry {self.name!r}>"

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """The status of the entry, or of what its link leads to."""
        real = self._view.seen(self._place, None, follow_symlinks)
        result: os.stat_result = native.call(native.lstat, real, self.path)
        return result

    def inode(self) -> int:
        """The entry's own inode."""
        return self.stat(follow_symlinks=False).st_ino

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """True for a folder."""
        return modes.S_ISDIR(self._mode(follow_symlinks))

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """True for a regular file."""
        return modes.S_ISREG(self._mode(follow_symlinks))

    def is_symlink(self) -> bool:
        """True for a link."""
        return modes.S_ISLNK(self._mode(False))

    def is_junction(self) -> bool:
        """Never: that is another system's."""
        return False

    def _mode(self, follow: bool) -> int:
        try:
            return self.stat(follow_symlinks=follow).st_mode
        except FileNotFoundError:
            return 0


class Listing(Iterator[Entry]):
    """The entries of a folder, once, as `os.scandir` gives them; `shown` is None for an open folder."""

    def __init__(self, view: View, place: str, shown: Any) -> None:
        names = view.names(place)
        self._entries = iter([_entry(view, place, name, shown) for name in names])

    def __next__(self) -> Entry:
        return next(self._entries)

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """No more entries."""
        self._entries = iter([])


def _entry(view: View, place: str, name: str, shown: Any) -> Entry:
    whole = f"{place.rstrip('/')}/{name}"
    if shown is None:
        return Entry(view, whole, name, name)
    folder = os.fspath(shown)
    label: Any = os.fsencode(name) if isinstance(folder, bytes) else name
    return Entry(view, whole, label, os.path.join(folder, label))
