"""Which names a statement or expression reads and certainly writes, in the order of evaluation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from flor.source.names import names_of
from flor.source.scopes import Comprehension, inner_nodes


@dataclass
class Accesses:
    """`reads` happen before any certain write of the same name; `writes` happen whenever the statement completes."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    _hidden: list[set[str]] = field(default_factory=list)
    _doubts: int = 0

    def see(self, *nodes: ast.AST | None) -> None:
        """Takes the nodes in this order of evaluation."""
        for node in nodes:
            if node is not None:
                special = _ORDERS.get(type(node))
                if special:
                    special(self, node)
                else:
                    self.see(*ast.iter_child_nodes(node))

    def read(self, name: str) -> None:
        """Notes a read, unless a write came first or a comprehension hides the name."""
        if name not in self.writes and not any(name in names for names in self._hidden):
            self.reads.add(name)

    def write(self, name: str) -> None:
        """Notes a write, unless it may not happen or is a comprehension's own."""
        if not self._doubts and not any(name in names for names in self._hidden):
            self.writes.add(name)

    @contextmanager
    def doubt(self) -> Iterator[None]:
        """What is seen inside may not be evaluated at all."""
        self._doubts += 1
        yield
        self._doubts -= 1

    @contextmanager
    def hide(self, names: set[str]) -> Iterator[None]:
        """What is seen inside has these names for itself."""
        self._hidden.append(names)
        yield
        self._hidden.pop()


def accesses(*nodes: ast.AST | None) -> Accesses:
    """What the nodes, evaluated in this order, read and write."""
    seen = Accesses()
    seen.see(*nodes)
    return seen


def _name(seen: Accesses, node: ast.Name) -> None:
    if isinstance(node.ctx, ast.Store):
        seen.write(node.id)
    else:
        # `del x` fails if x is not there, so it counts as a read.
        seen.read(node.id)


def _assign(seen: Accesses, node: ast.Assign) -> None:
    seen.see(node.value, *node.targets)


def _augmented(seen: Accesses, node: ast.AugAssign) -> None:
    if isinstance(node.target, ast.Name):
        seen.read(node.target.id)
    seen.see(node.value, node.target)


def _annotated(seen: Accesses, node: ast.AnnAssign) -> None:
    seen.see(node.value, node.annotation)
    if node.value is not None or not isinstance(node.target, ast.Name):
        seen.see(node.target)


def _walrus(seen: Accesses, node: ast.NamedExpr) -> None:
    seen.see(node.value)
    seen.write(node.target.id)


def _first_is_certain(seen: Accesses, first: ast.AST, rest: Iterable[ast.AST]) -> None:
    seen.see(first)
    with seen.doubt():
        seen.see(*rest)


def _and_or(seen: Accesses, node: ast.BoolOp) -> None:
    _first_is_certain(seen, node.values[0], node.values[1:])


def _compare(seen: Accesses, node: ast.Compare) -> None:
    seen.see(node.left)
    _first_is_certain(seen, node.comparators[0], node.comparators[1:])


def _if_else(seen: Accesses, node: ast.IfExp) -> None:
    _first_is_certain(seen, node.test, [])
    for branch in (node.body, node.orelse):
        # Each branch stands alone: what one writes, the other has not.
        with seen.doubt():
            seen.see(branch)


def _assert(seen: Accesses, node: ast.Assert) -> None:
    # Under -O the test is not evaluated, so nothing in it is certain.
    with seen.doubt():
        seen.see(node.test, node.msg)


def _dict(seen: Accesses, node: ast.Dict) -> None:
    for key, value in zip(node.keys, node.values, strict=True):
        seen.see(key, value)


def _comprehension(seen: Accesses, node: Comprehension) -> None:
    seen.see(node.generators[0].iter)
    own = {
        inner.id
        for generator in node.generators
        for inner in ast.walk(generator.target)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
    }
    with seen.doubt(), seen.hide(own):
        for position, generator in enumerate(node.generators):
            seen.see(None if position == 0 else generator.iter, generator.target, *generator.ifs)
        seen.see(*([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]))


def _lambda(seen: Accesses, node: ast.Lambda) -> None:
    seen.see(*inner_nodes(node))


def _function(seen: Accesses, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    seen.see(*inner_nodes(node))
    seen.write(node.name)


def _class(seen: Accesses, node: ast.ClassDef) -> None:
    seen.see(*inner_nodes(node))
    for name in sorted(names_of(node).all):
        seen.read(name)
    seen.write(node.name)


def _alias(seen: Accesses, node: ast.alias) -> None:
    if node.name != "*":
        seen.write(node.asname or node.name.partition(".")[0])


def _handler(seen: Accesses, node: ast.ExceptHandler) -> None:
    """Only the head of the handler: what it catches and the name that it binds."""
    seen.see(node.type)
    if node.name:
        seen.write(node.name)


def _capture(seen: Accesses, node: ast.MatchAs | ast.MatchStar) -> None:
    seen.see(*ast.iter_child_nodes(node))
    if node.name:
        seen.write(node.name)


def _mapping(seen: Accesses, node: ast.MatchMapping) -> None:
    seen.see(*ast.iter_child_nodes(node))
    if node.rest:
        seen.write(node.rest)


_ORDERS: dict[type[ast.AST], Callable[[Accesses, ast.AST], None]] = {
    ast.Name: _name,  # type: ignore[dict-item]
    ast.Assign: _assign,  # type: ignore[dict-item]
    ast.AugAssign: _augmented,  # type: ignore[dict-item]
    ast.AnnAssign: _annotated,  # type: ignore[dict-item]
    ast.NamedExpr: _walrus,  # type: ignore[dict-item]
    ast.BoolOp: _and_or,  # type: ignore[dict-item]
    ast.Compare: _compare,  # type: ignore[dict-item]
    ast.IfExp: _if_else,  # type: ignore[dict-item]
    ast.Assert: _assert,  # type: ignore[dict-item]
    ast.Dict: _dict,  # type: ignore[dict-item]
    ast.ListComp: _comprehension,  # type: ignore[dict-item]
    ast.SetComp: _comprehension,  # type: ignore[dict-item]
    ast.DictComp: _comprehension,  # type: ignore[dict-item]
    ast.GeneratorExp: _comprehension,  # type: ignore[dict-item]
    ast.Lambda: _lambda,  # type: ignore[dict-item]
    ast.FunctionDef: _function,  # type: ignore[dict-item]
    ast.AsyncFunctionDef: _function,  # type: ignore[dict-item]
    ast.ClassDef: _class,  # type: ignore[dict-item]
    ast.alias: _alias,  # type: ignore[dict-item]
    ast.ExceptHandler: _handler,  # type: ignore[dict-item]
    ast.MatchAs: _capture,  # type: ignore[dict-item]
    ast.MatchStar: _capture,  # type: ignore[dict-item]
    ast.MatchMapping: _mapping,  # type: ignore[dict-item]
}
