"""Which files are the user's own project, and what they are called in a store."""

from __future__ import annotations

import os
import re
import site
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from flor.source.libraries import LIBRARIES

PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep
CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "NUMBA_CACHE_DIR", "HF_HOME")
OTHER_PYTHON = re.compile(r"/lib/python3(\.\d+)?/")
FOREIGN = ("site-packages", "dist-packages", "node_modules", "__pypackages__")


@cache
def foreign_prefixes() -> tuple[str, ...]:
    """Folders of Python itself and of installed packages."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths.update(site.getsitepackages(), [site.getusersitepackages()], [sys.prefix + os.sep + "lib"])
    return tuple(os.path.realpath(path) + os.sep for path in paths if path)


def generated_prefixes() -> tuple[str, ...]:
    """Folders in which programs, torch's compilers among them, put code that they have made."""
    places = [tempfile.gettempdir(), *filter(None, map(os.environ.get, CACHES)), os.path.expanduser("~/.cache")]
    return tuple(os.path.realpath(place) + os.sep for place in places)


@dataclass(frozen=True)
class Project:
    """All Python files but those of Python itself, of installed packages, and code that programs have made."""

    root: str
    folders: tuple[str, ...]
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    libraries: Sequence[str] = ()  # files of libraries whose training loops are watched
    _known: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)
    _found: dict[str, str | None] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        foreign_prefixes()  # asked first while a module is imported, Python 3.13 would import another one to know

    @classmethod
    def around(
        cls,
        script_folder: str,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        libraries: Sequence[str] = (),
    ) -> Project:
        """The project of a script in this folder, run from the current one."""
        cwd = os.path.realpath(os.getcwd())
        folders = tuple({cwd, os.path.realpath(script_folder)})
        return cls(cwd, folders, tuple(include), tuple(exclude), tuple(libraries))

    def owns(self, path: str) -> bool:
        """True if this file is instrumented."""
        known = self._known.get(path)
        if known is None:
            # Most questions are about installed packages: answered by their path alone, without asking the disk.
            foreign = path.startswith((PACKAGE, *foreign_prefixes())) or any(part in path for part in FOREIGN)
            asked = not path.startswith("<") and (bool(self.include) or not foreign)
            known = self._known[path] = asked and self._owns(os.path.realpath(path))
        return known

    def unmatched(self) -> list[str]:
        """The globs of --include and --exclude that no file which was asked about has matched."""
        names = [self.name(path) for path in self._known if not path.startswith("<")]
        names += [name for library in LIBRARIES for name in (library, f"/{library}")]
        globs = [("--include", glob) for glob in self.include] + [("--exclude", glob) for glob in self.exclude]
        return [f"{option} {glob}" for option, glob in globs if not any(fnmatch(name, glob) for name in names)]

    def library(self, path: str) -> str | None:
        """What a library's file is called whose training loops are watched; None for any other file."""
        if path not in self._found:
            name = next((name for name in self.libraries if path.endswith(os.sep + name)), None)
            self._found[path] = None if name is None or self.owns(path) else name
        return self._found[path]

    def package(self, path: str) -> str:
        """The installed package, or the module of Python's own, that a file is from; empty if that is not known."""
        if path.startswith("<") or self.owns(path):
            return ""
        parts = Path(path).parts
        places = [index for index, part in enumerate(parts) if part in FOREIGN]
        if places:
            rest = parts[places[-1] + 1 :]
        else:
            within = next((prefix for prefix in foreign_prefixes() if path.startswith(prefix)), None)
            rest = () if within is None else Path(path[len(within) :]).parts
        return rest[0].removesuffix(".py") if rest else ""

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
        if inside:
            return any(not _in_environment(path, folder) for folder in inside)
        return not (path.startswith(generated_prefixes()) or OTHER_PYTHON.search(path) or _in_environment(path, os.sep))


def watched_libraries(exclude: Sequence[str]) -> list[str]:
    """The files of libraries that are watched: not those left out, nor those that the current folder has itself."""
    return [
        name
        for name in LIBRARIES
        if not any(fnmatch(name, glob) or fnmatch(f"/{name}", glob) for glob in exclude) and not os.path.exists(name)
    ]


def _in_environment(path: str, folder: str) -> bool:
    """True if a virtual environment lies between the folder and the file."""
    parent = os.path.dirname(path)
    while len(parent) > len(folder):
        if os.path.exists(os.path.join(parent, "pyvenv.cfg")):
            return True
        parent = os.path.dirname(parent)
    return False
