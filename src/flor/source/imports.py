"""Which modules a source file imports, by its import statements, wherever these stand."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def imported_modules(text: str | bytes, package: str = "") -> frozenset[str]:
    """The modules that its import statements name; `from a import b` gives `a` and, since b may be one, `a.b`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return frozenset()
    return frozenset(name for node in ast.walk(tree) for name in _names(node, package))


def _names(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        around = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        start = ".".join([*(part for part in around if part), *([node.module] if node.module else [])])
        if start:
            yield start
            yield from (f"{start}.{alias.name}" for alias in node.names if alias.name != "*")
