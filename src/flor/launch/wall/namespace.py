"""A mount namespace in which everything that this process and its children write lands in one folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flor.launch.wall.mounts import covers, parse
from flor.launch.wall.syscalls import (
    CLONE_NEWNS,
    CLONE_NEWUSER,
    MS_BIND,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    drop_capabilities,
    mount,
    unshare,
)


@dataclass(frozen=True)
class Namespace:
    """What a process sees in place of the file system."""

    shown: tuple[str, str]  # a folder, and the path under which it is seen too
    lower: dict[str, int]  # folder with an overlay -> descriptor of the real folder, which is read-only by now

    def original(self, path: str) -> str:
        """A path that leads to the real file, whatever the process has done to its own."""
        real, shown_as = self.shown
        if shown_as and f"{path}/".startswith(f"{shown_as}/"):
            path = real + path.removeprefix(shown_as)
        folder = next((folder for folder in self.lower if f"{path}/".startswith(f"{folder}/")), None)
        return path if folder is None else f"/proc/self/fd/{self.lower[folder]}{path.removeprefix(folder)}"


def enter(
    upper: Path,
    *,
    scratch: Path,
    pass_through: Sequence[Path],
    expected: Iterable[str] = (),
    shown: tuple[str, str] = ("", ""),
) -> Namespace:
    """See the file system through overlays whose changes land in `upper/<absolute path>`.

    Must be called before the process has a second thread. `scratch` is an empty folder on the file system of `upper`,
    which the kernel uses itself. The folders of `pass_through` stay the real ones. `expected` are absolute paths that
    may be written: folders of other users above them are made ready for that. `shown` is a folder and a second path
    under which it is seen.
    """
    here = os.getcwd()
    options = _own_namespace()
    kept = [(_opened(str(folder)), str(folder)) for folder in pass_through]
    found = covers(parse(Path("/proc/self/mountinfo").read_text()))
    folders = [folder for cover in found for folder in cover.folders]
    _make_ready(folders, str(upper), str(scratch), [here, *expected])
    # The folder that the upper layers are in comes last: from then on they are not seen under their own names.
    folders.sort(key=lambda folder: f"{upper}/".startswith(f"{folder}/"))
    lower = {folder: _opened(folder) for folder in folders}
    for folder in folders:
        _overlay(folder, f"{upper}{folder}", f"{scratch}{folder}", options)
    for descriptor, target in kept:
        mount(f"/proc/self/fd/{descriptor}", target, None, MS_BIND | MS_REC)
        os.close(descriptor)
    real, shown_as = shown
    if shown_as != real:
        os.makedirs(shown_as, exist_ok=True)  # in an overlay
        mount(real, shown_as, None, MS_BIND | MS_REC)
    for cover in (
        cover for cover in found if not cover.is_shared
    ):  # P6: what has no overlay, and what is under one, can't be written
        point = f"/proc/self/fd/{lower[cover.mount.point]}" if cover.is_whole else cover.mount.point
        mount(None, point, None, MS_REMOUNT | MS_BIND | MS_RDONLY | cover.mount.flags)
    if "userxattr" in options:
        drop_capabilities()
    os.chdir(here)  # the same folder, seen through its overlay
    return Namespace(shown, lower)


def _opened(folder: str) -> int:
    return os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _own_namespace() -> str:
    """Become a process that may mount, under the same user and group ids; the option that its overlays need."""
    user, group = os.geteuid(), os.getegid()
    try:
        unshare(CLONE_NEWNS)
        options = ",redirect_dir=on"  # folders of the real file system may be renamed
    except PermissionError:  # not the administrator: in a user namespace everybody may mount
        unshare(CLONE_NEWUSER | CLONE_NEWNS)
        with suppress(OSError):  # a kernel without it does not ask for it either
            Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        options = ",userxattr"
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    return options


def _make_ready(folders: Sequence[str], upper: str, scratch: str, expected: Iterable[str]) -> None:
    """Make the layers' folders, and in them those that lead to the expected paths.

    The kernel would copy a folder before something changes in it, which it can't if that belongs to another user.
    """
    for folder in folders:
        os.makedirs(scratch + folder, exist_ok=True)
        _like(folder, upper + folder)
    for path in expected:
        for folder in [str(parent) for parent in reversed(Path(path).parents)] + [path]:
            if any(folder.startswith(f"{root}/") for root in folders) and os.path.isdir(folder):
                _like(folder, upper + folder)


def _like(folder: str, made: str) -> None:
    """Make a folder with the permissions that this user has in another one."""
    os.makedirs(made, exist_ok=True)
    mode = os.stat(folder).st_mode & 0o7777
    os.chmod(made, mode if os.access(folder, os.W_OK) else mode & ~0o222)


def _overlay(folder: str, upper: str, work: str, options: str) -> None:
    """Mount an overlay over a folder."""
    layers = f"lowerdir={_escaped(folder)},upperdir={_escaped(upper)},workdir={_escaped(work)}"
    mount("overlay", folder, "overlay", 0, f"{layers}{options}")


def _escaped(path: str) -> str:
    """A path as overlayfs reads it in its options."""
    return path.replace("\\", "\\\\").replace(",", "\\,").replace(":", "\\:")
