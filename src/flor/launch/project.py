"""Which files are the user's own project, and what they are called in a store."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep
FOREIGN = ("site-packages", "dist-packages", "node_modules", "__pypackages__")


@cache
def foreign_prefixes() -> tuple[str, ...]:
    """Folders of Python itself and of installed packages."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths.update(site.getsitepackages(), [site.getusersitepackages()], [sys.prefix + os.sep + "lib"])
    return tuple(os.path.realpath(path) + os.sep for path in paths if path)


@dataclass(frozen=True)
class Project:
    """The script's folder tree and the current folder's, without installed packages."""

    root: str
    folders: tuple[str, ...]
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    _known: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def around(cls, script_folder: str, *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Project:
        """The project of a script in this folder, run from the current one."""
        cwd = os.path.realpath(os.getcwd())
        return cls(cwd, tuple({cwd, os.path.realpath(script_folder)}), tuple(include), tuple(exclude))

    def owns(self, path: str) -> bool:
        """True if this file is instrumented."""
        known = self._known.get(path)
        if known is None:
            # Most questions are about installed packages: answered by their path alone, without asking the disk.
            foreign = path.startswith(("<", *foreign_prefixes())) or any(part in path for part in FOREIGN)
            known = self._known[path] = not foreign and self._owns(os.path.realpath(path))
        return known

    def name(self, path: str) -> str:
        """What the file is called in the store: relative to the folder in which the run was started."""
        return Path(os.path.relpath(os.path.realpath(path), self.root)).as_posix()

    def _owns(self, path: str) -> bool:
        name = self.name(path)
        if any(fnmatch(name, glob) for glob in self.exclude):
            return False
        if any(fnmatch(name, glob) for glob in self.include):
            return True
        if path.startswith((PACKAGE, *foreign_prefixes())) or any(part in FOREIGN for part in Path(path).parts):
            return False
        inside = [folder for folder in self.folders if path.startswith(folder.rstrip(os.sep) + os.sep)]
        return any(not _in_environment(path, folder) for folder in inside)


def _in_environment(path: str, folder: str) -> bool:
    """True if a virtual environment lies between the folder and the file."""
    parent = os.path.dirname(path)
    while len(parent) > len(folder):
        if os.path.exists(os.path.join(parent, "pyvenv.cfg")):
            return True
        parent = os.path.dirname(parent)
    return False
