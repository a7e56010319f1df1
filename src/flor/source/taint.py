"""Where a tainted value goes: through assignments, into objects by their methods, out of functions by return.

Blind to the order of statements. A path such as `history["time"]` or `self.start` is tainted apart from
its neighbours, so that one clock in a dict does not make all of the dict volatile.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from flor.source.bindings import Comprehension, Function, own_nodes
from flor.source.clocks import is_clock
from flor.source.logcalls import kind_of_call
from flor.source.words import words

Path = tuple[str, ...]
_SIZES = words("len isinstance type hasattr callable range")
_FORMATS = words("str repr format join dumps dict vars asdict list tuple")


def path_of(node: ast.AST) -> Path:
    """`a.b["c"]` as (a, b, c); empty for anything that is no path. An item that varies ends it."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        head = path_of(node.value)
        return (*head, node.attr) if head else ()
    if isinstance(node, ast.Subscript):
        head = path_of(node.value)
        named = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
        return (*head, node.slice.value) if head and named else head  # type: ignore[attr-defined]
    return ()


@dataclass
class Tainted:
    """All that is tainted in a project, growing to a fixed point."""

    paths: set[tuple[str, str, Path]] = field(default_factory=set)  # file, scope, path
    returns: set[tuple[str, int]] = field(default_factory=set)  # function, which element (-1: all)
    given: set[tuple[str, int | str]] = field(default_factory=set)  # function, parameter by place or name
    functions: dict[str, list[Function]] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)

    def size(self) -> int:
        """How much is tainted; equal when nothing was added."""
        return len(self.paths) + len(self.returns) + len(self.given)

    def declare(self, tree: ast.Module) -> None:
        """Note the functions and classes of a file."""
        for node in ast.walk(tree):
            if isinstance(node, Function):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                self.classes.add(node.name)

    def room(self, file: str, scope: str, imports: Mapping[str, str]) -> Room:
        """The view from one scope of one file."""
        return Room(self, file, scope, imports)


