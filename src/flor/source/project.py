"""The project's own functions and classes, and what a name or call in its text refers to."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import dirname

from flor.model.positions import MODULE
from flor.source.scopes import Scope, find_scopes, inner_nodes, own_nodes, parameters

_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, order=True)
class FunctionId:
    """A function, method or class body of the project: file and qualified name."""

    file: str
    name: str

    @property
    def last(self) -> str:
        """The name without what is around it, as a call writes it."""
        return self.name.rpartition(".")[2].partition("@")[0]


@dataclass(frozen=True, order=True)
class Variable:
    """A name in the scope that owns it: a global if the function is `<module>`, else a local or closure cell."""

    file: str
    function: str
    name: str

    @property
    def is_global(self) -> bool:
        """True if the name belongs to a module."""
        return self.function == MODULE


@dataclass(frozen=True, eq=False)
class Place:
    """Where text stands: names are looked up from here."""

    file: str
    scope: Scope

    @property
    def id(self) -> FunctionId:
        """The function whose text this is."""
        return FunctionId(self.file, self.scope.name)


@dataclass
class _Bindings:
    """How a scope binds each of its names: by definitions, by imports, or by values."""

    definitions: dict[str, list[FunctionId]] = field(default_factory=lambda: defaultdict(list))
    imports: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[ast.expr | None]] = field(default_factory=lambda: defaultdict(list))
    elsewhere: set[str] = field(default_factory=set)
    star: bool = False

    def has(self, name: str) -> bool:
        return name not in self.elsewhere and (name in self.definitions or name in self.imports or name in self.values)


Referent = list[FunctionId] | str | None
"""Functions or classes of the project, the dotted path of a library's or builtin's, or nothing that is known."""


class Project:
    """An index of the project's modules; a key of `modules` is a path relative to the project."""

    def __init__(self, modules: Mapping[str, ast.Module]) -> None:
        self.modules = modules
        self.places: dict[FunctionId, Place] = {}
        self.called: dict[str, list[FunctionId]] = defaultdict(list)
        self._bindings: dict[FunctionId, _Bindings] = {}
        self._ids: dict[ast.AST, FunctionId] = {}
        self._files: dict[str, str | None] = {}
        for file, tree in modules.items():
            self._add(file, tree)
        for place in self.places.values():
            self._bindings[place.id] = self._bind(place)
        self.properties = frozenset(each.last for each in self.places if self._is_property(each))
        self.inheritance = self._inherit()
        self.attributes = self._assigned_attributes()

    def _add(self, file: str, tree: ast.Module) -> None:
        for scope in find_scopes(tree):
            place = Place(file, scope)
            self.places[place.id] = place
            self._ids[scope.node] = place.id
            if scope.function:
                self.called[place.id.last].append(place.id)

    def _is_property(self, function: FunctionId) -> bool:
        """True if the function is a method with a decorator, so that reading an attribute may run it."""
        scope = self.places[function].scope
        return bool(scope.owner and scope.function and scope.function.decorator_list)

    def _inherit(self) -> dict[FunctionId, set[FunctionId]]:
        """The classes that each class is derived from or is a parent of."""
        links: dict[FunctionId, set[FunctionId]] = defaultdict(set)
        for child, place in self.places.items():
            if isinstance(place.scope.node, ast.ClassDef) and place.scope.parent:
                around = Place(place.file, place.scope.parent)
                for base in place.scope.node.bases:
                    found = self.referent(base, around)
                    for parent in found if isinstance(found, list) else ():
                        links[child].add(parent)
                        links[parent].add(child)
        return links

    def family(self, owner: FunctionId) -> set[FunctionId]:
        """The class with all classes that are related to it by inheritance, however far."""
        family, todo = {owner}, [owner]
        while todo:
            new = self.inheritance.get(todo.pop(), set()) - family
            family |= new
            todo.extend(new)
        return family

    def _assigned_attributes(self) -> dict[str, list[tuple[Place, ast.expr | None]]]:
        """What is assigned to attributes of each name, anywhere; None stands for anything but a plain assignment."""
        found: dict[str, list[tuple[Place, ast.expr | None]]] = defaultdict(list)
        for place in self.places.values():
            plain: set[ast.AST] = set()
            for node in own_nodes(place.scope.node.body):
                match node:
                    case ast.Assign(targets=[ast.Attribute(attr=attr) as target], value=value):
                        plain.add(target)
                        found[attr].append((place, value))
                    case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if node not in plain:
                        found[attr].append((place, None))
        return found

    def functions(self) -> Iterator[Place]:
        """The places that are functions or methods."""
        return (place for place in self.places.values() if place.scope.function)

    def is_class(self, function: FunctionId) -> bool:
        """True if this is a class, not a function."""
        return isinstance(self.places[function].scope.node, ast.ClassDef)

    def _bind(self, place: Place) -> _Bindings:
        bindings = _Bindings()
        if place.scope.function:
            for name in parameters(place.scope.function):
                bindings.values[name].append(None)
        simple = set()
        for node in _binding_nodes(place.scope.node.body):
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                simple.add(node.targets[0])
            elif isinstance(node, ast.AnnAssign):
                simple.add(node.target)
            if node not in simple:
                self._bind_node(node, place, bindings)
        return bindings

    def _bind_node(self, node: ast.AST, place: Place, bindings: _Bindings) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bindings.definitions[node.name].append(self._ids[node])
            case ast.Import(names=aliases):
                for alias in aliases:
                    path = alias.name if alias.asname else alias.name.partition(".")[0]
                    bindings.imports[alias.asname or path] = path
            case ast.ImportFrom(names=aliases):
                bindings.star |= any(alias.name == "*" for alias in aliases)
                start = _start(place.file, node)
                bindings.imports.update({alias.asname or alias.name: f"{start}.{alias.name}" for alias in aliases})
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                bindings.elsewhere.update(names)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                bindings.values[name].append(value)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bindings.values[name].append(None)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bindings.values[name].append(None)

    def lookup(self, name: str, place: Place) -> Place | None:
        """The place that owns the name as it is seen from here; None if no module of the project binds it."""
        scope: Scope | None = place.scope
        while scope is not None:
            here = Place(place.file, scope)
            # A class body's names are seen by that body only, not by its methods.
            visible = scope is place.scope or not isinstance(scope.node, ast.ClassDef)
            is_last = scope.parent is None
            if visible and (self._bindings[here.id].has(name) or (is_last and self._is_global(name, here))):
                return self.places[here.id]
            scope = scope.parent
        return None

    def _is_global(self, name: str, module: Place) -> bool:
        """True if the module has the name, or may get it by a `global` statement or a star import."""
        bindings = self._bindings[module.id]
        return bindings.has(name) or name not in _BUILTINS

    def variable(self, name: str, place: Place) -> Variable | None:
        """The variable that the name means here; None for builtins."""
        owner = self.lookup(name, place)
        return Variable(place.file, owner.scope.name, name) if owner else None

    def referent(self, node: ast.expr, place: Place) -> Referent:
        """What a name or dotted name refers to, if that is sure."""
        match node:
            case ast.Name(id=name):
                return self._named(name, place)
            case ast.Attribute(value=value, attr=attr):
                root = self.referent(value, place)
                if isinstance(root, str):
                    return self.dotted(f"{root}.{attr}")
                if root and all(self.is_class(each) for each in root):
                    return [found for each in root for found in self._member(each, attr)] or None
        return None

    def _named(self, name: str, place: Place) -> Referent:
        owner = self.lookup(name, place)
        bindings = self._bindings[owner.id] if owner else None
        if bindings is None or not bindings.has(name):
            hidden = self._bindings[FunctionId(place.file, MODULE)].star
            return f"builtins.{name}" if name in _BUILTINS and not hidden else None
        if name in bindings.values:
            return None
        if name in bindings.imports:
            return None if name in bindings.definitions else self.dotted(bindings.imports[name])
        return list(bindings.definitions[name])

    def dotted(self, path: str) -> Referent:
        """What a dotted path means: functions of the project if it leads there, else the path itself."""
        parts = path.split(".")
        for cut in range(len(parts), 0, -1):
            file = self.file_of(".".join(parts[:cut]))
            if file is not None:
                return self._inside(file, parts[cut:], path)
        return path

    def _inside(self, file: str, rest: list[str], path: str) -> Referent:
        if not rest:
            return path
        bindings = self._bindings[FunctionId(file, MODULE)]
        if rest[0] in bindings.values:
            return None
        if rest[0] in bindings.imports:
            return self.dotted(".".join([bindings.imports[rest[0]], *rest[1:]]))
        found = list(bindings.definitions.get(rest[0], ()))
        for part in rest[1:]:
            found = [inner for each in found for inner in self._member(each, part)]
        return found or None

    def _member(self, owner: FunctionId, name: str) -> list[FunctionId]:
        return list(self._bindings[owner].definitions.get(name, ()))

    def file_of(self, module: str) -> str | None:
        """The project's file that an import of this dotted name loads."""
        if module not in self._files:
            self._files[module] = self._find_file(module.strip(".").replace(".", "/"))
        return self._files[module]

    def _find_file(self, stem: str) -> str | None:
        for ending in (f"{stem}.py", f"{stem}/__init__.py"):
            for file in self.modules:
                if file == ending or file.endswith(f"/{ending}"):
                    return file
        return None

    def values(self, variable: Variable) -> list[ast.expr | None]:
        """The expressions that the variable is bound to by plain assignment; None stands for any other binding."""
        return self._bindings[FunctionId(variable.file, variable.function)].values.get(variable.name, [])

    def imported(self, variable: Variable) -> str | None:
        """The dotted path that the variable is imported from."""
        return self._bindings[FunctionId(variable.file, variable.function)].imports.get(variable.name)

    def is_open_class(self, function: FunctionId) -> bool:
        """True if the class has a parent that is no class of the project, so that a library may call its methods."""
        node = self.places[function].scope.node
        place = self.places[function]
        around = Place(place.file, place.scope.parent) if place.scope.parent else place
        if not isinstance(node, ast.ClassDef):
            return True
        if node.keywords or node.decorator_list:
            return True
        return any(self._is_foreign(parent, around, function) for parent in node.bases)

    def _is_foreign(self, parent: ast.expr, around: Place, child: FunctionId) -> bool:
        found = self.referent(parent, around)
        if found == "builtins.object":
            return False
        if not isinstance(found, list):
            return True
        return any(each == child or not self.is_class(each) or self.is_open_class(each) for each in found)


def _binding_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes that may bind a name of the scope; the targets of a comprehension are its own."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        yield node
        stack.extend([node.iter, *node.ifs] if isinstance(node, ast.comprehension) else inner_nodes(node))


def _start(file: str, node: ast.ImportFrom) -> str:
    """The dotted path that a `from ... import` begins with, relative ones resolved against the file."""
    if not node.level:
        return node.module or ""
    folder = file
    for _ in range(node.level):
        folder = dirname(folder)
    parts = [*(part for part in folder.split("/") if part), *((node.module or "").split(".") if node.module else [])]
    return ".".join(parts)
