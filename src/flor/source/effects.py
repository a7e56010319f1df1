"""What the project's own functions may change, through all that they call."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from flor.model.positions import MODULE
from flor.source.entries import Entries, loops_that_may_enter
from flor.source.facts import ANY_ATTRIBUTE, Called, Facts, Reader, Reason
from flor.source.project import FunctionId, Place, Project, Variable
from flor.source.roots import Root, is_inner
from flor.source.scopes import own_nodes, parameters

__all__ = ["Effects", "Summary", "loops_that_may_enter", "summarize"]


@dataclass(frozen=True)
class Summary:
    """What a call of one function may change, whether it may draw random numbers or run code that is not known."""

    parameters: frozenset[str] = frozenset()
    variables: frozenset[Variable] = frozenset()
    attributes: frozenset[str] = frozenset()
    shares: frozenset[Variable] = frozenset()
    random: bool = False
    unknown: bool = False

    @property
    def globals(self) -> frozenset[Variable]:
        """The names of modules that it may bind or change; `attributes` of self has `*` if any may change."""
        return frozenset(variable for variable in self.variables if variable.is_global)

    @property
    def cells(self) -> frozenset[Variable]:
        """The variables of enclosing functions that it may bind or change."""
        return self.variables - self.globals


@dataclass
class Effects:
    """The summaries of all functions, and what any callback of the project may change."""

    project: Project
    summaries: dict[FunctionId, Summary]
    anywhere: frozenset[Variable] = frozenset()
    aliases: Mapping[Root, set[Root]] = field(default_factory=dict)
    contents: Mapping[Root, set[Root]] = field(default_factory=dict)

    def of(self, file: str, function: str) -> Summary:
        """The summary of one function, named as in `Trainer.fit`."""
        return self.summaries[FunctionId(file, function)]

    def changes(self, facts: Facts) -> dict[Root, Reason]:
        """Everything that statements with these facts may bind or change, calls followed, each with its reason."""
        changes = self._left_behind(self.mutations(facts), facts)
        for variable, reason in facts.bound.items():
            if variable not in changes or reason.line <= changes[variable].line:
                changes[variable] = reason
        return changes

    def _left_behind(self, changes: dict[Root, Reason], facts: Facts) -> dict[Root, Reason]:
        """Adds the aliases of what is changed under a name that then is bound anew, and so no longer leads there."""
        todo = [root for root in changes if root in facts.bound]
        while todo:
            root = todo.pop()
            inside = self.contents.get(root, ()) if root in facts.deep else ()
            for alias in [*self.aliases.get(root, ()), *inside]:
                if alias not in changes:
                    name = root.name if isinstance(root, Variable) else root.last
                    changes[alias] = Reason(
                        f"may share {name}, which changes: {changes[root].rule}", changes[root].line
                    )
                    todo.extend([alias] if alias in facts.bound else [])
        return changes

    def mutations(self, facts: Facts) -> dict[Root, Reason]:
        """What may be changed in place, or bound by a function that is called."""
        changed = dict(facts.changed)
        by_calls: set[Root] = set()
        for call in facts.calls:
            for root, reason in self._through(call):
                changed.setdefault(root, reason)
                by_calls.add(root)
        if facts.unknown is not None:
            rule = "unknown code may run a function of yours that changes it"
            for variable in sorted(self.anywhere):
                changed.setdefault(variable, Reason(rule, facts.unknown))
        return self.reach(changed, facts, shallow=set(facts.changed) - facts.deep - by_calls)

    def _through(self, call: Called) -> Iterator[tuple[Root, Reason]]:
        for function in call.functions:
            summary = self.summaries[function]
            for name in summary.parameters:
                for root in _given(call, self.project.places[function], name):
                    yield root, Reason(f"{function.last}() changes its {name}", call.line)
            for variable in summary.variables:
                yield variable, Reason(f"{function.last}() changes it", call.line)

    def reach(self, changed: Mapping[Root, Reason], facts: Facts, shallow: Collection[Root] = ()) -> dict[Root, Reason]:
        """What is changed, and what it may be made of: `p` of `for p in net.parameters()` is a part of `net`."""
        found = dict(changed)
        deep = set(changed).difference(shallow)
        todo = list(changed)
        while todo:
            root = todo.pop()
            inside = facts.contents.get(root, ()) if root in deep else ()
            for source in [*self._sources(root, facts), *inside]:
                if source not in found:
                    name = root.name if isinstance(root, Variable) else f"{root.last}()"
                    found[source] = Reason(f"{name}, which may share it, changes: {found[root].rule}", found[root].line)
                if source not in deep:
                    # A part of the source has changed, so what was put into it may be that part.
                    deep.add(source)
                    todo.append(source)
        return found

    def _sources(self, root: Root, facts: Facts) -> Iterator[Root]:
        yield from facts.sources.get(root, ())
        if isinstance(root, FunctionId):
            yield from self.summaries[root].shares if root in self.summaries else ()
        elif path := self._imported(root):
            yield from self._exported(path, {name for variable, name in facts.attributes if variable == root})

    def _imported(self, variable: Variable) -> str | None:
        return None if is_inner(variable) else self.project.imported(variable)

    def _exported(self, path: str, attributes: Iterable[str]) -> Iterator[Variable]:
        """The variables of the project's modules that an imported name, or attributes of an imported module, mean."""
        if file := self.project.file_of(path):
            for name in attributes:
                if name != ANY_ATTRIBUTE:
                    yield Variable(file, MODULE, name)
            return
        module, _, name = path.rpartition(".")
        if module and (file := self.project.file_of(module)):
            yield Variable(file, MODULE, name)


