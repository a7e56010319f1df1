"""What the user asked to run: a script or a module, found as Python would find it."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path

from flor.errors import NoSuchScript


@dataclass(frozen=True)
class Target:
    """A file to run as `__main__`, and the words after it."""

    path: str
    argv: tuple[str, ...]
    path_entry: str
    spec: ModuleSpec | None = None

    @property
    def folder(self) -> str:
        """The folder that the file is in."""
        return os.path.dirname(self.path)


def find_script(script: str, arguments: tuple[str, ...]) -> Target:
    """A script by its path; a folder or zip with a `__main__.py` is left to Python."""
    path = os.path.abspath(script)
    if os.path.isdir(path):
        main = os.path.join(path, "__main__.py")
        if not os.path.exists(main):
            raise NoSuchScript(
                f"{script} is a folder without a __main__.py.",
                todo="Name the script in it, or use `flor record -m MODULE`.",
            )
        return Target(main, (script, *arguments), path)
    if not os.path.exists(path):
        raise NoSuchScript(f"There is no script {script}.", where=path, todo=_meant(path))
    return Target(path, (script, *arguments), os.path.dirname(path))


def find_module(module: str, arguments: tuple[str, ...]) -> Target:
    """A module by its dotted name, as `python -m` finds it."""
    cwd = os.getcwd()
    if not sys.flags.safe_path and sys.path[:1] != [cwd]:
        sys.path.insert(0, cwd)
    try:
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{module}.__main__")
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise NoSuchScript(f"No module {module} could be found: {error}.", where=cwd) from error
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        raise NoSuchScript(
            f"There is no module {module} with a source file.",
            where=f"looked in {cwd} and on sys.path",
            todo="A package needs a __main__.py to be run.",
        )
    return Target(spec.origin, (spec.origin, *arguments), cwd, spec)


def _meant(path: str) -> str:
    """A hint at a script that may have been meant."""
    import difflib

    folder = Path(path).parent
    others = [entry.name for entry in folder.glob("*.py")] if folder.is_dir() else []
    close = difflib.get_close_matches(Path(path).name, others, n=1)
    return f"Did you mean {close[0]}?" if close else "Give the path of a Python file."
