"""What is counted and told of loops: boundaries, ends, functions entered, and which are let go by."""

from __future__ import annotations

import ast
import itertools

import pytest
from flor_scene import Scene

from flor.runtime import current, hooks
from flor.runtime.sites import DEMOTE_AFTER, Site, gauge_of


def test_each_iteration_has_a_boundary_and_each_loop_an_end(scene: Scene) -> None:
    scene.play("for i in map(abs, [1, 2]):\n    here(i)")
    loop = "<module>#0"
    assert scene.listener.events == [
        ("entering", loop, 0), ("boundary", loop, 0), ("boundary", loop, 1), ("leaving", loop, 2), ("left", loop, 2),
    ]  # fmt: skip


def test_a_break_is_an_end_too_and_an_exception_is_none(scene: Scene) -> None:
    scene.play("""
        for i in "ab":
            here(1)
            break
        try:
            for i in "ab":
                here(1 // 0)
        except ZeroDivisionError:
            pass
        """)
    told = [(what, loop) for what, loop, _ in scene.listener.events if what in ("leaving", "left")]
    assert told == [("leaving", "<module>#0"), ("left", "<module>#0"), ("left", "<module>#1")]


def test_a_body_is_not_begun_before_its_boundary(scene: Scene) -> None:
    seen: list[str] = []
    scene.listener.boundary = lambda *_: seen.append("boundary") is None  # type: ignore[method-assign]
    scene.scope["seen"] = seen
    scene.play("for i in 'ab':\n    seen.append(i)")
    assert seen == ["boundary", "a", "boundary", "b"]


def test_a_conductor_may_end_a_while_loop(scene: Scene) -> None:
    scene.listener.boundary = lambda frame, caller, now, index: index < 2  # type: ignore[method-assign]
    scene.play("while True:\n    here(1)")
    assert len(scene.places) == 2


def test_sums_are_kept_for_each_loop(scene: Scene) -> None:
    scene.play("def f(n):\n    for i in range(n):\n        here(i)\nf(2)\nf(3)")
    site = scene.session.sites["s.py::f#0"]
    assert (site.executions, site.iterations, site.active) == (2, 5, 0)


def test_a_loop_that_was_left_by_an_exception_is_counted(scene: Scene) -> None:
    scene.play("try:\n    for i in range(9):\n        here(1 // (2 - i))\nexcept ZeroDivisionError:\n    pass")
    site = scene.session.sites["s.py::<module>#0"]
    assert (site.executions, site.iterations, site.active) == (1, 3, 0)


def test_a_native_iterator_is_read_without_being_moved() -> None:
    for items in (range(5), [0, 1, 2, 3, 4], (0, 1, 2, 3, 4)):
        gauge = gauge_of(items)
        assert gauge is not None
        first = gauge.take(2)
        assert [(item, gauge.given(), gauge.left()) for item in first] == [(0, 1, 4), (1, 2, 3)]
        last = gauge.take(9)
        assert [(item, gauge.given(), gauge.left()) for item in last] == [(2, 3, 2), (3, 4, 1), (4, 5, 0)]


def test_a_range_that_has_no_length_is_not_read() -> None:
    assert gauge_of(range(1 << 70)) is None


def test_enumerate_is_read_too_and_others_are_not() -> None:
    pairs = enumerate([5, 6], 3)
    gauge = gauge_of(pairs)
    assert gauge is not None
    assert (next(pairs), gauge.given(), gauge.left()) == ((3, 5), 1, 1)
    generator = (i for i in range(3))
    assert gauge_of(generator) is None
    text = enumerate("ab")
    assert gauge_of(text) is None


def test_short_iterations_go_by_in_chunks_and_are_counted_all_the_same(scene: Scene) -> None:
    scene.play("s = 0\nfor i in range(20000):\n    s = max(s, i)\n    if i == 12345: here(i)")
    assert scene.places == [(12345, (("#0", 0, 12345),))]
    boundaries = [index for what, _, index in scene.listener.events if what == "boundary"]
    assert len(boundaries) < 20000
    assert boundaries == sorted(set(boundaries))
    assert scene.session.sites["s.py::<module>#0"].iterations == 20000


def test_a_replay_sees_every_iteration(scene: Scene) -> None:
    scene.session.in_chunks = False
    scene.play("for i in range(3000):\n    max(i, 1)")
    assert [index for what, _, index in scene.listener.events if what == "boundary"] == list(range(3000))


