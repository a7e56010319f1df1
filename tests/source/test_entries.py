"""Which loops may enter a function."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from flor.errors import UsageError
from flor.source.effects import loops_that_may_enter


def entered(text: str, function: str = "f", **others: str) -> set[str] | None:
    sources = {"t.py": text, **{f"{name}.py": other for name, other in others.items()}}
    modules = {file: ast.parse(dedent(source)) for file, source in sources.items()}
    loops = loops_that_may_enter(modules, "t.py", function)
    return None if loops is None else {str(loop) for loop in loops}


def test_loops_around_a_call_enter_the_function() -> None:
    text = """
        def f(): pass
        for a in x:
            for b in y: f()
            for c in y: g()
        """
    assert entered(text) == {"t.py::<module>#0", "t.py::<module>#1"}


def test_a_call_in_the_header_of_a_for_is_before_it_and_of_a_while_inside() -> None:
    assert entered("def f(): pass\nfor a in f(): pass\n") == set()
    assert entered("def f(): pass\nwhile f(): pass\n") == {"t.py::<module>#0"}
    assert entered("def f(): pass\nfor a in x: pass\nelse: f()\n") == set()


def test_loops_enter_through_functions_between() -> None:
    text = """
        def f(): pass
        def g():
            while x: f()
        def h(): g()
        for a in x: h()
        for b in x: print(b)
        """
    assert entered(text) == {"t.py::g#0", "t.py::<module>#0"}


def test_recursion_ends() -> None:
    assert entered("def f(): g()\ndef g(): f()\nfor a in x: g()\n") == {"t.py::<module>#0"}


def test_methods_are_found_by_name_alone() -> None:
    text = """
        class A:
            def f(self): pass
        class B:
            def run(self, thing):
                for a in x: thing.f()
        """
    assert entered(text, "A.f") == {"t.py::B.run#0"}


def test_other_modules_call_under_other_names() -> None:
    other = "from t import f as go\nfor a in x: go()\n"
    assert entered("def f(): pass\n", other=other) == {"other.py::<module>#0"}
    assert entered("def f(): pass\n", other="import t\nfor a in x: t.f()\n") == {"other.py::<module>#0"}


def test_making_an_object_enters_its_init() -> None:
    text = """
        class A:
            def __init__(self): pass
        class B(A): pass
        for a in x: B()
        """
    assert entered(text, "A.__init__") == {"t.py::<module>#0"}


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("def f(): pass\nrun(f)\n", "f"),
        ("def f(): pass\ntable = {'f': f}\n", "f"),
        ("class A:\n    def f(self): pass\n    def g(self): run(self.f)\n", "A.f"),
        ("class A(nn.Module):\n    def forward(self): pass\n", "A.forward"),
        ("class A(nn.Module): pass\nclass B(A):\n    def f(self): pass\n", "B.f"),
        ("class A:\n    def __len__(self): pass\n", "A.__len__"),
        ("class A:\n    @property\n    def f(self): pass\n", "A.f"),
        ("@hook\ndef f(): pass\n", "f"),
        ("def f(): yield 1\n", "f"),
        ("async def f(): pass\n", "f"),
        ("def f(): pass\nrun(lambda: f())\n", "f"),
        ("def f(): pass\nrun(f() for a in x)\n", "f"),
        ("def f(): pass\ngetattr(x, 'f')()\n", "f"),
        ("def f(): pass\ngetattr(x, name)()\n", "f"),
        ("def f(): pass\nexec(text)\n", "f"),
        ("def f(): pass\ndef g(): f()\nrun(g)\n", "f"),
        ("class A:\n    def __init__(self): pass\nrun(A)\n", "A.__init__"),
    ],
)
def test_what_others_may_call_any_loop_may_enter(text: str, function: str) -> None:
    assert entered(text, function) is None


@pytest.mark.parametrize("decorator", ["torch.no_grad()", "torch.inference_mode()", "staticmethod", "classmethod"])
def test_these_decorators_change_nothing(decorator: str) -> None:
    text = f"class A:\n    @{decorator}\n    def f(self): pass\nfor a in x: y.f()\n"
    assert entered(text, "A.f") == {"t.py::<module>#0"}


def test_model_eval_is_not_eval() -> None:
    assert entered("def f(): pass\nmodel.eval()\nfor a in x: f()\n") == {"t.py::<module>#0"}


def test_a_consumed_generator_expression_calls_at_once() -> None:
    assert entered("def f(): pass\nfor a in x: sum(f() for b in y)\n") == {"t.py::<module>#0"}


def test_hints_and_type_checks_are_no_uses() -> None:
    text = """
        class A:
            def __init__(self): pass
        def g(a: A) -> A:
            b: A = a
            return isinstance(b, A)
        for a in x: A()
        """
    assert entered(text, "A.__init__") == {"t.py::<module>#0"}


def test_a_module_is_entered_by_loops_that_import() -> None:
    assert entered("x = 1\n", "<module>") == set()
    assert entered("x = 1\n", "<module>", other="for a in x:\n    import t\n") == {"other.py::<module>#0"}


def test_a_function_that_is_not_there_is_told() -> None:
    with pytest.raises(UsageError, match="no function nothing"):
        entered("x = 1\n", "nothing")
