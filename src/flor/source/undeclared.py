"""Probes that read what a skipped block would have changed, though nobody declared it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from flor.model.edits import Probe
from flor.model.explicit import is_block
from flor.model.positions import MODULE
from flor.source.blocks import Loop, find_loops
from flor.source.changeset import changed_names
from flor.source.effects import summarize
from flor.source.explicit import as_loops, named
from flor.source.liveness import Liveness

COMPLETE = ("checkpoint_resume", "checkpoint")


@dataclass(frozen=True)
class Needs:
    """Blocks that must run for a probe's sake, and whether a value comes to it from an earlier iteration."""

    blocks: frozenset[str]
    carried: bool


def needs_of(probe: Probe, present: Mapping[str, str], recorded: Mapping[str, str]) -> Needs:
    """What no declared object holds and the probe reads; by name, and rather too much than too little."""
    now = {name: loop for name, loop, _ in _named_loops({probe.file: present[probe.file]})}
    blocks: set[str] = set()
    carried = False
    for name, loop, changed in _named_loops(recorded):
        missing = probe.reads & changed if _sees(probe, loop) else frozenset()
        if missing and is_block(name):
            blocks.add(name)
        elif missing and (name not in now or missing & _live(now[name])):
            carried = True
    return Needs(frozenset(blocks), carried)


def _named_loops(sources: Mapping[str, str]) -> Iterator[tuple[str, Loop, frozenset[str]]]:
    """Each named loop and block with the names that it may change and that are not declared."""
    trees = {file: as_loops(ast.parse(text)) for file, text in sources.items()}
    effects = summarize(trees)
    for file, tree in trees.items():
        ids = {id(node): name for name, node in named(tree)}
        for loop in find_loops(tree, file):
            if name := ids.get(id(loop.node)):
                declared = _ended_with(tree, loop.node) if is_block(name) else _complete(tree)
                yield name, loop, frozenset(changed_names(loop, effects)) - declared


def _sees(probe: Probe, loop: Loop) -> bool:
    """True if a name in the probe is the same variable as in the loop's function, as far as names tell."""
    return probe.file == loop.id.file and loop.function in (probe.function, MODULE)


def _live(loop: Loop) -> set[str]:
    """The names whose value may come from an earlier iteration."""
    return Liveness(loop.scope.node).at_iteration(loop.node)


def _ended_with(tree: ast.Module, block: ast.AST) -> frozenset[str]:
    """The names that are passed to the `end` behind a block."""
    for node in ast.walk(tree):
        for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(body, list) and block in body:
                following = (call for after in body[body.index(block) + 1 :] for call in _calls(after, ("end",)))
                first = next(following, None)
                return _names(first) if first else frozenset()
    return frozenset()


def _complete(tree: ast.Module) -> frozenset[str]:
    """The names that are declared to be all that an iteration hands on."""
    return frozenset(name for call in _calls(tree, COMPLETE) for name in _names(call))


def _calls(node: ast.AST, words: tuple[str, ...]) -> Iterator[ast.Call]:
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            function = part.func
            word = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            if word in words:
                yield part


def _names(call: ast.Call) -> frozenset[str]:
    """The plain names among the arguments, also within a tuple or list."""
    parts = [part for arg in call.args for part in (arg.elts if isinstance(arg, ast.Tuple | ast.List) else [arg])]
    return frozenset(part.id for part in parts if isinstance(part, ast.Name))
