"""Where an added statement stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flor.source.bindings import Names
from flor.source.oldcode import OldCode


@dataclass(frozen=True)
class Setting:
    """The scope of an added statement in the recorded code, and what other added code there is.

    `live` has the recorded names that recorded code may read after it, `fresh` the added names that hold
    objects of their own, `switched_back` the receivers that the same addition sets to training mode again.
    """

    old: OldCode
    file: str
    names: Names
    imports: Mapping[str, str]
    live: frozenset[str] = frozenset()
    fresh: frozenset[str] = frozenset()
    helpers: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()  # added names that hold nothing but objects of the probe's own
    defaults: Mapping[str, frozenset[str]] = field(default_factory=dict)  # parameters that always have their default
    put_back: frozenset[str] = frozenset()  # random generators that are saved before this and restored after it
    switched_back: frozenset[str] = frozenset()
    given_back: frozenset[str] = frozenset()  # imported by a statement that this one takes the place of
    at_module: bool = False
    in_class: bool = False
    summary: bool = False  # a recorded function is judged because an added statement calls it

    def is_new(self, name: str) -> bool:
        """True if the recorded scope neither binds nor reads the name."""
        return bool(name) and name not in self.names.bound | self.names.read
