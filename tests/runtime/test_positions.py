"""A log record's position is the stack of loops under way, with the iteration in each."""

from __future__ import annotations

import threading

import pytest
from flor_scene import Scene

from flor.runtime.session import DEEP


def test_outside_of_loops_a_position_is_empty(scene: Scene) -> None:
    assert scene.play("here(1)") == [(1, ())]


def test_iterations_are_counted_from_zero(scene: Scene) -> None:
    assert scene.play("for i in [7, 8]:\n    here(i)") == [(7, (("#0", 0, 0),)), (8, (("#0", 0, 1),))]


@pytest.mark.parametrize(
    "items",
    ["range(3)", "[0, 1, 2]", "(0, 1, 2)", "iter([0, 1, 2])", "map(int, '012')", "(i for i in range(3))", "{0, 1, 2}",
     "range(10**30, 10**30 + 3)", "dict.fromkeys(range(3))", "'012'", "reversed([2, 1, 0])"],
)  # fmt: skip
def test_any_iterable_counts_alike(scene: Scene, items: str) -> None:
    scene.play(f"for i in {items}:\n    here(5)")
    assert [position[0][2] for _, position in scene.places] == [0, 1, 2]


@pytest.mark.parametrize(
    "items", ["enumerate([5, 6])", "enumerate(range(2), 10)", "enumerate('ab')", "zip('ab', 'cd')"]
)
def test_pairs_count_alike(scene: Scene, items: str) -> None:
    scene.play(f"for i, x in {items}:\n    here(5)")
    assert [position[0][2] for _, position in scene.places] == [0, 1]


def test_a_list_that_grows_is_counted_to_its_end(scene: Scene) -> None:
    scene.play("items = [0]\nfor i in items:\n    here(i)\n    if i < 3: items.append(i + 1)")
    assert [position[0][2] for _, position in scene.places] == [0, 1, 2, 3]


def test_a_while_loop_counts_its_turns(scene: Scene) -> None:
    assert scene.play("n = 2\nwhile n:\n    here(n)\n    n -= 1") == [(2, (("#0", 0, 0),)), (1, (("#0", 0, 1),))]


def test_what_a_while_test_logs_belongs_to_the_turn_that_it_decides(scene: Scene) -> None:
    scene.play("n = 0\ndef test():\n    here(n)\n    return n < 2\nwhile test():\n    n += 1")
    assert [position[0][2] for _, position in scene.places] == [0, 1, 2]


def test_nested_loops_stack_up(scene: Scene) -> None:
    scene.play("for i in range(2):\n    for j in range(2):\n        here(10 * i + j)\n    here(99)")
    assert scene.places == [
        (0, (("#0", 0, 0), ("#1", 0, 0))),
        (1, (("#0", 0, 0), ("#1", 0, 1))),
        (99, (("#0", 0, 0),)),
        (10, (("#0", 0, 1), ("#1", 0, 0))),
        (11, (("#0", 0, 1), ("#1", 0, 1))),
        (99, (("#0", 0, 1),)),
    ]


def test_a_loop_in_a_called_function_has_its_place_in_the_callers_loop(scene: Scene) -> None:
    scene.play("def f():\n    for j in [5]:\n        here(j)\nfor i in range(2):\n    f()")
    assert scene.places == [(5, (("#0", 0, i), ("f#0", 0, 0))) for i in range(2)]


def test_a_loop_that_is_begun_twice_in_an_iteration_says_which_time(scene: Scene) -> None:
    scene.play("def f():\n    for j in [5]:\n        here(j)\nfor i in range(2):\n    f()\n    f()")
    assert [position[1][1] for _, position in scene.places] == [0, 1, 0, 1]


def test_outside_of_loops_too(scene: Scene) -> None:
    scene.play("def f():\n    for j in [5]:\n        here(j)\nf()\nf()\nf()")
    assert [position[0][1] for _, position in scene.places] == [0, 1, 2]


