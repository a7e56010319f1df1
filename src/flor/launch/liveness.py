"""Answers which names of a loop's function are certainly not read any more, from the source as it is executed."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from flor.model.positions import LoopId
from flor.source.blocks import Loop, find_loops
from flor.source.liveness import Liveness, read_from_outside


class DeadNames:
    """Analyses a file at the first question about one of its loops."""

    def __init__(self, sources: Mapping[str, bytes], rename: Mapping[str, str] | None = None) -> None:
        self.sources = sources
        self.rename = rename or {}  # place in this source -> what the loop is called
        self.loops: dict[str, dict[str, Loop]] = {}
        self.answers: dict[tuple[str, bool], frozenset[str]] = {}
        self.scopes: dict[tuple[int, int], Liveness] = {}

    def __call__(self, loop: str, at_end: bool) -> frozenset[str]:
        """The names of the loop's own function that nothing reads later; none if that is not known."""
        key = (loop, at_end)
        if key not in self.answers:
            try:
                self.answers[key] = self._analyse(loop, at_end)
            except Exception:  # an analysis that fails prunes nothing
                self.answers[key] = frozenset()
        return self.answers[key]

    def _analyse(self, loop: str, at_end: bool) -> frozenset[str]:
        file = LoopId.parse(loop).file
        if file not in self.loops:
            self.loops[file] = {
                self.rename.get(str(found.id), str(found.id)): found
                for found in find_loops(ast.parse(self.sources[file]), file)
            }
        found = self.loops[file].get(loop)
        if found is None:
            return frozenset()
        liveness = self._liveness(found, file)
        return frozenset((liveness.dead_at_end if at_end else liveness.dead_at_iteration)(found.node))

    def _liveness(self, loop: Loop, file: str) -> Liveness:
        """Of the loop's scope; anew when the project has more files, which may read names of this one."""
        scope, key = loop.scope.node, (id(loop.scope.node), len(self.sources))
        if key not in self.scopes:
            also = self._read_by_others(file) if isinstance(scope, ast.Module) else ()
            self.scopes[key] = Liveness(scope, also)
        return self.scopes[key]

    def _read_by_others(self, file: str) -> set[str]:
        """Names of a module that the project's other modules read."""
        return read_from_outside({name: ast.parse(text) for name, text in self.sources.items()}, file)
