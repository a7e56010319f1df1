"""What is remembered from one capture to the next, so that unchanged memory is not copied again."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from flor.state.barrier import Barrier
from flor.state.staging import Staging


@dataclass(frozen=True, slots=True)
class Remembered:
    """A region as it was at the last capture: where, how it was seen, and the hash of its content."""

    address: int
    nbytes: int
    ranges: tuple[tuple[int, int], ...]
    versions: tuple[Any, ...]
    name: str
    changed: bool = False

    def named(self, name: str, before: Remembered | None) -> Remembered:
        """The same with the name that hashing gave, and whether that is new."""
        return replace(self, name=name, changed=before is not None and before.name != name)


@dataclass
class Memory:
    """Regions of the previous capture by their key; those whose prediction failed once are copied for ever."""

    known: dict[Hashable, Remembered] = field(default_factory=dict)
    distrusted: set[Hashable] = field(default_factory=set)
    ownerless: dict[int, weakref.ref[Any]] = field(default_factory=dict)
    staging: Staging = field(default_factory=Staging)
    barrier: Barrier = field(default_factory=Barrier)
    kinds: weakref.WeakKeyDictionary[type, str] = field(default_factory=weakref.WeakKeyDictionary)  # of each class
    only_host: bool = False  # whoever digests is a forked child, which can't look at other devices
    lock: Any = field(default_factory=threading.Lock, repr=False)

    def recall(self, key: Hashable) -> Remembered | None:
        """What is remembered of a region, unless it is distrusted."""
        with self.lock:
            return None if key in self.distrusted else self.known.get(key)

    def remember(self, seen: dict[Hashable, Remembered]) -> None:
        """Keep what a digested snapshot saw, and only that."""
        with self.lock:
            self.known = seen

    def distrust(self, key: Hashable) -> None:
        """Always copy this region from now on."""
        with self.lock:
            self.distrusted.add(key)
            self.known.pop(key, None)

    def is_ownerless(self, parameter: Any) -> bool:
        """True if a search has shown that no module owns this parameter."""
        known = self.ownerless.get(id(parameter))
        return known is not None and known() is parameter
