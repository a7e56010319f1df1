"""What a loop may change: the paper's six rules, and their extension."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from flor.source.blocks import Loop
from flor.source.effects import Effects
from flor.source.facts import Reader, Reason
from flor.source.names import names_of
from flor.source.project import FunctionId, Place, Project, Variable
from flor.source.roots import is_inner
from flor.source.scopes import root_name, statements

__all__ = ["Activation", "Changeset", "NoEstimate", "Reason", "changed_names", "paper_rules"]

RULES = (
    "v1, ..., vn = u1, ..., um with some vi in the changeset",
    "v1, ..., vn = obj.method(arg1, ..., argm)",
    "v1, ..., vn = func(arg1, ..., argm)",
    "v1, ..., vn = u1, ..., um",
    "obj.method(arg1, ..., argm)",
    "func(arg1, ..., argm)",
)
"""Table 2 of the paper, in descending order of precedence."""


@dataclass(frozen=True)
class Activation:
    """One statement that activated a rule, and the names it adds."""

    rule: int
    line: int
    adds: frozenset[str]


@dataclass(frozen=True)
class Changeset:
    """What the rules estimate: the names that may change, and how each came in; loop-scoped names are filtered out."""

    names: frozenset[str]
    activations: tuple[Activation, ...]


@dataclass(frozen=True)
class NoEstimate:
    """The rules decline: which rule, and the line of the statement."""

    rule: int
    line: int


def paper_rules(
    body: Sequence[ast.stmt], *, before: Collection[str] = (), targets: Collection[str] = ()
) -> Changeset | NoEstimate:
    """The paper's estimate for a loop body; `before` are names defined before the loop, `targets` those of its header.

    A name that the body defines and that is not in `before` is loop-scoped and so left out.
    """
    changeset: set[str] = set()
    activations: list[Activation] = []
    for statement in statements(body):
        activated = _activate(statement, changeset)
        if isinstance(activated, NoEstimate):
            return activated
        if activated:
            changeset |= activated.adds
            activations.append(activated)
    scoped = (_defined(body) | set(targets)) - set(before)
    return Changeset(frozenset(changeset - scoped), tuple(activations))


def _activate(statement: ast.stmt, changeset: set[str]) -> Activation | NoEstimate | None:
    """The rule that the statement activates, at most one."""
    line = statement.lineno
    match statement:
        case ast.Assign(targets=targets, value=value):
            names = [name for target in targets for name in _plain_names(target)]
            if None in names:
                return None
            assigned = frozenset(name for name in names if name)
            if assigned & changeset:
                return NoEstimate(0, line)
            return _assignment(assigned, value, line)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=receiver))):
            root = root_name(receiver)
            return Activation(4, line, frozenset({root})) if root else NoEstimate(5, line)
        case ast.Expr(value=ast.Call()):
            return NoEstimate(5, line)
    return None


def _assignment(assigned: frozenset[str], value: ast.expr, line: int) -> Activation:
    match value:
        case ast.Call(func=ast.Attribute(value=receiver)):
            root = root_name(receiver)
            return Activation(1, line, assigned | ({root} if root else set()))
        case ast.Call():
            return Activation(2, line, assigned)
    return Activation(3, line, assigned)


def _plain_names(target: ast.expr) -> Iterator[str | None]:
    """The variables of a target; None for a part that is no variable, which the paper's patterns do not match."""
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _plain_names(part)
        case ast.Starred(value=value):
            yield from _plain_names(value)
        case _:
            yield None


def _defined(body: Sequence[ast.stmt]) -> set[str]:
    """The names that the body binds in any way."""
    return names_of(ast.Module(list(body), [])).bound


def changed_names(loop: Loop, effects: Effects) -> dict[str, Reason]:
    """Every name that an execution of the loop may bind or change, each with the first reason found.

    Names are as the loop's function sees them; others are `file::name` or, for closure cells, `file::function.name`.
    """
    project = effects.project
    place = project.places[FunctionId(loop.id.file, loop.function)]
    changes = effects.changes(Reader(project, place).read([loop.node]))
    found = {
        _shown(root, place, project): reason
        for root, reason in changes.items()
        if isinstance(root, Variable) and not is_inner(root)
    }
    return dict(sorted(found.items(), key=lambda item: (item[1].line, item[0])))


def _shown(variable: Variable, place: Place, project: Project) -> str:
    if project.variable(variable.name, place) == variable:
        return variable.name
    inner = variable.name if variable.is_global else f"{variable.function}.{variable.name}"
    return f"{variable.file}::{inner}"
