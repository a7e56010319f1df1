"""Which statements two versions of a file share, by the shape of their trees and never by their lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from flor.model.positions import MODULE

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Sections = list[tuple[str, list[ast.stmt]]]
_BLOCKS = ("body", "orelse", "finalbody")


@dataclass(frozen=True, slots=True)
class Gap:
    """Statements between two shared ones of a block: some were taken away, some were added."""

    function: str
    removed: tuple[ast.stmt, ...]
    added: tuple[ast.stmt, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A statement that is in both versions; `equal` down to its last leaf, or only its body was kept."""

    function: str
    old: ast.stmt
    new: ast.stmt
    equal: bool
    same_header: bool


@dataclass(frozen=True, slots=True)
class TreeDiff:
    """The outcome for one file."""

    pairs: tuple[Pair, ...]
    gaps: tuple[Gap, ...]


def parse(text: str) -> ast.Module:
    """The tree of a file without what has no effect: docstrings, bare constants, `pass`."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for name in _BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list):
                block[:] = [statement for statement in block if not _is_noise(statement)]
        if isinstance(node, ast.Constant):
            node.kind = None  # u"x" is "x"
    return tree


def _is_noise(statement: ast.AST) -> bool:
    bare = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return bare or isinstance(statement, ast.Pass)


def sections(statement: ast.AST) -> Sections:
    """The blocks of a compound statement, each with a label; none for a simple one."""
    found: Sections = []
    for name in _BLOCKS:
        block = getattr(statement, name, None)
        if isinstance(block, list):
            found.append((name, block))
    for kind in ("handlers", "cases"):
        parts = getattr(statement, kind, [])
        found += [(f"{kind}{n}", part.body) for n, part in enumerate(parts)]
    return found


def header_nodes(statement: ast.AST) -> Iterator[ast.AST]:
    """The parts of a compound statement outside of its blocks, in the order of the tree."""
    for name, value in ast.iter_fields(statement):
        if name in _BLOCKS and isinstance(value, list):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.ExceptHandler | ast.match_case):
                yield from header_nodes(part)
            elif isinstance(part, ast.AST):
                yield part


def nested_name(function: str, statement: ast.AST) -> str:
    """The qualified name of the scope in a statement's body: longer inside a definition."""
    if not isinstance(statement, Definition):
        return function
    return statement.name if function == MODULE else f"{function}.{statement.name}"


def diff_trees(old: ast.Module, new: ast.Module) -> TreeDiff:
    """Align two trees so that pure additions come out as additions."""
    return _Aligner().run(old, new)


