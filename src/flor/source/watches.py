"""Watches of probes that follow each other are made one: `model.eval()` may be undone by the next statement."""

from __future__ import annotations

import ast

BLOCKS = ("body", "orelse", "finalbody")


def join_watches(tree: ast.Module) -> None:
    """Let a call before the first and one after the last of such probes suffice."""
    for node in ast.walk(tree):
        for name in BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, _joined(block))


def _joined(block: list[ast.stmt]) -> list[ast.stmt]:
    result: list[ast.stmt] = []
    begun: ast.expr | None = None
    for statement in block:
        call = _hook(statement)
        if call is not None and call[0] == "probing":
            if result and (_hook(result[-1]) or ("",))[0] == "probed":
                result.pop()
                continue
            begun = call[1].args[0]
        elif call is not None and begun is not None:
            call[1].args = [begun]
        result.append(statement)
    return result


def _hook(statement: ast.stmt) -> tuple[str, ast.Call] | None:
    """The name and the call, if the statement is the beginning or the end of a watch."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="_flor"), attr=name)) as call):
            return (name, call) if name in ("probing", "probed") else None
    return None
