"""What some statements do by themselves: the variables they bind and change, the functions they call."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from flor.source import purity
from flor.source.project import FunctionId, Place, Project, Variable
from flor.source.purity import NEVER_SUPPRESSING, Kind
from flor.source.receivers import class_of, methods
from flor.source.roots import Root, Roots
from flor.source.scopes import FUNCTIONS, bound_by, inner_nodes, parameters, root_name


@dataclass(frozen=True)
class Reason:
    """Why a name is in a changeset: the rule, in words, and the line."""

    rule: str
    line: int


ANY_ATTRIBUTE = "*"


@dataclass(frozen=True)
class Called:
    """A call of functions of the project with the roots of what they are given; `receiver` is None if there is none."""

    functions: tuple[FunctionId, ...]
    receiver: frozenset[Root] | None
    positional: tuple[frozenset[Root], ...]
    keywords: tuple[tuple[str | None, frozenset[Root]], ...]
    line: int
    unpacks: bool = False


@dataclass
class Facts:
    """The direct effects of some statements; what they reach through calls is added by `effects`.

    `sources` of a name are what it may be, or be a part of; `contents` are what was put into it, which changes with it
    only if the change goes `deep`, beyond its own attributes and items.
    """

    bound: dict[Variable, Reason] = field(default_factory=dict)
    changed: dict[Root, Reason] = field(default_factory=dict)
    deep: set[Root] = field(default_factory=set)
    attributes: set[tuple[Variable, str]] = field(default_factory=set)
    sources: dict[Root, set[Root]] = field(default_factory=lambda: defaultdict(set))
    contents: dict[Root, set[Root]] = field(default_factory=lambda: defaultdict(set))
    returned: set[Root] = field(default_factory=set)
    calls: list[Called] = field(default_factory=list)
    unknown: int | None = None
    random: bool = False


_OPERATORS = frozenset(
    f"__{prefix}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
    for prefix in ("", "r", "i")
)
_IMPLICIT: dict[type[ast.AST], frozenset[str]] = {
    ast.Subscript: frozenset({"__getitem__", "__setitem__", "__delitem__", "__missing__"}),
    ast.BinOp: _OPERATORS,
    ast.AugAssign: _OPERATORS,
    ast.UnaryOp: frozenset({"__neg__", "__pos__", "__invert__", "__bool__", "__len__"}),
    ast.BoolOp: frozenset({"__bool__", "__len__"}),
    ast.Compare: frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "__hash__"}),
    ast.Attribute: frozenset({"__getattr__", "__getattribute__", "__setattr__", "__delattr__"}),
    ast.FormattedValue: frozenset({"__str__", "__repr__", "__format__"}),
}
"""Methods of the project that run where the text shows no call."""


class Reader:
    """Reads statements into facts."""

    def __init__(self, project: Project, place: Place) -> None:
        self.project = project
        self.place = place
        self.roots = Roots(project, place)
        self.facts = Facts()

    def read(self, nodes: Iterable[ast.AST | None]) -> Facts:
        """Adds what the nodes do, everything inside of them included."""
        for node in nodes:
            if node is not None:
                try:
                    self._node(node)
                except RecursionError:
                    self._give_up(node)
        return self.facts

    def _give_up(self, node: ast.AST) -> None:
        """Takes every name of a tree that is too deep to walk as changed."""
        self._run_unknown(_line(node))
        for name in {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}:
            if variable := self.project.variable(name, self.place):
                self.facts.changed.setdefault(variable, Reason("the expression is too deep to look into", _line(node)))
                self.facts.deep.add(variable)

    def _node(self, node: ast.AST) -> None:
        self._implicit(node)
        match node:
            case ast.Assign(targets=targets, value=value):
                self._bind(targets, value, "assignment")
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind([target], value, "annotated assignment")
            case ast.AugAssign(target=target, value=value):
                self._augment(target, value)
            case ast.NamedExpr(target=target, value=value):
                self._bind([target], value, "walrus")
            case ast.For(target=target, iter=iterable) | ast.AsyncFor(target=target, iter=iterable):
                self._bind([target], iterable, "loop target")
                self._iterate(iterable)
            case ast.withitem(context_expr=manager, optional_vars=target):
                self._enter(manager, target)
            case ast.Delete(targets=targets):
                self._bind(targets, None, "del")
            case ast.Match(subject=subject):
                self._capture(node, subject)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    self._bind_name(alias.asname or alias.name.partition(".")[0], "import", node.lineno)
            case ast.ExceptHandler(name=str(name)):
                self._bind_name(name, "except ... as", node.lineno)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self._bind_name(name, "definition", node.lineno)
                self._decorate(node)
            case ast.Return(value=value) | ast.Yield(value=value) | ast.YieldFrom(value=value):
                self.facts.returned |= self.roots.of(value)
            case ast.Call():
                self._call(node)
        self._inside(node)

    def _inside(self, node: ast.AST) -> None:
        match node:
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._comprehension(node.generators, node)
            case ast.Lambda():
                with self._hidden(parameters(node)):
                    self.read([*inner_nodes(node), node.body])
            case ast.ClassDef():
                # A class body runs where it stands.
                self.read([*inner_nodes(node), *(part for part in node.body if not isinstance(part, FUNCTIONS))])
            case _:
                self.read(inner_nodes(node))

    @contextmanager
    def _hidden(self, names: Iterable[str]) -> Iterator[None]:
        self.roots.inner.append(set(names))
        yield
        self.roots.inner.pop()

    def _comprehension(self, generators: list[ast.comprehension], node: ast.AST) -> None:
        with self._hidden(name for generator in generators for name in bound_by(generator.target)):
            for generator in generators:
                self._flow(self.roots.of(generator.target), self.roots.of(generator.iter))
                self._iterate(generator.iter)
            self.read(ast.iter_child_nodes(node))

    def _bind_name(self, name: str, rule: str, line: int) -> None:
        if variable := self.roots.variable(name):
            self.facts.bound.setdefault(variable, Reason(f"{rule} binds it", line))

    def _bind(self, targets: Iterable[ast.expr], value: ast.expr | None, rule: str) -> None:
        sources = self.roots.of(value)
        for target in targets:
            match target:
                case ast.Name(id=name):
                    self._bind_name(name, rule, target.lineno)
                    self._flow(self.roots.of(target), sources)
                case ast.Tuple(elts=parts) | ast.List(elts=parts):
                    self._bind(parts, value, rule)
                case ast.Starred(value=inner):
                    self._bind([inner], value, rule)
                case ast.Attribute() | ast.Subscript():
                    part = "an attribute" if isinstance(target, ast.Attribute) else "an item"
                    self._change([target], f"{rule} to {part} of it", target.lineno, deep=not _is_direct(target))
                    self._put(self.roots.of(target), sources)
                    self._change_definition(target, rule)

    def _augment(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._bind_name(target.id, "augmented assignment", target.lineno)
        # `x += y` works in place where x is a list or a tensor; of a sum or product it keeps nothing.
        is_name = isinstance(target, ast.Name)
        self._change([target], "augmented assignment may change it in place", target.lineno, deep=not is_name)
        self._change_definition(target, "augmented assignment")
        if not isinstance(value, ast.BinOp):
            self._put(self.roots.of(target), self.roots.of(value))

    def _change_definition(self, target: ast.expr, rule: str) -> None:
        """`Net.count = 0` changes the class, `step.calls += 1` the function."""
        name = root_name(target)
        variable = self.roots.variable(name) if name and not isinstance(target, ast.Name) else None
        if variable:
            self.facts.changed.setdefault(variable, Reason(f"{rule} to an attribute of it", target.lineno))

    def _put(self, into: Iterable[Root], contents: Iterable[Root]) -> None:
        for root in into:
            self.facts.contents[root].update(each for each in contents if each != root)

    def _flow(self, into: Iterable[Root], sources: Iterable[Root]) -> None:
        """Notes that a change of `into` may be one of its sources."""
        for root in into:
            self.facts.sources[root].update(source for source in sources if source != root)

    def _change(self, nodes: Iterable[ast.expr], rule: str, line: int, *, deep: bool = True) -> None:
        for node in nodes:
            self._note_attribute(node)
            roots = self.roots.of(node)
            for root in roots:
                self.facts.changed.setdefault(root, Reason(rule, line))
            self.facts.deep.update(roots if deep else ())

    def _note_attribute(self, node: ast.AST) -> None:
        """Remembers the `a` of `self.a.b[i]`, the part of the object that changes; `*` if that is not so plain."""
        attribute, whole = ANY_ATTRIBUTE, node
        while isinstance(node, ast.Attribute | ast.Subscript):
            attribute = node.attr if isinstance(node, ast.Attribute) else ANY_ATTRIBUTE
            node = node.value
        plain = attribute if isinstance(node, ast.Name) else ANY_ATTRIBUTE
        self.facts.attributes.update((root, plain) for root in self.roots.of(whole) if isinstance(root, Variable))

    def _run_unknown(self, line: int) -> None:
        if self.facts.unknown is None:
            self.facts.unknown = line

    def _iterate(self, iterable: ast.expr) -> None:
        """An iterable that is no fresh one may be an iterator, which a loop uses up, or a generator, which runs."""
        match iterable:
            case ast.Call() if self.roots.kind(iterable) is Kind.FRESH:
                return
            case ast.Call(func=ast.Name(id="enumerate" | "zip" | "reversed" | "tqdm"), args=arguments):
                for argument in arguments:
                    self._iterate(argument.value if isinstance(argument, ast.Starred) else argument)
            case ast.Call() if self.roots.kind(iterable) is Kind.PURE:
                return
            case ast.Constant() | ast.List() | ast.Tuple() | ast.ListComp():
                return
            case _:
                self._change([iterable], "iteration may advance it", iterable.lineno)
                self._run_unknown(iterable.lineno)

    def _enter(self, manager: ast.expr, target: ast.expr | None) -> None:
        if target is not None:
            self._bind([target], manager, "with ... as")
        called = manager.func if isinstance(manager, ast.Call) else manager
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name not in NEVER_SUPPRESSING:
            self._change([manager], "with enters it", manager.lineno)
            self._run_unknown(manager.lineno)

    def _capture(self, node: ast.Match, subject: ast.expr) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.MatchAs | ast.MatchStar | ast.MatchMapping):
                name = part.rest if isinstance(part, ast.MatchMapping) else part.name
                if name:
                    self._bind([ast.Name(name, ast.Store(), lineno=part.lineno)], subject, "case")

    def _decorate(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        if node.decorator_list:
            self._run_unknown(node.lineno)

    def _implicit(self, node: ast.AST) -> None:
        """Takes an operator, subscript or attribute as a call of what the project defines for it."""
        names = _IMPLICIT.get(type(node), frozenset())
        if isinstance(node, ast.Attribute) and node.attr in self.project.properties:
            names = names | {node.attr}
        found = [function for name in names for function in self.project.called.get(name, ())]
        if found:
            operands = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
            receiver = frozenset(self.roots.of(*operands))
            self.facts.calls.append(Called(tuple(found), receiver, (receiver, receiver), (), _line(node)))

    def _call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        referent = self.project.referent(node.func, self.place)
        self.facts.random |= purity.draws(referent if isinstance(referent, str) else name)
        kind = self.roots.kind(node)
        if kind is not Kind.UNKNOWN:
            self._known(node, kind, name)
        elif not self._own(node):
            self._unknown(node, name)

    def _known(self, node: ast.Call, kind: Kind, name: str) -> None:
        if kind is Kind.RECEIVER and isinstance(node.func, ast.Attribute):
            keeps = purity.keeps_arguments(name)
            shallow = keeps and isinstance(node.func.value, ast.Name)
            self._change([node.func.value], f".{name}() changes its receiver", node.lineno, deep=not shallow)
            if keeps:
                self._put(self.roots.of(node.func.value), self.roots.of(*_values(node)))
        if kind is Kind.FIRST:
            self._change(_values(node)[:1], f"{name}() changes its first argument", node.lineno)
            if name == "next":
                self._run_unknown(node.lineno)
        # A key= function, or what a comparison or a hook of the project does.
        if any(isinstance(value, ast.Lambda) or self._is_function(value) for value in _values(node)):
            self._run_unknown(node.lineno)

    def _is_function(self, node: ast.expr) -> bool:
        return isinstance(self.project.referent(node, self.place), list)

    def _own(self, node: ast.Call) -> bool:
        """True if only functions of the project can answer the call."""
        referent = self.project.referent(node.func, self.place)
        functions = referent if isinstance(referent, list) else []
        receiver: ast.expr | None = None
        if isinstance(node.func, ast.Attribute) and referent is None:
            receiver = node.func.value
            owner = class_of(receiver, self.place, self.project)
            functions = methods(owner, node.func.attr, self.project) if owner else []
            if not functions:
                self._add_call(node, self.project.called.get(node.func.attr, []), receiver)
                return False
        makers = [each for each in functions if self.project.is_class(each)]
        inits = [init for each in makers for init in methods(each, "__init__", self.project)]
        self._add_call(node, [each for each in functions if each not in makers], receiver)
        self._add_call(node, inits, receiver, makes=True)
        return bool(functions) and not any(self.project.is_open_class(each) for each in makers)

    def _add_call(
        self, node: ast.Call, functions: list[FunctionId], receiver: ast.expr | None, makes: bool = False
    ) -> None:
        if functions:
            self.facts.calls.append(
                Called(
                    functions=tuple(functions),
                    receiver=frozenset(self.roots.of(receiver)) if receiver or makes else None,
                    positional=tuple(frozenset(self.roots.of(argument)) for argument in node.args),
                    keywords=tuple((word.arg, frozenset(self.roots.of(word.value))) for word in node.keywords),
                    line=node.lineno,
                    unpacks=any(isinstance(part, ast.Starred) for part in node.args)
                    or any(word.arg is None for word in node.keywords),
                )
            )

    def _unknown(self, node: ast.Call, name: str) -> None:
        """The safe answer: the receiver and all arguments may change, and the project's callbacks may run."""
        self._run_unknown(node.lineno)
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        if not isinstance(self.project.referent(receiver, self.place), list | str):
            self._change([receiver], f"unknown call of {name or 'it'}() may change its receiver", node.lineno)
        self._change(_values(node), f"unknown call of {name or 'it'}() may change its arguments", node.lineno)


def _is_direct(target: ast.Attribute | ast.Subscript) -> bool:
    """True for `x.a` and `x[i]`, which change x itself and nothing that it holds."""
    return isinstance(target.value, ast.Name)


def _values(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(keyword.value for keyword in node.keywords)]


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
