"""Which names each scope of a file binds, and which it reads."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flor.model.positions import MODULE
from flor.source.treediff import nested_name

Function = ast.FunctionDef | ast.AsyncFunctionDef
_MARKS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop)
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass
class Names:
    """The names of one scope; `read` has those that inner scopes read too, `inner` only those."""

    bound: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    inner: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)  # declared global or nonlocal


def names_by_scope(tree: ast.Module) -> dict[str, Names]:
    """The names of every scope of a file, by qualified name."""
    found: dict[str, Names] = {MODULE: Names()}
    _collect(tree.body, MODULE, found)
    return found


def _collect(body: Iterable[ast.stmt], name: str, found: dict[str, Names]) -> Names:
    """Note a scope and those inside it; what they read from outside is read by it as well."""
    names = found.setdefault(name, Names())
    for statement in body:
        names.bound |= bound_names(statement)
        names.read |= read_names(statement)
        names.outer |= declared_names(statement)
        for definition in definitions(statement):
            inner = _collect(definition.body, nested_name(name, definition), found)
            if not isinstance(definition, ast.ClassDef):
                inner.bound |= parameters(definition.args)
                free = inner.read - (inner.bound - inner.outer)
            else:
                free = inner.read | inner.inner
            names.read |= free
            names.inner |= free
            # A `global` of an inner scope is bound out here.
            names.bound |= inner.outer & inner.bound
    names.inner |= {read for node in _nodes(body) if isinstance(node, ast.Lambda) for read in read_names(node)}
    return names


def _nodes(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        yield from own_nodes(statement)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all below it, without the bodies of definitions: what runs when the statement does."""
    left = [node]
    while left:
        node = left.pop()
        yield node
        left += reversed(_children(node))


def _children(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
    if isinstance(node, Function):
        return [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST) and not isinstance(value, _MARKS):
            found.append(value)
    return found


def definitions(node: ast.AST) -> Iterator[Function | ast.ClassDef]:
    """The functions and classes that a statement defines in its own scope."""
    for part in own_nodes(node):
        if isinstance(part, Function | ast.ClassDef):
            yield part


def parameters(args: ast.arguments) -> set[str]:
    """The names of a function's parameters."""
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return {arg.arg for arg in every if arg is not None}


def declared_names(node: ast.AST) -> set[str]:
    """The names that a statement declares global or nonlocal."""
    return {name for part in own_nodes(node) if isinstance(part, ast.Global | ast.Nonlocal) for name in part.names}


def bound_names(node: ast.AST) -> set[str]:
    """The names that a statement binds in its scope, in whatever way."""
    found: set[str] = set()
    hidden: set[int] = set()  # a comprehension comes before its targets
    for part in own_nodes(node):
        if isinstance(part, ast.Name):
            if not isinstance(part.ctx, ast.Load) and id(part) not in hidden:
                found.add(part.id)
        elif isinstance(part, ast.comprehension):
            hidden.update(map(id, ast.walk(part.target)))
        elif isinstance(part, Function | ast.ClassDef):
            found.add(part.name)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in part.names}
        elif isinstance(part, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and part.name:
            found.add(part.name)
        elif isinstance(part, ast.MatchMapping) and part.rest:
            found.add(part.rest)
    return found


def read_names(node: ast.AST) -> set[str]:
    """The names that a statement reads from its scope, without the variables of its comprehensions and lambdas."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    found = {name for child in _children(node) for name in read_names(child)}
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.add(node.target.id)
    if isinstance(node, Comprehension):
        found -= {name for part in node.generators for name in _targets(part.target)}
    if isinstance(node, ast.Lambda):
        found -= parameters(node.args)
    return found


def _targets(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
