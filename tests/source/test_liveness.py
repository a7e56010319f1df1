"""Liveness: which names a loop must hand on, construct by construct."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from flor.errors import UsageError
from flor.source.blocks import LOOPS, LoopNode
from flor.source.liveness import Liveness, live_at_end, live_at_iteration, read_from_outside
from flor.source.scopes import ScopeNode, own_nodes


def scope_and_loop(text: str, *, function: bool, number: int = 0) -> tuple[ScopeNode, LoopNode]:
    tree = ast.parse(dedent(text))
    scope: ScopeNode = next(node for node in tree.body if isinstance(node, ast.FunctionDef)) if function else tree
    return scope, [node for node in own_nodes(scope.body) if isinstance(node, LOOPS)][number]


def at_end(text: str, *, number: int = 0) -> set[str]:
    """Of x, y and z: which are live when the loop of the function has ended."""
    body = "def f(x, y, z):\n" + "\n".join("    " + line for line in dedent(text).strip().split("\n"))
    return live_at_end(*scope_and_loop(body, function=True, number=number)) & {"x", "y", "z"}


def at_iteration(text: str, *, number: int = 0) -> set[str]:
    body = "def f(x, y, z):\n" + "\n".join("    " + line for line in dedent(text).strip().split("\n"))
    return live_at_iteration(*scope_and_loop(body, function=True, number=number)) & {"x", "y", "z"}


LOOP = "for i in w:\n    x = y = z = i\n"


@pytest.mark.parametrize(
    ("after", "live"),
    [
        ("pass", set()),
        ("print(x)", {"x"}),
        ("return x / y", {"x", "y"}),
        ("x = 1\nprint(x)", set()),
        ("x = x + 1", {"x"}),
        ("x += 1", {"x"}),
        ("x: int = 1\nprint(x)", set()),
        ("x: int\nprint(x)", {"x"}),
        ("x, *y = z\nprint(x, y)", {"z"}),
        ("x[0] = 1", {"x"}),
        ("x.a = y", {"x", "y"}),
        ("del x", {"x"}),
        ("if q: x = 1\nprint(x)", {"x"}),
        ("if q: x = 1\nelse: x = 2\nprint(x)", set()),
        ("if (x := q): print(x)", set()),
        ("q and (x := 1)\nprint(x)", {"x"}),
        ("a if q else (x := 1)\nprint(x)", {"x"}),
        ("a < (x := 1) < (y := 2)\nprint(x, y)", {"y"}),
        ("for x in q: pass\nprint(x)", {"x"}),
        ("while True:\n    x = 1\n    break\nprint(x)", set()),
        ("while q:\n    x = 1\nprint(x)", {"x"}),
        ("for j in q:\n    pass\nelse:\n    x = 1\nprint(x)", set()),
        ("for j in q:\n    break\nelse:\n    x = 1\nprint(x)", {"x"}),
        ("try:\n    x = 1\nexcept E:\n    print(x)", {"x"}),
        ("try:\n    x = 1\nexcept E:\n    return\nprint(x)", set()),
        ("try:\n    x = 1\nfinally:\n    print(x)", {"x"}),
        ("try:\n    q()\nfinally:\n    x = 1\nprint(x)", set()),
        ("try:\n    q()\nexcept E as x:\n    print(x)", set()),
        ("with q as x:\n    print(x)", set()),
        ("with suppress(E):\n    x = 1\nprint(x)", {"x"}),
        ("with torch.no_grad():\n    x = 1\nprint(x)", set()),
        ("match q:\n    case [x, y]: print(x, y, z)", {"z"}),
        ("match q:\n    case [x]: pass\nprint(x)", {"x"}),
        ("match q:\n    case [x]: pass\n    case x: pass\nprint(x)", set()),
        ("match q:\n    case x.a: pass", {"x"}),
        ("print([x for x in y])", {"y"}),
        ("print([z for x in y for z in x])", {"y"}),
        ("print([x for y in x])", {"x"}),
        ("print(sum(x for y in q))", {"x"}),
        ("import x\nprint(x)", set()),
        ("from q import a as x\nprint(x)", set()),
        ("def x(): pass\nprint(x)", set()),
        ("class x: pass\nprint(x)", set()),
        ("class A:\n    b = x\n    def c(self): return y", {"x", "y"}),
        ("raise E(x)", {"x"}),
        ("assert q, x", {"x"}),
        ("print(f'{x:>{y}}')", {"x", "y"}),
        ("return lambda: x", {"x"}),
        ("return lambda x: x", set()),
        ("def g(): return x", {"x"}),
        ("def g(x): return x", set()),
        ("def g(a=x): return a", {"x"}),
        ("def g():\n    nonlocal x\n    x = 1", {"x"}),
        ("return (x for a in y)", {"x", "y"}),
        ("return locals()", {"x", "y", "z"}),
        ("return vars()", {"x", "y", "z"}),
        ("return vars(q)", set()),
        ("return eval(q)", {"x", "y", "z"}),
        ("return q.eval()", set()),
        ("return q.query('a > @x')", {"x", "y", "z"}),
    ],
)
def test_names_read_after_the_loop_before_they_are_written_are_live(after: str, live: set[str]) -> None:
    assert at_end(LOOP + after) == live


def test_the_start_of_an_enclosing_loop_comes_after_its_end() -> None:
    text = """
        while q:
            print(x)
            y = 1
            print(y)
            for i in w:
                x = y = z = i
        """
    assert at_end(text, number=1) == {"x"}


def test_a_name_reset_by_the_enclosing_loop_is_dead() -> None:
    text = """
        for e in q:
            x = 0
            for i in w:
                x += i
                y = i
            print(x)
        """
    assert at_end(text, number=1) == {"x"}
    assert at_iteration(text, number=0) == set()


def test_a_carried_name_is_live_at_each_iteration() -> None:
    assert at_iteration("for i in w:\n    x = x + i\n    y = i\n    print(y)") == {"x"}


def test_what_is_read_after_the_loop_is_live_at_each_iteration_since_there_may_be_no_more() -> None:
    assert at_iteration("for i in w:\n    x = i\nprint(x)") == {"x"}
    assert at_iteration("while True:\n    x = i\n    if x: break\nprint(x)") == set()


def test_the_target_of_a_for_is_bound_anew_but_lives_on_after_it() -> None:
    assert at_iteration("for x in w:\n    print(x)") == set()
    assert at_iteration("for x in w:\n    pass\nprint(x)") == {"x"}


def test_a_write_that_continue_jumps_over_is_not_certain() -> None:
    assert at_iteration("for i in w:\n    print(x)\n    if i: continue\n    x = i") == {"x"}
    assert at_iteration("for i in w:\n    if i: x = 1\n    print(x)") == {"x"}


def test_a_walrus_in_the_test_of_a_while_is_kept() -> None:
    assert "x" in at_iteration("while (x := q()):\n    print(x)")


def test_the_else_of_the_loop_itself_counts_as_after() -> None:
    assert at_end("for i in w:\n    x = i\n    break\nelse:\n    print(x)") == {"x"}


@pytest.mark.parametrize(("jump", "live"), [("break", {"x", "y"}), ("continue", {"x", "z"}), ("return", {"x"})])
def test_a_jump_through_finally_reaches_what_follows(jump: str, live: set[str]) -> None:
    text = f"""
        while True:
            print(z)
            y = 0
            try:
                for i in w:
                    x = y = z = i
                {jump}
            finally:
                print(x)
            return
        print(y)
        """
    assert at_end(text, number=1) == live


def test_a_global_read_by_any_function_of_the_module_is_live() -> None:
    text = """
        for i in w:
            step, best, loss = i, i, i
        def report():
            global best
            print(step)
        """
    live = live_at_end(*scope_and_loop(text, function=False))
    assert {"step", "best"} <= live
    assert "loss" not in live


def test_a_functions_own_name_is_no_read_of_the_global() -> None:
    text = """
        for i in w:
            loss = i
        def report(rows):
            loss = 0
            return loss + [loss for loss in rows][0]
        """
    assert "loss" not in live_at_end(*scope_and_loop(text, function=False))


def test_names_that_belong_to_others_are_always_live() -> None:
    text = """
        def f():
            global step
            for i in w:
                step = i
        """
    assert "step" in live_at_end(*scope_and_loop(text, function=True))


@pytest.mark.parametrize("reader", ["globals()", "eval('a')", "exec('a')", "sys._getframe(1).f_locals"])
def test_code_that_looks_into_the_module_keeps_all_its_names(reader: str) -> None:
    text = f"for i in w:\n    a = b = i\ndef f():\n    return {reader}\n"
    assert {"a", "b", "i"} <= live_at_end(*scope_and_loop(text, function=False))


def test_dead_names_are_the_scopes_own_only() -> None:
    scope, loop = scope_and_loop("def f(a):\n    for i in a:\n        b = i * torch\n", function=True)
    assert Liveness(scope).dead_at_end(loop) == {"a", "b", "i"}


def test_a_class_body_keeps_everything() -> None:
    tree = ast.parse("class A:\n    for i in w:\n        x = i\n")
    scope = tree.body[0]
    assert isinstance(scope, ast.ClassDef)
    loop = scope.body[0]
    assert isinstance(loop, ast.For)
    assert {"i", "x"} <= live_at_end(scope, loop)


def test_a_loop_of_another_scope_is_refused() -> None:
    tree = ast.parse("def f():\n    for i in w: pass\n")
    loop = next(node for node in ast.walk(tree) if isinstance(node, ast.For))
    with pytest.raises(UsageError, match="not in this scope"):
        live_at_end(tree, loop)


def test_names_that_other_modules_read_are_given_from_outside() -> None:
    modules = {
        "config.py": ast.parse("for i in w:\n    lr = wd = seed = i\n"),
        "train.py": ast.parse("import config\nfrom config import wd\nprint(config.lr)\n"),
    }
    outside = read_from_outside(modules, "config.py")
    loop = modules["config.py"].body[0]
    assert isinstance(loop, ast.For)
    live = Liveness(modules["config.py"], also=outside).at_end(loop)
    assert {"lr", "wd"} <= live
    assert "seed" not in live


def test_a_frame_that_waits_for_a_call_keeps_what_comes_next() -> None:
    text = """
        def f(x, y, z):
            a = g(x)
            b = h(a)
            return b + y
        """
    tree = ast.parse(dedent(text))
    scope = tree.body[0]
    assert isinstance(scope, ast.FunctionDef)
    live = Liveness(scope)
    assert live.during(4) & {"x", "y", "z", "a", "b"} == {"a", "b", "y"}
    assert live.during(99) >= {"x", "y", "z", "a", "b"}


def test_a_tree_too_deep_to_walk_keeps_everything() -> None:
    scope, loop = scope_and_loop("for i in w:\n    y = i\nz = x\n", function=False)
    last = scope.body[-1]
    assert isinstance(last, ast.Assign)
    for _ in range(3000):
        last.value = ast.UnaryOp(ast.USub(), last.value)
    live = Liveness(scope)
    assert live.at_end(loop) >= {"x", "y", "z"}
    assert live.dead_at_end(loop) == set()
