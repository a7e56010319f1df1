"""New and empty objects of a saved class, made past `__init__`."""

from __future__ import annotations

from typing import Any

from flor.errors import RestoreMismatch
from flor.state import attributes
from flor.state.handler import Load, Walk
from flor.state.made import native_ancestor
from flor.state.names import lookup
from flor.state.snapshot import Node, Slot


def class_of(node: Node, load: Load) -> Any:
    """The class of a saved object in this process."""
    found = load(node.attrs["__class__"]) if "__class__" in node.attrs else lookup(node.cls)
    if not isinstance(found, type):
        raise RestoreMismatch(
            f"{node.cls.replace(':', '.')} does not exist in this process",
            where=load.where(node),
            todo="Was the class renamed since the run was recorded?",
        )
    return found


def new_shell(node: Node, load: Load) -> Any:
    """An instance whose `__init__` did not run."""
    cls = class_of(node, load)
    try:
        return native_ancestor(cls).__new__(cls)  # type: ignore[call-overload]
    except TypeError as error:
        raise RestoreMismatch(
            f"no new {node.cls} can be made: {error}",
            where=load.where(node),
            todo="The class may have changed since the run was recorded.",
        ) from error


def attribute_slots(obj: Any, walk: Walk) -> dict[str, Slot]:
    """An object's own attributes, and its class if that is the project's."""
    slot, cls = walk.slot, type(obj)
    slots = {name: slot(value) for name, value in attributes.read(obj).items()}
    if walk.project(cls.__module__):
        slots["__class__"] = slot(cls)  # the class has state of its own
    return slots


def attribute_values(node: Node, load: Load) -> dict[str, Any]:
    """The saved attributes as live objects."""
    return {name: load(slot) for name, slot in node.attrs.items() if name != "__class__"}