def test_recursion_stacks_the_same_loop(scene: Scene) -> None:
    scene.play("def f(n):\n    for j in range(2):\n        here(n)\n        if n: f(n - 1)\nf(1)")
    assert scene.places == [
        (1, (("f#0", 0, 0),)),
        (0, (("f#0", 0, 0), ("f#0", 0, 0))),
        (0, (("f#0", 0, 0), ("f#0", 0, 1))),
        (1, (("f#0", 0, 1),)),
        (0, (("f#0", 0, 1), ("f#0", 0, 0))),
        (0, (("f#0", 0, 1), ("f#0", 0, 1))),
    ]


def test_recursive_while_loops_count_each_its_own_turns(scene: Scene) -> None:
    scene.play("def f(n):\n    k = 2\n    while k:\n        k -= 1\n        here(k)\n        if n: f(n - 1)\nf(1)")
    assert [position[0][2] for _, position in scene.places] == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("leave", ["break", "raise KeyError", "return"])
def test_a_loop_that_is_left_is_off_the_stack(scene: Scene, leave: str) -> None:
    scene.play(f"""
        def f():
            for i in range(3):
                while True:
                    {leave}
                break
        try:
            f()
        except KeyError:
            pass
        here(1)
        """)
    assert scene.places == [(1, ())]
    assert scene.session.stack == []


def test_an_exception_from_deep_below_leaves_all_loops_between(scene: Scene) -> None:
    scene.play("""
        def deep(n):
            for i in range(2):
                deep(n - 1) if n else 1 / 0
        for k in range(2):
            try:
                deep(3)
            except ZeroDivisionError:
                here(k)
        """)
    assert scene.places == [(0, (("#0", 0, 0),)), (1, (("#0", 0, 1),))]


def test_a_generators_body_is_at_its_consumers_place(scene: Scene) -> None:
    scene.play("""
        def numbers():
            for i in range(2):
                here(i)
                yield i
        for n in numbers():
            here(10 + n)
        """)
    assert [value for value, _ in scene.places] == [0, 10, 1, 11]
    assert [position[0][0] for _, position in scene.places] == ["#0"] * 4


def test_a_generator_that_is_left_alone_leaves_no_loop_behind(scene: Scene) -> None:
    scene.play("def g():\n    for i in range(9):\n        yield i\nfor x in g():\n    break\nhere(1)")
    assert scene.places == [(1, ())]


def test_another_threads_records_have_no_position(scene: Scene) -> None:
    scene.scope["threading"] = threading
    scene.play("""
        def work():
            for j in range(2):
                here(j)
        for i in range(2):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            here(9)
        """)
    assert scene.places == [(0, ()), (1, ()), (9, (("#0", 0, 0),)), (0, ()), (1, ()), (9, (("#0", 0, 1),))]


def test_an_else_is_after_the_loop(scene: Scene) -> None:
    scene.play("for i in [3]:\n    here(i)\nelse:\n    here(4)")
    assert scene.places[0] == (3, (("#0", 0, 0),))


def test_a_log_finds_its_statement(scene: Scene) -> None:
    scene.play("""
        def f():
            here(1)
            flor.log("x", 2)
        class A:
            def m(self):
                flor.log("x", 3)
        f()
        A().m()
        """)
    assert [kept.statement for kept in scene.sink.kept] == ["s.py:3:f", "s.py:4:f", "s.py:7:A.m"]


def test_a_deep_recursion_is_followed_only_so_far(scene: Scene) -> None:
    scene.play("""
        def down(n):
            for i in range(2):
                if i == 0 and n: down(n - 1)
                if i == 1: here(n)
        def sink(n):
            while n:
                n -= 1
                sink(n)
                here(n)
                break
        down(60)
        sink(60)
        here(0)
        """)
    depths = [len(position) for _, position in scene.places]
    assert depths == [DEEP] * 37 + list(range(DEEP, 0, -1)) + [DEEP] * 36 + list(range(DEEP, 0, -1)) + [0]
    assert scene.session.stack == []
