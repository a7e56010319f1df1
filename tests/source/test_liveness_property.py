"""What is called dead may be overwritten: random programs behave the same with all dead names poisoned."""

from __future__ import annotations

import ast
import random
from contextlib import nullcontext
from typing import Any

import pytest

from flor.source.blocks import LOOPS, LoopNode
from flor.source.liveness import Liveness
from flor.source.scopes import ScopeNode, own_nodes

NAMES = ["a", "b", "c", "d", "e"]


class Writer:
    """Writes a random program over a few names; `use` logs a value, `coin` decides, `fuel` bounds the run."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tests = 0

    def name(self) -> str:
        return self.random.choice(NAMES)

    def coin(self) -> str:
        self.tests += 1
        return f"coin({self.tests})"

    def expression(self) -> str:
        x, y, z = self.name(), self.name(), self.name()
        return self.random.choice(
            [
                *[f"use({x})"] * 4,
                f"use({x}, {y})",
                str(self.random.randrange(100)),
                str(self.random.randrange(100)),
                f"({x} := {self.random.randrange(100)})",
                f"({self.coin()} and ({x} := 7)) or use({y})",
                f"use({x}) if {self.coin()} else ({y} := 5)",
                f"[use({x}, {y}) for {y} in range(2)]",
                f"[({x} := {z}) for {y} in range(2)]",
                f"sum(use({x}) for {y} in range(2))",
                f"{{{y}: {x} for {y} in use([{z}])}}",
                f"(lambda: use({x}))()",
                f"(lambda {x}: use({x}, {y}))(1)",
                f"use(({x} := 3) + 1, {x})",
                f"1 < 2 < use(({x} := 4), {y})",
            ]
        )

    def simple(self, in_loop: bool) -> list[str]:
        x, y = self.name(), self.name()
        choices = [
            *[f"{x} = {self.expression()}"] * 6,
            f"use({x})",
            f"{self.expression()}",
            f"{x} += 1",
            f"{x}, *{y} = [1, 2, 3]",
            f"{x}: int = {self.expression()}",
            f"{x}: int",
            f"del {x}",
            f"import math as {x}",
            f"def {x}(q={y}): return use({self.name()}, q)",
            f"class {x}:\n    {y} = use({self.name()})",
            f"assert {self.coin()}, use({x})",
            f"raise ValueError({x})",
            f"boom({self.random.randrange(50)})",
            "return" if self.random.random() < 0.15 else "pass",
        ]
        if in_loop:
            choices += ["break", "continue", f"if {self.coin()}: break", f"if {self.coin()}: continue"]
        return self.random.choice(choices).split("\n")

    def block(self, depth: int, in_loop: bool = False) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randrange(1, 4)):
            compound = depth > 0 and self.random.random() < 0.5
            lines += self.compound(depth - 1, in_loop) if compound else self.simple(in_loop)
        return lines

    def inner(self, depth: int, in_loop: bool = False) -> list[str]:
        return ["    " + line for line in self.block(depth, in_loop)]

    def compound(self, depth: int, in_loop: bool) -> list[str]:
        kind = self.random.choice(["for", "for", "while", "forever", "if", "try", "finally", "with", "match"])
        x, y = self.name(), self.name()
        orelse = ["else:", *self.inner(depth, in_loop)] if self.random.random() < 0.3 else []
        match kind:
            case "for":
                target = self.random.choice([x, f"{x}, {y}"])
                items = "range(3)" if target == x else "zip(range(3), 'xyz')"
                return [f"for {target} in {items}:", "    fuel()", *self.inner(depth, True), *orelse]
            case "while":
                test = self.random.choice([self.coin(), f"({x} := {self.coin()})", f"use({x}) or {self.coin()}"])
                return [f"while {test}:", "    fuel()", *self.inner(depth, True), *orelse]
            case "forever":
                return ["while True:", "    fuel()", *self.inner(depth, True)]
            case "if":
                return [f"if {self.coin()}:", *self.inner(depth, in_loop), *orelse]
            case "try":
                caught = self.random.choice([f"except ValueError as {x}:", "except Exception:", "except:"])
                return ["try:", *self.inner(depth, in_loop), caught, *self.inner(depth, in_loop), *orelse]
            case "finally":
                return ["try:", *self.inner(depth, in_loop), "finally:", *self.inner(depth, in_loop)]
            case "with":
                manager = self.random.choice([f"suppressing() as {x}", "nullcontext()", f"nullcontext({y}) as {x}"])
                return [f"with {manager}:", *self.inner(depth, in_loop)]
            case _:
                pattern = self.random.choice([f"[{x}, {y}]", f"{{'k': {x}}}", "1", f"[{x}, *_] if {self.coin()}"])
                subject = self.random.choice(["[1, 2]", "{'k': 3}", "1", f"use({y})"])
                cases = ["    " + line for line in [f"case {pattern}:", *self.inner(depth, in_loop)]]
                if self.random.random() < 0.5:
                    last = self.random.choice(["_", x])
                    cases += ["    " + line for line in [f"case {last}:", *self.inner(depth, in_loop)]]
                return [f"match {subject}:", *cases]

    def function(self) -> str:
        start = [f"    {name} = {value}" for value, name in enumerate(NAMES) if self.random.random() < 0.6]
        return "\n".join(["def program():", *start, *self.inner(3), *self.inner(3)])

    def module(self) -> str:
        body = [line.replace("return", "pass") if line.strip() == "return" else line for line in self.block(3)]
        return "\n".join([*[f"{name} = {value}" for value, name in enumerate(NAMES)], *body, *self.block(0)])


class OutOfFuel(BaseException):
    """Ends a program that loops for ever."""


class Suppressing:
    """A context manager that swallows what is raised in it."""

    def __enter__(self) -> int:
        return 11

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        return kind is not OutOfFuel


def show(value: object) -> str:
    """The value without addresses."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(show, value))}]"
    if isinstance(value, dict):
        return show(list(value.items()))
    return repr(value) if isinstance(value, int | str) else type(value).__name__


