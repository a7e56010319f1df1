"""Summaries: what a function may change, through all that it calls."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from flor.source.effects import Effects, Summary, summarize


def effects(text: str, **others: str) -> Effects:
    sources = {"t.py": text, **{f"{name}.py": other for name, other in others.items()}}
    return summarize({file: ast.parse(dedent(source)) for file, source in sources.items()})


def summary(text: str, function: str = "f", **others: str) -> Summary:
    return effects(text, **others).of("t.py", function)


def names(summary: Summary) -> set[str]:
    return {variable.name for variable in summary.variables}


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("return len(a)", set()),
        ("a = 1", set()),
        ("a.x = b", {"a"}),
        ("a[0] = b", {"a"}),
        ("a += b", {"a"}),
        ("del a[0]", {"a"}),
        ("a.append(b)", {"a"}),
        ("a.zero_()", {"a"}),
        ("x = a.weight; x.zero_()", {"a"}),
        ("for p in a.parameters(): p.zero_()", {"a"}),
        ("for p in a.parameters(): print(p)", set()),
        ("unknown(a)", {"a"}),
        ("a.unknown(b)", {"a", "b"}),
        ("f(b, a)", set()),
        ("g(b)", {"b"}),
        ("g(a=b)", {"b"}),
        ("g(*b)", {"b"}),
        ("g(**b)", {"b"}),
        ("h(b, 1)", {"b"}),
        ("[g(c) for c in b.values()]", {"b"}),
    ],
)
def test_a_parameter_is_changed_if_its_object_is(body: str, changed: set[str]) -> None:
    text = f"def g(a): a.append(1)\ndef h(n, m):\n    if n: h(m, n)\n    g(n)\ndef f(a, b):\n    {body}\n"
    assert summary(text).parameters == changed


def test_mutual_recursion_reaches_a_fixpoint() -> None:
    text = """
        def f(a, b):
            g(b, a)
        def g(c, d):
            c.append(1)
            f(c, d)
        """
    assert summary(text).parameters == {"a", "b"}
    assert not summary(text).unknown


def test_globals_are_found_through_calls_and_modules() -> None:
    text = """
        from engine import advance
        step = 0
        def f():
            global step
            step = step + 1
            advance()
        """
    found = summary(text, engine="rows = []\ndef advance():\n    rows.append(1)\n")
    assert {(each.file, each.name) for each in found.globals} == {("t.py", "step"), ("engine.py", "rows")}


def test_a_local_of_the_same_name_is_no_global() -> None:
    assert summary("rows = []\ndef f():\n    rows = []\n    rows.append(1)\n").variables == set()
    text = "x = []\ndef f(xs):\n    y = [x for x in xs]\n    x.append(1)\n"
    assert names(summary(text)) == {"x"}


def test_closure_cells_are_told_with_their_owner() -> None:
    text = """
        def make():
            n = 0
            def f():
                nonlocal n
                n += 1
            return f
        """
    (cell,) = summary(text, "make.f").cells
    assert (cell.function, cell.name) == ("make", "n")


def test_attributes_of_self_are_listed() -> None:
    text = """
        class A:
            def f(self, x):
                self.loss = x
                self.rows[0].append(1)
                self.g()
            def g(self):
                self.step += 1
            def h(self):
                unknown(self)
            def quiet(self):
                return self.step
        """
    assert summary(text, "A.f").attributes == {"loss", "rows", "step"}
    assert "*" in summary(text, "A.h").attributes
    assert summary(text, "A.quiet") == Summary()


def test_static_and_class_methods_take_their_arguments_where_they_stand() -> None:
    text = """
        class A:
            @staticmethod
            def push(rows): rows.append(1)
            @classmethod
            def fill(cls, rows): rows.append(1)
        def f(a, b, c):
            A.push(a)
            A().push(b)
        """
    assert summary(text).parameters == {"a", "b"}


@pytest.mark.parametrize(
    ("body", "random"),
    [
        ("return 1", False),
        ("return torch.zeros(3)", False),
        ("return torch.rand(3)", True),
        ("random.shuffle(a)", True),
        ("return np.random.rand(3)", True),
        ("return nn.Linear(3, 3)", True),
        ("return F.dropout(a)", True),
        ("a.normal_()", True),
        ("return g()", True),
        ("return a(1)", True),
    ],
)
def test_random_numbers_may_be_drawn(body: str, random: bool) -> None:
    imports = "import torch, random\nimport numpy as np\nfrom torch import nn\nimport torch.nn.functional as F\n"
    assert summary(f"{imports}def g(): return random.random()\ndef f(a):\n    {body}\n").random is random


def test_unknown_code_is_told() -> None:
    assert not summary("def f(a): return len(a)").unknown
    assert summary("def f(a): return a.frob()").unknown
    assert summary("def g(a): a.frob()\ndef f(a): g(a)").unknown


def test_a_function_that_returns_a_global_shares_it() -> None:
    found = summary("state = {}\ndef get(): return state['x']\ndef f():\n    s = get()\n    s.clear()\n")
    assert names(found) == {"state"}


def test_callbacks_of_the_project_may_run_in_unknown_code_only() -> None:
    text = """
        n = 0
        def hook(x):
            global n
            n += 1
        module.register(hook)
        def f(a): a.frob()
        def g(a): return len(a)
        """
    assert names(summary(text, "f")) == {"n"}
    assert names(summary(text, "g")) == set()


def test_a_decorated_method_is_a_callback() -> None:
    text = """
        n = 0
        class A:
            @app.hook
            def on(self):
                global n
                n += 1
        def f(a): a.frob()
        """
    assert names(summary(text)) == {"n"}


def test_a_tree_too_deep_to_walk_changes_everything_it_names() -> None:
    tree = ast.parse("def f(a, b):\n    return a\n")
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    last = function.body[0]
    assert isinstance(last, ast.Return)
    for _ in range(3000):
        assert last.value is not None
        last.value = ast.UnaryOp(ast.USub(), last.value)
    found = summarize({"t.py": tree}).of("t.py", "f")
    assert found.parameters == {"a"}
    assert found.unknown


def test_relative_imports_and_packages_are_resolved() -> None:
    modules = {
        "pkg/__init__.py": ast.parse("from .engine import advance\n"),
        "pkg/engine.py": ast.parse("n = []\ndef advance():\n    n.append(1)\n"),
        "pkg/sub/train.py": ast.parse("from ..engine import advance as go\ndef f():\n    go()\n"),
        "main.py": ast.parse(
            "import pkg\nimport pkg.engine as e\ndef f():\n    pkg.advance()\ndef g():\n    e.advance()\n"
        ),
    }
    found = summarize(modules)
    for file, function in [("pkg/sub/train.py", "f"), ("main.py", "f"), ("main.py", "g")]:
        assert {(each.file, each.name) for each in found.of(file, function).globals} == {("pkg/engine.py", "n")}
