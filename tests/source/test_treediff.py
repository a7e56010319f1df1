"""Two versions of a file are aligned by their trees."""

from __future__ import annotations

import ast
from textwrap import dedent

from flor.source.linemap import map_lines
from flor.source.treediff import TreeDiff, diff_trees, parse


def diff(old: str, new: str) -> TreeDiff:
    return diff_trees(parse(dedent(old)), parse(dedent(new)))


def shown(found: TreeDiff) -> list[tuple[str, list[str], list[str]]]:
    return [(gap.function, [*map(ast.unparse, gap.removed)], [*map(ast.unparse, gap.added)]) for gap in found.gaps]


TRAIN = """
    def train(net, loader):
        for x in loader:
            loss = net(x)
            loss.backward()
        return loss

    train(net, loader)
    """


def test_equal_texts_have_no_gap() -> None:
    assert shown(diff(TRAIN, TRAIN)) == []


def test_comments_blank_lines_and_formatting_are_no_edit() -> None:
    new = '''
        """What it does."""


        def train(
            net,
            loader,
        ):
            """Train it."""
            for x in loader:  # all of it
                loss = (net(x))

                loss.backward()
            return loss

        train(net,
              loader)
        '''
    assert shown(diff(TRAIN, new)) == []


def test_a_statement_added_deep_inside_is_an_addition_there() -> None:
    new = TRAIN.replace("loss.backward()", "loss.backward()\n            print(loss)")
    assert shown(diff(TRAIN, new)) == [("train", [], ["print(loss)"])]


def test_a_changed_constant_is_taken_away_and_added() -> None:
    assert shown(diff("lr = 0.1\nf(lr)\n", "lr = 0.2\nf(lr)\n")) == [("<module>", ["lr = 0.1"], ["lr = 0.2"])]


def test_an_added_block_with_the_header_of_an_old_one_is_the_addition() -> None:
    old = "if a:\n    work()\n"
    new = "if a:\n    print(1)\nif a:\n    work()\n"
    assert shown(diff(old, new)) == [("<module>", [], ["if a:\n    print(1)"])]


def test_a_loop_added_before_an_equal_loop_leaves_the_old_one_whole() -> None:
    old = "for p in ps:\n    a(p)\n    b(p)\n"
    new = "for p in ps:\n    print(p)\nfor p in ps:\n    a(p)\n    print(2)\n    b(p)\n"
    assert shown(diff(old, new)) == [
        ("<module>", [], ["for p in ps:\n    print(p)"]),
        ("<module>", [], ["print(2)"]),
    ]


def test_an_added_else_is_an_addition() -> None:
    assert shown(diff("if a:\n    b()\n", "if a:\n    b()\nelse:\n    print(1)\n")) == [("<module>", [], ["print(1)"])]


def test_code_that_is_wrapped_in_a_block_is_taken_away() -> None:
    found = shown(diff("step()\n", "if good:\n    step()\n"))
    assert [removed for _, removed, _ in found] == [["step()"]]


def test_a_pass_that_gives_way_to_a_statement_is_an_addition() -> None:
    assert shown(diff("def f():\n    pass\n", "def f():\n    print(1)\n")) == [("f", [], ["print(1)"])]


def test_a_changed_header_keeps_the_body_paired() -> None:
    found = diff("for i in range(3):\n    a()\n    b()\n", "for i in range(4):\n    a()\n    b()\n")
    assert shown(found) == []
    assert [pair.same_header for pair in found.pairs] == [False, True, True]


def test_an_added_except_clause_changes_the_header() -> None:
    old = "try:\n    a()\nexcept KeyError:\n    b()\n"
    found = diff(old, old + "except ValueError:\n    c()\n")
    assert [pair.same_header for pair in found.pairs if isinstance(pair.old, ast.Try)] == [False]


def test_scopes_have_qualified_names() -> None:
    old = "class T:\n    def fit(self):\n        def inner():\n            a()\n        b()\n"
    new = old.replace("a()", "a()\n            print(1)").replace("b()", "b()\n        print(2)")
    assert [gap.function for gap in diff(old, new).gaps] == ["T.fit.inner", "T.fit"]


def test_lines_of_shared_statements_are_mapped_both_ways() -> None:
    old = dedent(TRAIN)
    new = "import os\n" + old.replace("loss = net(x)", "loss = net(\n            x\n        )")
    forward, backward = map_lines(diff(old, new).pairs)
    assert (forward[3], forward[4], forward[5]) == (4, 5, 8)
    assert (backward[4], backward[5], backward[6], backward[7], backward[8]) == (3, 4, 4, 4, 5)
    assert 1 not in backward


def test_a_line_inside_of_a_long_statement_keeps_its_place() -> None:
    old = "f(\n    a,\n    b,\n)\n"
    forward, backward = map_lines(diff(old, "g()\n" + old).pairs)
    assert forward == {1: 2, 2: 3, 3: 4, 4: 5}
    assert backward == {2: 1, 3: 2, 4: 3, 5: 4}


def test_a_call_inside_of_a_reformatted_statement_is_found() -> None:
    forward, _ = map_lines(diff("f(a, g(b))\n", "f(\n    a,\n    g(b),\n)\n").pairs)
    assert forward == {1: 1}
    _, backward = map_lines(diff("f(\n    a,\n    g(b),\n)\n", "f(a,\n  g(b))\n").pairs)
    assert backward == {1: 1, 2: 3}


def test_a_decorated_function_begins_at_its_decorator() -> None:
    old = "@torch.no_grad()\ndef f():\n    a()\n"
    forward, _ = map_lines(diff(old, "\n" + old.replace("a()", "a()\n    print(1)")).pairs)
    assert forward == {1: 2, 2: 3, 3: 4}