@pytest.mark.parametrize(
    ("seconds", "logged", "demoted"), [(1e-6, False, True), (1e-6, True, False), (1e-3, False, False)]
)
def test_a_loop_that_is_hot_and_short_and_silent_is_demoted(seconds: float, logged: bool, demoted: bool) -> None:
    site = Site("s.py::f#0", 1)
    site.logged = logged
    for _ in range(DEMOTE_AFTER):
        assert not site.demoted
        site.active += 1
        site.left(1, seconds)
    assert site.demoted == demoted


def test_a_demoted_loop_runs_and_is_not_told_of(scene: Scene) -> None:
    site = scene.session.sites["s.py::f#0"] = Site("s.py::f#0", scene.sink.intern("s.py::f#0"))
    site.demoted = True
    scene.play("""
        def f():
            for i in range(2):
                here(i)
            while i:
                i -= 1
                here(7)
        for k in [1]:
            f()
        """)
    assert [(value, len(position)) for value, position in scene.places] == [(0, 1), (1, 1), (7, 2)]
    assert site.executions == 0


def test_a_loop_that_logs_is_never_demoted(scene: Scene) -> None:
    scene.play(f"def f():\n    for i in [1]:\n        here(i)\nfor _ in range({DEMOTE_AFTER + 10}):\n    f()")
    assert not scene.session.sites["s.py::f#0"].demoted
    assert scene.places[-1] == (1, (("#0", 0, DEMOTE_AFTER + 9), ("f#0", 0, 0)))


def test_functions_entered_are_noted_for_every_loop_under_way(scene: Scene) -> None:
    scene.play("""
        def inner():
            here(1)
        def outer():
            for j in [1]:
                inner()
        class A:
            def m(self):
                here(2)
        for i in [1]:
            outer()
        A().m()
        """)
    sites = scene.session.sites
    assert sites["s.py::<module>#0"].functions == {"s.py::outer", "s.py::inner"}
    assert sites["s.py::outer#0"].functions == {"s.py::inner"}


def test_a_function_is_noted_for_a_loop_that_begins_later(scene: Scene) -> None:
    scene.play("def f():\n    here(1)\nf()\nfor i in [1]:\n    f()\nfor j in [1]:\n    f()")
    assert [site.functions for site in scene.session.sites.values()] == [{"s.py::f"}, {"s.py::f"}]


def test_without_a_session_hooks_do_nothing() -> None:
    assert current.session is None
    items = [1, 2]
    assert hooks.iterate("x#0", items) is items
    assert hooks.turn("x#0")
    for hook in (hooks.begin, hooks.done, hooks.end, hooks.enter):
        assert hook("x#0") is None


def test_an_item_is_let_go_of_when_the_body_has_it(scene: Scene) -> None:
    scene.play("""
        import weakref
        class A: pass
        gone = []
        def items():
            for _ in range(2):
                yield A()
        for a in items():
            weakref.finalize(a, gone.append, 1)
            del a
            here(len(gone))
        """)
    assert [value for value, _ in scene.places] == [1, 2]


def test_an_iterator_is_moved_no_further_than_the_body(scene: Scene) -> None:
    counter = itertools.count()
    scene.scope["counter"] = counter
    scene.play("for i in counter:\n    if here(i) or i == 3: break")
    assert next(counter) == 4


@pytest.mark.parametrize(
    "trace",
    [
        "torch.jit.trace(f, torch.ones(2), check_trace=False)",
        "torch.fx.symbolic_trace(f)",
        "torch.vmap(f)(torch.ones(2, 2))",
    ],
)
def test_loops_are_left_alone_while_torch_traces(scene: Scene, trace: str) -> None:
    torch = pytest.importorskip("torch")
    scene.scope["torch"] = torch
    scene.play(f"""
        import warnings
        warnings.simplefilter("ignore")
        def f(x):
            for i in range(2):
                x = x + torch.sin(x)
            return x
        {trace}
        f(torch.ones(1))
        """)
    assert scene.session.sites["s.py::f#0"].executions == 1


def test_instrumented_text_is_plain_calls() -> None:
    from flor.source.instrument import instrument

    text = ast.unparse(instrument(ast.parse("for i in range(3):\n    print(i)"), "s.py"))
    assert "_flor.iterate('s.py::<module>#0', range(3))" in text
