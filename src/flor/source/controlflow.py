"""The control flow of a scope, built backwards, and the names live at each of its points."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from flor.source.accesses import accesses
from flor.source.blocks import LOOPS, LoopNode
from flor.source.purity import NEVER_SUPPRESSING
from flor.source.scopes import DEFINITIONS, blocks_of

Point = int


@dataclass(frozen=True)
class _Around:
    """Where the statements around send control: jumps, and what an exception at this place reaches."""

    leave: Point
    raises: tuple[Point, ...] = ()
    stop: Point = 0
    again: Point = 0


@dataclass
class _Step:
    """One point of execution: what it reads, then certainly writes, then where it goes."""

    reads: int = 0
    writes: int = 0
    next: tuple[Point, ...] = ()
    raises: tuple[Point, ...] = ()
    lines: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class LoopPoints:
    """The points of a loop: before the next iteration is asked for, its body, its `else`, what follows."""

    head: Point
    body: Point
    orelse: Point
    after: Point


@dataclass
class Flow:
    """The steps of a scope; a step is made after those that follow it, so the order suits a backward analysis."""

    steps: list[_Step] = field(default_factory=list)
    loops: dict[LoopNode, LoopPoints] = field(default_factory=dict)
    _bits: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, body: Sequence[ast.stmt]) -> Flow:
        """The flow of a function's or module's statements."""
        flow = cls()
        leave = flow._step()
        flow._block(body, leave, _Around(leave))
        return flow

    def live(self) -> list[set[str]]:
        """The names that may be read from each point on before they are certainly written."""
        live = [step.reads for step in self.steps]
        changed = True
        while changed:
            changed = False
            for point, step in enumerate(self.steps):
                after = 0
                for following in step.next:
                    after |= live[following]
                now = step.reads | (after & ~step.writes)
                for handler in step.raises:
                    now |= live[handler]
                if now != live[point]:
                    live[point], changed = now, True
        return [self._names(mask) for mask in live]

    def on_line(self, line: int) -> set[Point]:
        """The steps that this line is part of, and those that come next."""
        here = {point for point, step in enumerate(self.steps) if step.lines[0] <= line <= step.lines[1]}
        return here.union(*(self.steps[point].next + self.steps[point].raises for point in here))

    def _mask(self, names: Iterable[str]) -> int:
        mask = 0
        for name in names:
            mask |= 1 << self._bits.setdefault(name, len(self._bits))
        return mask

    def _names(self, mask: int) -> set[str]:
        return {name for name, bit in self._bits.items() if mask >> bit & 1}

    def _step(self, *nodes: ast.AST | None, to: tuple[Point, ...] = (), raises: tuple[Point, ...] = ()) -> Point:
        """Makes the step that evaluates these nodes in order."""
        seen = accesses(*nodes)
        self.steps.append(_Step(self._mask(seen.reads), self._mask(seen.writes), to, raises, _lines(nodes)))
        return len(self.steps) - 1

    def _block(self, body: Sequence[ast.stmt], follow: Point, around: _Around) -> Point:
        """Builds the statements from last to first; the result is the point where they begin."""
        for statement in reversed(body):
            follow = self._statement(statement, follow, around)
        return follow

    def _statement(self, statement: ast.stmt, follow: Point, around: _Around) -> Point:
        match statement:
            case ast.For() | ast.AsyncFor():
                return self._for(statement, follow, around)
            case ast.While():
                return self._while(statement, follow, around)
            case ast.If(test=test, body=body, orelse=orelse):
                branches = (self._block(body, follow, around), self._block(orelse, follow, around))
                return self._step(test, to=branches, raises=around.raises)
            case ast.Try() | ast.TryStar():
                return self._try(statement, follow, around)
            case ast.With() | ast.AsyncWith():
                return self._with(statement, follow, around)
            case ast.Match():
                return self._match(statement, follow, around)
            case ast.Return(value=value):
                return self._step(value, to=(around.leave,), raises=around.raises)
            case ast.Raise(exc=exc, cause=cause):
                return self._step(exc, cause, raises=around.raises)
            case ast.Break():
                return around.stop
            case ast.Continue():
                return around.again
            case _:
                return self._step(statement, to=(follow,), raises=around.raises)

    def _for(self, node: ast.For | ast.AsyncFor, follow: Point, around: _Around) -> Point:
        head = self._step(raises=around.raises)
        orelse = self._block(node.orelse, follow, around)
        body = self._block(node.body, head, replace(around, stop=follow, again=head))
        bind = self._step(node.target, to=(body,), raises=around.raises)
        self.steps[head].next = (bind, orelse)
        self.loops[node] = LoopPoints(head, head, orelse, follow)
        return self._step(node.iter, to=(head,), raises=around.raises)

    def _while(self, node: ast.While, follow: Point, around: _Around) -> Point:
        head = self._step(node.test, raises=around.raises)
        orelse = self._block(node.orelse, follow, around)
        body = self._block(node.body, head, replace(around, stop=follow, again=head))
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self.steps[head].next = (body,) if forever else (body, orelse)
        self.loops[node] = LoopPoints(head, body, orelse, follow)
        return head

    def _try(self, node: ast.Try | ast.TryStar, follow: Point, around: _Around) -> Point:
        outside = around
        if node.finalbody:
            follow, around = self._finally(node, follow, around)
        handlers = tuple(self._handler(handler, follow, around) for handler in node.handlers)
        uncaught = () if _catches_all(node) else around.raises
        orelse = self._block(node.orelse, follow, around)
        inside = replace(around, raises=(*handlers, *uncaught))
        begin = self._block(node.body, orelse, inside)
        # An interrupt may come before the first statement has begun.
        return self._step(to=(begin, *handlers), raises=outside.raises)

    def _finally(self, node: ast.Try | ast.TryStar, follow: Point, around: _Around) -> tuple[Point, _Around]:
        """One `finally` for all ways into it: it may go on to wherever any of them was going."""
        jumps = _jumps_in([*node.body, *node.orelse, *(part for handler in node.handlers for part in handler.body)])
        ways = [follow, *around.raises]
        ways += [around.leave] if ast.Return in jumps else []
        ways += [around.stop] if ast.Break in jumps else []
        ways += [around.again] if ast.Continue in jumps else []
        out = self._step(to=tuple(ways))
        begin = self._block(node.finalbody, out, around)
        return begin, _Around(leave=begin, raises=(begin,), stop=begin, again=begin)

    def _handler(self, handler: ast.ExceptHandler, follow: Point, around: _Around) -> Point:
        if handler.name:
            follow = self._step(ast.Name(handler.name, ast.Store()), to=(follow,))  # unbound when the handler ends
        body = self._block(handler.body, follow, around)
        return self._step(handler, to=(body,), raises=around.raises)

    def _with(self, node: ast.With | ast.AsyncWith, follow: Point, around: _Around) -> Point:
        quiet = all(_never_suppresses(item.context_expr) for item in node.items)
        inside = around if quiet else replace(around, raises=(*around.raises, follow))
        point = self._block(node.body, follow, inside)
        for item in reversed(node.items):
            point = self._step(item.context_expr, item.optional_vars, to=(point,), raises=inside.raises)
        return point

    def _match(self, node: ast.Match, follow: Point, around: _Around) -> Point:
        point = follow
        for case in reversed(node.cases):
            body = self._block(case.body, follow, around)
            if case.guard is not None:
                body = self._step(case.guard, to=(body, point), raises=around.raises)
            taken = self._step(case.pattern, to=(body,), raises=around.raises)
            certain = case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            point = taken if certain else self._step(to=(taken, point))
        return self._step(node.subject, to=(point,), raises=around.raises)


def _lines(nodes: Iterable[ast.AST | None]) -> tuple[int, int]:
    """The first and last line of the nodes, with the decorators of a definition."""
    inner = [part for node in nodes for part in (node, *getattr(node, "decorator_list", ())) if hasattr(part, "lineno")]
    begins = [part.lineno for part in inner if isinstance(part, ast.expr | ast.stmt)]
    ends = [part.end_lineno or 0 for part in inner if isinstance(part, ast.expr | ast.stmt)]
    return (min(begins), max(ends)) if begins else (0, 0)


def _catches_all(node: ast.Try | ast.TryStar) -> bool:
    return any(handler.type is None for handler in node.handlers)


def _jumps_in(body: Iterable[ast.stmt]) -> set[type[ast.stmt]]:
    """Which of return, break and continue may leave these statements."""
    found: set[type[ast.stmt]] = set()
    for statement in body:
        if isinstance(statement, ast.Return | ast.Break | ast.Continue):
            found.add(type(statement))
        if isinstance(statement, DEFINITIONS):
            continue
        for block in blocks_of(statement):
            inner = _jumps_in(block)
            own = isinstance(statement, LOOPS) and block is not statement.orelse
            found |= inner - {ast.Break, ast.Continue} if own else inner
    return found


def _never_suppresses(manager: ast.expr) -> bool:
    """True if the context manager is known to let every exception through."""
    node = manager.func if isinstance(manager, ast.Call) else manager
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in NEVER_SUPPRESSING
