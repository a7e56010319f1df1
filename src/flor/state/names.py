"""Objects by name: `module:qualname` for what a fresh process finds at the same place."""

from __future__ import annotations

import os
import site
import sys
import types
from functools import cache, partial
from typing import Any
from weakref import WeakKeyDictionary

from flor.state.standins import original


@cache
def library_folders() -> tuple[str, ...]:
    """The folders of Python's own modules and of installed packages, each with its last separator."""
    folders = [os.path.dirname(os.__file__), *site.getsitepackages(), site.getusersitepackages()]
    return tuple({folder.rstrip(os.sep) + os.sep for folder in folders})


def name_of(obj: Any) -> str:
    """The `module:qualname` that an object claims for itself; nothing of the user's code runs."""
    if isinstance(obj, type):
        return f"{_own(obj, '__module__')}:{type.__dict__['__qualname__'].__get__(obj)}"
    module = _own(obj, "__module__")
    return f"{module}:{_own(obj, '__qualname__') or _own(obj, '__name__')}"


def _own(obj: Any, name: str) -> str:
    try:
        read = partial(type.__getattribute__, obj) if isinstance(obj, type) else partial(object.__getattribute__, obj)
        value = read(name)
    except Exception:
        return ""
    return value if isinstance(value, str) else ""


_CLASSES: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def type_name(obj: Any) -> str:
    """The name of an object's class."""
    cls = type(obj)
    found = _CLASSES.get(cls)
    if found is None:
        found = _CLASSES[cls] = name_of(cls)
    return found


def lookup(name: str) -> Any:
    """The object that has this name now, or None; nothing is imported, and no code of a module or class runs."""
    module_name, _, qualname = name.partition(":")
    found: Any = sys.modules.get(module_name)
    for part in qualname.split(".") if found is not None and qualname else ():
        found = _member(found, part)
    return found


def _member(owner: Any, name: str) -> Any:
    if isinstance(owner, type):
        for cls in owner.__mro__:
            if name in cls.__dict__:
                found = cls.__dict__[name]
                return found.__func__ if isinstance(found, staticmethod | classmethod) else found
        return None
    if isinstance(owner, types.ModuleType | types.FunctionType):
        return vars(owner).get(name)
    return None


def is_named(obj: Any) -> bool:
    """True if the object is what its own name leads to."""
    name = name_of(obj)
    return "<" not in name and not name.startswith(":") and original(lookup(name)) is obj
