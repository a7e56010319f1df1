"""Modules and classes of libraries on which the script puts attributes of its own: these are state as well."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

from flor.source.stores import Stores

OWNER = "owner:"
"""How the scope of such a module or class begins; its name follows as `module:path`."""

MISSING: Any = object()
NOT_STATE = {"sys": frozenset(("path", "modules", "meta_path", "path_hooks", "path_importer_cache", "flags", "argv"))}
"""What each process has of its own."""


def read_owners(stores: Stores, owns_module: Callable[[str], bool]) -> dict[str, dict[str, Any]]:
    """By scope: what the attributes are now that the sources set on something of a library."""
    scopes: dict[str, dict[str, Any]] = {}
    for module, path, attribute in sorted(stores.known):
        if (
            owns_module(module)
            or attribute in NOT_STATE.get(module, ())
            or (attribute.startswith("__") and attribute.endswith("__"))
        ):
            continue
        owner, name = _canonical(module, path)
        if owner is MISSING or owns_module(_module_of(owner)):
            continue
        scope = scopes.setdefault(OWNER + name, {})
        value = _read(owner, attribute)
        if value is not MISSING:
            scope[attribute] = value
    return scopes


def read_like(names: Mapping[str, Iterable[str]]) -> dict[str, dict[str, Any]]:
    """The same for the scopes of a checkpoint."""
    found: dict[str, dict[str, Any]] = {}
    for scope, attributes in names.items():
        owner = owner_of(scope) if scope.startswith(OWNER) else MISSING
        if owner is not MISSING:
            values = {attribute: _read(owner, attribute) for attribute in attributes}
            found[scope] = {attribute: value for attribute, value in values.items() if value is not MISSING}
    return found


def not_stored(scope: str, attributes: Iterable[str], stores: Stores) -> str:
    """An attribute of a scope that no source of the project sets; empty if there is none."""
    owner = owner_of(scope)
    known = {attribute for module, path, attribute in stores.known if _canonical(module, path)[0] is owner}
    return next((attribute for attribute in attributes if attribute not in known), "")


def bind_owners(values: Mapping[str, Mapping[str, Any]], unbind: Mapping[str, set[str]]) -> None:
    """Set the attributes that differ, delete those that were not there."""
    for scope in [scope for scope in {**values, **unbind} if scope.startswith(OWNER)]:
        owner = owner_of(scope)
        for attribute, value in values.get(scope, {}).items():
            if _read(owner, attribute) is not value:
                setattr(owner, attribute, value)
        for attribute in unbind.get(scope, set()):
            with suppress(AttributeError):
                delattr(owner, attribute)


def owner_of(scope: str) -> Any:
    """The module or class whose scope that is, if it is imported; a store's word imports nothing."""
    module, _, path = scope.removeprefix(OWNER).partition(":")
    return _find(module, tuple(path.split(".")) if path else ())


def _canonical(module: str, path: tuple[str, ...]) -> tuple[Any, str]:
    """An owner, and one name for it whichever way it was imported."""
    owner = _find(module, path)
    if isinstance(owner, ModuleType):
        return owner, f"{owner.__name__}:"
    if isinstance(owner, type):
        own = (owner.__module__, tuple(owner.__qualname__.split(".")))
        if _find(*own) is owner:
            module, path = own
    return owner, f"{module}:{'.'.join(path)}"


def _find(module: str, path: tuple[str, ...]) -> Any:
    """What a path from a module leads to, past properties and `__getattr__`."""
    found: Any = sys.modules.get(module, MISSING)
    for part in path:
        inner = _read(found, part)
        if inner is MISSING and isinstance(found, ModuleType):
            inner = sys.modules.get(f"{found.__name__}.{part}", MISSING)
        found = inner
        if found is MISSING:
            break
    return found


def _read(owner: Any, attribute: str) -> Any:
    """An attribute of an object's own; of a module whose class has properties, as torch's flags are, their value."""
    if owner is MISSING:
        return MISSING
    own = type.__dict__["__dict__"].__get__(owner) if isinstance(owner, type) else getattr(owner, "__dict__", {})
    if attribute in own:
        return own[attribute]
    if isinstance(owner, ModuleType) and hasattr(type(owner), attribute) and type(owner) is not ModuleType:
        with suppress(Exception):
            return getattr(owner, attribute)
    return MISSING


def _module_of(owner: Any) -> str:
    name = owner.__name__ if isinstance(owner, ModuleType) else getattr(owner, "__module__", None)
    return name if isinstance(name, str) else type(owner).__module__
