"""Which names a scope binds, uses and lends to code that runs later."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from flor.source.scopes import FUNCTIONS, Comprehension, FunctionNode, ScopeNode, inner_nodes, parameters

EAGER = frozenset({"sum", "any", "all", "max", "min", "list", "tuple", "set", "dict", "sorted", "frozenset", "join"})
"""Consumers that use up a generator expression before they return."""

_READS_LOCALS = frozenset({"locals", "vars", "dir", "eval", "exec", "breakpoint"})
_READS_GLOBALS = frozenset({"globals", "eval", "exec", "breakpoint", "__import__"})
_INSPECTS = frozenset({"f_locals", "f_globals", "_getframe", "currentframe", "set_trace"})
_WITH_ARGUMENT = frozenset({"vars", "dir"})
_TEXT_QUERIES = frozenset({"query", "eval", "evaluate"})


@dataclass
class Names:
    """The names of one scope; `captured` are read by functions, lambdas or generators made in it, at any time."""

    bound: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    captured: set[str] = field(default_factory=set)
    declared_global: set[str] = field(default_factory=set)
    declared_nonlocal: set[str] = field(default_factory=set)
    opaque: bool = False
    opaque_module: bool = False

    @property
    def free(self) -> set[str]:
        """What the scope takes from the scopes around it, and what it may change there."""
        elsewhere = self.declared_global | self.declared_nonlocal
        return (self.used - (self.bound - elsewhere)) | elsewhere

    @property
    def all(self) -> set[str]:
        """Every name that the text of the scope has."""
        return self.bound | self.used | self.captured | self.declared_global | self.declared_nonlocal


def names_of(node: ScopeNode | ast.Lambda) -> Names:
    """The names of a scope, with what the scopes inside of it take from it."""
    names = Names()
    if isinstance(node, ast.Lambda):
        names.bound.update(parameters(node))
        _collect([node.body], names, names)
        return names
    if isinstance(node, FUNCTIONS):
        names.bound.update(parameters(node))
    _collect(node.body, names, names)
    return names


def _collect(nodes: Iterable[ast.AST], names: Names, owner: Names) -> None:
    """Adds what the nodes do to `names`; a walrus in a comprehension binds in the `owner`, the scope around."""
    for node in nodes:
        match node:
            case ast.Name():
                _collect_name(node, names)
            case ast.NamedExpr(target=target, value=value):
                owner.bound.add(target.id)
                names.used.add(target.id)
                _collect([value], names, owner)
            case ast.Global(names=declared):
                names.declared_global.update(declared)
            case ast.Nonlocal(names=declared):
                names.declared_nonlocal.update(declared)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.bound.add(node.name)
                _collect(inner_nodes(node), names, owner)
                _add_inner(node, names)
            case ast.Lambda():
                _collect(inner_nodes(node), names, owner)
                _lend(names_of(node), names)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                _collect_comprehension(node, names, owner, lazy=isinstance(node, ast.GeneratorExp))
            case ast.Call():
                _collect_call(node, names, owner)
            case _:
                _bind_otherwise(node, names)
                _collect(ast.iter_child_nodes(node), names, owner)


def _collect_name(node: ast.Name, names: Names) -> None:
    names.used.add(node.id)
    if isinstance(node.ctx, ast.Load):
        names.opaque |= node.id in _READS_LOCALS and node.id not in _WITH_ARGUMENT
        names.opaque_module |= node.id in _READS_GLOBALS
    else:
        names.bound.add(node.id)


def _bind_otherwise(node: ast.AST, names: Names) -> None:
    """Binds what is bound by a bare string in the tree: imports, handlers, patterns."""
    match node:
        case ast.alias(name=name, asname=asname) if name != "*":
            names.bound.add(asname or name.partition(".")[0])
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            names.bound.add(name)
        case ast.MatchMapping(rest=str(name)):
            names.bound.add(name)
        case ast.Attribute(attr=attr) if attr in _INSPECTS:
            names.opaque = names.opaque_module = True


def _collect_call(node: ast.Call, names: Names, owner: Names) -> None:
    called = _last_name(node.func)
    if called in _WITH_ARGUMENT and isinstance(node.func, ast.Name) and not node.args:
        names.opaque = names.opaque_module = True
    # DataFrame.query("x > @limit") and numexpr.evaluate("a * b") read the caller's variables by text.
    if called in _TEXT_QUERIES and isinstance(node.func, ast.Attribute) and _takes_text(node):
        names.opaque = names.opaque_module = True
    _collect([node.func, *node.keywords], names, owner)
    for argument in node.args:
        if isinstance(argument, ast.GeneratorExp) and called in EAGER:
            _collect_comprehension(argument, names, owner, lazy=False)
        else:
            _collect([argument], names, owner)


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _takes_text(node: ast.Call) -> bool:
    parts = ast.walk(node.args[0]) if node.args else ()
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)


def _collect_comprehension(node: Comprehension, names: Names, owner: Names, *, lazy: bool) -> None:
    """A comprehension is a scope of its own, except for its first iterable."""
    inner = Names()
    _collect([node.generators[0].iter], names, owner)
    for position, generator in enumerate(node.generators):
        _collect([generator.target, *generator.ifs, *([generator.iter] if position else [])], inner, owner)
    _collect([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt], inner, owner)
    names.used |= inner.free
    names.captured |= inner.free if lazy else inner.captured - inner.bound
    names.opaque |= inner.opaque
    names.opaque_module |= inner.opaque_module


def _add_inner(node: FunctionNode | ast.ClassDef, names: Names) -> None:
    inner = names_of(node)
    if isinstance(node, ast.ClassDef):
        # A class body runs at once; its own names are no names of its methods, so nothing is hidden by them.
        names.used |= inner.all
        names.captured |= inner.captured
        names.opaque |= inner.opaque
        names.opaque_module |= inner.opaque_module
    else:
        _lend(inner, names)


def _lend(inner: Names, names: Names) -> None:
    """Notes that a function made here may read these names at any time."""
    names.used |= inner.free
    names.captured |= inner.free
    names.opaque_module |= inner.opaque_module
