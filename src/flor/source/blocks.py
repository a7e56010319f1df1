"""The loops of a file, with identities that survive edits elsewhere."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from flor.model.positions import LoopId
from flor.source.libraries import shown_name
from flor.source.scopes import DEFINITIONS, Scope, blocks_of, bound_by, find_scopes, own_nodes, statements

LoopNode = ast.For | ast.AsyncFor | ast.While
LOOPS = (ast.For, ast.AsyncFor, ast.While)

_NOT_TRIVIAL = (
    *(ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.With, ast.AsyncWith, ast.AsyncFor, ast.Try, ast.TryStar),
    *(ast.MatMult, ast.Import, ast.ImportFrom, ast.Raise, ast.Assert, ast.Delete, ast.Lambda, *DEFINITIONS),
)
_QUICK_TESTS = frozenset({"len", "min", "max", "abs", "int", "float", "bool", "isinstance", "hasattr"})


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop of the user's code: what it is called, where it is, what it is inside of."""

    id: LoopId
    node: LoopNode
    name: str
    function: str
    scope: Scope
    parents: tuple[LoopId, ...]
    header_names: frozenset[str]
    line: int
    end_line: int
    in_generator: bool
    trivial: bool


def find_loops(tree: ast.Module, file: str) -> list[Loop]:
    """Every loop of the module, function by function, in source order."""
    return [loop for scope in find_scopes(tree) for loop in _loops_of(scope, file)]


def _loops_of(scope: Scope, file: str) -> Iterator[Loop]:
    suspends = _suspends(scope)
    for ordinal, (node, above) in enumerate(_nested(scope.node.body, ())):
        yield Loop(
            id=LoopId(file, scope.name, ordinal),
            node=node,
            name=shown_name(file, scope.name, _name(node)),
            function=scope.name,
            scope=scope,
            parents=tuple(LoopId(file, scope.name, parent) for parent in above),
            header_names=frozenset(_header_names(node)),
            line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            in_generator=suspends,
            trivial=_is_trivial(node),
        )


def _nested(body: Sequence[ast.stmt], above: tuple[int, ...]) -> Iterator[tuple[LoopNode, tuple[int, ...]]]:
    """The loops in pre-order with the ordinals of the loops around each; a loop's `else` is not inside of it."""
    count = 0

    def descend(body: Iterable[ast.stmt], above: tuple[int, ...]) -> Iterator[tuple[LoopNode, tuple[int, ...]]]:
        nonlocal count
        for statement in body:
            if isinstance(statement, DEFINITIONS):
                continue
            inside = above
            if isinstance(statement, LOOPS):
                inside = (*above, count)
                count += 1
                yield statement, above
            for block in blocks_of(statement):
                yield from descend(block, above if block is getattr(statement, "orelse", None) else inside)

    return descend(body, above)


def _name(node: LoopNode) -> str:
    """The first simple name of the target: `i` of `i, (x, y)`, `epoch` of `self.epoch`."""
    if isinstance(node, ast.While):
        return "while"
    target: ast.expr = node.target
    while True:
        match target:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return name
            case ast.Tuple(elts=[first, *_]) | ast.List(elts=[first, *_]):
                target = first
            case ast.Starred(value=value) | ast.Subscript(value=value):
                target = value
            case _:
                return "for"


def header(node: LoopNode) -> list[ast.expr]:
    """The expressions of the header: target and iterable, or the test."""
    return [node.test] if isinstance(node, ast.While) else [node.target, node.iter]


def targets(node: LoopNode) -> list[str]:
    """The names that the header binds for each iteration, in order."""
    return [] if isinstance(node, ast.While) else list(bound_by(node.target))


def _header_names(node: LoopNode) -> Iterator[str]:
    """The names that the header reads or binds."""
    for inner in own_nodes(header(node)):
        if isinstance(inner, ast.Name):
            yield inner.id


def _suspends(scope: Scope) -> bool:
    """True if the scope is a generator or async, so that others run between its statements."""
    if scope.function is None:
        return False
    is_async = isinstance(scope.node, ast.AsyncFunctionDef)
    return is_async or any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(scope.node.body))


