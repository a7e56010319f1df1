"""A probe that is put into a text without touching the file."""

from __future__ import annotations

import ast
import io

from flor.errors import UsageError
from flor.source.linemap import covered


def apply_probe(text: str, line: int, statement: str) -> str:
    """The text with a statement in it that runs right after the one on that line.

    On the first line of a compound statement it becomes the first of that one's body. A line between
    statements counts for the one before it.
    """
    _check(statement)
    tree = ast.parse(text)
    found = _statement_at(tree, line)
    lines = io.StringIO(text).readlines()
    if found is None:
        raise UsageError(f"line {line} has no statement to put a probe after", todo="Name a line of the code.")
    after, column = _place(found, line)
    if _shares_line(tree, found, after):
        what = f"line {line} has more than one statement"
        raise UsageError(what, todo="Give the statement a line of its own.")
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    indent = " " * column
    source = lines[found.lineno - 1][: found.col_offset]
    if column == found.col_offset and not source.strip():
        indent = source  # keeps tabs
    lines[after:after] = [f"{indent}{part}\n" for part in statement.strip("\n").splitlines()]
    return "".join(lines)


def _check(statement: str) -> None:
    try:
        parsed = ast.parse(statement)
    except (SyntaxError, ValueError) as error:
        message = getattr(error, "msg", None) or str(error)
        raise UsageError(f"SyntaxError in the probe `{statement}`: {message}", todo="Mend the statement.") from error
    if not parsed.body:
        raise UsageError(f"the probe `{statement}` is no statement", todo="Give one, such as `print(loss.item())`.")


def _statement_at(tree: ast.Module, line: int) -> ast.stmt | None:
    """The innermost statement that covers the line, else the last one that ends before it."""
    every = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    around = [node for node in every if line in covered(node)]
    before = [node for node in every if covered(node).stop <= line]
    inner = max(around, key=lambda node: node.lineno, default=None)
    if inner is None or (_body(inner) and line >= _body(inner)[0].lineno):
        inside = [node for node in before if inner is None or node.lineno in covered(inner)]
        return max(inside, key=lambda node: (covered(node).stop, -node.col_offset), default=inner)
    return inner


def _body(statement: ast.stmt) -> list[ast.stmt]:
    body = getattr(statement, "body", [])
    return body if isinstance(body, list) else []


def _place(statement: ast.stmt, line: int) -> tuple[int, int]:
    """The line after which the probe goes, and its column."""
    body = _body(statement)
    if (body and line < body[0].lineno) or (body and body[0].lineno == statement.lineno):
        first = body[0]
        if first.lineno == statement.lineno:
            raise UsageError(f"the body of line {line} is on the same line", todo="Give it a line of its own.")
        docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        skips = docstring and isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        return (covered(first).stop if skips else covered(first).start) - 1, first.col_offset
    return covered(statement).stop - 1, statement.col_offset


def _shares_line(tree: ast.Module, statement: ast.stmt, after: int) -> bool:
    """True if another simple statement begins or ends where the probe would have to go."""
    if _body(statement):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and node is not statement and not _body(node):
            lines = covered(node)
            if lines.start <= after < lines.stop:
                return True
    return False
