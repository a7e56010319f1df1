"""Which added functions and classes keep something from one call to the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flor.source.bindings import Function, bound_names, parameters
from flor.source.calls import opens_to_write
from flor.source.fresh import root_name
from flor.source.holding import Holding, Holdings
from flor.source.logcalls import dotted, full_name
from flor.source.words import words

_CALM_DECORATORS = words(
    """no_grad inference_mode enable_grad staticmethod classmethod property contextmanager asynccontextmanager wraps
    dataclass total_ordering abstractmethod overload final override setter getter autocast runtime_checkable"""
)
_READS = words("load read_text read_bytes read_csv read_json read_parquet loadtxt exists getsize listdir stat is_file")
_WRITES = words(
    """save dump write_text write_bytes to_csv to_json to_parquet to_pickle savez savetxt save_file mkdir makedirs touch
    unlink"""
)


def remembered(statement: ast.stmt, holdings: Holdings) -> set[str]:
    """What the functions, lambdas and classes that a statement defines change from call to call; empty if nothing."""
    found: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Global | ast.Nonlocal):
            found |= set(node.names)
        elif isinstance(node, ast.Lambda):
            found |= _from_outside(node.body, parameters(node.args), holdings) | _defaults(node, [node.body], holdings)
        elif isinstance(node, Function):
            found |= _decorated(node, holdings) | _defaults(node, node.body, holdings)
            own = parameters(node.args) | {name for part in node.body for name in bound_names(part)}
            for part in node.body:
                found |= _from_outside(part, own, holdings) | _kept_on_objects(node, part, holdings)
        elif isinstance(node, ast.ClassDef):
            found |= _decorated(node, holdings) | _kept_on_class(node, holdings)
    return found


def exchanges_files(statements: Mapping[int, ast.stmt], imports: Mapping[str, str]) -> bool:
    """True if added statements both write files and read some: what was written may be read an iteration later."""
    calls = [node for part in statements.values() for node in ast.walk(part) if isinstance(node, ast.Call)]
    names = {(full_name(call.func, imports) or dotted(call.func)).rpartition(".")[2] for call in calls}
    methods = {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}
    opened = [call for call in calls if _is_open(call)]
    writes = any(map(opens_to_write, opened)) or bool((names | methods) & _WRITES)
    return writes and (not all(map(opens_to_write, opened)) or bool((names | methods) & _READS))


def _is_open(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name | ast.Attribute) and dotted(call.func).rpartition(".")[2] == "open"


def _from_outside(part: ast.AST, own: set[str], holdings: Holdings) -> set[str]:
    """The added names of other scopes that are changed."""
    return {name for name in holdings.changed_by(part) - own if "." not in name and name in holdings.names}


def _defaults(node: Function | ast.Lambda, body: list[ast.stmt] | list[ast.expr], holdings: Holdings) -> set[str]:
    """The parameters whose default value is changed: it is the same object in each call."""
    args = node.args
    plain = [*args.posonlyargs, *args.args]
    pairs = [*zip(plain[len(plain) - len(args.defaults) :], args.defaults, strict=True)]
    pairs += [(arg, value) for arg, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value is not None]
    lasting = {arg.arg for arg, value in pairs if not isinstance(value, ast.Constant)}
    if not lasting:
        return set()
    changed = {name for part in body for name in holdings.changed_by(part)}
    used = {name.id for part in body for name in ast.walk(part) if isinstance(name, ast.Name)}
    iterated = {arg.arg for arg, value in pairs if arg.arg in used and holdings.of_value(value) >= Holding.OBJECT}
    return (lasting & changed) | iterated


def _decorated(node: Function | ast.ClassDef, holdings: Holdings) -> set[str]:
    """The name itself if a decorator is not known to keep nothing; an added one is judged for itself."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = dotted(target).rpartition(".")[2]
        if name not in _CALM_DECORATORS and name not in holdings.definitions:
            return {node.name}
    return set()


def _kept_on_objects(node: Function, part: ast.stmt, holdings: Holdings) -> set[str]:
    """What a function leaves on the objects that it is given: `self.seen`; on a new object this is no memory."""
    given = parameters(node.args)
    changed = holdings.changed_by(part)
    if node.name in ("__init__", "__new__", "__post_init__"):
        given -= {"self"}
    attributes = {name for name in changed if "." in name and name.partition(".")[0] in given}
    return attributes | {f"{name}.*" for name in ("self", "cls") if name in changed & given}


def _kept_on_class(node: ast.ClassDef, holdings: Holdings) -> set[str]:
    """The containers of a class that `__init__` fills: all objects share them."""
    shared = {name for part in node.body if isinstance(part, ast.Assign | ast.AnnAssign) for name in bound_names(part)}
    return {f"{node.name}.{name}" for name in shared & set(_filled_in_init(node))} if shared else set()


def _filled_in_init(node: ast.ClassDef) -> Iterator[str]:
    """The attributes of `self` that `__init__` changes without binding them."""
    for function in node.body:
        if not isinstance(function, Function) or function.name not in ("__init__", "__new__", "__post_init__"):
            continue
        for part in ast.walk(function):
            inner = part.value if isinstance(part, ast.Attribute | ast.Subscript) else None
            if isinstance(inner, ast.Attribute) and root_name(inner) == "self":
                yield inner.attr
            if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Attribute):
                yield part.target.attr