def summarize(modules: Mapping[str, ast.Module]) -> Effects:
    """The effects of all functions: a fixpoint over the call graph, so recursion needs no care."""
    project = Project(modules)
    entries = Entries(project)
    facts = {place.id: Reader(project, place).read(place.scope.node.body) for place in project.places.values()}
    is_open = {place.id for place in project.functions() if entries.is_open(place.id)}
    for place in project.places.values():
        lambdas = FunctionId(place.file, f"{place.scope.name}.<lambda>")
        facts[lambdas] = _read_lambdas(project, place)
        is_open.add(lambdas)
    effects = Effects(
        project,
        dict.fromkeys(facts, Summary()),
        aliases=_both_ways(each.sources for each in facts.values()),
        contents=_both_ways(each.contents for each in facts.values()),
    )
    while _improve(effects, facts, is_open):
        pass
    return effects


def _both_ways(links: Iterable[Mapping[Root, set[Root]]]) -> dict[Root, set[Root]]:
    """The links of all functions together, each in both directions."""
    found: dict[Root, set[Root]] = defaultdict(set)
    for root, others in (item for each in links for item in each.items()):
        for other in others:
            found[root].add(other)
            found[other].add(root)
    return found


def _improve(effects: Effects, facts: Mapping[FunctionId, Facts], is_open: Iterable[FunctionId]) -> bool:
    """One round over all functions; True if a summary has grown. They only grow and are finite, so this ends."""
    before = dict(effects.summaries), effects.anywhere
    for function, each in facts.items():
        effects.summaries[function] = _summary(function, each, effects)
    effects.anywhere = frozenset().union(*(effects.summaries[each].variables for each in is_open))
    return before != (effects.summaries, effects.anywhere)


def _read_lambdas(project: Project, place: Place) -> Facts:
    """What the lambdas made in a place do, whoever calls them."""
    nodes = [node for node in own_nodes(place.scope.node.body) if isinstance(node, ast.Lambda)]
    return Reader(project, place).read(nodes)


def _summary(function: FunctionId, facts: Facts, effects: Effects) -> Summary:
    mutated = {root for root in effects.mutations(facts) if isinstance(root, Variable)}
    place = effects.project.places.get(function)
    takes = parameters(place.scope.function) if place and place.scope.function else []
    changed = {root.name for root in mutated if _owns(function, root)}.intersection(takes)
    callees = [effects.summaries[each] for call in facts.calls for each in call.functions]
    return Summary(
        parameters=frozenset(changed),
        variables=frozenset(root for root in mutated.union(facts.bound) if _is_outside(function, root)),
        attributes=_attributes(Variable(function.file, function.name, takes[0]), facts, effects, mutated)
        if place and place.scope.owner and changed.intersection(takes[:1])
        else frozenset(),
        shares=_shares(function, facts, effects),
        random=facts.random or facts.unknown is not None or any(each.random for each in callees),
        unknown=facts.unknown is not None or any(each.unknown for each in callees),
    )


def _owns(function: FunctionId, variable: Variable) -> bool:
    return (variable.file, variable.function) == (function.file, function.name)


def _is_outside(function: FunctionId, variable: Variable) -> bool:
    return not is_inner(variable) and not _owns(function, variable)


def _attributes(own: Variable, facts: Facts, effects: Effects, mutated: Iterable[Root]) -> frozenset[str]:
    """The attributes of a method's `self` that may change; `*` if it may change by another way."""
    found = {name for variable, name in facts.attributes if variable == own and own in facts.changed}
    for call in facts.calls:
        for each in call.functions:
            place, summary = effects.project.places[each], effects.summaries[each]
            changing = [name for name in summary.parameters if own in _given(call, place, name)]
            if changing:
                by_receiver = call.receiver == frozenset[Root]({own}) and changing == parameters(_function(place))[:1]
                found |= summary.attributes if by_receiver else {ANY_ATTRIBUTE}
    if any(own in facts.sources.get(root, ()) for root in mutated if root != own):
        found.add(ANY_ATTRIBUTE)
    return frozenset(found)


def _shares(function: FunctionId, facts: Facts, effects: Effects) -> frozenset[Variable]:
    """The variables of other scopes that the result may share."""
    reached = effects.reach(dict.fromkeys(facts.returned, Reason("", 0)), facts)
    return frozenset(root for root in reached if isinstance(root, Variable) and _is_outside(function, root))


def _function(place: Place) -> ast.FunctionDef | ast.AsyncFunctionDef:
    assert place.scope.function is not None
    return place.scope.function


def _given(call: Called, place: Place, name: str) -> frozenset[Root]:
    """The roots of what a call gives to the parameter of this name."""
    everything = [*call.positional, *(roots for _, roots in call.keywords), call.receiver or frozenset()]
    if call.unpacks:
        return frozenset().union(*everything)
    function = _function(place)
    static = any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in function.decorator_list)
    positional = list(call.positional)
    if call.receiver is not None and place.scope.owner and not static:
        positional.insert(0, call.receiver)
    plain = [argument.arg for argument in [*function.args.posonlyargs, *function.args.args]]
    by_name = [roots for word, roots in call.keywords if word == name]
    if name in plain:
        return frozenset().union(*by_name, *positional[plain.index(name) : plain.index(name) + 1])
    if function.args.vararg and name == function.args.vararg.arg:
        return frozenset().union(*positional[len(plain) :])
    return frozenset().union(*by_name) if by_name else frozenset().union(*(roots for _, roots in call.keywords))
