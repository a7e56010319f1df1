"""Values whose names say that they are times or rates, as libraries report their speed under."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from flor.source.libraries import LIBRARIES

_WORD = r"(?:\w+_runtime|\w+_per_second)"
_NAME = re.compile(rf"(?:.*/)?(?P<word>{_WORD})|.*/runtime")
_VALUE = re.compile(rf"""((?P<word>{_WORD})['"]?\s*[:=]\s*)(['"]?)-?[\d.]+(?:e[+-]?\d+)?\3""")
_BAR = re.compile(r"\b\d+/\d+\b.*\d ?(?:it/s|s/it)\b")
_WORDS = re.compile(r"[A-Za-z_]\w*")
NONE: AbstractSet[str] = frozenset()


def is_rate(name: str, own: AbstractSet[str] = NONE) -> bool:
    """True for `train_runtime`, `eval/samples_per_second` and the like, unless the project gives that name itself."""
    found = _NAME.fullmatch(name)
    return found is not None and found["word"] not in own


def without_rates(text: str, own: AbstractSet[str] = NONE) -> str:
    """The text with a mark in place of each value that stands behind such a name."""
    return _VALUE.sub(lambda found: found[0] if found["word"] in own else f"{found[1]}~", text)


def is_bar(text: str) -> bool:
    """True for what a progress bar draws: `40/40 0:00:00 • 0:00:00 301.43it/s`."""
    return "\r" in text or _BAR.search(text) is not None


def own_names(sources: Mapping[str, str]) -> frozenset[str]:
    """The names that a project's files bind or write: what has another name in its state comes from a library."""
    trees = (ast.parse(text) for file, text in sources.items() if file.endswith(".py") and file not in LIBRARIES)
    return frozenset(name for tree in trees for name in _bound(tree))


def _bound(tree: ast.Module) -> Iterator[str]:
    looked_up = {id(node.slice) for node in ast.walk(tree) if isinstance(node, ast.Subscript) and _is_read(node)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.arg(arg=name):
                yield name
            case ast.keyword(arg=str(name)):
                yield name
            case ast.Constant(value=str(text)) if id(node) not in looked_up:
                yield from _WORDS.findall(text)


def _is_read(node: ast.Subscript) -> bool:
    """True for `metrics["train_runtime"]` where that is read: it says nothing about who put it there."""
    return isinstance(node.ctx, ast.Load)
