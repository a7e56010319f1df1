"""Edits of recorded statements that only serve probes: a loop that also counts, an import of one more name."""

from __future__ import annotations

import ast

from flor.source.bindings import Names, bound_names
from flor.source.treediff import Gap


def is_supporting_header(old: ast.stmt, new: ast.stmt, names: Names) -> bool:
    """True if a loop's header only binds more names, which the recorded code does not use."""
    if not isinstance(old, ast.For) or not isinstance(new, ast.For):
        return False
    before, after = bound_names(old.target), bound_names(new.target)
    if (after - before) & (names.bound | names.read):
        return False
    if _same(old.iter, new.iter):
        # `for _ in range(3)` -> `for epoch in range(3)`
        renamed = isinstance(old.target, ast.Name) and isinstance(new.target, ast.Name)
        return renamed and not before & names.read
    return _adds_one(old, new)


def _adds_one(old: ast.For, new: ast.For) -> bool:
    """True for `enumerate(x)` in place of `x`, and `named_parameters()` in place of `parameters()`."""
    if not isinstance(new.target, ast.Tuple) or len(new.target.elts) != 2 or not isinstance(new.iter, ast.Call):
        return False
    extra, kept = new.target.elts
    if not isinstance(extra, ast.Name) or not _same(kept, old.target):
        return False
    call = new.iter
    if isinstance(call.func, ast.Name) and call.func.id == "enumerate":
        rest = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
        plain = all(isinstance(part, ast.Constant) for part in rest)
        return bool(call.args) and plain and _same(call.args[0], old.iter)
    return _names_parameters(old.iter, call)


def _names_parameters(old: ast.expr, new: ast.Call) -> bool:
    if not isinstance(old, ast.Call) or not isinstance(old.func, ast.Attribute):
        return False
    named = isinstance(new.func, ast.Attribute) and new.func.attr == f"named_{old.func.attr}"
    known = old.func.attr in ("parameters", "buffers", "children", "modules")
    plain = not (old.args or old.keywords or new.args or new.keywords)
    return named and known and plain and _same(old.func.value, getattr(new.func, "value", new.func))


def without_superseded(gap: Gap) -> tuple[ast.stmt, ...]:
    """The statements that were taken away, without imports that an added one has in full."""
    have = {alias for statement in gap.added for alias in _imports(statement)}
    return tuple(statement for statement in gap.removed if not (_imports(statement) and _imports(statement) <= have))


def _imports(statement: ast.stmt) -> set[tuple[str, ...]]:
    """What an import brings in, one element a name."""
    if isinstance(statement, ast.Import):
        return {("", "", alias.name, alias.asname or "") for alias in statement.names}
    if isinstance(statement, ast.ImportFrom):
        module = "." * statement.level + (statement.module or "")
        return {("from", module, alias.name, alias.asname or "") for alias in statement.names}
    return set()


def _same(old: ast.AST, new: ast.AST) -> bool:
    return ast.dump(old) == ast.dump(new)
