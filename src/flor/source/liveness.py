"""Which names may still be read when a loop has ended, or when its next iteration begins."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from flor.errors import UsageError
from flor.source.blocks import LoopNode
from flor.source.controlflow import Flow, LoopPoints
from flor.source.names import Names, names_of
from flor.source.scopes import ScopeNode


class Liveness:
    """The live names of one scope; `also` are names that others read, such as modules that import this one."""

    def __init__(self, scope: ScopeNode, also: Collection[str] = ()) -> None:
        self.scope = scope
        self._flow: Flow | None = None
        try:
            names = names_of(scope)
            self.names = frozenset(names.all)
            self.owned = frozenset(names.bound - names.declared_global - names.declared_nonlocal)
            self._always = _always_live(scope, names) | set(also)
            if not _is_opaque(scope, names):
                self._flow = Flow.of(scope.body)
                self._live = self._flow.live()
        except RecursionError:
            # A tree too deep to walk is a tree of which nothing is known: all names that it has are live.
            self._flow = None
            self.owned = frozenset()
            self.names = frozenset(node.id for node in ast.walk(scope) if isinstance(node, ast.Name))

    def at_end(self, loop: LoopNode) -> set[str]:
        """Names that may be read after the loop has ended, its `else` included, before they are certainly written."""
        if self._flow is None:
            return set(self.names)
        points = self._points(self._flow, loop)
        return self._live[points.after] | self._live[points.orelse] | self._always

    def at_iteration(self, loop: LoopNode) -> set[str]:
        """Names that may be read from the moment on when the loop asks for its next iteration, or ends."""
        if self._flow is None:
            return set(self.names)
        points = self._points(self._flow, loop)
        return self._live[points.head] | self._live[points.body] | self._always

    def dead_at_end(self, loop: LoopNode) -> set[str]:
        """The scope's own names that certainly are not read after the loop; this direction carries the guarantee."""
        return set(self.owned) - self.at_end(loop)

    def dead_at_iteration(self, loop: LoopNode) -> set[str]:
        """The scope's own names whose value certainly is not read in a later iteration nor after the loop."""
        return set(self.owned) - self.at_iteration(loop)

    def during(self, line: int) -> set[str]:
        """Names live while the statement on this line is under way: for a frame that waits for a call to return."""
        points = self._flow.on_line(line) if self._flow else ()
        if not points:
            return set(self.names)
        return self._always.union(*(self._live[point] for point in points))

    def _points(self, flow: Flow, loop: LoopNode) -> LoopPoints:
        if loop not in flow.loops:
            raise UsageError(
                "the loop is not in this scope",
                where=f"line {loop.lineno}",
                todo="Pass the function, class or module that directly holds the loop.",
            )
        return flow.loops[loop]


def live_at_end(scope: ScopeNode, loop: LoopNode) -> set[str]:
    """Names that may be read after the loop has ended before they are certainly written."""
    return Liveness(scope).at_end(loop)


def live_at_iteration(scope: ScopeNode, loop: LoopNode) -> set[str]:
    """Names that are live when the loop asks for its next iteration, which may be its end."""
    return Liveness(scope).at_iteration(loop)


def read_from_outside(modules: Mapping[str, ast.Module], file: str) -> set[str]:
    """Names that the project's other modules may read in this one: what they import, and any attribute's name."""
    names: set[str] = set()
    for other, tree in modules.items():
        if other == file:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.ImportFrom):
                names.update(alias.name for alias in node.names)
    return names


def _always_live(scope: ScopeNode, names: Names) -> set[str]:
    """What functions made here may read at any time, and names that belong to other scopes."""
    return names.captured | names.declared_global | names.declared_nonlocal


def _is_opaque(scope: ScopeNode, names: Names) -> bool:
    """True if names may be read in ways that the text does not show."""
    if isinstance(scope, ast.ClassDef):
        return True  # every name of a class body becomes an attribute
    return names.opaque or (isinstance(scope, ast.Module) and names.opaque_module)
