"""Probes that follow each other are watched as one."""

from __future__ import annotations

import ast
from textwrap import dedent

from flor.source.instrument import instrument


def watched(text: str, *doubtful: int) -> str:
    tree = instrument(ast.parse(dedent(text)), "t.py", doubtful=frozenset(doubtful))
    return ast.unparse(tree)


def test_probes_that_follow_each_other_are_watched_as_one() -> None:
    text = """\
        model.eval()
        print(model(x))
        model.train()
        step()
        """
    expected = """\
        _flor.probing('t.py:1')
        model.eval()
        print(model(x))
        model.train()
        _flor.probed('t.py:1')
        step()"""
    assert watched(text, 1, 2, 3) == dedent(expected)


def test_a_statement_of_the_recorded_program_ends_a_watch() -> None:
    found = watched("a()\nstep()\nb()\n", 1, 3)
    assert found.splitlines() == [
        "_flor.probing('t.py:1')", "a()", "_flor.probed('t.py:1')", "step()",
        "_flor.probing('t.py:3')", "b()", "_flor.probed('t.py:3')",
    ]  # fmt: skip


def test_probes_in_every_kind_of_block_are_joined() -> None:
    text = """\
        if x:
            a()
            b()
        else:
            a()
            b()
        try:
            step()
        finally:
            a()
            b()
        """
    assert watched(text, 2, 3, 5, 6, 10, 11).count("_flor.probing") == 3


def test_what_is_in_a_probe_is_watched_with_it() -> None:
    assert watched("if x:\n    a()\n    b()\nc()\n", 1, 2, 3, 4).count("_flor") == 2
