"""Whether a class is made by python code alone, so that attributes are all the state its objects have."""

from __future__ import annotations

import sys
from weakref import WeakKeyDictionary

from flor.state.attributes import slot_members

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8
_SUFFIXES = (".py", ".pyc", ".ipynb")
_KNOWN: WeakKeyDictionary[type, type] = WeakKeyDictionary()


def native_ancestor(cls: type) -> type:
    """The nearest ancestor whose layout C code defines; `object` if there is none."""
    found = _KNOWN.get(cls)
    if found is None:
        found = next((owner for owner in cls.__mro__ if not _is_python(owner)), object)
        _KNOWN[cls] = found
    return found


def _is_python(cls: type) -> bool:
    flags = cls.__flags__
    if not flags & _HEAP or flags & _IMMUTABLE or cls.__base__ is None:
        return False
    grown = cls.__basicsize__ - cls.__base__.__basicsize__
    own_slots = len(slot_members(cls)) - len(slot_members(cls.__base__))
    return grown <= 8 * (own_slots + 2) and _from_python_file(cls.__module__)


def _from_python_file(module: str) -> bool:
    if module in sys.builtin_module_names and module != "__main__":
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return not isinstance(file, str) or file.endswith(_SUFFIXES)
