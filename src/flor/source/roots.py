"""Which variables' objects the value of an expression may share."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from flor.source import purity
from flor.source.names import names_of
from flor.source.project import FunctionId, Place, Project, Variable
from flor.source.purity import Kind
from flor.source.scopes import Comprehension, bound_by

Root = Variable | FunctionId
"""A variable, or a function of the project whose result may share what that function reaches."""

_INNER = "<inner>"


def is_inner(root: Root) -> bool:
    """True for a name that a comprehension or lambda has for itself."""
    return isinstance(root, Variable) and root.function.endswith(_INNER)


_SHARES_NOTHING = (ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.Compare)


@dataclass
class Roots:
    """Finds roots at one place; names in `inner` belong to comprehensions and lambdas around the expression."""

    project: Project
    place: Place
    inner: list[set[str]] = field(default_factory=list)

    def variable(self, name: str) -> Variable | None:
        """What the name means at this place."""
        if any(name in names for names in self.inner):
            return Variable(self.place.file, f"{self.place.scope.name}.{_INNER}", name)
        return self.project.variable(name, self.place)

    def of(self, *nodes: ast.AST | None) -> set[Root]:
        """The roots of all these expressions."""
        return set().union(*(self._of(node) for node in nodes if node is not None))

    def _of(self, node: ast.AST) -> set[Root]:
        match node:
            case ast.Name(id=name):
                variable = self.variable(name)
                return {variable} if variable and not self._is_definition(node, variable) else set()
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                return self._of(value)
            case ast.NamedExpr(target=target, value=value):
                return self.of(target, value)
            case ast.IfExp(body=body, orelse=orelse):
                return self.of(body, orelse)
            case ast.UnaryOp(op=ast.Not()):
                return set()
            case ast.Call():
                return self._of_call(node)
            case ast.BinOp(left=ast.Constant(), op=ast.Mod()):
                return set()  # text formatting
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._of_comprehension(node)
            case ast.Lambda():
                return self._of_names(names_of(node).free)
            case _ if isinstance(node, _SHARES_NOTHING):
                return set()
        return self.of(*ast.iter_child_nodes(node))

    def _of_comprehension(self, node: Comprehension) -> set[Root]:
        self.inner.append({name for generator in node.generators for name in bound_by(generator.target)})
        found = self.of(*ast.iter_child_nodes(node))
        own = self.inner.pop()
        return {root for root in found if not (is_inner(root) and root.name in own)}

    def _is_definition(self, node: ast.Name, variable: Variable) -> bool:
        """True for a library's name and for a function or class of the project: nobody changes those by using them."""
        if is_inner(variable) or isinstance(node.ctx, ast.Store):
            return False
        found = self.project.referent(node, self.place)
        return isinstance(found, list) or (isinstance(found, str) and self.project.file_of(found) is None)

    def _of_names(self, names: Iterable[str]) -> set[Root]:
        return {variable for name in names if (variable := self.variable(name))}

    def _of_call(self, node: ast.Call) -> set[Root]:
        """The result of a call may share its receiver and arguments, unless it is known to be fresh."""
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return self._of_names(self._self())
        if self.kind(node) is Kind.FRESH:
            return set()
        functions = self.project.referent(node.func, self.place)
        results = set(functions) if isinstance(functions, list) else self._named(node.func)
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        return {*results, *self.of(receiver, *node.args, *(keyword.value for keyword in node.keywords))}

    def _named(self, func: ast.expr) -> set[FunctionId]:
        return set(self.project.called.get(func.attr, ())) if isinstance(func, ast.Attribute) else set()

    def _self(self) -> list[str]:
        function = self.place.scope.function
        return [argument.arg for argument in function.args.args[:1]] if function else []

    def kind(self, node: ast.Call) -> Kind:
        """What the tables know of a call; a call that the project may answer is never known."""
        if any(keyword.arg == "out" or _is_true(keyword, "inplace") for keyword in node.keywords):
            return Kind.UNKNOWN
        referent = self.project.referent(node.func, self.place)
        if isinstance(referent, str):
            module, _, name = referent.rpartition(".")
            return purity.builtin(name) if module == "builtins" else purity.library(referent)
        if referent is None and isinstance(node.func, ast.Attribute) and not self._named(node.func):
            return purity.method(node.func.attr, len(node.args))
        return Kind.UNKNOWN


def _is_true(keyword: ast.keyword, name: str) -> bool:
    return keyword.arg == name and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
