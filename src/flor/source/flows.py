"""Which names may still be read after each statement of a block."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from flor.source.bindings import Function, bound_names, read_names
from flor.source.treediff import sections

Names = frozenset[str]
_NONE: Names = frozenset()


@dataclass(frozen=True)
class _Exits:
    """What is read where a jump goes to."""

    broken: Names = _NONE
    continued: Names = _NONE
    raised: Names = _NONE


@dataclass
class Flow:
    """Backward liveness over one scope; statements in `transparent` are passed as if they were not there.

    `after` has for each statement, `starts` for each loop at the start of an iteration, the names that may be
    read before they are written. Names in `escaped` are read by code that may run at any time. With `once`
    every `for` is taken to have at least one iteration.
    """

    escaped: Names = _NONE
    transparent: frozenset[int] = frozenset()
    once: bool = False
    after: dict[int, Names] = field(default_factory=dict)
    starts: dict[int, Names] = field(default_factory=dict)

    def run(self, body: Sequence[ast.stmt]) -> Flow:
        """Analyse the body of a scope."""
        self._block(body, self.escaped, _Exits(raised=self.escaped))
        return self

    def _block(self, body: Iterable[ast.stmt], live: Names, exits: _Exits) -> Names:
        for statement in reversed(list(body)):
            live |= exits.raised
            self.after[id(statement)] = live
            if id(statement) not in self.transparent:
                live = self._statement(statement, live, exits) | self.escaped
        return live

    def _statement(self, node: ast.stmt, live: Names, exits: _Exits) -> Names:
        match node:
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node, live, exits)
            case ast.If():
                return self._branches(node, [node.body, node.orelse], _reads(node.test), live, exits)
            case ast.Match():
                blocks = [case.body for case in node.cases]
                heads = frozenset(name for case in node.cases if case.guard for name in _reads(case.guard))
                return live | heads | self._branches(node, blocks, _reads(node.subject), live, exits)
            case ast.Try() | ast.TryStar():
                return self._try(node, live, exits)
            case ast.With() | ast.AsyncWith():
                heads = frozenset(name for item in node.items for name in _reads(item))
                bound = frozenset(name for item in node.items for name in bound_names(item))
                return (self._block(node.body, live, exits) - bound) | heads
            case ast.Break():
                return exits.broken
            case ast.Continue():
                return exits.continued
            case ast.Return() | ast.Raise():
                return self.escaped | exits.raised | _reads(node)
            case _:
                return (live - _written(node)) | _reads(node)

    def _branches(
        self, node: ast.stmt, blocks: list[list[ast.stmt]], heads: Names, live: Names, exits: _Exits
    ) -> Names:
        for block in blocks:
            heads |= self._block(block, live, exits)
        return heads

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, live: Names, exits: _Exits) -> Names:
        out = self._block(node.orelse, live, exits)
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        targets = _NONE if isinstance(node, ast.While) else frozenset(bound_names(node.target))
        test = _reads(node.test) if isinstance(node, ast.While) else _reads(node.target)
        head = test | (_NONE if endless else out)
        while True:
            inner = replace(exits, broken=live, continued=head)
            start = (self._block(node.body, head, inner) - targets) | test
            if start <= head:
                break
            head |= start
        self.starts[id(node)] = start
        if isinstance(node, ast.While):
            return head
        return _reads(node.iter) | (start if self.once else head)

    def _try(self, node: ast.Try | ast.TryStar, live: Names, exits: _Exits) -> Names:
        final = self._block(node.finalbody, live, exits)
        if node.finalbody:
            unwound = frozenset(name for part in node.finalbody for name in read_names(part))
            exits = _Exits(*(names | unwound for names in (exits.broken, exits.continued, exits.raised)))
        caught = exits.raised
        for handler in node.handlers:
            heads = _reads(handler.type) if handler.type else _NONE
            caught |= heads | (self._block(handler.body, final, exits) - {handler.name or ""})
        rest = self._block(node.orelse, final, exits)
        return self._block(node.body, rest, replace(exits, raised=caught)) | caught


def _reads(node: ast.AST) -> Names:
    return frozenset(read_names(node))


def _written(node: ast.stmt) -> Names:
    """The names that a simple statement is sure to write."""
    match node:
        case ast.Assign(targets=targets):
            return frozenset(name for target in targets for name in bound_names(target))
        case ast.AnnAssign(value=value, target=ast.Name(id=name)) if value is not None:
            return frozenset({name})
        case ast.Import() | ast.ImportFrom() | ast.Delete():
            return frozenset(bound_names(node))
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return frozenset({node.name})
    return _NONE


def statements(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    """All statements of a scope, outer ones first, without the bodies of definitions."""
    for statement in body:
        yield statement
        if not isinstance(statement, Function | ast.ClassDef):
            for _, block in sections(statement):
                yield from statements(block)
