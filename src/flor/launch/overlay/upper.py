"""Copies of real files in the overlay, made before the first change."""

from __future__ import annotations

import os
import stat as modes
from itertools import count

from flor.launch.overlay import native
from flor.launch.overlay.view import Spot, View

_serial = count()


class Upper:
    """Makes room in the overlay: the folders above a path, and the file or tree at it."""

    def __init__(self, view: View) -> None:
        self.view = view

    def make_room(self, spot: Spot) -> str:
        """The overlay path of something new, its folder there; raises as the system does if the folder is not."""
        if not self.view.has_folder(spot.path):
            raise self.view.absent(spot.path, spot.shown)
        self._folder(spot.path.rpartition("/")[0] or "/")
        return spot.upper

    def _folder(self, path: str) -> None:
        upper = self.view.files + path
        if native.status(upper) is not None:
            return
        if path not in ("", "/"):
            self._folder(path.rpartition("/")[0])
        found = native.status(path or "/")
        mode = 0o700 if found is None else modes.S_IMODE(found.st_mode) | 0o700
        try:
            native.mkdir(upper, mode)
        except FileNotFoundError:  # the overlay itself is not there yet
            os.makedirs(self.view.files, exist_ok=True)
            self._folder(path)
        except FileExistsError:
            pass

    def copy(self, path: str, content: bool = True) -> str:
        """The overlay's copy of what is at the path, made now if there is none; to overwrite it needs no content."""
        upper = self.view.files + path
        if native.status(upper) is not None or not self.view.below(path):
            return upper
        found = native.lstat(path)
        if modes.S_ISDIR(found.st_mode):
            self._folder(path)
            return upper
        self._folder(path.rpartition("/")[0] or "/")
        self._place(path, upper, found, content)
        return upper

    def _place(self, path: str, upper: str, found: os.stat_result, content: bool) -> None:
        """Complete before it is visible, and never over a copy that another thread made meanwhile."""
        draft = f"{self.view.folder}/draft-{os.getpid()}-{next(_serial)}"
        if modes.S_ISLNK(found.st_mode):
            native.symlink(native.readlink(path), draft)
        else:
            native.copy_bytes(path if content else os.devnull, draft)
            native.chmod(draft, modes.S_IMODE(found.st_mode))
            native.utime(draft, ns=(found.st_atime_ns, found.st_mtime_ns))
        try:
            native.link(draft, upper, follow_symlinks=False)
            native.unlink(draft)
        except FileExistsError:
            native.unlink(draft)
        except OSError:  # a file system without hard links
            native.rename(draft, upper)

    def copy_tree(self, path: str) -> str:
        """The overlay's copy of a file, or of a folder with all that the script sees in it."""
        upper = self.copy(path)
        if native.is_directory(upper):
            for name in self.view.names(path):
                self.copy_tree(f"{path}/{name}")
        return upper
