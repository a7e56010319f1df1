"""Named loops and blocks in the source: which of them a probe is reached from."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flor.model.edits import Probe
from flor.model.explicit import Construct
from flor.model.positions import MODULE
from flor.source.blocks import find_loops
from flor.source.effects import loops_that_may_enter


def reached_from(probe: Probe, present: Mapping[str, str], recorded: Mapping[str, str]) -> frozenset[str] | None:
    """The ids of the named loops and blocks that have to run for the probe to be reached; None if it could be any."""
    around = {
        name
        for name, node in named(as_loops(ast.parse(present[probe.file])))
        if node.lineno <= probe.first_line and probe.last_line <= (node.end_lineno or node.lineno)
    }
    above = _entering(probe, recorded)
    if probe.deferred or above is None or "" in around | above:
        return None
    return frozenset(around | above)


def _entering(probe: Probe, recorded: Mapping[str, str]) -> set[str] | None:
    """The named loops and blocks that may call the probe's function; None if any may."""
    if probe.function == MODULE:
        return set()
    trees = {file: as_loops(ast.parse(text)) for file, text in recorded.items()}
    loops = loops_that_may_enter(trees, probe.file, probe.function)
    if loops is None:
        return None
    names = {id(node): name for tree in trees.values() for name, node in named(tree)}
    found = {loop.id: loop.node for file, tree in trees.items() for loop in find_loops(tree, file)}
    return {names[id(found[loop])] for loop in loops if id(found[loop]) in names}


def as_loops(tree: ast.Module) -> ast.Module:
    """The tree with each `if skipblock.step_into(...)` as a `while`: then a block is a loop like any other."""
    changed = _BlocksAsLoops().visit(tree)
    assert isinstance(changed, ast.Module)
    return changed


class _BlocksAsLoops(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        if not any(_construct(call) is Construct.BLOCK for call in _calls(node.test)):
            return node
        return ast.copy_location(ast.While(node.test, node.body, node.orelse), node)


def named(tree: ast.Module) -> Iterator[tuple[str, ast.For | ast.While]]:
    """Each named loop and block with its id; the id is empty where the name is not a plain text."""
    objects = dict(_objects(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While):
            for call in _calls(node.iter if isinstance(node, ast.For) else node.test):
                if construct := _construct(call):
                    yield _id(construct, call, objects), node


def _objects(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The variables that hold a `SkipBlock`, with its id."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=variable)], value=ast.Call(args=[ast.Constant(value=str(name))])):
                if _word(node.value) == "SkipBlock":
                    yield variable, Construct.BLOCK.named(name)


def _calls(node: ast.expr) -> Iterator[ast.Call]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Call))


def _construct(call: ast.Call) -> Construct | None:
    """Which tool is called, by the last word of its name."""
    return {"step_into": Construct.BLOCK, "loop": Construct.LOOP, "generator": Construct.GENERATOR}.get(_word(call))


def _word(call: ast.expr) -> str:
    function = call.func if isinstance(call, ast.Call) else call
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _id(construct: Construct, call: ast.Call, objects: Mapping[str, str]) -> str:
    if construct is Construct.GENERATOR:
        return construct.named("main")
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=variable))) if variable in objects:
            return objects[variable]
        case ast.Call(args=[ast.Constant(value=str(name)), *_]):
            return construct.named(name)
    return ""
