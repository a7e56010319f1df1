"""Answers whether code that runs after a checkpoint reads an object that the checkpoint does not hold."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from flor.model.checkpoints import Checkpoint, Key, Unaccounted
from flor.model.positions import LoopId
from flor.source.blocks import find_loops
from flor.source.handlereads import HandleReads, Past
from flor.source.scopes import FUNCTIONS


def insufficient(checkpoints: Mapping[Key, Checkpoint], reads: ReadLater) -> dict[Key, str]:
    """The checkpoints after which something is read that they do not hold, and what is read where."""
    found: dict[Key, str] = {}
    if not checkpoints:
        return found
    numbers = Unaccounted(reads.descriptors(), "descriptor", "what the system keeps under it is in no checkpoint")
    for key, checkpoint in checkpoints.items():
        for lacking in (*checkpoint.unaccounted, *([numbers] if numbers.names else [])):
            where = reads(lacking.names, key.execution.loop)
            if where:
                found[key] = f"{where} reads a {lacking.type} ({', '.join(lacking.names)}): {lacking.reason}"
                break
    return found


class ReadLater:
    """Analyses the files at the first question."""

    def __init__(self, sources: Mapping[str, str], rename: Mapping[str, str] | None = None) -> None:
        self.sources = sources
        self.rename = rename or {}  # place in this source -> what the loop is called
        self.reads: HandleReads | None = None
        self.answers: dict[tuple[tuple[str, ...], str], str] = {}
        self.pasts: dict[str, Past] = {}

    def __call__(self, names: tuple[str, ...], loop: str) -> str:
        """The first place that reads what these names lead to, after the loop or in it; empty if none does."""
        key = (names, loop)
        if key not in self.answers:
            try:
                self.answers[key] = self._analyse(names, loop)
            except (SyntaxError, RecursionError):
                self.answers[key] = "code that could not be analysed"
        return self.answers[key]

    def descriptors(self) -> tuple[str, ...]:
        """The names of numbers that stand for something of the system."""
        try:
            return self._read().descriptors()
        except (SyntaxError, RecursionError):
            return ()

    def _read(self) -> HandleReads:
        if self.reads is None:
            self.reads = HandleReads({file: ast.parse(text) for file, text in self.sources.items()})
            for file, tree in self.reads.trees.items():
                self._add_pasts(file, tree)
        return self.reads

    def _analyse(self, names: tuple[str, ...], loop: str) -> str:
        return self._read().where(names, self.pasts.get(loop, Past(LoopId.parse(loop).file, None, 0)))

    def _add_pasts(self, file: str, tree: ast.Module) -> None:
        assert self.reads is not None
        found = find_loops(tree, file)
        for loop in found:
            scope = loop.scope.node
            same = [other for other in found if other.scope.node is scope and other.line <= loop.line]
            line = min(other.line for other in same if other.end_line >= loop.end_line)
            own = scope if isinstance(scope, FUNCTIONS) and self._is_called_once(scope.name) else None
            top = isinstance(scope, ast.Module)
            past = Past(file, own, line if top or own is not None else 0)
            self.pasts[self.rename.get(str(loop.id), str(loop.id))] = past

    def _is_called_once(self, name: str) -> bool:
        """True if the project mentions a function once, outside of all loops and functions."""
        assert self.reads is not None
        found = [(file, node) for file in self.reads.files for node in _mentions(file.tree, name)]
        if len(found) != 1:
            return False
        file, node = found[0]
        return not any(isinstance(part, (*FUNCTIONS, ast.For, ast.While)) for part in file.around(node))


def _mentions(tree: ast.Module, name: str) -> list[ast.AST]:
    nodes = ast.walk(tree)
    return [
        node
        for node in nodes
        if (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)
    ]
