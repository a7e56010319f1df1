"""What a capture holds: nodes in canonical order, private copies of bulk data, and what could not be kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flor.state.addresses import Places
    from flor.state.hashing import Hashing
    from flor.state.late import LateCopy

ATOMS = frozenset({type(None), bool, int, float, str})
"""Exact types whose values stand inline in a slot; everything else is a node."""

LONG_TEXT = 4096
"""A longer string is a node with a blob, so that it is stored once."""


UNLABELLED = frozenset({"tensor", "array", "cell", "numpy-random", "numpy-generator", "method"})
"""Kinds whose elements are the object itself as far as a path is concerned."""


class Ref(int):
    """A slot's reference to a node, by its number."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """A slot's number, or text, that is where an object is: its `id()`, its hash by identity, or its data's place."""

    form: str
    value: Any  # as it was when saved
    node: int | None  # whose; None: it looks like an address, of no object that was saved
    offset: int = 0
    text: str = ""  # in which base it is written, if it is a text

    def __repr__(self) -> str:
        return f"<{self.form} of {'an object that is gone' if self.node is None else f'#{self.node}'}>"


Slot = Any
"""An atom, `bytes`, a `Ref` or an `Address`."""


NOTHING: Mapping[str, Slot] = MappingProxyType({})


@dataclass(slots=True)
class Node:
    """One saved object: its handler, its class by name, plain facts, children, attributes, bulk data."""

    kind: str
    cls: str = ""
    meta: Any = None
    items: Sequence[Slot] = ()
    attrs: Mapping[str, Slot] = field(default_factory=lambda: NOTHING)
    blob: int | None = None

    def slots(self) -> Iterator[tuple[str, Slot]]:
        """Each child with its label in a path."""
        if self.kind == "dict":
            yield from ((f"[{label(self.items[i])}]", self.items[i]) for i in range(0, len(self.items), 2))
            yield from ((f"[{label(self.items[i])}]", self.items[i + 1]) for i in range(0, len(self.items), 2))
        elif self.kind in UNLABELLED:
            yield from (("", slot) for slot in self.items)
        else:
            yield from ((f"[{i}]", slot) for i, slot in enumerate(self.items))
        yield from ((f".{name}", slot) for name, slot in self.attrs.items())

    def refs(self) -> Iterator[int]:
        """The nodes that this one refers to, or whose address it has."""
        for slots in (self.items, self.attrs.values()):
            for slot in slots:
                if type(slot) is Ref:
                    yield slot
                elif type(slot) is Address and slot.node is not None:
                    yield slot.node


def target(slot: Slot) -> int | None:
    """The node that must be there before a slot can be loaded."""
    if type(slot) is Ref:
        return int(slot)
    return slot.node if type(slot) is Address else None


def label(key: Slot) -> str:
    """How a dict's key looks in a path."""
    return f"#{int(key)}" if type(key) is Ref else repr(key)


@dataclass(slots=True)
class Blob:
    """Bulk data, named by its content hash; `data` is None if the content is known to be stored already.

    `dtype` is a safetensors code, `live` what must be looked at again before the name is sure, `hashing` how far its
    hash has come while it was copied.
    """

    nbytes: int
    dtype: str = "U8"
    shape: tuple[int, ...] = ()
    data: memoryview | None = None
    name: str = ""
    live: Prediction | None = None
    hashing: Hashing | None = field(default=None, repr=False, compare=False)


@dataclass(slots=True)
class Prediction:
    """Live memory that is believed unchanged; `owner` keeps it allocated until it is hashed."""

    key: object
    path_node: int
    owner: Any
    pieces: Callable[[], Iterable[memoryview]]
    expected: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """An object that no handler can save: where it is, of what type, and why."""

    path: str
    type: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} ({self.type}): {self.reason}"


@dataclass(frozen=True, slots=True)
class Rebinding:
    """What restore leaves to its caller: names to bind and to unbind, scope by scope; what may not be exact."""

    values: dict[str, dict[str, Any]]
    unbind: dict[str, set[str]]
    doubts: tuple[str, ...] = ()


Roots = dict[str, dict[str, Slot]]


@dataclass
class Snapshot:
    """The state of some scopes at one moment, independent of the live objects it came from."""

    roots: Roots = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    blobs: list[Blob] = field(default_factory=list)
    world: dict[str, Slot] = field(default_factory=dict)
    hidden: dict[str, Slot] = field(default_factory=dict)
    optional: dict[str, list[str]] = field(default_factory=dict)
    unkept: dict[str, dict[str, str]] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    unaccounted: dict[int, str] = field(default_factory=dict)  # nodes whose state is not in here, and why
    declined: bool = False  # whoever asked for it did not want what it needs
    failed_prediction: str | None = None
    distrusted: list[Hashable] = field(default_factory=list, repr=False)
    fetch: Callable[[str], memoryview] | None = field(default=None, repr=False)
    on_digest: Callable[[Snapshot], None] | None = field(default=None, repr=False)
    on_release: Callable[[Snapshot], None] | None = field(default=None, repr=False)
    late: LateCopy | None = field(default=None, repr=False, compare=False)
    places: Places | None = field(default=None, repr=False, compare=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False, compare=False)

    @property
    def usable(self) -> bool:
        """True if nothing that is needed was refused and no prediction failed."""
        return not self.refusals and not self.declined and self.failed_prediction is None

    @property
    def nbytes(self) -> int:
        """Bytes of bulk data that this snapshot holds a copy of."""
        return sum(blob.nbytes for blob in self.blobs if blob.data is not None)

    def data(self, index: int) -> memoryview | None:
        """A blob's bytes; None if they are only known by name and there is no store to fetch from."""
        blob = self.blobs[index]
        if blob.data is None and self.fetch is not None:
            blob.data = memoryview(self.fetch(blob.name)).cast("B")
        return blob.data

    def digest(self) -> None:
        """Name each blob by its content; meant for a thread other than training's; a second call does nothing."""
        from flor.state.digest import digest

        self.conclude()
        with self._lock:
            digest(self)

    def complete(self) -> None:
        """Have the bytes copied that were left to be copied beside training; a second call does nothing."""
        late = self.late
        if late is not None:
            late.finish()

    def confirm(self) -> None:
        """The training thread's word that no operator of its own is under way; completes it first."""
        late = self.late
        if late is not None:
            late.finish()
            late.confirm()

    def conclude(self) -> None:
        """Complete it, and wait until the training thread has confirmed that nothing changed meanwhile."""
        late = self.late
        if late is not None:
            late.conclude()
            if not late.sound:
                self.failed_prediction = "memory that only an optimizer's step changes"
            self.late = None

    def release(self) -> None:
        """Give the staging buffers back; the snapshot's bulk data is gone then."""
        release, self.on_release = self.on_release, None
        if release is not None:
            release(self)
