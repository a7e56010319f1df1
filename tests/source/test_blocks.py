"""Loops: what they are called, where they are, and which is which after an edit."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from flor.model.positions import LoopId
from flor.source.blocks import Loop, find_loops, match_loops


def loops(text: str) -> list[Loop]:
    return find_loops(ast.parse(dedent(text)), "train.py")


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("for epoch in range(3)", "epoch"),
        ("for self.epoch in range(3)", "epoch"),
        ("for i, (x, y) in enumerate(loader)", "i"),
        ("for (x, y), i in pairs", "x"),
        ("for [a, b] in pairs", "a"),
        ("for *first, last in rows", "first"),
        ("for state['step'] in range(3)", "state"),
        ("for () in pairs", "for"),
        ("while True", "while"),
    ],
)
def test_a_loop_is_called_by_the_first_name_of_its_target(header: str, name: str) -> None:
    assert loops(f"{header}: pass")[0].name == name


def test_loops_are_counted_within_their_function_in_source_order() -> None:
    text = """
        for a in x:
            while b: f()
        else:
            for c in x: f()
        class Trainer:
            for d in x: f()
            def fit(self):
                for e in x:
                    def inner():
                        for g in x: f()
                try:
                    for h in x: f()
                except E:
                    for i in x: f()
                finally:
                    for j in x: f()
        async def main():
            async for k in x: f()
        """
    assert [(str(loop.id), loop.name) for loop in loops(text)] == [
        ("train.py::<module>#0", "a"),
        ("train.py::<module>#1", "while"),
        ("train.py::<module>#2", "c"),
        ("train.py::Trainer#0", "d"),
        ("train.py::Trainer.fit#0", "e"),
        ("train.py::Trainer.fit#1", "h"),
        ("train.py::Trainer.fit#2", "i"),
        ("train.py::Trainer.fit#3", "j"),
        ("train.py::Trainer.fit.inner#0", "g"),
        ("train.py::main#0", "k"),
    ]


def test_parents_are_the_loops_around_in_the_same_function_outermost_first() -> None:
    found = loops(
        """
        for a in x:
            if y:
                for b in x:
                    while c: f()
            else:
                for d in x: f()
        else:
            for e in x: f()
        """
    )
    assert [[parent.ordinal for parent in loop.parents] for loop in found] == [[], [0], [0, 1], [0], []]


def test_a_function_defined_twice_gets_a_second_name() -> None:
    found = loops(
        """
        class A:
            @property
            def x(self):
                for a in self: f()
            @x.setter
            def x(self, value):
                for b in self: f()
        def step():
            def inner():
                for c in y: f()
        def step():
            def inner():
                for d in y: f()
        """
    )
    assert [loop.function for loop in found] == ["A.x", "A.x@2", "step.inner", "step@2.inner"]
    assert len({loop.id for loop in found}) == 4
    assert all(LoopId.parse(str(loop.id)) == loop.id for loop in found)


def test_header_names_are_those_that_the_header_reads_or_binds() -> None:
    first, second = loops("for i, x in enumerate(loader.batches): total += x\nwhile step < limit: f()")
    assert first.header_names == {"i", "x", "enumerate", "loader"}
    assert second.header_names == {"step", "limit"}


def test_lines_are_those_of_the_whole_loop() -> None:
    loop = loops("x = 1\nfor a in b:\n    f()\nelse:\n    g()\n")[0]
    assert (loop.line, loop.end_line) == (2, 5)


def test_a_loop_in_a_generator_or_coroutine_is_known_as_such() -> None:
    text = """
        def plain():
            for a in x: f(lambda: (yield))
        def generator():
            for b in x: f()
            yield 1
        async def coroutine():
            for c in x: f()
        def outer():
            for d in x: f()
            def inner(): yield 1
        """
    assert [loop.in_generator for loop in loops(text)] == [False, True, True, False]


@pytest.mark.parametrize(
    "body",
    ["total += x", "if x: y = a[x]\nelse: break", "for z in x: w[z] = z", "x = [a * b for a in y]", "pass"],
)
def test_a_loop_without_anything_long_is_trivial(body: str) -> None:
    indented = body.replace("\n", "\n    ")
    assert loops(f"for x in call(y):\n    {indented}")[0].trivial


@pytest.mark.parametrize(
    "body",
    [
        *("f()", "y = a @ b", "with a: pass", "try: pass\nexcept E: pass", "import os", "raise E", "assert x"),
        *("del x", "def f(): pass", "class A: pass", "y = lambda: 1", "for z in range(3): pass"),
    ],
)
def test_a_loop_that_could_take_long_is_not_trivial(body: str) -> None:
    indented = body.replace("\n", "\n    ")
    assert not loops(f"for x in y:\n    {indented}")[0].trivial


def test_the_test_of_a_while_counts_since_it_runs_each_time() -> None:
    assert not loops("while train_step(): pass")[0].trivial
    assert loops("while i < len(xs): i += 1")[0].trivial


OLD = """
    import torch
    for epoch in range(10):
        for x, y in loader:
            loss = f(x, y)
            loss.backward()
        for x, y in test:
            right += g(x, y)
    def helper():
        for p in params:
            p.zero_()
    """


def matched(new: str) -> dict[str, str]:
    pairs = match_loops(loops(OLD), loops(new))
    return {f"{old.function}#{old.ordinal}": f"{new.function}#{new.ordinal}" for old, new in pairs.items()}


SAME = {"<module>#0": "<module>#0", "<module>#1": "<module>#1", "<module>#2": "<module>#2", "helper#0": "helper#0"}


def test_loops_of_an_unchanged_source_match_themselves() -> None:
    assert matched(OLD) == SAME


def test_a_probe_that_brings_its_own_loop_moves_the_others() -> None:
    new = OLD.replace("    for epoch", "    for name in names:\n        print(name)\n    for epoch").replace(
        "            loss.backward()\n",
        "            loss.backward()\n            for p in net.parameters():\n                print(p.norm())\n",
    )
    assert matched(new) == {**SAME, "<module>#0": "<module>#1", "<module>#1": "<module>#2", "<module>#2": "<module>#4"}


def test_an_added_counter_in_the_header_is_the_same_loop() -> None:
    assert matched(OLD.replace("for x, y in loader", "for i, (x, y) in enumerate(loader)")) == SAME


def test_a_loop_that_is_gone_is_matched_with_none() -> None:
    new = OLD.replace("        for x, y in test:\n            right += g(x, y)\n", "        pass\n")
    assert matched(new) == {key: value for key, value in SAME.items() if key != "<module>#2"}


def test_another_loop_in_the_place_of_an_old_one_is_not_the_same() -> None:
    new = OLD.replace("right += g(x, y)", "print(x)")
    assert "<module>#2" not in matched(new)


def test_a_loop_wrapped_in_another_is_still_found() -> None:
    lines = [f"    {line}" if 1 < number < 8 else line for number, line in enumerate(OLD.split("\n"))]
    new = "\n".join([*lines[:2], "    for seed in range(3):", *lines[2:]])
    assert matched(new)["<module>#1"] == "<module>#2"


def test_two_equal_loops_are_told_apart_by_what_is_around_them() -> None:
    old = "for a in x:\n    for p in q: f(p)\n"
    new = "for p in q: f(p)\nfor a in x:\n    for p in q: f(p)\n"
    pairs = match_loops(loops(old), loops(new))
    assert [loop.ordinal for loop in pairs.values()] == [1, 2]
