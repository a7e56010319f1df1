"""Whether code may write to a tensor's memory in a way that no version counter and no optimizer's hook sees."""

from __future__ import annotations

import ast

DOORS = frozenset(
    {
        *("data", "storage", "untyped_storage", "data_ptr", "resize_", "set_", "share_memory", "share_memory_"),
        *("from_numpy", "frombuffer", "from_dlpack", "to_dlpack", "__array_interface__", "compile"),
    }
)
"""Attributes through which memory is reached past torch's own bookkeeping, or by which it moves."""

ROOMS = frozenset({"multiprocessing", "ctypes", "cffi", "numba"})
"""Modules whose mere import says that memory may be shared."""


def may_write_unseen(tree: ast.AST) -> bool:
    """True unless all that the code does with tensors goes through torch's operators."""
    lent: set[str] = set()
    stored: set[str] = set()
    handed_on: list[tuple[set[str], set[str]]] = []  # names, and those that then look at the same
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in DOORS and _name(node.value) != "utils":  # torch.utils.data
            return True
        if isinstance(node, ast.Import | ast.ImportFrom) and _enters(node):
            return True
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            lent |= _names(node) if _lends(node.value) else set()
        handed_on += _handed_on(node)
        if isinstance(node, ast.Call) and (function := functions.get(_name(node.func))) and any(map(_lends, node.args)):
            lent |= {parameter.arg for parameter in [*function.args.posonlyargs, *function.args.args]}
        stored |= _stored_into(node)
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load) and _lends(node):
            return True
    while more := {name for before, after in handed_on if lent & before for name in after} - lent:
        lent |= more
    return bool(lent & stored)


def _enters(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom):
        names = {alias.name for alias in node.names}
        return bool(names & (ROOMS | DOORS - {"data"}) or ROOMS & set((node.module or "").split(".")))
    return any(part in ROOMS for alias in node.names for part in alias.name.split("."))


def _lends(value: ast.AST) -> bool:
    """True if an array may look into a tensor: `.numpy()` or `asarray` somewhere in it."""
    calls = (node.func for node in ast.walk(value) if isinstance(node, ast.Call))
    names = {"numpy", "asarray", "__array__", "memoryview"}
    return any(getattr(func, "attr", getattr(func, "id", "")) in names for func in calls)


def _handed_on(node: ast.AST) -> list[tuple[set[str], set[str]]]:
    """The names of a container and those of its items in a `for`; those on both sides of a plain assignment."""
    if isinstance(node, ast.For | ast.comprehension):
        return [(_all_names(node.iter), _all_names(node.target))]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Subscript | ast.Attribute):
        return [(_all_names(node.value), _names(node))]
    return []


def _all_names(node: ast.AST) -> set[str]:
    return {name for inner in ast.walk(node) if (name := _name(inner))}


def _names(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {name for target in targets for name in _all_names(target)}


def _stored_into(node: ast.AST) -> set[str]:
    """Names whose contents a statement changes: `a[i] = 1`, `a += 1`, `np.add(a, b, out=a)`."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return _all_names(node.value)
    if isinstance(node, ast.AugAssign):
        return _all_names(node.target)
    if isinstance(node, ast.keyword) and node.arg == "out":
        return _all_names(node.value)
    return set()


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
