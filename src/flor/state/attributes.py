"""An object's own attributes, read and written past properties, `__getattr__` and `__setattr__`."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from flor.state.snapshot import Slot

_SLOTS: WeakKeyDictionary[type, tuple[types.MemberDescriptorType, ...]] = WeakKeyDictionary()
_OWN = object.__getattribute__


def namespace(obj: Any) -> dict[str, Any] | None:
    """The instance's `__dict__` itself, or None."""
    try:
        found = _OWN(obj, "__dict__")
    except AttributeError:
        return None
    return found if isinstance(found, dict) else None


def slot_members(cls: type) -> tuple[types.MemberDescriptorType, ...]:
    """The `__slots__` of a class and its ancestors."""
    found = _SLOTS.get(cls)
    if found is None:
        found = tuple(_members(cls))
        _SLOTS[cls] = found
    return found


def _members(cls: type) -> Iterator[types.MemberDescriptorType]:
    for owner in cls.__mro__:
        if "__slots__" in owner.__dict__:
            yield from (m for m in owner.__dict__.values() if type(m) is types.MemberDescriptorType)


def read(obj: Any) -> dict[str, Any]:
    """All attributes that the object itself holds; those of `__slots__` last."""
    own = namespace(obj)
    found: dict[str, Any] = {} if own is None or own is obj else {k: v for k, v in dict.items(own) if type(k) is str}
    for member in slot_members(type(obj)):
        try:
            found[member.__name__] = member.__get__(obj, type(obj))
        except AttributeError:
            continue
    return found


def pairs(saved: Mapping[str, Slot], live: Any) -> Iterator[tuple[Slot, Any]]:
    """Saved attributes with the live ones of the same name."""
    present = read(live)
    present["__class__"] = type(live)
    return ((slot, present[name]) for name, slot in saved.items() if name in present)


def write(obj: Any, values: Mapping[str, Any]) -> None:
    """Make these the object's attributes, all of them, in this order."""
    members = {member.__name__: member for member in slot_members(type(obj))}
    own = namespace(obj)
    wanted = {name: value for name, value in values.items() if name not in members}
    if own is not None and own is not obj:
        _rewrite(own, {name: _kept(own.get(name), value) for name, value in wanted.items()})
    for name, member in members.items():
        _put(member, obj, values, name)


def _kept(here: Any, value: Any) -> Any:
    """The text that is here if it is equal: some libraries compare texts by identity."""
    return here if type(here) is type(value) is str and here == value else value


def _rewrite(own: dict[str, Any], wanted: dict[str, Any]) -> None:
    if list(own) == list(wanted):
        own.update((name, value) for name, value in wanted.items() if own[name] is not value)
        return
    odd = {key: value for key, value in own.items() if type(key) is not str}
    own.clear()
    own.update(wanted)
    own.update(odd)


def _put(member: types.MemberDescriptorType, obj: Any, values: Mapping[str, Any], name: str) -> None:
    if name in values:
        member.__set__(obj, values[name])
        return
    try:
        member.__delete__(obj)
    except AttributeError:
        return
