"""Reads of what no checkpoint holds of a tensor: the graph that computed it, and how often it was changed."""

from __future__ import annotations

import ast

GRAPH = frozenset(("grad_fn", "next_functions", "saved_tensors", "_version"))


def graph_reads(statement: ast.stmt) -> frozenset[str]:
    """The attributes of that kind which a statement mentions, as `.grad_fn`: right only where it was executed."""
    named = {node.attr for node in ast.walk(statement) if isinstance(node, ast.Attribute)}
    named |= {str(node.value) for node in ast.walk(statement) if isinstance(node, ast.Constant)} & GRAPH
    return frozenset(f".{name}" for name in named if name in GRAPH or name.startswith("_saved_"))
