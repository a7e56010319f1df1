"""State that differs from run to run without anything being wrong: start times, rates, process ids."""

from __future__ import annotations

import re
from collections.abc import Mapping

from flor.source.volatile import volatile_paths

WORD = re.compile(r"[A-Za-z_]\w*")


class Volatile:
    """Knows a difference's path that goes through a variable which holds the clock's values."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        named = (tuple(part for part in path if part not in ("self", "cls")) for path in volatile_paths(sources))
        self.paths = [path for path in named if path]

    def __call__(self, path: str) -> bool:
        """True if a difference there is no divergence."""
        words = WORD.findall(path.partition(":")[2] or path)
        return any(_in_order(tainted, words) for tainted in self.paths)


def _in_order(wanted: tuple[str, ...], words: list[str]) -> bool:
    """True if all wanted words come in this order."""
    rest = iter(words)
    return all(word in rest for word in wanted)