def outcome(tree: ast.Module, seed: int) -> list[str]:
    """What the program logs, and how it ends; coins and fuel do not depend on the program's own names."""
    log: list[str] = []
    ticks = [0]
    coins = random.Random(seed)

    def use(*values: object) -> object:
        log.append(" ".join(map(show, values)))
        return values[0] if isinstance(values[0], int) else 1

    def fuel() -> None:
        ticks[0] += 1
        if ticks[0] > 60:
            raise OutOfFuel

    def boom(number: int) -> None:
        if coins.random() < 0.5:
            raise ValueError(number)

    world: dict[str, Any] = {"use": use, "fuel": fuel, "boom": boom, "coin": lambda number: coins.random() < 0.5}
    world |= {"suppressing": Suppressing, "nullcontext": nullcontext, "__name__": "program", "POISON": Poison()}
    try:
        exec(compile(ast.fix_missing_locations(tree), "<program>", "exec"), world)
        if "program" in world:
            world["program"]()
    except OutOfFuel:
        pass
    except Exception as error:
        log.append(type(error).__name__)
    return log


class Poison:
    """A value that is in the way of nobody who does not look at it."""


def poison(names: set[str]) -> list[ast.stmt]:
    return [ast.parse(f"{name} = POISON").body[0] for name in sorted(names & set(NAMES))]


class Poisoner(ast.NodeTransformer):
    """Overwrites all dead names after a loop, or before each further iteration of it."""

    def __init__(self, loop: LoopNode, at_end: set[str], at_iteration: set[str]) -> None:
        self.loop, self.at_end, self.at_iteration = loop, at_end, at_iteration

    def visit_loop(self, node: LoopNode) -> ast.AST | list[ast.stmt]:
        if node is self.loop:
            node.body = [self.inside(statement) for statement in node.body]  # type: ignore[misc]
            node.body += poison(self.at_iteration)
            return [node, *poison(self.at_end)]
        return self.generic_visit(node)

    visit_For = visit_While = visit_AsyncFor = visit_loop  # noqa: N815

    def inside(self, statement: ast.stmt) -> ast.stmt:
        return Continues(self.at_iteration).visit(statement)  # type: ignore[no-any-return]


class Continues(ast.NodeTransformer):
    """Overwrites the names before each `continue` of the loop itself."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return ast.If(ast.Constant(True), [*poison(self.names), node], [])

    def visit_For(self, node: ast.For) -> ast.AST:
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node


def poisoned(text: str, number: int) -> tuple[ast.Module, int]:
    """The program with the dead names of its n-th loop overwritten, and how many there were."""
    tree = ast.parse(text)
    scope = scope_of(tree)
    loop = loops_of(scope)[number]
    live = Liveness(scope)
    at_end, at_iteration = live.dead_at_end(loop), live.dead_at_iteration(loop)
    return Poisoner(loop, at_end, at_iteration).visit(tree), len(at_end) + len(at_iteration)


def scope_of(tree: ast.Module) -> ScopeNode:
    first = tree.body[0]
    return first if isinstance(first, ast.FunctionDef) and first.name == "program" else tree


def loops_of(scope: ScopeNode) -> list[LoopNode]:
    return [node for node in own_nodes(scope.body) if isinstance(node, LOOPS)]


@pytest.mark.parametrize("kind", ["function", "module"])
def test_dead_names_can_be_overwritten_and_nobody_notices(kind: str) -> None:
    dead = programs = 0
    for seed in range(150):
        text = getattr(Writer(seed), kind)()
        try:
            tree = ast.parse(text)
            compile(tree, "<program>", "exec")
        except SyntaxError:
            continue
        expected = outcome(tree, seed)
        for number in range(len(loops_of(scope_of(tree)))):
            changed, count = poisoned(text, number)
            programs, dead = programs + 1, dead + count
            assert outcome(changed, seed) == expected, ast.unparse(changed)
    assert programs > 200  # the generator still makes loops
    assert dead > programs  # and the analysis still finds something dead in them
