"""From which loops a function may be entered, by the names of calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flor.errors import UsageError
from flor.model.positions import MODULE, LoopId
from flor.source.callsites import CallSite, find_call_sites
from flor.source.project import FunctionId, Place, Project
from flor.source.scopes import FUNCTIONS, FunctionNode, own_nodes

_TRANSPARENT = frozenset(
    {"staticmethod", "classmethod", "no_grad", "enable_grad", "inference_mode", "autocast", "abstractmethod"}
)
"""Decorators that leave it to the callers of the function's name to call it."""


def loops_that_may_enter(modules: Mapping[str, ast.Module], file: str, function: str) -> set[LoopId] | None:
    """The loops whose execution may call the function, directly or not; None if any loop may."""
    return Entries(Project(modules)).loops(file, function)


class Entries:
    """Answers for one project which loops may enter which function."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._sites = find_call_sites(project)

    def loops(self, file: str, function: str) -> set[LoopId] | None:
        """The loops that may enter the function; None if any loop may."""
        start = FunctionId(file, function)
        if start not in self.project.places:
            raise UsageError(f"there is no function {function}", where=file, todo="Name it as in `Trainer.fit`.")
        found: set[LoopId] = set()
        seen, todo = {start}, [start]
        while todo:
            current = todo.pop()
            if self.is_open(current):
                return None
            for site in self._callers(current):
                found.update(site.loops)
                if site.caller not in seen:
                    seen.add(site.caller)
                    todo.append(site.caller)
        return found

    def is_open(self, function: FunctionId) -> bool:
        """True if code that does not name the function may call it: a library, a decorator, a dynamic call."""
        place = self.project.places[function]
        node = place.scope.node
        if not isinstance(node, FUNCTIONS):
            # A module or class body runs where it stands; in a function nobody knows how often.
            return place.scope.parent is not None and place.scope.parent.name != MODULE
        names = {function.last, *self._maker_names(function)}
        if self._sites.dynamic or names & self._sites.values or _is_lazy(node) or _is_decorated(node):
            return True
        return place.scope.owner is not None and self._is_open_method(function, place)

    def _is_open_method(self, method: FunctionId, place: Place) -> bool:
        is_dunder = method.last.startswith("__") and method.last.endswith("__")
        owner = FunctionId(place.file, place.scope.owner.name) if place.scope.owner else None
        return (is_dunder and method.last != "__init__") or owner is None or self.project.is_open_class(owner)

    def _callers(self, function: FunctionId) -> Iterator[CallSite]:
        for name in {function.last, *self._maker_names(function)}:
            yield from self._sites.calls.get(name, ())

    def _maker_names(self, function: FunctionId) -> set[str]:
        """The names of the classes whose call runs this `__init__`: its own and those related to it."""
        owner = self.project.places[function].scope.owner
        if function.last != "__init__" or owner is None:
            return set()
        return {each.last for each in self.project.family(FunctionId(function.file, owner.name))}


def _is_lazy(node: FunctionNode) -> bool:
    """True for generators and coroutines: they run when others ask for the next value."""
    suspends = any(isinstance(part, ast.Yield | ast.YieldFrom) for part in own_nodes(node.body))
    return isinstance(node, ast.AsyncFunctionDef) or suspends


def _is_decorated(node: FunctionNode) -> bool:
    return any(_last(each) not in _TRANSPARENT for each in node.decorator_list)


def _last(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
