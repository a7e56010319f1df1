"""The functions of `os` that look at files, on the script's view of them."""

from __future__ import annotations

import errno
import os
import stat as modes
from typing import Any

from flor.launch.overlay import native
from flor.launch.overlay.listing import Listing
from flor.launch.overlay.view import View


class Looking:
    """stat, access, readlink, listdir, scandir, the working directory, and their kin."""

    def __init__(self, view: View) -> None:
        self.view = view

    def functions(self) -> dict[str, Any]:
        """Name in `os` -> what to call instead."""
        named = {name: getattr(self, name) for name in ("stat", "lstat", "access", "readlink", "listdir", "scandir")}
        named |= {name: getattr(self, name) for name in ("chdir", "fchdir", "getcwd", "getcwdb")}
        return named | {name: self._plain(name) for name in ("statvfs", "pathconf", "getxattr", "listxattr")}

    def stat(self, path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        """os.stat"""
        if isinstance(path, int):
            return native.stat(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        real = self.view.seen(path, dir_fd, follow_symlinks)
        result: os.stat_result = native.call(native.stat, real, path, follow_symlinks=follow_symlinks)
        return result

    def lstat(self, path: Any, *, dir_fd: int | None = None) -> os.stat_result:
        """os.lstat"""
        real = self.view.seen(path, dir_fd, follow=False)
        result: os.stat_result = native.call(native.lstat, real, path)
        return result

    def access(
        self,
        path: Any,
        mode: int,
        *,
        dir_fd: int | None = None,
        effective_ids: bool = False,
        follow_symlinks: bool = True,
    ) -> bool:
        """os.access"""
        if isinstance(path, int):
            return native.access(path, mode)
        try:
            real = self.view.seen(path, dir_fd, follow_symlinks)
        except OSError:
            return False
        return native.access(real, mode, effective_ids=effective_ids, follow_symlinks=follow_symlinks)

    def readlink(self, path: Any, *, dir_fd: int | None = None) -> str | bytes:
        """os.readlink"""
        target: str = native.call(native.readlink, self.view.seen(path, dir_fd, follow=False), path)
        return os.fsencode(target) if isinstance(os.fspath(path), bytes) else target

    def listdir(self, path: Any = None) -> list[Any]:
        """os.listdir"""
        shown = "." if path is None else path
        place = self._folder(shown)
        if place is None:
            return list(native.listdir(shown))
        names = self.view.names(place)
        return [os.fsencode(name) for name in names] if _is_bytes(shown) else names

    def scandir(self, path: Any = None) -> Any:
        """os.scandir"""
        shown = "." if path is None else path
        place = self._folder(shown)
        if place is None:
            return native.scandir(shown)
        return Listing(self.view, place, None if isinstance(shown, int) else shown)

    def _folder(self, shown: Any) -> str | None:
        """The folder to list; None if the native call, as the script made it, is right."""
        if isinstance(shown, int):
            place = self.view.of_descriptor(shown)
            return None if place is None or self.view.untouched(place) else place
        place = self.view.spot(shown).path
        real = self.view.seen(shown)
        found = native.call(native.stat, real, shown)
        if not modes.S_ISDIR(found.st_mode):
            raise native.trouble(errno.ENOTDIR, shown)
        return None if self.view.untouched(place) and _leads_to(shown, found) else place

    def chdir(self, path: Any) -> None:
        """os.chdir"""
        found = self.view.of_descriptor(path) if isinstance(path, int) else self.view.spot(path).path
        if found is None:
            native.chdir(path)
            return
        # The real folder where there is one: code that is not Python's finds its relative paths there.
        real = found if self.view.below(found) else self.view.seen(found)
        native.call(native.chdir, real, path)
        self.view.cwd = None if real == found else found

    def fchdir(self, fd: int) -> None:
        """os.fchdir"""
        self.chdir(fd)

    def getcwd(self) -> str:
        """os.getcwd"""
        return self.view.cwd or native.getcwd()

    def getcwdb(self) -> bytes:
        """os.getcwdb"""
        return os.fsencode(self.getcwd())

    def _plain(self, name: str) -> Any:
        function = native.OS.get(name)

        def look(path: Any = ".", *rest: Any, **options: Any) -> Any:
            if isinstance(path, int):
                return function(path, *rest, **options)  # type: ignore[misc]
            real = self.view.seen("." if path is None else path, None, options.get("follow_symlinks", True))
            return native.call(function, real, path, *rest, **options)

        return look


def _leads_to(shown: Any, found: os.stat_result) -> bool:
    """True if the system itself finds the same there: not so through a link or a folder that only we have."""
    try:
        return os.path.samestat(native.stat(shown), found)
    except OSError:
        return False


def _is_bytes(path: Any) -> bool:
    return not isinstance(path, int) and isinstance(os.fspath(path), bytes)
