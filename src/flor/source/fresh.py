"""Which expressions and names stand for objects that nothing else holds."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping

from flor.source.bindings import own_nodes
from flor.source.known import is_copying, is_in_place, makes_fresh
from flor.source.logcalls import dotted, full_name

_VALUES = (
    ast.Constant, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp,
    ast.BinOp, ast.UnaryOp, ast.Compare, ast.JoinedStr, ast.Lambda,
)  # fmt: skip


def root_name(node: ast.AST) -> str:
    """The name that a chain of attributes, items and calls begins with; empty if it begins otherwise."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_fresh(node: ast.AST, fresh: frozenset[str], imports: Mapping[str, str], *, strict: bool = False) -> bool:
    """True if changing the object changes nothing that another name stands for.

    The parts of a fresh container may be old objects: they are fresh unless `strict`.
    """
    if isinstance(node, _VALUES):
        return True
    if isinstance(node, ast.Call):
        if makes_fresh(full_name(node.func, imports) or dotted(node.func)):
            return True
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if is_in_place(method) and isinstance(node.func, ast.Attribute):  # it returns the object itself
            return is_fresh(node.func.value, fresh, imports, strict=strict)
        return is_copying(method) or (bool(method) and is_fresh(node.func, fresh, imports, strict=strict))
    if isinstance(node, ast.IfExp):
        return is_fresh(node.body, fresh, imports) and is_fresh(node.orelse, fresh, imports)
    if isinstance(node, ast.Attribute | ast.Subscript):
        return dotted(node) in fresh or (not strict and _part_of(node, fresh))
    return isinstance(node, ast.Name) and node.id in fresh


def _part_of(node: ast.AST, fresh: frozenset[str]) -> bool:
    """True if an expression begins with a fresh name, or a fresh attribute such as `self.seen`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
        if dotted(node) in fresh:
            return True
    return False


def fresh_names(body: Iterable[ast.stmt], imports: Mapping[str, str]) -> frozenset[str]:
    """The names that are only ever bound to fresh objects in these statements."""
    values: dict[str, list[ast.expr | None]] = defaultdict(list)
    for statement in body:
        for node in own_nodes(statement):
            for name, value in bindings_of(node):
                values[name].append(value)
    found: frozenset[str] = frozenset()
    while True:
        more = frozenset(
            name
            for name, bound in values.items()
            if all(value is not None and is_fresh(value, found, imports) for value in bound)
        )
        if more == found:
            return found
        found = more


def bindings_of(node: ast.AST) -> Iterable[tuple[str, ast.expr | None]]:
    """Each name that a node binds with what it is bound to, None if that is not seen here."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _unpack(target, value)
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield name, value
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, value
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from _unpack(target, None)
        case ast.withitem(context_expr=value, optional_vars=ast.Name(id=name)):
            yield name, value


def _unpack(target: ast.expr, value: ast.expr | None) -> Iterable[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [None] * len(target.elts)
        for inner, part in zip(target.elts, parts, strict=False):
            yield from _unpack(inner, part)
