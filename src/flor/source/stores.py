"""Attributes that a source puts on what it has imported: `np.counter = 1`, `nn.Linear.calls += 1`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

CLASS_NAMES = frozenset(("cls", "klass", "owner"))
"""Parameters that usually are a class."""


@dataclass(frozen=True)
class Stores:
    """Which attributes of imported things a source sets or deletes.

    `known` has the imported module, the path from it to the owner, and the attribute; `of_classes` the attributes that
    are set on the class of some object, which only a run can tell.
    """

    known: frozenset[tuple[str, tuple[str, ...], str]] = field(default_factory=frozenset)
    of_classes: frozenset[str] = field(default_factory=frozenset)

    def __or__(self, other: Stores) -> Stores:
        return Stores(self.known | other.known, self.of_classes | other.of_classes)


Place = tuple[str, tuple[str, ...]]
"""A module, and a path from it."""


def stores_of(tree: ast.Module) -> Stores:
    """What a source does to attributes of imported modules, of classes in them, and of unnamed classes."""
    names = _imported(tree)
    for node in ast.walk(tree):  # `Linear = nn.Linear`, and `for kind in (nn.Linear, nn.Conv2d)`
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, []).extend(_places(node.value, names))
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            parts = node.iter.elts if isinstance(node.iter, ast.Tuple | ast.List | ast.Set) else ()
            names.setdefault(node.target.id, []).extend(place for part in parts for place in _places(part, names))
    known: set[tuple[str, tuple[str, ...], str]] = set()
    of_classes: set[str] = set()
    for owner, attribute in _all_stores(tree):
        known.update((module, path, attribute) for module, path in _places(owner, names))
        if _is_class(owner):
            of_classes.add(attribute)
    return Stores(frozenset(known), frozenset(of_classes))


def _imported(tree: ast.Module) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {"__builtins__": [("builtins", ())]}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                found.setdefault(alias.asname or whole, []).append((whole, ()))
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names:
                found.setdefault(alias.asname or alias.name, []).append((node.module, (alias.name,)))
    return found


def _places(node: ast.expr, names: dict[str, list[Place]]) -> list[Place]:
    """What an expression may be, if it is a path from something imported."""
    path: list[str] = []
    while isinstance(node, ast.Attribute):
        path.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return []
    return [(module, (*first, *reversed(path))) for module, first in names.get(node.id, ())][:4]


def _all_stores(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Each attribute that is set or deleted, with the expression whose attribute it is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node.value, node.attr
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                yield from ((owner, node.slice.value) for owner in _whose_namespace(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) >= 2:
            name = node.args[1]
            plain = isinstance(name, ast.Constant) and isinstance(name.value, str)
            if node.func.id in ("setattr", "delattr") and plain:
                yield node.args[0], name.value  # type: ignore[attr-defined]


def _whose_namespace(node: ast.expr) -> Iterator[ast.expr]:
    """The owner in `vars(owner)` and `owner.__dict__`."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vars" and node.args:
        yield node.args[0]


def _is_class(node: ast.expr) -> bool:
    """True for `type(x)`, `x.__class__` and names that usually are a class."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "type" and len(node.args) == 1
    if isinstance(node, ast.Attribute):
        return node.attr == "__class__"
    return isinstance(node, ast.Name) and node.id in CLASS_NAMES
