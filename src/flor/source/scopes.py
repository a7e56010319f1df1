"""The scopes of a module: functions and classes with qualified names that are unique."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from flor.model.positions import MODULE

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
ScopeNode = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)


@dataclass(frozen=True, eq=False)
class Scope:
    """A module, function or class body, with the name that is unique in its file."""

    name: str
    node: ScopeNode
    parent: Scope | None

    @property
    def function(self) -> FunctionNode | None:
        """The node if the scope is a function."""
        return self.node if isinstance(self.node, FUNCTIONS) else None

    @property
    def owner(self) -> Scope | None:
        """The class whose method this is."""
        is_method = self.function is not None and self.parent and isinstance(self.parent.node, ast.ClassDef)
        return self.parent if is_method else None


@dataclass
class _Namer:
    """Gives the second definition of a qualified name in a file the suffix `@2`."""

    seen: dict[str, int] = field(default_factory=dict)

    def name(self, parent: Scope, own: str) -> str:
        qualified = own if parent.name == MODULE else f"{parent.name}.{own}"
        self.seen[qualified] = count = self.seen.get(qualified, 0) + 1
        return qualified if count == 1 else f"{qualified}@{count}"


def find_scopes(tree: ast.Module) -> list[Scope]:
    """Every scope of the module, itself first, in source order."""
    namer = _Namer()
    scopes = [Scope(MODULE, tree, None)]

    def descend(parent: Scope) -> None:
        for node in definitions(parent.node.body):
            scope = Scope(namer.name(parent, node.name), node, parent)
            scopes.append(scope)
            descend(scope)

    descend(scopes[0])
    return scopes


def definitions(body: Iterable[ast.stmt]) -> Iterator[FunctionNode | ast.ClassDef]:
    """The functions and classes that these statements define, not those inside of them."""
    for statement in statements(body):
        if isinstance(statement, DEFINITIONS):
            yield statement


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """These statements and those nested in them, in source order, without entering functions or classes."""
    stack = [iter(body)]
    while stack:
        statement = next(stack[-1], None)
        if statement is None:
            stack.pop()
            continue
        yield statement
        if not isinstance(statement, DEFINITIONS):
            stack.append(iter([inner for part in blocks_of(statement) for inner in part]))


def blocks_of(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The statement lists that a compound statement holds, in source order."""
    blocks: list[list[ast.stmt]] = []
    if body := getattr(statement, "body", None):
        blocks.append(body)
    for part in [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]:
        blocks.append(part.body)
    for name in ("orelse", "finalbody"):
        if body := getattr(statement, name, None):
            blocks.append(body)
    return blocks


def own_nodes(roots: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes that run in the scope of the roots: bodies of functions, lambdas and classes are left out."""
    stack = list(roots)[::-1]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(list(inner_nodes(node))[::-1])


def inner_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node that run in its own scope."""
    if isinstance(node, FUNCTIONS):
        yield from node.decorator_list
        yield node.args
        if node.returns:
            yield node.returns
    elif isinstance(node, ast.ClassDef):
        yield from [*node.decorator_list, *node.bases, *node.keywords]
    elif isinstance(node, ast.Lambda):
        yield node.args
    else:
        yield from ast.iter_child_nodes(node)


def parameters(node: FunctionNode | ast.Lambda) -> list[str]:
    """The names of the parameters, in the order of a call; `*args` and `**kwargs` are last."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    rest = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    return [argument.arg for argument in [*plain, *rest]]


def bound_by(target: ast.AST) -> Iterator[str]:
    """The names that a target binds, in order: `a, (b, *c)` gives a, b, c."""
    for node in own_nodes([target]):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def root_name(node: ast.AST) -> str | None:
    """The variable at the root of `a.b[i].c`, or None if the root is no variable."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
