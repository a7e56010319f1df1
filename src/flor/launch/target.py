"""What the user asked to run: a script or a module, found as Python would find it."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

from flor.errors import NoSuchScript


@dataclass(frozen=True)
class Target:
    """A file to run as `__main__`, and the words after it.

    `module` is the name by which Python's own `runpy` runs it: for `-m`, and for a folder or archive.
    """

    path: str
    argv: tuple[str, ...]
    path_entry: str
    module: str | None = None

    @property
    def folder(self) -> str:
        """The folder that the file is in."""
        return os.path.dirname(self.path)


def find_script(script: str, arguments: tuple[str, ...]) -> Target:
    """A script by its path, which is made absolute and otherwise left as it was given, as Python does."""
    path = os.path.join(os.getcwd(), script)
    if not os.path.exists(path):
        raise NoSuchScript(f"There is no script {script}.", where=path, todo=_meant(path))
    if path.endswith(".ipynb"):
        raise NoSuchScript(
            f"{script} is a notebook; what flor records are Python files.",
            todo=f"jupyter nbconvert --to script {script}",
        )
    importer = pkgutil.get_importer(path)
    if importer is None:
        return Target(path, (script, *arguments), os.path.dirname(os.path.realpath(path)))
    spec = importer.find_spec("__main__", None)
    if spec is None or spec.origin is None:
        raise NoSuchScript(
            f"{script} is a folder without a __main__.py.",
            todo="Name the script in it, or use `flor record -m MODULE`.",
        )
    return Target(spec.origin, (script, *arguments), path, "__main__")


def find_module(module: str, arguments: tuple[str, ...]) -> Target:
    """A module by its dotted name, as `python -m` finds it."""
    cwd = os.getcwd()
    set_path(cwd)
    try:
        spec = _locate(module) or importlib.util.find_spec(module)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = _locate(f"{module}.__main__") or importlib.util.find_spec(f"{module}.__main__")
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise NoSuchScript(f"No module {module} could be found: {error}.", where=cwd) from error
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise NoSuchScript(
            f"There is no module {module} with a source file.",
            where=f"looked in {cwd} and on sys.path",
            todo="A package needs a __main__.py to be run.",
        )
    return Target(spec.origin, (spec.origin, *arguments), cwd, module)


def set_path(entry: str) -> None:
    """`sys.path[0]` as Python would have it, in place of the entry that starting flor has made."""
    if sys.flags.safe_path or sys.path[:1] == [entry]:
        return
    ours = {"", os.getcwd(), os.path.dirname(sys.executable), os.path.dirname(os.path.realpath(sys.argv[0]))}
    sys.path[:1] = [entry] if sys.path and sys.path[0] in ours else [entry, *sys.path[:1]]


def _locate(module: str) -> ModuleSpec | None:
    """The spec, found without importing the packages around it: they are the script's, and run when it does."""
    parts = module.split(".")
    folders: list[str] | None = None
    spec: ModuleSpec | None = None
    for depth in range(1, len(parts) + 1):
        try:
            spec = _spec(".".join(parts[:depth]), folders)
        except KeyError:  # a namespace package asks for its parent, which is not imported
            return None
        if spec is None:
            return None
        folders = list(spec.submodule_search_locations or ())
    return spec


def _spec(name: str, folders: list[str] | None) -> ModuleSpec | None:
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_spec")]
    return next((spec for finder in finders if (spec := finder.find_spec(name, folders)) is not None), None)


def _meant(path: str) -> str:
    """A hint at a script that may have been meant."""
    import difflib

    folder = Path(path).parent
    others = [entry.name for entry in folder.glob("*.py")] if folder.is_dir() else []
    close = difflib.get_close_matches(Path(path).name, others, n=1)
    return f"Did you mean {close[0]}?" if close else "Give the path of a Python file."