@dataclass
class _Aligner:
    """Heaviest common subsequence of statements, a statement's weight being its number of nodes.

    An embedding of all of the old version weighs as much as the old version does, and nothing weighs
    more: so if the edit can be read as additions only, it is.
    """

    keys: dict[int, str] = field(default_factory=dict)
    headers: dict[int, tuple[str, int]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    scores: dict[tuple[int, int], int] = field(default_factory=dict)
    tables: dict[tuple[int, int], list[list[int]]] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    def run(self, old: ast.Module, new: ast.Module) -> TreeDiff:
        self._walk(MODULE, old.body, new.body)
        return TreeDiff(tuple(self.pairs), tuple(self.gaps))

    def _walk(self, function: str, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> None:
        """Note the pairs and gaps of two blocks, and of the blocks inside their pairs."""
        removed: list[ast.stmt] = []
        added: list[ast.stmt] = []
        for before, after in [*self._align(old, new), (None, None)]:
            if before is not None and after is None:
                removed.append(before)
            elif after is not None and before is None:
                added.append(after)
            else:
                if removed or added:
                    self.gaps.append(Gap(function, tuple(removed), tuple(added)))
                removed, added = [], []
                if before is not None and after is not None:
                    self._pair(function, before, after)

    def _pair(self, function: str, old: ast.stmt, new: ast.stmt) -> None:
        equal = self._key(old) == self._key(new)
        same_header = equal or self._header(old) == self._header(new)
        self.pairs.append(Pair(function, old, new, equal, same_header))
        inner = nested_name(function, new)
        for before, after in _matched(old, new):
            if equal:
                self._same(inner, before, after)
            else:
                self._walk(inner, before, after)

    def _same(self, function: str, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> None:
        """Note the pairs of two blocks that are equal."""
        for before, after in zip(old, new, strict=True):
            self.pairs.append(Pair(function, before, after, True, True))
            inner = nested_name(function, after)
            for left, right in _matched(before, after):
                self._same(inner, left, right)

    def _align(
        self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]
    ) -> Iterator[tuple[ast.stmt | None, ast.stmt | None]]:
        table = self._table(old, new)
        i = j = 0
        while i < len(old) or j < len(new):
            both = i < len(old) and j < len(new)
            score = self._score(old[i], new[j]) if both else 0
            if score and table[i][j] == score + table[i + 1][j + 1]:
                yield old[i], new[j]
                i, j = i + 1, j + 1
            elif i < len(old) and (j == len(new) or table[i][j] == table[i + 1][j]):
                yield old[i], None
                i += 1
            else:
                yield None, new[j]
                j += 1

    def _table(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> list[list[int]]:
        """`table[i][j]` is the heaviest alignment of `old[i:]` with `new[j:]`."""
        known = self.tables.get((id(old), id(new)))
        if known is not None:
            return known
        table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
        for i in reversed(range(len(old))):
            for j in reversed(range(len(new))):
                score = self._score(old[i], new[j])
                match = score + table[i + 1][j + 1] if score else 0
                table[i][j] = max(match, table[i + 1][j], table[i][j + 1])
        self.tables[id(old), id(new)] = table
        return table

    def _score(self, old: ast.stmt, new: ast.stmt) -> int:
        """How much of the old statement is in the new one; 0 if they are no pair."""
        known = self.scores.get((id(old), id(new)))
        if known is None:
            known = self.scores[id(old), id(new)] = self._weigh(old, new)
        return known

    def _weigh(self, old: ast.stmt, new: ast.stmt) -> int:
        if type(old) is not type(new):
            return 0
        if self._key(old) == self._key(new):
            return self._size(old)
        if not sections(old):
            return 0
        named = isinstance(old, Definition)
        if getattr(old, "name", "") != getattr(new, "name", ""):
            return 0
        shared = sum(self._table(before, after)[0][0] for before, after in _matched(old, new))
        header = self._header(old)
        return shared + (header[1] if header == self._header(new) else int(named))

    def _key(self, statement: ast.stmt) -> str:
        if id(statement) not in self.keys:
            self.keys[id(statement)] = ast.dump(statement)
        return self.keys[id(statement)]

    def _header(self, statement: ast.stmt) -> tuple[str, int]:
        """The text of what is outside of the blocks, and its number of nodes."""
        if id(statement) not in self.headers:
            nodes = list(header_nodes(statement))
            name = getattr(statement, "name", "")
            names = [getattr(part, "name", None) for part in getattr(statement, "handlers", [])]
            text = f"{type(statement).__name__} {name} {names} " + " ".join(ast.dump(node) for node in nodes)
            self.headers[id(statement)] = text, _header_size(statement)
        return self.headers[id(statement)]

    def _size(self, statement: ast.stmt) -> int:
        if id(statement) not in self.sizes:
            inner = sum(self._size(part) for _, block in sections(statement) for part in block)
            self.sizes[id(statement)] = _header_size(statement) + inner
        return self.sizes[id(statement)]


def _header_size(statement: ast.stmt) -> int:
    return 1 + sum(1 for node in header_nodes(statement) for _ in ast.walk(node))


_EMPTY: list[ast.stmt] = []


def _matched(old: ast.stmt, new: ast.stmt) -> Iterator[tuple[list[ast.stmt], list[ast.stmt]]]:
    """The blocks of two compound statements that have the same part in them."""
    before, after = dict(sections(old)), dict(sections(new))
    for label in {**before, **after}:
        yield before.get(label, _EMPTY), after.get(label, _EMPTY)
