"""Text in, text out: what instrumented code looks like."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from flor.source.instrument import instrument

CASES = {
    "a for loop is wrapped and guarded": (
        """
        for epoch in range(3):
            train(epoch)
        """,
        """
        try:
            for epoch in _flor.iterate('train.py::<module>#0', range(3)):
                train(epoch)
            _flor.done('train.py::<module>#0')
        finally:
            _flor.end('train.py::<module>#0')
        """,
    ),
    "a while loop is asked at each turn": (
        """
        while loss > 1 and step():
            step()
        """,
        """
        _flor.begin('train.py::<module>#0')
        try:
            while _flor.turn('train.py::<module>#0') and (loss > 1 and step()):
                step()
            _flor.done('train.py::<module>#0')
        finally:
            _flor.end('train.py::<module>#0')
        """,
    ),
    "a call of flor.log is told its place": (
        """
        import flor

        def train():
            flor.log("loss", loss)
            return [flor.log("x", x) for x in xs]
        """,
        """
        import flor

        def train():
            _flor.enter('train.py::train')
            _flor.log('train.py:4:train', 'loss', loss)
            return [flor.log('x', x) for x in xs]
        """,
    ),
    "flor.log of a flor that may be another's is left alone": (
        """
        import flor
        flor.log("loss", 1)
        flor = other
        """,
        """
        import flor
        flor.log('loss', 1)
        flor = other
        """,
    ),
    "else, break and continue stay where they are": (
        """
        for x in xs:
            if f(x):
                break
            continue
        else:
            g()
        """,
        """
        try:
            for x in _flor.iterate('train.py::<module>#0', xs):
                if f(x):
                    break
                continue
            else:
                g()
            _flor.done('train.py::<module>#0')
        finally:
            _flor.end('train.py::<module>#0')
        """,
    ),
    "a function says that it was entered, after its docstring": (
        '''
        def train(model):
            """Train."""
            model.step()
            return 1
        ''',
        '''
        def train(model):
            """Train."""
            _flor.enter('train.py::train')
            model.step()
            return 1
        ''',
    ),
    "a method and its loop are named by their class": (
        """
        class Trainer:
            def fit(self):
                for self.epoch in range(3):
                    self.step()
        """,
        """
        class Trainer:

            def fit(self):
                _flor.enter('train.py::Trainer.fit')
                try:
                    for self.epoch in _flor.iterate('train.py::Trainer.fit#0', range(3)):
                        self.step()
                    _flor.done('train.py::Trainer.fit#0')
                finally:
                    _flor.end('train.py::Trainer.fit#0')
        """,
    ),
    "return inside a loop in try and finally": (
        """
        def find(items):
            try:
                for item in items:
                    if good(item):
                        return item
            finally:
                close()
        """,
        """
        def find(items):
            _flor.enter('train.py::find')
            try:
                try:
                    for item in _flor.iterate('train.py::find#0', items):
                        if good(item):
                            return item
                    _flor.done('train.py::find#0')
                finally:
                    _flor.end('train.py::find#0')
            finally:
                close()
        """,
    ),
    "a loop that cannot take long is left native": (
        """
        for i in range(10 ** 7):
            total += i
        """,
        """
        for i in range(10 ** 7):
            total += i
        """,
    ),
    "generators, async loops, comprehensions, lambdas and class bodies are left alone": (
        """
        def batches():
            for x in xs:
                yield load(x)

        async def pump():
            async for x in stream():
                use(x)
        squares = [f(x) for x in xs]
        class Table:
            for name in names():
                add(name)
        """,
        """
        def batches():
            _flor.enter('train.py::batches')
            for x in xs:
                yield load(x)

        async def pump():
            _flor.enter('train.py::pump')
            async for x in stream():
                use(x)
        squares = [f(x) for x in xs]

        class Table:
            for name in names():
                add(name)
        """,
    ),
    "what a bytecode compiler decorates is left alone": (
        """
        @numba.njit(parallel=True)
        def kernel(a):
            for i in range(3):
                a.add(i)
        """,
        """
        @numba.njit(parallel=True)
        def kernel(a):
            for i in range(3):
                a.add(i)
        """,
    ),
    "a function that only returns something simple is not worth a call": (
        """
        def double(x: float) -> float:
            return 2 * x
        """,
        """
        def double(x: float) -> float:
            return 2 * x
        """,
    ),
    "nested loops are numbered in the order of the source": (
        """
        for a in f():
            for b in g():
                h()
        for c in k():
            h()
        """,
        """
        try:
            for a in _flor.iterate('train.py::<module>#0', f()):
                try:
                    for b in _flor.iterate('train.py::<module>#1', g()):
                        h()
                    _flor.done('train.py::<module>#1')
                finally:
                    _flor.end('train.py::<module>#1')
            _flor.done('train.py::<module>#0')
        finally:
            _flor.end('train.py::<module>#0')
        try:
            for c in _flor.iterate('train.py::<module>#2', k()):
                h()
            _flor.done('train.py::<module>#2')
        finally:
            _flor.end('train.py::<module>#2')
        """,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text_in_text_out(name: str) -> None:
    before, after = (dedent(text).strip() for text in CASES[name])
    assert ast.unparse(instrument(ast.parse(before), "train.py")) == after


def test_a_doubtful_probe_gets_a_call_before_and_after() -> None:
    source = "for x in xs:\n    f(x)\n    print(model(x))"
    text = ast.unparse(instrument(ast.parse(source), "train.py", doubtful={3}))
    assert "_flor.probing('train.py:3')\n        print(model(x))\n        _flor.probed('train.py:3')" in text


def test_only_a_probes_print_is_ours_to_say() -> None:
    source = "print(1)\nprint(a, b, sep='')\nrich.print(a)\n"
    text = ast.unparse(instrument(ast.parse(source), "train.py", probes={2, 3}))
    assert text == "print(1)\n_flor.say(print, a, b, sep='')\nrich.print(a)"


def test_a_loop_can_go_under_another_name() -> None:
    text = ast.unparse(instrument(ast.parse("for x in xs:\n    f(x)"), "train.py", rename=lambda loop: f"+{loop}"))
    assert "_flor.iterate('+train.py::<module>#0', xs)" in text


def test_every_line_stays_where_it_was() -> None:
    source = "def f():\n    for x in xs:\n        g(x)\n    return 1\n"
    tree = instrument(ast.parse(source), "train.py")
    lines = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)}
    assert lines == {1, 2, 3, 4}
