"""State that differs without anything being wrong: start times, rates, process ids, and what the probes bind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from flor.model.positions import MODULE
from flor.source.rates import is_rate
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
        if words and is_rate(words[-1]):
            return True
        return any(_in_order(tainted, words) for tainted in self.paths)

    def is_added(self, name: str, owns_module: Callable[[str], bool]) -> bool:
        """True if `module:Class` is a class that only the present source has: its objects are a probe's."""
        module, _, qualified = name.partition(":")
        scope, _, last = qualified.replace(".<locals>", "").rpartition(".")
        return (scope or MODULE, last) in self.new_names and owns_module(module)


def _scope(path: str) -> str:
    """The scope that a path begins in, as loops are named."""
    root = ROOT.match(path)
    return (root[1] or MODULE).replace(".<locals>", "") if root else ""


def _in_order(wanted: tuple[str, ...], words: list[str]) -> bool:
    """True if all wanted words come in this order."""
    rest = iter(words)
    return all(word in rest for word in wanted)
