"""Where `flor.log` is called by that name: such a call can be told its own place, and asks no frame for it."""

from __future__ import annotations

import ast

FLOR, LOG = "flor", "log"


def flor_is_ours(tree: ast.Module) -> bool:
    """True if the name `flor` is bound by `import flor` only, and nothing is set on it."""
    imported = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(_binds(alias) for alias in node.names):
            if not all(_is_flor(alias) for alias in node.names if _binds(alias)):
                return False
            imported = True
        elif _rebinds(node):
            return False
    return imported


def is_log_call(node: ast.Call) -> bool:
    """True for `flor.log(name, value)`, with nothing unpacked and no keyword."""
    function = node.func
    named = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    if not named or len(node.args) != 2 or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    assert isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    return function.value.id == FLOR and function.attr == LOG


def _binds(alias: ast.alias) -> bool:
    return (alias.asname or alias.name.partition(".")[0]) == FLOR


def _is_flor(alias: ast.alias) -> bool:
    return alias.name == FLOR or (alias.asname is None and alias.name.startswith(f"{FLOR}."))


def _rebinds(node: ast.AST) -> bool:
    """True if the node gives the name another meaning, or may set `flor.log` to something else."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return name == FLOR
        case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
            return name == FLOR
        case ast.ImportFrom(names=names):
            return any(alias.name == "*" or (alias.asname or alias.name) == FLOR for alias in names)
        case ast.arg(arg=name):
            return name == FLOR
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name == FLOR
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name == FLOR
        case ast.MatchMapping(rest=name):
            return name == FLOR
    return False
