"""The paper's six rules, row by row, and what the extension adds."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from flor.source.blocks import find_loops, targets
from flor.source.changeset import Changeset, NoEstimate, Reason, changed_names, paper_rules
from flor.source.effects import summarize


def rules(body: str, before: str = "") -> Changeset | NoEstimate:
    return paper_rules(ast.parse(dedent(body)).body, before=before.split())


@pytest.mark.parametrize(
    ("rule", "statement", "adds"),
    [
        (1, "a, b = obj.method(x, y)", {"obj", "a", "b"}),
        (1, "a = obj.part.method(x)", {"obj", "a"}),
        (2, "a, b = func(x, y)", {"a", "b"}),
        (3, "a, b = x, y", {"a", "b"}),
        (3, "a = b = x", {"a", "b"}),
        (4, "obj.method(x, y)", {"obj"}),
        (4, "obj.part[0].method(x)", {"obj"}),
    ],
)
def test_each_row_of_the_papers_table(rule: int, statement: str, adds: set[str]) -> None:
    result = rules(statement, before="a b obj")
    assert isinstance(result, Changeset)
    assert [(each.rule, each.adds) for each in result.activations] == [(rule, adds)]
    assert result.names == adds


@pytest.mark.parametrize(
    ("rule", "body"),
    [
        (0, "a = x\na = y"),
        (0, "obj.method()\nobj = y"),
        (0, "a = x\nb, a = func(x)"),
        (0, "a = x\na = a.method()"),
        (5, "func(x)"),
        (5, "print(loss)"),
        (5, "make().method()"),
    ],
)
def test_rows_zero_and_five_give_no_estimate(rule: int, body: str) -> None:
    assert rules(body) == NoEstimate(rule, len(body.split("\n")))


def test_rule_zero_precedes_the_others() -> None:
    assert isinstance(rules("obj.method()\nobj = obj.method()"), NoEstimate)
    assert isinstance(rules("obj.method()\nother = obj.method()"), Changeset)


def test_statements_that_activate_no_rule_are_ignored() -> None:
    body = """
        total += loss
        x: int = 1
        self.step = 3
        rows[0] = f(1)
        del y
        pass
        """
    assert rules(body) == Changeset(frozenset(), ())


def test_statements_in_branches_and_nested_loops_count() -> None:
    body = """
        if x:
            a.step()
        else:
            b.step()
        for batch in data:
            with c:
                d.step()
        def later():
            e.step()
        """
    result = rules(body)
    assert isinstance(result, Changeset)
    assert result.names == {"a", "b", "d"}


def test_names_defined_in_the_body_are_loop_scoped_and_filtered() -> None:
    body = """
        preds = net(batch)
        loss = criterion(preds, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        """
    result = rules(body)
    assert isinstance(result, Changeset)
    assert result.names == {"optimizer"}


def test_a_name_defined_before_the_loop_is_not_loop_scoped() -> None:
    result = rules("loss = criterion(preds)", before="loss")
    assert isinstance(result, Changeset)
    assert result.names == {"loss"}


def test_the_targets_of_the_header_are_loop_scoped() -> None:
    loop = find_loops(ast.parse("for batch in data:\n    batch.cuda()\n"), "t.py")[0]
    result = paper_rules(loop.node.body, targets=targets(loop.node))
    assert isinstance(result, Changeset)
    assert result.names == set()


def changed(text: str, number: int = 0, **others: str) -> dict[str, Reason]:
    sources = {"t.py": text, **{f"{name}.py": other for name, other in others.items()}}
    modules = {file: ast.parse(dedent(source)) for file, source in sources.items()}
    return changed_names(find_loops(modules["t.py"], "t.py")[number], summarize(modules))


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("a.b = 1", {"a"}),
        ("a.b.c = x", {"a", "x"}),
        ("a[0] = x", {"a"}),
        ("a[0].b, c = x", {"a", "c", "x"}),
        ("a += 1", {"a"}),
        ("a.b -= 1", {"a"}),
        ("a[x] *= 2", {"a"}),
        ("a: int = 1", {"a"}),
        ("a, (b, *c) = x", {"a", "b", "c"}),
        ("print(a := 1)", {"a"}),
        ("with open(x) as a: pass", {"a"}),
        ("with torch.no_grad(): a = 1", {"a"}),
        ("try: a = 1\nexcept E as b: c = 1\nelse: d = 1\nfinally: e = 1", {"a", "b", "c", "d", "e"}),
        ("if x: a = 1\nelse: b = 1", {"a", "b"}),
        ("match x:\n    case [a, *b]: c = 1\n    case {'k': d, **e}: pass", {"a", "b", "c", "d", "e"}),
        ("del a", {"a"}),
        ("del a[0]", {"a"}),
        ("import a.b", {"a"}),
        ("from x import a as b", {"b"}),
        ("def a(): pass", {"a"}),
        ("class a: b = 1", {"a", "b"}),
        ("print(a, len(b), f'{c}')", set()),
        ("a.append(b)", {"a"}),
        ("a.item()", set()),
        ("a = b.item()", {"a"}),
        ("a.add_(b, alpha=c)", {"a"}),
        ("a.load_state_dict(b.state_dict())", {"a"}),
        ("a.backward()", {"a"}),
        ("a.frobnicate(b, c=d)", {"a", "b", "d"}),
        ("frobnicate(a, b.c[0], d.item())", {"frobnicate", "a", "b"}),
        ("a(b)", {"a", "b"}),
        ("next(a)", {"a"}),
        ("setattr(a, 'x', b)", {"a"}),
        ("torch.stack([a, b])", set()),
        ("torch.add(a, b, out=c)", {"a", "b", "c"}),
        ("F.relu(a)", set()),
        ("F.relu(a, inplace=True)", {"a"}),
        ("nn.init.xavier_uniform_(a)", {"a"}),
        ("random.shuffle(a)", {"a"}),
        ("random.random()", set()),
        ("[a.append(b) for b in c.items()]", {"a"}),
        ("[a.zero_() for a in b.parameters()]", {"b"}),
        ("for a in b: pass", {"a", "b"}),
        ("for a in range(3): pass", {"a"}),
        ("for a in b.parameters(): print(a)", {"a"}),
        ("for a in b.parameters(): a.zero_()", {"a", "b"}),
        ("for a in b['groups']: a['lr'] = 1", {"a", "b"}),
        ("a = b.weight\na.zero_()", {"a", "b"}),
        ("a = []\na.append(b)\na[0].zero_()", {"a", "b"}),
        ("a = []\na.append(b)", {"a"}),
        ("a = c(b)\na.backward()", {"a", "b", "c"}),
        ("sorted(a, key=lambda b: c.pop())", {"c"}),
    ],
)
def test_the_extension_names_what_a_statement_may_change(statement: str, names: set[str]) -> None:
    imports = "import torch, random\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
    body = statement.replace("\n", "\n    ")
    assert set(changed(f"{imports}while q:\n    {body}\n")) == names


def test_the_header_belongs_to_the_loop() -> None:
    assert set(changed("for i, (x, self.y) in enumerate(loader):\n    pass\n")) == {"i", "x", "self", "loader"}
    assert set(changed("while heap.pop():\n    pass\nelse:\n    z = 1\n")) == {"heap", "z"}


def test_a_reason_says_the_rule_and_the_line() -> None:
    found = changed("while q:\n    model(x)\n    total += 1\n")
    assert found["total"] == Reason("augmented assignment binds it", 3)
    assert found["model"].line == 2
    assert "unknown call" in found["model"].rule


def test_a_call_of_the_projects_function_changes_what_its_summary_says() -> None:
    text = """
        def fill(target, source):
            target.append(source)
        def look(thing):
            return len(thing)
        def count():
            global step
            step += 1
        while q:
            fill(a, b)
            look(c)
            count()
        """
    assert set(changed(text)) == {"a", "step"}


def test_a_methods_summary_is_used_where_the_class_is_sure() -> None:
    text = """
        class Meter:
            def __init__(self):
                self.total = 0
            def update(self, value):
                self.total += value.item()
            def show(self, out):
                print(self.total, out)
        meter = Meter()
        while q:
            meter.update(loss)
            meter.show(rows)
        """
    assert set(changed(text)) == {"meter"}
    assert set(changed(text.replace("meter = Meter()", "meter = make()"))) == {"meter", "loss", "rows"}


def test_an_unknown_call_may_run_the_projects_callbacks() -> None:
    text = """
        import torch.nn as nn
        calls = 0
        class Net(nn.Module):
            def forward(self, x):
                global calls
                calls += 1
                return x
        net = Net()
        while q:
            y = net(x)
        """
    assert set(changed(text)) == {"net", "x", "y", "calls"}


def test_a_closure_cell_is_named_with_its_function() -> None:
    text = """
        def make():
            value = 0
            def smooth(x):
                nonlocal value
                value = value + x
                return value
            return smooth
        smooth = make()
        while q:
            y = smooth(1)
        """
    assert set(changed(text)) == {"y", "smooth", "t.py::make.value"}


def test_names_of_other_modules_are_named_with_their_file() -> None:
    engine = "steps = 0\ndef advance():\n    global steps\n    steps += 1\n"
    assert set(changed("import engine\nwhile q:\n    engine.advance()\n", engine=engine)) == {"engine.py::steps"}
    assert set(changed("from engine import advance as go\nwhile q:\n    go()\n", engine=engine)) == {"engine.py::steps"}


def test_a_change_of_an_imported_object_is_one_of_its_home() -> None:
    config = "options = {}\nrate = 1\n"
    found = changed("from config import options\nimport config\nwhile q:\n    options['a'] = 1\n", config=config)
    assert set(found) == {"options", "config.py::options"}
    found = changed("import config\nwhile q:\n    config.rate = 2\n", config=config)
    assert set(found) == {"config", "config.py::rate"}


def test_a_loop_in_a_function_names_its_locals_and_globals() -> None:
    text = """
        history = []
        def train(model, loader):
            for x in loader:
                model.step(x)
                history.append(1)
        """
    assert set(changed(text)) == {"loader", "x", "model", "history"}
