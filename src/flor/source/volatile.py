"""Which log statements a user calls volatile."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from flor.source.libraries import LIBRARIES
from flor.source.linemap import covered
from flor.source.logcalls import dotted, imported_names, log_calls
from flor.source.treediff import sections

Lines = frozenset[tuple[str, int]]


def volatile_lines(sources: Mapping[str, str], names: Sequence[str]) -> Lines:
    """The lines of log statements that are given one of these variables (`elapsed`, `self.start`) or lie there."""
    if not names:
        return frozenset()
    return frozenset(
        (file, line)
        for file, tree in _trees(sources)
        for statement, calls in _statements(tree)
        if any(_gives(call, names) for call in calls) or f"{file}:{statement.lineno}" in names
        for line in covered(statement)
    )


def _trees(sources: Mapping[str, str]) -> Iterator[tuple[str, ast.Module]]:
    yield from ((file, ast.parse(text)) for file, text in sources.items() if _is_own(file))


def _is_own(file: str) -> bool:
    return file.endswith(".py") and file not in LIBRARIES


def _statements(tree: ast.Module) -> Iterator[tuple[ast.stmt, list[ast.Call]]]:
    """Every simple statement that logs, with its calls."""
    imports = imported_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not sections(node):
            calls = [call for call, _ in log_calls(node, imports)]
            if calls:
                yield node, calls


def _gives(call: ast.Call, names: Sequence[str]) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(dotted(part) in names for value in given for part in ast.walk(value))