def _is_trivial(node: LoopNode) -> bool:
    """True if nothing in the loop could take long, log or be a boundary."""
    if isinstance(node, ast.AsyncFor):
        return False
    inside: list[ast.AST] = [*node.body, *node.orelse]
    # The test of a `while` runs in each iteration: `while train_step(): pass` is all header.
    if isinstance(node, ast.While) and not all(_is_quick(part) for part in own_nodes([node.test])):
        return False
    return not any(isinstance(part, _NOT_TRIVIAL) for part in own_nodes(inside))


def _is_quick(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _QUICK_TESTS
    return not isinstance(node, _NOT_TRIVIAL)


def match_loops(old: Sequence[Loop], new: Sequence[Loop]) -> dict[LoopId, LoopId]:
    """Which loop of the edited source is which of the old one; a loop without a counterpart is left out."""
    groups: dict[tuple[str, str], tuple[list[_Shape], list[_Shape]]] = defaultdict(lambda: ([], []))
    for side, loops in enumerate((old, new)):
        for shape in _shapes(loops):
            groups[shape.loop.id.file, shape.loop.function][side].append(shape)
    pairs = [pair for before, after in groups.values() for pair in _align(before, after)]
    return {first.loop.id: second.loop.id for first, second in pairs}


@dataclass(frozen=True, eq=False)
class _Shape:
    """What a loop looks like without positions: its header, the statements inside, the headers around it."""

    loop: Loop
    head: Counter[str]
    inside: Counter[str]
    around: tuple[str, ...]


def _shapes(loops: Sequence[Loop]) -> list[_Shape]:
    texts = {loop.id: " ".join(_dump(part) for part in header(loop.node)) for loop in loops}
    return [
        _Shape(
            loop=loop,
            head=Counter(_dump(node) for part in header(loop.node) for node in ast.walk(part)),
            inside=Counter(_line(statement) for statement in statements(loop.node.body)),
            around=tuple(texts.get(parent, "") for parent in loop.parents),
        )
        for loop in loops
    ]


def _line(statement: ast.stmt) -> str:
    """The text of a statement without the statements that it holds."""
    parts = [value for name, value in ast.iter_fields(statement) if name not in ("body", "orelse", "finalbody")]
    return type(statement).__name__ + " ".join(_text(part) for part in parts)


def _text(part: object) -> str:
    if isinstance(part, ast.ExceptHandler):
        return _text(part.type)
    if isinstance(part, ast.match_case):
        return _text(part.pattern)
    if isinstance(part, list):
        return ",".join(_text(item) for item in part)
    return _dump(part) if isinstance(part, ast.AST) else repr(part)


def _dump(node: ast.AST) -> str:
    """The tree as text without positions; one that is too deep to dump is told by its leaves."""
    try:
        return ast.dump(node)
    except RecursionError:
        return " ".join(ast.dump(part) for part in ast.walk(node) if isinstance(part, ast.Name | ast.Constant))


def _similarity(old: _Shape, new: _Shape) -> float:
    """How much the two are one loop; 0 if fewer than half of the old statements are still there."""
    if type(old.loop.node) is not type(new.loop.node):
        return 0.0
    kept = _shared(old.inside, new.inside)
    before, after = old.inside.total(), new.inside.total()
    if 2 * kept < before:
        return 0.0
    heads = 2 * _shared(old.head, new.head) / (old.head.total() + new.head.total())
    # Statements added by a probe cost little, statements lost cost much; the places around decide ties.
    return heads + kept / before + 0.4 * 2 * kept / (before + after) + 0.3 * (old.around == new.around)


def _shared(first: Counter[str], second: Counter[str]) -> int:
    return (first & second).total()


def _align(old: Sequence[_Shape], new: Sequence[_Shape]) -> list[tuple[_Shape, _Shape]]:
    """The pairs of the best alignment that keeps the order of both."""
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    score = [[_similarity(first, second) for second in new] for first in old]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            paired = score[i][j] + best[i + 1][j + 1] if score[i][j] else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    return list(_trace(old, new, score, best))


def _trace(
    old: Sequence[_Shape], new: Sequence[_Shape], score: list[list[float]], best: list[list[float]]
) -> Iterator[tuple[_Shape, _Shape]]:
    i = j = 0
    while i < len(old) and j < len(new):
        if score[i][j] and best[i][j] == score[i][j] + best[i + 1][j + 1]:
            yield old[i], new[j]
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