@dataclass(frozen=True)
class Room:
    """One scope: which expressions are tainted here, and what a node taints."""

    all: Tainted
    file: str
    scope: str
    imports: Mapping[str, str]

    def step(self, node: ast.AST) -> None:
        """Let the taint go on through one node."""
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign(target, value)
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                self._assign(target, value)
            case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
                if self.tainted(value):
                    self._taint(target)
            case ast.withitem(context_expr=value, optional_vars=target) if target is not None:
                self._assign(target, value)
            case ast.Call():
                self._call(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node)

    # --- what is tainted

    def tainted(self, node: ast.AST | None) -> bool:
        """True if the value itself is tainted, or comes from a tainted one."""
        if node is None or isinstance(node, ast.Lambda):
            return False
        path = path_of(node)
        if path:
            return self._known(path, inside=False)
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, Comprehension):
            return self._comprehension(node)
        if isinstance(node, ast.IfExp):
            return self.tainted(node.body) or self.tainted(node.orelse)
        return any(self.tainted(child) for child in ast.iter_child_nodes(node))

    def holds(self, node: ast.AST) -> bool:
        """True if the value is tainted or has something tainted in it, as a dict with a time in it."""
        path = path_of(node)
        if path:
            return self._known(path, inside=True)
        if isinstance(node, ast.Call) and not self._formats(node):
            return self.tainted(node)
        return self.tainted(node) or any(self.holds(child) for child in _parts(node))

    def logs_tainted(self, call: ast.Call) -> bool:
        """True if a log call is given something tainted; which logger it is given to does not matter."""
        given = (*call.args, *(keyword.value for keyword in call.keywords))
        return any(self.holds(arg) for arg in given)

    def _known(self, path: Path, *, inside: bool) -> bool:
        """True if the path or one that it begins with is tainted; with `inside` also one that begins with it."""
        for scope in self._scopes():
            for end in range(1, len(path) + 1):
                if (self.file, scope, path[:end]) in self.all.paths:
                    return True
            if inside and any(
                file == self.file and where == scope and longer[: len(path)] == path
                for file, where, longer in self.all.paths
            ):
                return True
        return False

    def _scopes(self) -> Iterator[str]:
        """This scope and those around it; what hangs on `self` is kept in the class's."""
        scope = self.scope
        while scope:
            yield scope
            scope = scope.rpartition(".")[0]
        yield ""

    def _called(self, call: ast.Call) -> bool:
        """A clock, a function that returns one, or a value made of a tainted one."""
        if is_clock(call, self.imports):
            return True
        name = _name(call)
        if name in _SIZES:
            return False
        if (name, -1) in self.all.returns:
            return True
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        if self.tainted(receiver):
            return True
        if name in self.all.functions and receiver is None:
            return False  # its return was looked at, with what it is given
        return any(self.tainted(arg) for arg in _given(call))

    def _comprehension(self, node: Comprehension) -> bool:
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return any(map(self.tainted, parts)) or any(self.tainted(part.iter) for part in node.generators)

    def _formats(self, call: ast.Call) -> bool:
        return _name(call) in _FORMATS and _name(call) not in self.all.functions

    # --- what becomes tainted

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for n, part in enumerate(target.elts):
                if self._element(value, n):
                    self._taint(part)
        elif self.tainted(value) or self._any_element(value):
            self._taint(target)
        elif isinstance(value, ast.Dict) and path_of(target):
            for key, part in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str) and self.tainted(part):
                    self._add((*path_of(target), key.value))

    def _element(self, value: ast.expr, n: int) -> bool:
        """True if the n-th of the values that are unpacked is tainted."""
        if isinstance(value, ast.Tuple | ast.List):
            return n < len(value.elts) and self.tainted(value.elts[n])
        if isinstance(value, ast.Call) and (_name(value), n) in self.all.returns:
            return True
        return self.tainted(value)

    def _any_element(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and any(name == _name(value) for name, _ in self.all.returns)

    def _taint(self, target: ast.AST) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._taint(part)
        elif isinstance(target, ast.Starred):
            self._taint(target.value)
        elif path := path_of(target):
            self._add(path)

    def _add(self, path: Path) -> None:
        """Taint a path here; one on `self` in the class, for its other methods."""
        scope = self.scope
        if path[0] in ("self", "cls") and len(path) > 1:
            scope = scope.rpartition(".")[0]
        self.all.paths.add((self.file, scope, path))

    def _call(self, call: ast.Call) -> None:
        """A tainted argument taints the object whose method takes it, and the parameter of a project's function."""
        given = [n for n, arg in enumerate(call.args) if self.tainted(arg)]
        named = [keyword.arg for keyword in call.keywords if keyword.arg and self.tainted(keyword.value)]
        name = _name(call)
        if isinstance(call.func, ast.Attribute):
            self._method(call, call.func, bool(given or named))
        elif name in self.all.functions:
            self.all.given |= {(name, n) for n in given} | {(name, word) for word in named}
        elif name in self.all.classes:
            self.all.given |= {("__init__", n + 1) for n in given} | {("__init__", word) for word in named}

    def _method(self, call: ast.Call, func: ast.Attribute, given: bool) -> None:
        receiver = path_of(func.value)
        logs = kind_of_call(call, self.imports) is not None
        module = bool(receiver) and receiver[0] in self.imports
        if given and receiver and not logs and not module and receiver[0] != "self":
            self._add(receiver)
        if receiver and not module and self._known(receiver, inside=False) and func.attr in self.all.functions:
            self.all.given.add((func.attr, 0))

    def _function(self, node: Function) -> None:
        """Taint the parameters that a call gave something tainted, and note what is returned."""
        inner = Room(self.all, self.file, f"{self.scope}.{node.name}", self.imports)
        for n, arg in enumerate([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]):
            if (node.name, n) in self.all.given or (node.name, arg.arg) in self.all.given:
                self.all.paths.add((self.file, inner.scope, (arg.arg,)))
        for statement in node.body:
            for part in own_nodes(statement):
                if isinstance(part, ast.Return | ast.Yield) and part.value is not None:
                    inner._returned(node, part.value)

    def _returned(self, node: Function, value: ast.expr) -> None:
        """Note which elements of what a function returns are tainted; what `self` was given is the caller's to see."""
        if node.args.args and node.args.args[0].arg == "self" and self._known(("self",), inside=False):
            return
        if isinstance(value, ast.Tuple):
            self.all.returns |= {(node.name, n) for n, part in enumerate(value.elts) if self.tainted(part)}
        elif self.tainted(value):
            self.all.returns.add((node.name, -1))


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda):
            yield child
