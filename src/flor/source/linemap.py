"""Which line of the recorded file is which line of the present one, for statements that are in both."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import chain

from flor.source.treediff import Pair, header_nodes, sections

Lines = dict[int, int]
Span = tuple[int, int]


def map_lines(pairs: Iterable[Pair]) -> tuple[Lines, Lines]:
    """Recorded line to present line, and back."""
    forward: Lines = {}
    backward: Lines = {}
    for pair in pairs:
        nodes = list(_same_nodes(pair))
        _note(forward, nodes, _span(pair.old), _span(pair.new))
        _note(backward, [(new, old) for old, new in nodes], _span(pair.new), _span(pair.old))
    return forward, backward


def covered(statement: ast.stmt) -> range:
    """Every line of a statement, its decorators and blocks included."""
    return range(_first(statement), (statement.end_lineno or statement.lineno) + 1)


def _note(lines: Lines, nodes: list[Span], here: Span, there: Span) -> None:
    """Add one statement: by its nodes, and for lines between those by their distance from the first one."""
    for line, other in nodes:
        lines.setdefault(line, other)
    same_height = here[1] - here[0] == there[1] - there[0]
    for line in range(here[0], here[1] + 1):
        lines.setdefault(line, there[0] + (line - here[0] if same_height else 0))


def _same_nodes(pair: Pair) -> Iterator[Span]:
    """The first lines of the nodes that correspond; of a changed header only its own."""
    yield pair.old.lineno, pair.new.lineno
    if not pair.same_header:
        return
    old = chain.from_iterable(ast.walk(node) for node in header_nodes(pair.old))
    new = chain.from_iterable(ast.walk(node) for node in header_nodes(pair.new))
    for before, after in zip(old, new, strict=True):
        here, there = getattr(before, "lineno", None), getattr(after, "lineno", None)
        if here is not None and there is not None:
            yield here, there


def _span(statement: ast.stmt) -> Span:
    """First and last line of a statement; of a compound one, of its header."""
    if not sections(statement):
        return statement.lineno, statement.end_lineno or statement.lineno
    ends = [getattr(node, "end_lineno", None) or 0 for node in header_nodes(statement) if not _in_handler(node)]
    handlers = bool(getattr(statement, "handlers", None) or getattr(statement, "cases", None))
    return _first(statement), statement.lineno if handlers else max(statement.lineno, *ends, 0)


def _in_handler(node: ast.AST) -> bool:
    return isinstance(node, ast.pattern)


def _first(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(node.lineno for node in decorators)])
