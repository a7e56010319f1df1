"""Names that only the present source binds: a probe's own variables, scope by scope."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flor.model.positions import MODULE
from flor.source.bindings import names_by_scope

Bound = tuple[str, str]
"""A scope, `<module>` or the qualified name of a function, and a name that it binds."""


def new_names(recorded: Mapping[str, str], present: Mapping[str, str]) -> frozenset[Bound]:
    """What the present files bind and the recorded ones do not; files are not told apart, scopes are."""
    before = {bound for text in recorded.values() for bound in _bound(text)}
    return frozenset(bound for text in present.values() for bound in _bound(text)) - before


def _bound(text: str) -> Iterator[Bound]:
    for scope, names in names_by_scope(ast.parse(text)).items():
        yield from ((scope, name) for name in names.bound - names.outer)
        if scope != MODULE:  # a `global` of a function is a name of the module
            yield from ((MODULE, name) for name in names.outer & names.bound)
