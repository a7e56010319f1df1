"""The functions of `os` that change files, done to the overlay's copies."""

from __future__ import annotations

import errno
import os
import stat as modes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flor.launch.overlay import native
from flor.launch.overlay.renaming import rename
from flor.launch.overlay.upper import Upper
from flor.launch.overlay.view import Spot, View

ATTRIBUTES = ("chmod", "lchmod", "chown", "lchown", "utime", "truncate", "setxattr", "removexattr", "chflags")
DESCRIPTORS = {"fchmod": "chmod", "fchown": "chown"}


class Changing:
    """mkdir, remove, rename, link, chmod, and their kin."""

    def __init__(self, view: View, upper: Upper) -> None:
        self.view, self.upper = view, upper

    def functions(self) -> dict[str, Any]:
        """Name in `os` -> what to call instead."""
        named = {name: getattr(self, name) for name in ("mkdir", "rmdir", "unlink", "rename", "link", "symlink")}
        named |= {"remove": self.unlink, "replace": self.rename}
        named |= {name: self._attribute(name) for name in ATTRIBUTES if name in native.OS}
        named |= {name: self._descriptor(plain) for name, plain in DESCRIPTORS.items()}
        return named | {name: self._node(name) for name in ("mkfifo", "mknod")}

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        """os.mkdir"""
        native.call(native.mkdir, self._new(path, dir_fd), path, mode)

    def symlink(self, src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None) -> None:
        """os.symlink"""
        with _naming(src, dst):
            native.symlink(src, self._new(dst, dir_fd))
        self.view.forget_links()

    def link(
        self,
        src: Any,
        dst: Any,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        """os.link"""
        with _naming(src, dst):
            origin = self.view.spot(src, src_dir_fd, follow=False)
            self._there(origin)
            real = origin.path if origin.passes else self.upper.copy(origin.path)
            native.link(real, self._new(dst, dst_dir_fd), follow_symlinks=False)
        self.view.forget_links()  # what is linked may be a link itself

    def rename(self, src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        """os.rename and os.replace"""
        with _naming(src, dst):
            origin = self.view.spot(src, src_dir_fd, follow=False)
            rename(self.view, self.upper, origin, self.view.spot(dst, dst_dir_fd, follow=False))

    def _new(self, shown: Any, dir_fd: int | None) -> str:
        """The real path for something new; raises if the script sees something there already."""
        spot = self.view.spot(shown, dir_fd, follow=False)
        if spot.passes:
            return spot.path
        if self.view.status(spot.path) is not None:
            raise native.trouble(errno.EEXIST, shown)
        return self.upper.make_room(spot)

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        """os.rmdir"""
        spot = self.view.spot(path, dir_fd, follow=False)
        if spot.passes:
            native.call(native.rmdir, spot.path, path)
            return
        found = self._there(spot)
        if not modes.S_ISDIR(found.st_mode):
            raise native.trouble(errno.ENOTDIR, path)
        if self.view.names(spot.path):
            raise native.trouble(errno.ENOTEMPTY, path)
        self._drop(spot, native.rmdir)

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        """os.unlink"""
        spot = self.view.spot(path, dir_fd, follow=False)
        if spot.passes:
            native.call(native.unlink, spot.path, path)
            return
        if modes.S_ISDIR(self._there(spot).st_mode):
            raise native.trouble(errno.EISDIR, path)
        self._drop(spot, native.unlink)

    def _there(self, spot: Spot) -> os.stat_result:
        found = self.view.status(spot.path)
        if found is None:
            raise self.view.absent(spot.path, spot.shown)
        return found

    def _drop(self, spot: Spot, removal: Any) -> None:
        if native.status(spot.upper) is not None:
            native.call(removal, spot.upper, spot.shown)
        self.view.hide(spot.path)
        self.view.forget_links()

    def _attribute(self, name: str) -> Any:
        function = native.OS[name]
        itself = name.startswith("l")

        def change(path: Any, *rest: Any, dir_fd: int | None = None, **options: Any) -> Any:
            shown = self.view.of_descriptor(path) if isinstance(path, int) else path
            if shown is None or (name == "truncate" and isinstance(path, int)):
                return function(path, *rest, **options)
            spot = self.view.spot(shown, dir_fd, not itself and options.get("follow_symlinks", True))
            if not spot.passes:
                self._there(spot)
            return native.call(function, self._own(spot), path, *rest, **options)

        return change

    def _own(self, spot: Spot) -> str:
        found = self.view.status(spot.path)
        if found is not None and _is_special(found):
            return self.view.locate(spot.path) or spot.path
        if spot.passes:
            return spot.path
        return self.upper.copy(spot.path)

    def _descriptor(self, plain: str) -> Any:
        change = self._attribute(plain)
        function = native.OS["f" + plain]

        def through(fd: int, *rest: Any) -> Any:
            # Only a file that is not the overlay's own is changed by its path: its descriptor would reach outside.
            place = self.view.of_descriptor(fd)
            if place is None or self.view.passes(place) or self.view.locate(place) != place:
                return function(fd, *rest)
            return change(place, *rest)

        return through

    def _node(self, name: str) -> Any:
        function = native.OS[name]

        def make(path: Any, *rest: Any, dir_fd: int | None = None, **options: Any) -> Any:
            return native.call(function, self._new(path, dir_fd), path, *rest, **options)

        return make


def _is_special(found: os.stat_result) -> bool:
    return not (modes.S_ISREG(found.st_mode) or modes.S_ISDIR(found.st_mode) or modes.S_ISLNK(found.st_mode))


@contextmanager
def _naming(src: Any, dst: Any) -> Iterator[None]:
    """An error of a function with two paths names both."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = src, dst
        raise
