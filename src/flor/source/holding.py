"""What added names hold: a value, a function, an iterator, or an object that may remember."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from flor.source.bindings import Comprehension, Function, own_nodes
from flor.source.calls import opens_to_write
from flor.source.fresh import bindings_of, root_name
from flor.source.known import HARMLESS, judge_builtin, judge_dotted, judge_method
from flor.source.logcalls import full_name, kind_of_call
from flor.source.oldcode import terminal
from flor.source.words import words


class Holding(IntEnum):
    """How using a name may change what it stands for, the least first."""

    PLAIN = 0  # a constant, a function or a module: by nothing but binding it anew
    DATA = 1  # a container, a tensor: by what is seen to change it
    CALM = 2  # an object of an added class that keeps nothing: as data
    OBJECT = 3  # by any call of it, of its methods, or with it
    ITERATOR = 4  # by any use


_ITERATORS = words(
    """iter zip enumerate map filter reversed count cycle chain islice repeat accumulate pairwise reader DictReader
    scandir walk glob iglob finditer defaultdict tee groupby starmap takewhile dropwhile product permutations
    combinations batched from_iterable"""
)
_FUNCTIONS_OF_FUNCTIONS = words("partial wraps itemgetter attrgetter methodcaller getLogger")
_SETS = words("add get")  # methods that compute on tensors, and change a set, a queue
_UNUSED = words("len print str repr type isinstance id float int bool round abs format hash callable getattr hasattr")
_STORES = words("cache lru_cache cached_property singledispatch")


@dataclass
class Holdings:
    """The names that added statements bind, and what each may hold at the worst."""

    imports: Mapping[str, str]
    definitions: Mapping[str, ast.AST]  # of all added functions and classes
    remembering: set[str] = field(default_factory=set)  # those of them that keep something
    _values: dict[str, list[ast.AST | None]] = field(default_factory=lambda: defaultdict(list))
    _asked: set[str] = field(default_factory=set)

    def read(self, statements: Iterable[ast.stmt]) -> None:
        """Note what each name is bound to, in added functions too."""
        for statement in statements:
            for node in ast.walk(statement):
                for name, value in bindings_of(node):
                    self._values[name].append(value)
                if isinstance(node, Function | ast.ClassDef):
                    self._values[node.name].append(node)
                elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                    self._values[node.target.id].append(node)

    @property
    def names(self) -> frozenset[str]:
        """Every name that is bound, other than by imports."""
        return frozenset(self._values)

    def of(self, name: str) -> Holding:
        """What a name may hold; a name that is not known here holds data."""
        if name in self._asked or name not in self._values:
            return Holding.DATA
        self._asked.add(name)
        try:
            return max(self.of_value(value) for value in self._values[name])
        finally:
            self._asked.discard(name)

    def of_value(self, node: ast.AST | None) -> Holding:
        """What an expression, or a definition, may stand for."""
        match node:
            case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.Lambda() | ast.FunctionDef() | ast.ClassDef():
                return Holding.PLAIN
            case ast.AsyncFunctionDef():
                return Holding.PLAIN
            case ast.GeneratorExp():
                return Holding.ITERATOR
            case ast.BinOp() | ast.UnaryOp() | ast.AugAssign():
                return Holding.DATA
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                return self._of_parts(parts)
            case ast.Dict(values=parts):
                return self._of_parts(parts)
            case ast.ListComp(elt=part) | ast.SetComp(elt=part) | ast.DictComp(value=part):
                return self._of_parts([part])
            case ast.IfExp(body=one, orelse=other):
                return max(self.of_value(one), self.of_value(other))
            case ast.BoolOp(values=parts):
                return max(map(self.of_value, parts))
            case ast.Name(id=name):
                return self._of_name(name)
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                return self._of_part(inner)
            case ast.Call():
                return self._of_call(node)
        return Holding.OBJECT

    def _of_parts(self, parts: Iterable[ast.expr]) -> Holding:
        """A container is as much changed by a use of it as the worst of its items."""
        worst = max(map(self.of_value, parts), default=Holding.DATA)
        return Holding.OBJECT if worst >= Holding.OBJECT else Holding.DATA

    def _of_name(self, name: str) -> Holding:
        known = name in self._values
        return self.of(name) if known else Holding.PLAIN if hasattr(builtins, name) else Holding.DATA

    def _of_part(self, inner: ast.expr) -> Holding:
        whole = self.of_value(inner) if isinstance(inner, ast.Name | ast.Attribute | ast.Subscript) else Holding.OBJECT
        return Holding.OBJECT if whole >= Holding.OBJECT else Holding.DATA

    def _of_call(self, call: ast.Call) -> Holding:
        path = full_name(call.func, self.imports)
        last = path.rpartition(".")[2] or terminal(call.func)
        if last in _ITERATORS:
            return Holding.ITERATOR
        if last in _STORES:
            return Holding.OBJECT
        if last == "open":
            return Holding.DATA if opens_to_write(call) else Holding.ITERATOR
        if last in _FUNCTIONS_OF_FUNCTIONS:
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            return max(map(self._of_argument, given), default=Holding.PLAIN)
        if isinstance(call.func, ast.Name) and last in self.definitions:
            return self._of_made(self.definitions[last])
        known = judge_dotted(path) if path else judge_builtin(last) if isinstance(call.func, ast.Name) else None
        if isinstance(call.func, ast.Attribute) and not path:
            known = judge_method(last)
        return Holding.DATA if known is HARMLESS else Holding.OBJECT

    def _of_argument(self, node: ast.expr) -> Holding:
        """What a partial function is given: a function or a constant is nothing that can change."""
        if isinstance(node, ast.Name):
            return self.of(node.id) if node.id in self._values else Holding.PLAIN
        found = self.of_value(node)
        return found if found is Holding.PLAIN else Holding.OBJECT

    def _of_made(self, definition: ast.AST) -> Holding:
        """What a call of an added function or class gives."""
        if not isinstance(definition, ast.ClassDef) or definition.bases or definition.decorator_list:
            return Holding.OBJECT
        return Holding.OBJECT if definition.name in self.remembering else Holding.CALM

    # --- what a piece of code changes

    def changed_by(self, top: ast.AST) -> set[str]:
        """The names whose objects a piece of code may change; an attribute that it sets as `self.x`."""
        found: set[str] = set()
        for node in own_nodes(top):
            if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
                found.add(root_name(node))
                if isinstance(node, ast.Attribute):
                    found.add(f"{root_name(node)}.{node.attr}")
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found |= {node.id} if self.of(node.id) is Holding.ITERATOR else set()
            elif isinstance(node, ast.Call) and not kind_of_call(node, self.imports):
                found |= self._changed_by_call(node)
            elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                found |= self._objects([node.iter])
            elif isinstance(node, ast.Starred):
                found |= self._objects([node.value])
        return found - {""} - _own_variables(top)

    def _changed_by_call(self, call: ast.Call) -> set[str]:
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        changed = {name for part in given if (name := root_name(part)) and self.of(name) is not Holding.PLAIN}
        if path := full_name(call.func, self.imports):
            return self._objects(given) if judge_dotted(path) is HARMLESS else changed
        if isinstance(call.func, ast.Name):
            name = call.func.id
            if name != "next" and judge_builtin(name) is HARMLESS:
                return set() if name in _UNUSED else self._objects(given)
            return changed | ({name} if self.of(name) is Holding.OBJECT else set())
        receiver, method = root_name(call.func), terminal(call.func)
        held = self.of(receiver)
        if held is Holding.CALM and method in self.definitions:
            return changed
        pure = judge_method(method) is HARMLESS and not (method in _SETS and self._may_hold(method, held))
        return set() if pure else changed | ({receiver} if held is not Holding.PLAIN else set())

    @staticmethod
    def _may_hold(method: str, held: Holding) -> bool:
        """True if the object may be a set, for `add`, or a queue, for `get`: of data only a set is one."""
        return method == "add" or held is Holding.OBJECT

    def _objects(self, nodes: Iterable[ast.expr]) -> set[str]:
        """The names among these that are changed by any use: what they hold is not known."""
        roots = {root_name(node) for node in nodes} - {""}
        return {name for name in roots if name in self._values and self.of(name) >= Holding.OBJECT}


def _own_variables(top: ast.AST) -> set[str]:
    """The variables of comprehensions and lambdas, which nobody else sees."""
    found: set[str] = set()
    for node in own_nodes(top):
        if isinstance(node, Comprehension):
            for part in node.generators:
                found |= {name.id for name in ast.walk(part.target) if isinstance(name, ast.Name)}
        elif isinstance(node, ast.Lambda):
            found |= {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    return found
