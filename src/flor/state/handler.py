"""What a handler of one kind of object can do, and what it is given to do it with."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, ClassVar, Protocol

from flor.state.names import type_name
from flor.state.snapshot import Node, Ref, Slot

MISSING: Any = object()
"""No live object is at the place of a saved one."""


class Refused(Exception):
    """A handler says that it cannot save this object."""


class Walk(Protocol):
    """What `save` may ask of a capture under way."""

    def project(self, module: str) -> bool:
        """True if the module is the user's."""

    def slot(self, obj: Any) -> Slot:
        """The slot that refers to a child."""

    def shares(self, namespace: dict[str, Any]) -> Ref | None:
        """An object before the one that is being saved that has this very `__dict__`."""

    def region(self, region: Any, span: tuple[int, int], dtype: str, shape: list[int], version: Any) -> Ref:
        """The slot of the memory that a tensor or an array looks into."""

    def blob(self, data: bytes | memoryview, dtype: str = "U8") -> int:
        """The number of a new blob; the data must be private or immutable."""

    def parent(self) -> Any:
        """The object that led to the one that is being saved; None if a name did."""

    def account(self, reason: str) -> None:
        """Note that the object that is being saved has state which the snapshot does not hold."""

    def later(self, finish: Callable[[Callable[[Any], Slot]], None]) -> None:
        """Call back when all is walked, with a lookup that gives None for what was not reached."""


class Load(Protocol):
    """What `make` and `fill` may ask of a restore under way."""

    def __call__(self, slot: Slot) -> Any:
        """The live object of a slot."""

    def name(self, node: Node) -> str:
        """The content hash of a node's bulk data."""
        ...

    def data(self, node: Node) -> memoryview | None:
        """A node's bulk data; None if it is known to be in place already."""

    def where(self, node: Node) -> str:
        """The node's path, for messages."""

    def doubt(self, node: Node, what: str) -> None:
        """Say that something may not be exactly as it was."""

    def is_added(self, name: str) -> bool:
        """True for a class or method, as `module:qualname`, that the recorded program did not have."""
        ...

    def with_added(self, saved: list[Any], live: list[Any]) -> list[Any]:
        """A list's saved elements, and the live ones that the recorded program cannot have had."""
        ...

    def node(self, slot: Slot) -> Node:
        """The saved node of a reference."""

    def project(self, module: str) -> bool:
        """True if the module is the user's."""


class Handler:
    """One kind of object. Defaults are those of a mutable object that is restored in place."""

    kind: ClassVar[str]
    rank: ClassVar[int] = 1
    """Kinds of a lower rank are filled first: memory, then objects, then what hashes its elements."""

    claims: ClassVar[bool] = True
    """A live object stands for one node only, unless that makes no difference."""

    def save(self, obj: Any, walk: Walk) -> Node:
        """The object as a node; raises Refused."""
        raise NotImplementedError

    def identity(self, live: Any) -> Hashable:
        """What makes two live objects the same one."""
        return id(live)

    def accepts(self, node: Node, live: Any) -> bool:
        """True if the live object may be the saved one."""
        return type_name(live) == node.cls

    def pairs(self, node: Node, live: Any) -> Iterator[tuple[Slot, Any]]:
        """Saved children with the live objects at the same place."""
        return iter(())

    def guesses_needed(self, node: Node) -> bool:
        """True if some children have no place of their own by which they could be paired."""
        return False

    def guesses(self, node: Node, live: Any, known: Callable[[Slot], Any]) -> Iterator[tuple[Slot, Any]]:
        """Such children paired as well as can be, when all that is sure is paired; `known` gives what is."""
        return iter(())

    def is_late(self, node: Node) -> bool:
        """True if the node can only be made when everything else is filled."""
        return False

    def needs(self, node: Node) -> Iterable[Slot]:
        """The slots that must be made before this node is."""
        return [node.attrs["__class__"]] if "__class__" in node.attrs else ()

    def lacking(self, node: Node) -> str:
        """Why this node cannot be made without a live object; empty if it can."""
        return ""

    def make(self, node: Node, live: Any, load: Load) -> Any:
        """The object that stands for the node: the live one, or a new and empty one."""
        raise NotImplementedError

    def fill(self, node: Node, obj: Any, load: Load) -> None:
        """Put the saved contents into the object."""
