"""State that differs without anything being wrong: start times, rates, process ids, and what the probes bind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from flor.model.positions import MODULE
from flor.source.volatile import volatile_paths

ROOT = re.compile(r"^(?:module:[^:]*|frame\d+:([^:]*)):")
WORD = re.compile(r"[A-Za-z_]\w*")


class Volatile:
    """Knows a difference's path that goes through a variable of the clock's or of a probe's."""

    def __init__(self, sources: Mapping[str, str], new_names: Iterable[tuple[str, str]] = ()) -> None:
        self.new_names = frozenset(new_names)
        named = (tuple(part for part in path if part not in ("self", "cls")) for path in volatile_paths(sources))
        self.paths = [path for path in named if path]

    def __call__(self, path: str) -> bool:
        """True if a difference there is no divergence."""
        words = WORD.findall(ROOT.sub("", path))
        if words and (_scope(path), words[0]) in self.new_names:
            return True
        return any(_in_order(tainted, words) for tainted in self.paths)


def _scope(path: str) -> str:
    """The scope that a path begins in, as loops are named."""
    root = ROOT.match(path)
    return (root[1] or MODULE).replace(".<locals>", "") if root else ""


def _in_order(wanted: tuple[str, ...], words: list[str]) -> bool:
    """True if all wanted words come in this order."""
    rest = iter(words)
    return all(word in rest for word in wanted)
