"""An edit that is no probe, as a short unified diff."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence

from flor.model.edits import Change
from flor.source.linemap import covered

_LONGEST = 60
_MOST = 40


def change_of_text(file: str, before: str, after: str | None, what: str = "") -> Change:
    """A file that is compared as a whole: it is gone, or it is no Python."""
    lines = _diff(file, before.split("\n"), (after or "").split("\n"), 1, 1)
    said = what or ("the file is gone" if after is None else "the file differs")
    return Change(file, 1 if before else None, None if after is None else 1, said, lines)


def change_of_statements(
    file: str,
    texts: tuple[str, str],
    removed: Sequence[ast.stmt],
    added: Sequence[ast.stmt],
    what: str = "",
    *,
    only_logs: bool = False,
) -> Change:
    """Statements that were taken away, with those that were put in their place."""
    before, after = _lines(texts[0], removed), _lines(texts[1], added)
    here, there = (covered(part[0]).start if part else None for part in (removed, added))
    text = _diff(file, before, after, here or 1, there or 1)
    return Change(file, here, there, what or _describe(before, after), text, only_logs)


def change_of_header(file: str, texts: tuple[str, str], old: ast.stmt, new: ast.stmt) -> Change:
    """A compound statement whose first line was changed and whose body was kept."""
    before, after = (_header(text, node) for text, node in zip(texts, (old, new), strict=True))
    text = _diff(file, before, after, old.lineno, new.lineno)
    return Change(file, old.lineno, new.lineno, _describe(before, after), text)


def _header(text: str, node: ast.stmt) -> list[str]:
    """The lines down to the first statement of the body; of a `try` also its clauses, which belong to it."""
    lines = text.split("\n")
    first, body = covered(node).start, getattr(node, "body", [])
    last = max(first, body[0].lineno - 1 if body else first)
    clauses = [part.lineno for part in getattr(node, "handlers", [])]
    return [*lines[first - 1 : last], *(lines[line - 1] for line in clauses)]


def _lines(text: str, statements: Sequence[ast.stmt]) -> list[str]:
    lines = text.split("\n")
    return [lines[n - 1] for statement in statements for n in covered(statement)]


def _describe(before: list[str], after: list[str]) -> str:
    if before and after:
        return f"changes `{_short(before)}` to `{_short(after)}`"
    return f"takes away `{_short(before)}`" if before else f"adds `{_short(after)}`"


def _short(lines: list[str]) -> str:
    line = lines[0].strip()
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def _diff(file: str, before: list[str], after: list[str], here: int, there: int) -> str:
    """A unified diff whose hunk says where in the file it is."""
    body = [line for line in difflib.unified_diff(before, after, lineterm="", n=_MOST) if line[:2] not in ("--", "++")]
    head = [f"--- {file} (recorded)", f"+++ {file}", f"@@ -{here},{len(before)} +{there},{len(after)} @@"]
    shown = [line for line in body if not line.startswith("@@")]
    more = [f"... {len(shown) - _MOST} more lines"] if len(shown) > _MOST else []
    return "\n".join([*head, *shown[:_MOST], *more]) + "\n"
