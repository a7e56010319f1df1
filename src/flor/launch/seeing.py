"""Answers whether all code that was loaded changes tensors in ways that can be seen."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from flor.source.unseen import may_write_unseen


class AllSeen:
    """Looks at each source once, as it is loaded."""

    def __init__(self, sources: Mapping[str, bytes]) -> None:
        self.sources = sources
        self.looked_at: dict[str, bool] = {}

    def __call__(self) -> bool:
        """True if no source may write to a tensor's memory unseen."""
        for name in self.sources.keys() - self.looked_at.keys():
            self.looked_at[name] = not self._may_write_unseen(name)
        return all(self.looked_at.values())

    def _may_write_unseen(self, name: str) -> bool:
        try:
            return may_write_unseen(ast.parse(self.sources[name]))
        except (SyntaxError, ValueError, RecursionError):
            return True
