"""Where the project calls which names, inside of which loops, and which names it passes on as values."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from flor.model.positions import MODULE, LoopId
from flor.source.blocks import find_loops
from flor.source.names import EAGER
from flor.source.project import FunctionId, Place, Project
from flor.source.scopes import FUNCTIONS, inner_nodes

_DYNAMIC = frozenset({"eval", "exec", "globals"})
_BY_TEXT = frozenset({"getattr", "attrgetter", "methodcaller", "hasattr"})


@dataclass(frozen=True)
class CallSite:
    """A call: the function whose text has it, and the loops around it there."""

    caller: FunctionId
    loops: tuple[LoopId, ...]


@dataclass
class CallSites:
    """The calls by the last part of the called name; `dynamic` if a function may be reached by a computed name."""

    calls: dict[str, list[CallSite]] = field(default_factory=lambda: defaultdict(list))
    values: set[str] = field(default_factory=set)
    dynamic: bool = False


def find_call_sites(project: Project) -> CallSites:
    """All call sites of the project."""
    loops = {loop.node: loop.id for file, tree in project.modules.items() for loop in find_loops(tree, file)}
    sites = CallSites()
    for place in project.places.values():
        _Walker(project, place, loops, sites).walk(place.scope.node.body, ())
    return sites


@dataclass
class _Walker:
    """Walks the text of one place; `inside` are the loops around."""

    project: Project
    place: Place
    loops: dict[ast.For | ast.AsyncFor | ast.While, LoopId]
    sites: CallSites
    later: bool = False

    def walk(self, nodes: Iterable[ast.AST | None], inside: tuple[LoopId, ...]) -> None:
        for node in nodes:
            if node is not None:
                try:
                    self._node(node, inside)
                except RecursionError:
                    self.sites.dynamic = True  # too deep to look into, so anything may be called there

    def _node(self, node: ast.AST, inside: tuple[LoopId, ...]) -> None:
        match node:
            case ast.For() | ast.AsyncFor():
                self.walk([node.iter, *node.orelse], inside)
                self.walk([node.target, *node.body], (*inside, self.loops[node]))
            case ast.While():
                self.walk(node.orelse, inside)
                self.walk([node.test, *node.body], (*inside, self.loops[node]))
            case ast.Call():
                self._call(node, inside)
            case ast.Lambda() | ast.GeneratorExp():
                self._later(node, inside)
            case ast.Name(ctx=ast.Load()):
                self._value(node)
            case ast.Attribute(ctx=ast.Load()):
                self._value(node)
                self.walk([node.value], inside)
            case ast.AnnAssign(target=target, value=value):
                self.walk([target, value], inside)
            case ast.arguments(defaults=defaults, kw_defaults=kw_defaults):
                self.walk([*defaults, *kw_defaults], inside)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.walk([*node.decorator_list, node.args], inside)
            case ast.ClassDef():
                self.walk([*node.decorator_list, *(word.value for word in node.keywords)], inside)
            case ast.Import() | ast.ImportFrom() if inside or isinstance(self.place.scope.node, FUNCTIONS):
                self._note(MODULE, inside)
            case _:
                self.walk(inner_nodes(node), inside)

    def _names(self, node: ast.expr) -> list[str]:
        """The names of what is meant, import aliases resolved."""
        referent = self.project.referent(node, self.place)
        if isinstance(referent, list):
            return [each.last for each in referent]
        return [node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""]

    def _value(self, node: ast.expr) -> None:
        self.sites.values.update(self._names(node))
        self.sites.dynamic |= _is_dynamic(node)

    def _note(self, name: str, inside: tuple[LoopId, ...]) -> None:
        if self.later:
            # What a lambda or generator calls is called by whoever runs it.
            self.sites.values.add(name)
        self.sites.calls[name].append(CallSite(self.place.id, inside))

    def _call(self, node: ast.Call, inside: tuple[LoopId, ...]) -> None:
        names = self._names(node.func)
        for name in names:
            self._note(name, inside)
        self.sites.dynamic |= _is_dynamic(node.func)
        self._by_text(node, names)
        if not isinstance(node.func, ast.Name):
            self.walk([node.func.value if isinstance(node.func, ast.Attribute) else node.func], inside)
        arguments = node.args[:1] if names[0] in ("isinstance", "issubclass") else node.args
        for argument in arguments:
            eager = isinstance(argument, ast.GeneratorExp) and names[0] in EAGER
            self.walk(inner_nodes(argument) if eager else [argument], inside)
        self.walk([keyword.value for keyword in node.keywords], inside)

    def _by_text(self, node: ast.Call, names: list[str]) -> None:
        """`getattr(x, "fit")` uses `fit`; with a computed name it may use anything."""
        if _BY_TEXT.isdisjoint(names):
            return
        text = node.args[-1 if names[0] != "getattr" else 1 if len(node.args) > 1 else 0] if node.args else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            self.sites.values.add(text.value)
        else:
            self.sites.dynamic |= names[0] != "hasattr"

    def _later(self, node: ast.Lambda | ast.GeneratorExp, inside: tuple[LoopId, ...]) -> None:
        self.walk(inner_nodes(node) if isinstance(node, ast.Lambda) else [node.generators[0].iter], inside)
        before, self.later = self.later, True
        self.walk([node.body] if isinstance(node, ast.Lambda) else inner_nodes(node), inside)
        self.later = before


def _is_dynamic(node: ast.expr) -> bool:
    """True for `eval` and its like, not for `model.eval`."""
    return isinstance(node, ast.Name) and node.id in _DYNAMIC
