"""Imports of the project's own modules: compiled by us, and no bytecode left behind."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from flor.launch.compiling import Compiler
from flor.runtime import hooks


class ProjectLoader(SourceFileLoader):
    """Loads a module of the project with our calls in it.

    Python's own `exec_module` and `get_code` do the work, so that no frame of ours is in a traceback.
    """

    compiler: Compiler

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module with `_flor` at hand."""
        module = ModuleType(spec.name)
        module.__dict__["_flor"] = hooks
        return module

    def path_stats(self, path: str) -> Mapping[str, Any]:
        """Without these Python neither reads nor writes bytecode: instrumented code never lies where plain one is."""
        raise OSError(f"no bytecode for {path}")

    def get_data(self, path: str) -> bytes:
        """The source, compiled by us as it is read; its SyntaxError is left to Python to raise."""
        data = super().get_data(path)
        if path == self.path:
            try:
                code = self.compiler.compile(data, path, self.name)
            except (SyntaxError, ValueError):
                return data
            self.source_to_code = lambda *_, **__: code  # type: ignore[method-assign]
        return data


class ProjectFinder(MetaPathFinder):
    """Finds what Python's path finder finds, and takes over the loading of the project's files."""

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of the project; None leaves it to the others."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or not spec.origin or type(spec.loader) is not SourceFileLoader:
            return spec
        if not self.compiler.compiles(spec.origin):
            return spec  # found once is enough: Python's own finder need not look again
        loader = ProjectLoader(fullname, spec.origin)
        loader.compiler = self.compiler
        spec.loader = loader
        return spec


def install(compiler: Compiler) -> ProjectFinder:
    """Put our finder before Python's path finder."""
    finder = ProjectFinder(compiler)
    place = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
    sys.meta_path.insert(place, finder)
    return finder


def remove(finder: ProjectFinder) -> None:
    """Take our finder out again."""
    if finder in sys.meta_path:
        sys.meta_path.remove(finder)
