"""Answers which names a loop's function may still read, from the source as it was executed."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from flor.model.positions import LoopId
from flor.source.blocks import Loop, find_loops
from flor.source.liveness import live_at_end, live_at_iteration


class LiveNames:
    """Analyses a file at the first question about one of its loops."""

    def __init__(self, sources: Mapping[str, bytes], rename: Mapping[str, str] | None = None) -> None:
        self.sources = sources
        self.rename = rename or {}  # place in this source -> what the loop is called
        self.loops: dict[str, dict[str, Loop]] = {}
        self.answers: dict[tuple[str, bool], frozenset[str] | None] = {}

    def __call__(self, loop: str, at_end: bool) -> frozenset[str] | None:
        """The names of the loop's own function that may be read later; None if that is not known."""
        key = (loop, at_end)
        if key not in self.answers:
            try:
                self.answers[key] = self._analyse(loop, at_end)
            except Exception:  # an analysis that fails prunes nothing
                self.answers[key] = None
        return self.answers[key]

    def _analyse(self, loop: str, at_end: bool) -> frozenset[str] | None:
        file = LoopId.parse(loop).file
        if file not in self.loops:
            tree = ast.parse(self.sources[file])
            self.loops[file] = {
                self.rename.get(str(found.id), str(found.id)): found for found in find_loops(tree, file)
            }
        found = self.loops[file].get(loop)
        if found is None:
            return None
        names = (live_at_end if at_end else live_at_iteration)(found.scope.node, found.node)
        return frozenset(names)
