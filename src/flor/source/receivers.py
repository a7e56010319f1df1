"""The class of an object, where the text leaves no doubt."""

from __future__ import annotations

import ast

from flor.source.project import FunctionId, Place, Project, Variable
from flor.source.scopes import FUNCTIONS


def class_of(node: ast.expr, place: Place, project: Project) -> FunctionId | None:
    """The project's class that the receiver is an instance of: `self`, or what only ever is `Class(...)`."""
    match node:
        case ast.Call(func=func):
            return _only_class(project, func, place)
        case ast.Name(id=name):
            return _self_class(name, place, project) or _variable_class(name, place, project)
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            owner = _self_class(name, place, project)
            return _attribute_class(owner, attr, project) if owner else None
    return None


def methods(owner: FunctionId, name: str, project: Project) -> list[FunctionId]:
    """The methods that a call on an instance may reach: of the class, its parents and its children."""
    family = project.family(owner)
    own = [each for each in project.called.get(name, ()) if _owner(each, project) in family]
    # If a parent is no class of the project, the method may be the library's unless the class has it itself.
    if any(project.is_open_class(each) for each in family):
        return own if any(_owner(each, project) == owner for each in own) else []
    return own


def _owner(method: FunctionId, project: Project) -> FunctionId | None:
    place = project.places[method]
    return FunctionId(place.file, place.scope.owner.name) if place.scope.owner else None


def _self_class(name: str, place: Place, project: Project) -> FunctionId | None:
    function, owner = place.scope.function, place.scope.owner
    if function is None or owner is None or not function.args.args or function.args.args[0].arg != name:
        return None
    static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in function.decorator_list)
    rebound = len(project.values(Variable(place.file, place.scope.name, name))) > 1
    return None if static or rebound else FunctionId(place.file, owner.name)


def _variable_class(name: str, place: Place, project: Project) -> FunctionId | None:
    variable = project.variable(name, place)
    owner = project.lookup(name, place)
    if variable is None or owner is None or project.imported(variable):
        return None
    values = project.values(variable)
    classes = {_only_class(project, value.func, owner) if isinstance(value, ast.Call) else None for value in values}
    return classes.pop() if len(classes) == 1 else None


def _attribute_class(owner: FunctionId, attr: str, project: Project) -> FunctionId | None:
    """The class of `self.attr`, if every assignment to an attribute of that name anywhere says so."""
    found = {
        _only_class(project, value.func, place) if isinstance(value, ast.Call) else None
        for place, value in project.attributes.get(attr, ())
    }
    return found.pop() if len(found) == 1 else None


def _only_class(project: Project, func: ast.expr, place: Place) -> FunctionId | None:
    referent = project.referent(func, place)
    if isinstance(referent, list) and len(referent) == 1 and project.is_class(referent[0]):
        node = project.places[referent[0]].scope.node
        makes_itself = not any(isinstance(part, FUNCTIONS) and part.name == "__new__" for part in node.body)
        return referent[0] if makes_itself else None
    return None
