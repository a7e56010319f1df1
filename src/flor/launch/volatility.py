"""State that differs without anything being wrong: what the probes bind, what a library timed, what the user says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from flor.launch.clocks import Clocks
from flor.model.positions import MODULE
from flor.source.rates import is_rate, own_names
from flor.state.allowance import Allowance

ROOT = re.compile(r"^(?:module:[^:]*|frame\d+:([^:]*)):")
WORD = re.compile(r"[A-Za-z_]\w*")


class Volatile:
    """Knows a difference by its place: the scope that it begins in and the path from there, or a library's object."""

    def __init__(
        self, sources: Mapping[str, str], new_names: Iterable[tuple[str, str]] = (), names: Sequence[str] = ()
    ) -> None:
        self.new_names = frozenset(new_names)
        self.names = tuple(names)  # variables that the user calls volatile
        self.own = own_names(sources)

    def __call__(self, path: str) -> bool:
        """True if a difference there is no divergence."""
        below = ROOT.sub("", path)
        words = WORD.findall(below)
        if words and (_scope(path), words[0]) in self.new_names:
            return True
        if words and is_rate(words[-1], self.own):
            return True
        return any(below == name or below.startswith((f"{name}.", f"{name}[")) for name in self.names)

    def allowance(self, clocks: Clocks, owns_module: Callable[[str], bool]) -> Allowance:
        """Readings of a clock in what a library keeps, and what the probes define."""

        def timed(recorded: object, present: object, owner: str, attribute: str) -> bool:
            ours = not owner or (owns_module(owner.partition(":")[0]) and attribute in self.own)
            return not ours and clocks.read(recorded, present)

        return Allowance(timed, lambda name: self.is_added(name, owns_module))

    def is_added(self, name: str, owns_module: Callable[[str], bool]) -> bool:
        """True if `module:Class` is a class that only the present source has: its objects are a probe's."""
        module, _, qualified = name.partition(":")
        scope, _, last = qualified.replace(".<locals>", "").rpartition(".")
        return (scope or MODULE, last) in self.new_names and owns_module(module)


def _scope(path: str) -> str:
    """The scope that a path begins in, as loops are named."""
    root = ROOT.match(path)
    return (root[1] or MODULE).replace(".<locals>", "") if root else ""
