"""A rename within the script's view: the overlay's copy moves, the real file is hidden."""

from __future__ import annotations

import errno
import stat as modes

from flor.launch.overlay import native
from flor.launch.overlay.upper import Upper
from flor.launch.overlay.view import Spot, View


def rename(view: View, upper: Upper, origin: Spot, target: Spot) -> None:
    """Move a file or a folder over what may be at the target, as the system would."""
    for spot in (origin, target):  # the system finds both folders before it looks for the file
        if not view.has_folder(spot.path):
            raise view.absent(spot.path, origin.shown)
    found = view.status(origin.path)
    if found is None:
        raise view.absent(origin.path, origin.shown)
    if origin.path == target.path:
        return
    is_folder = modes.S_ISDIR(found.st_mode)
    _check_target(view, is_folder, origin, target)
    to = target.path if target.passes else upper.make_room(target)
    moved = origin.path if origin.passes else upper.copy_tree(origin.path)
    native.rename(moved, to)
    if not origin.passes:
        view.hide(origin.path)
    if not target.passes:
        view.hide(target.path)  # what the real folder or link there leads to does not shine through
    view.forget_links()


def _check_target(view: View, is_folder: bool, origin: Spot, target: Spot) -> None:
    code = _objection(view, is_folder, origin, target)
    if code is not None:
        raise native.trouble(code, origin.shown)


def _objection(view: View, is_folder: bool, origin: Spot, target: Spot) -> int | None:
    """What the system would object, in its order."""
    if is_folder and target.path.startswith(f"{origin.path}/"):
        return errno.EINVAL
    if origin.path.startswith(f"{target.path}/"):
        return errno.ENOTEMPTY
    there = view.status(target.path)
    if there is None:
        return None
    if modes.S_ISDIR(there.st_mode):
        if not is_folder:
            return errno.EISDIR
        return errno.ENOTEMPTY if view.names(target.path) else None
    return errno.ENOTDIR if is_folder else None
