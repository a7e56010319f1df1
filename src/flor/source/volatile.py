"""Which log statements depend on the clock, the process or the machine, and so differ from run to run."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from flor.source.bindings import Function, own_nodes
from flor.source.linemap import covered
from flor.source.logcalls import imported_names, log_calls
from flor.source.taint import Path, Tainted
from flor.source.treediff import sections

_ROUNDS = 12


def volatile_lines(sources: Mapping[str, str]) -> set[tuple[str, int]]:
    """The lines (file, line) of log statements whose value or occurrence is not the program's own doing."""
    files, _ = _settled(sources)
    return {(name, line) for name, file in files.items() for line in file.volatile()}


def volatile_paths(sources: Mapping[str, str]) -> set[Path]:
    """The variables, as paths such as (self, start), whose values are not the program's own doing."""
    _, project = _settled(sources)
    return {path for _, _, path in project.paths}


def _settled(sources: Mapping[str, str]) -> tuple[dict[str, _File], Tainted]:
    """The project's files with the taint spread as far as it goes."""
    project = Tainted()
    files = {file: _File(file, ast.parse(text), project) for file, text in sources.items() if file.endswith(".py")}
    for file in files.values():
        project.declare(file.tree)
    for _ in range(_ROUNDS):
        known = project.size()
        for file in files.values():
            file.spread()
        if project.size() == known:
            break
    return files, project


@dataclass
class _File:
    """One file on its way to a fixed point."""

    name: str
    tree: ast.Module
    project: Tainted
    imports: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.imports = imported_names(self.tree)

    def spread(self) -> None:
        """Let the taint go one step further through every scope."""
        self._scope(self.tree.body, "")

    def _scope(self, body: list[ast.stmt], scope: str) -> None:
        room = self.project.room(self.name, scope, self.imports)
        for statement in body:
            for node in own_nodes(statement):
                room.step(node)
                if isinstance(node, Function | ast.ClassDef):
                    self._scope(node.body, f"{scope}.{node.name}")

    def volatile(self) -> set[int]:
        """The lines of log statements that are tainted."""
        found: set[int] = set()
        self._mark(self.tree.body, "", False, found)
        return found

    def _mark(self, body: list[ast.stmt], scope: str, doubtful: bool, found: set[int]) -> None:
        """Collect the lines of a block; `doubtful` if whether it runs at all depends on the clock."""
        room = self.project.room(self.name, scope, self.imports)
        for statement in body:
            inner = f"{scope}.{statement.name}" if isinstance(statement, Function | ast.ClassDef) else scope
            blocks = sections(statement)
            if not blocks:
                calls = [call for call, _ in log_calls(statement, self.imports)]
                if calls and (doubtful or any(room.logs_tainted(call) for call in calls)):
                    found |= set(covered(statement))
            test = getattr(statement, "test", None)
            timed = doubtful or (isinstance(test, ast.expr) and room.holds(test))
            for _, block in blocks:
                self._mark(block, inner, timed, found)
