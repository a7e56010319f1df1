"""Which added names stand for objects of the probe's own, whatever the probe does to them."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flor.source.bindings import Function, bound_names, own_nodes
from flor.source.fresh import bindings_of, is_fresh
from flor.source.known import is_copying
from flor.source.logcalls import dotted, full_name

_LITERALS = (ast.Constant, ast.JoinedStr, ast.Lambda, ast.Compare)
_CUTS = ("detach", "item", "tolist", "numpy", "state_dict")  # what they return has no gradients to give


@dataclass(frozen=True)
class Ownership:
    """Judges expressions by the names that are known to be own, to be calm functions, or to be imported."""

    imports: Mapping[str, str]
    added: frozenset[str]  # functions and classes
    calm: frozenset[str]
    own: frozenset[str] = frozenset()

    def of(self, node: ast.AST) -> bool:
        """True if the object, and what it is made of, belongs to the probe; if not, nothing is said."""
        match node:
            case ast.Name(id=name):
                return name in self.own or name in self.imports or name in self.added or hasattr(builtins, name)
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                return self.of(inner)
            case ast.Call():
                return self._call(node)
            case ast.BinOp(left=left, right=right):
                return self._operands([left, right])
            case ast.UnaryOp(operand=inner):
                return self._operands([inner])
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                return all(map(self.of, parts))
            case ast.Dict(values=parts):
                return all(map(self.of, parts))
            case ast.IfExp(body=one, orelse=other):
                return self.of(one) and self.of(other)
        return isinstance(node, _LITERALS)

    def _call(self, call: ast.Call) -> bool:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        path = full_name(call.func, self.imports) or dotted(call.func)
        if path.rpartition(".")[2] == "deepcopy":
            return True
        if isinstance(call.func, ast.Attribute) and path.partition(".")[0] not in self.imports:
            if is_copying(call.func.attr) and _is_cut(call.func.value):
                return True
            return self.of(call.func.value)
        if isinstance(call.func, ast.Name) and call.func.id in self.own | self.calm:
            return self._operands(given)  # a copy of the model is given the data of the recorded one
        return all(map(self.of, given))

    def _operands(self, nodes: Iterable[ast.expr]) -> bool:
        """True if each is own, or is data of the recorded code that is only looked at: a name, an item."""
        return all(self.of(node) or isinstance(node, ast.Name | ast.Subscript) for node in nodes)


def own_names(body: Iterable[ast.stmt], judge: Ownership) -> frozenset[str]:
    """The names that are only ever bound to objects of the probe's own in these statements."""
    values: dict[str, list[ast.expr | None]] = defaultdict(list)
    for statement in body:
        for node in own_nodes(statement):
            for name, value in bindings_of(node):
                values[name].append(value)
    found: frozenset[str] = frozenset()
    while True:
        rules = Ownership(judge.imports, judge.added, judge.calm, found | judge.own)
        more = frozenset(
            name for name, bound in values.items() if all(value is not None and rules.of(value) for value in bound)
        )
        if more == found:
            return found
        found = more


def _is_cut(node: ast.AST) -> bool:
    """True if a chain of calls and parts lets no gradient through."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CUTS:
            return True
        if isinstance(node, ast.Attribute) and node.attr == "data":
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return False


def kept_defaults(function: Function, added: Sequence[ast.stmt], imports: Mapping[str, str]) -> frozenset[str]:
    """The parameters of an added function that always have their default, an object of its own: `seen=[]`."""
    plain = [*function.args.posonlyargs, *function.args.args]
    first = len(plain) - len(function.args.defaults)
    fresh = {
        arg.arg: first + place
        for place, (arg, value) in enumerate(zip(plain[first:], function.args.defaults, strict=True))
        if is_fresh(value, frozenset(), imports)
    }
    if not fresh:
        return frozenset()
    nodes = [node for statement in added for node in ast.walk(statement)]
    calls = [node for node in nodes if isinstance(node, ast.Call) and _names(node.func, function)]
    handed = sum(_names(node, function) for node in nodes) > len(calls)
    starred = any(isinstance(arg, ast.Starred) for call in calls for arg in call.args)
    words = {keyword.arg for call in calls for keyword in call.keywords}
    if handed or starred or None in words:
        return frozenset()
    most = max((len(call.args) for call in calls), default=0)
    return frozenset(name for name, place in fresh.items() if place >= most and name not in words)


def _names(node: ast.AST, function: Function) -> bool:
    return isinstance(node, ast.Name) and node.id == function.name and isinstance(node.ctx, ast.Load)


def kept_parts(node: ast.ClassDef, imports: Mapping[str, str]) -> frozenset[str]:
    """The attributes of an added class that only ever hold objects of its own, as `self.seen` and `cls.seen`."""
    values: dict[str, list[ast.expr]] = defaultdict(list)
    for part in node.body:
        for name, value in bindings_of(part):
            values[name].append(value or ast.Name(name, ast.Load()))
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign | ast.AnnAssign) and inner.value is not None:
            for target in inner.targets if isinstance(inner, ast.Assign) else [inner.target]:
                if isinstance(target, ast.Attribute) and dotted(target).startswith("self."):
                    values[target.attr].append(inner.value)
                elif isinstance(target, ast.Tuple):  # which value goes where is not looked at
                    for item in target.elts:
                        values[dotted(item).removeprefix("self.")].append(ast.Name("", ast.Load()))
    own = {name for name, bound in values.items() if all(is_fresh(value, frozenset(), imports) for value in bound)}
    return frozenset(f"{first}.{name}" for name in own for first in ("self", "cls", node.name))


_SAVES = {"get_rng_state": "torch", "getstate": "random", "get_state": ""}
_RESTORES = {"set_rng_state": "torch", "setstate": "random", "set_state": ""}


def put_back(added: Sequence[ast.stmt], imports: Mapping[str, str]) -> Mapping[int, frozenset[str]]:
    """For each statement of an addition the random generators whose state was saved before and is put back after."""
    found: dict[int, set[str]] = defaultdict(set)
    for start, first in enumerate(added):
        for stop in range(start + 1, len(added)):
            root = _root_of(_SAVES, first, imports)
            if root and root == _root_of(_RESTORES, added[stop], imports) and _hands_on(first, added[stop]):
                for statement in added[start : stop + 1]:
                    found[id(statement)].add(root)
    return {at: frozenset(roots) for at, roots in found.items()}


def _root_of(words: Mapping[str, str], statement: ast.stmt, imports: Mapping[str, str]) -> str:
    for node in own_nodes(statement):
        if isinstance(node, ast.Call):
            path = full_name(node.func, imports)
            if path.rpartition(".")[2] in words:
                return path.partition(".")[0]
    return ""


def _hands_on(first: ast.stmt, last: ast.stmt) -> bool:
    read = {node.id for node in own_nodes(last) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return bool(bound_names(first) & read)
