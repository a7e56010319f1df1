"""What was added to a training script, and whether it could disturb training."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from textwrap import dedent, indent

import pytest

from flor.errors import UsageError
from flor.model.edits import Edit, Probe
from flor.source.insertion import apply_probe
from flor.source.probes import diff_sources

SCRIPT = dedent(
    """
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    from torch.utils.tensorboard import SummaryWriter

    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    criterion = nn.MSELoss()
    loader = DataLoader(data, shuffle=True)
    writer = SummaryWriter()
    history, best = [], None
    for name in ["a", "b"]:
        load(name)

    def evaluate(model, x):
        model.eval()
        with torch.no_grad():
            return model(x).mean().item()

    def ratio(a, b):
        return a / max(b, 1)

    def advance():
        history.append(1)

    for epoch in range(3):
        for x, y in loader:
            loss = criterion(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        # outer
        history.append(loss.item())
        if best is None:
            best = loss.item()
    print(history, best)
    """
).lstrip()
OUTER = "    # outer\n"


def edit_of(new: str, old: str = SCRIPT) -> Edit:
    return diff_sources({"train.py": old}, {"train.py": new})


def with_outer(code: str) -> Edit:
    return edit_of(SCRIPT.replace(OUTER, indent(dedent(code).strip() + "\n", "    ")))


def only(edit: Edit) -> Probe:
    assert edit.others == ()
    (probe,) = edit.probes
    return probe


def levels(edit: Edit) -> set[str]:
    return {doubt.level for probe in edit.probes for doubt in probe.doubts} | {"other" for _ in edit.others}


# --- additions that are probes


def test_an_unchanged_script_has_no_edit() -> None:
    edit = edit_of(SCRIPT)
    assert (edit.probes, edit.others) == ((), ())
    assert edit.lines.present("train.py", 7) == edit.lines.recorded("train.py", 7) == 7


def test_a_print_is_a_probe_with_its_place_and_what_it_reads() -> None:
    probe = only(with_outer('print(f"{epoch} {loss.item():.3f}", net[0].weight.norm().item())'))
    line = SCRIPT.split("\n").index(OUTER.rstrip()) + 1
    assert (probe.file, probe.function, probe.first_line, probe.last_line) == ("train.py", "<module>", line, line)
    assert (probe.kind, probe.doubts) == ("print", ())
    assert probe.reads == {"print", "epoch", "loss", "net"}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("print(loss)", "print"),
        ("logging.info('loss %s', loss.item())", "logging"),
        ("logger.debug(f'{loss}')", "logging"),
        ("flor.log('loss', loss)", "flor.log"),
        ("writer.add_scalar('loss', loss.item(), epoch)", "tensorboard"),
        ("writer.add_histogram('w', net[0].weight, epoch)", "tensorboard"),
        ("wandb.log({'loss': loss.item()})", "wandb"),
        ("mlflow.log_metric('loss', loss.item())", "mlflow"),
        ("tqdm.write(str(loss.item()))", "tqdm"),
        ("pbar.set_postfix(loss=loss.item())", "tqdm"),
        ("with open('probe.txt', 'a') as f:\n    f.write(str(loss.item()))", "file"),
        ("np.save(f'w{epoch}.npy', net[0].weight.detach().numpy())", "file"),
        ("if epoch % 10 == 0:\n    print(loss)", "print"),
        ("for n, p in net.named_parameters():\n    print(n, p.grad.norm().item())", "print"),
        ("with torch.no_grad():\n    print(torch.stack([p.norm() for p in net.parameters()]).sum())", "print"),
        ("try:\n    print(loss.item())\nexcept ValueError:\n    print('none')", "print"),
        ("print([round(float(v), 3) for v in sorted(history)[:3]], ratio(1, 2))", "print"),
        ("print(optimizer.state_dict()['param_groups'][0]['lr'], optimizer.param_groups[0]['lr'])", "print"),
        ("print({k: v.mean().item() for k, v in net.state_dict().items()})", "print"),
        ("print(torch.linalg.norm(net[0].weight), np.percentile(history, 90), len(loader))", "print"),
        ("print(criterion(x, y).item(), nn.functional.softmax(x, dim=1).max())", "print"),
    ],
)
def test_log_statements_of_every_kind_are_harmless_probes(code: str, kind: str) -> None:
    probe = only(with_outer(code))
    assert (probe.kind, probe.doubts) == (kind, ())


def test_what_serves_a_probe_is_support() -> None:
    edit = with_outer(
        """
        import math
        def norm_of(module):
            total = 0.0
            parts = []
            for p in module.parameters():
                parts.append(p.norm().item())
                total += parts[-1] ** 2
            return math.sqrt(total)
        grad_norm = norm_of(net)
        stats = {}
        stats["norm"] = grad_norm
        print(stats)
        """
    )
    assert [probe.kind for probe in edit.probes] == ["support"] * 5 + ["print"]
    assert levels(edit) == set()


def test_a_helper_that_prints_makes_its_call_a_print() -> None:
    edit = with_outer("def report(v):\n    print('v', v)\nreport(loss.item())")
    assert [probe.kind for probe in edit.probes] == ["support", "print"]
    assert levels(edit) == set()


def test_a_loop_variable_of_old_code_that_is_dead_by_then_is_only_a_maybe() -> None:
    assert levels(with_outer("for name, p in net.named_parameters():\n    print(name, p.norm())")) == {"maybe"}


def test_an_enumerate_for_the_probe_is_support() -> None:
    new = SCRIPT.replace("for x, y in loader:", "for step, (x, y) in enumerate(loader):")
    new = new.replace("        optimizer.step()\n", "        optimizer.step()\n        print(step, loss.item())\n")
    edit = edit_of(new)
    assert ([probe.kind for probe in edit.probes], edit.others) == (["support", "print"], ())
    header = edit.probes[0].first_line
    assert edit.lines.recorded("train.py", header) == header
    assert not edit.lines.is_probe("train.py", header)
    assert edit.lines.is_probe("train.py", edit.probes[1].first_line)


def test_an_enumerate_over_a_name_that_old_code_has_is_a_change() -> None:
    new = SCRIPT.replace("for x, y in loader:", "for best, (x, y) in enumerate(loader):")
    assert len(edit_of(new).others) == 1


def test_a_wrapped_loader_is_a_change() -> None:
    assert len(edit_of(SCRIPT.replace("in loader:", "in tqdm(loader):")).others) == 1


def test_an_import_with_one_more_name_is_support() -> None:
    edit = edit_of(SCRIPT.replace("import DataLoader", "import DataLoader, Dataset"))
    assert (edit.others, [probe.kind for probe in edit.probes]) == ((), ["support"])


def test_the_same_import_once_more_is_support() -> None:
    edit = edit_of("import torch\n" + SCRIPT.replace("import numpy", "import math\nimport numpy"))
    assert (levels(edit), {probe.kind for probe in edit.probes}) == (set(), {"support"})


def test_eval_and_back_to_train_around_a_probe_is_a_maybe() -> None:
    assert levels(with_outer("net.eval()\nprint(net(x).mean().item())\nnet.train()")) == {"maybe"}


def test_a_forward_call_is_a_maybe() -> None:
    assert levels(with_outer("print(net(x).mean().item())")) == {"maybe"}


def test_a_random_draw_in_fork_rng_is_no_doubt() -> None:
    assert levels(with_outer("with torch.random.fork_rng():\n    print(torch.randn(3))")) == set()


def test_a_draw_from_a_generator_of_the_probe_is_no_doubt() -> None:
    code = "own = torch.Generator()\nown.manual_seed(1)\nprint(torch.randn(3, generator=own))"
    assert levels(with_outer(code)) == set()


# --- additions that disturb


@pytest.mark.parametrize(
    "code",
    [
        "print(torch.rand(1))",
        "print(np.random.rand())",
        "print(optimizer.step())",
        "print(loss.backward())",
        "net.eval()\nprint(1)",
        "net[0].weight.data.zero_()\nprint(1)",
        "print(net[0].weight.add_(1))",
        "print(history.pop())",
        "history.append(3)\nprint(history)",
        "for x, y in loader:\n    print(x)",
        "print(next(iter(loader)))",
        "loss = 3\nprint(loss)",
        "best = print(1)",
        "net[0].bias[0] = 1\nprint(1)",
        "optimizer.param_groups[0]['lr'] = 1\nprint(1)",
        "print(torch.manual_seed(1))",
        "if epoch == 1:\n    print(1)\n    break",
        "print(advance())",
        "w = list(net.parameters())\nprint(w[0].zero_())",
        "print(loss)\ndel loss",
        "range = print",
        "print([p.grad.zero_() for p in net.parameters()])",
        "[best := 1]\nprint(best)",
        "net.load_state_dict({})\nprint(1)",
        "torch.set_grad_enabled(False)\nprint(1)",
        "print(1)\nraise SystemExit",
        "from os import *\nprint(1)",
        "print(torch.add(x, y, out=x))",
        "w = net[0].weight\nw.mul_(2)\nprint(w)",
    ],
)
def test_an_addition_that_disturbs_training_is_refused(code: str) -> None:
    edit = with_outer(code)
    assert edit.others or any(probe.refused for probe in edit.probes)


def test_a_doubt_says_why_and_where() -> None:
    probe = only(with_outer("print(torch.rand(1))"))
    (doubt,) = probe.doubts
    assert doubt.reason == "torch.rand() draws a random number"
    assert doubt.line == probe.first_line


def test_a_statement_that_logs_nothing_and_disturbs_is_another_change() -> None:
    edit = with_outer("optimizer.step()")
    (change,) = edit.others
    assert (edit.probes, change.what) == ((), ".step() takes a step")
    assert "+    optimizer.step()" in change.diff


def test_a_call_of_a_recorded_function_is_judged_by_its_body() -> None:
    assert levels(with_outer("print(evaluate(net, x))")) == {"maybe"}
    assert levels(with_outer("print(ratio(1, 2))")) == set()
    assert levels(with_outer("print(advance())")) == {"certain"}


def test_a_function_that_is_defined_anew_is_refused() -> None:
    old = SCRIPT + "print(ratio(1, 2))\n"
    new = old.replace("for epoch", "def ratio(a, b):\n    return 0\n\nfor epoch")
    assert levels(edit_of(new, old)) == {"other"}


def test_a_local_name_that_hides_a_global_of_old_code_is_refused() -> None:
    assert "other" in levels(edit_of(SCRIPT.replace("    return a / max", "    max = min\n    return a / max")))


# --- other edits


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("lr=0.1", "lr=0.2", "changes `optimizer = torch.optim.SGD(net.parameters(), lr=0.1)`"),
        ("        optimizer.zero_grad()\n", "", "takes away `optimizer.zero_grad()`"),
        ("range(3)", "range(4)", "changes `for epoch in range(3):` to `for epoch in range(4):`"),
        ("a / max(b, 1)", "a * max(b, 1)", "changes `return a / max(b, 1)`"),
        ("def ratio(a, b):", "def ratio(a, b=2):", "changes `def ratio(a, b):`"),
        ("if best is None:", "if best is not None:", "changes `if best is None:`"),
    ],
)
def test_another_edit_is_shown(old: str, new: str, what: str) -> None:
    (change,) = edit_of(SCRIPT.replace(old, new)).others
    assert change.what.startswith(what)
    assert change.diff.startswith("--- train.py (recorded)\n+++ train.py\n@@ -")
    assert not change.only_logs


def test_a_reworded_print_says_that_only_logs_changed() -> None:
    edit = edit_of(SCRIPT.replace("print(history, best)", "print(history)"))
    assert [change.only_logs for change in edit.others] == [True]
    assert [probe.kind for probe in edit.probes] == ["print"]


def test_swapped_statements_are_a_change() -> None:
    new = SCRIPT.replace(
        "        optimizer.zero_grad()\n        loss.backward()\n",
        "        loss.backward()\n        optimizer.zero_grad()\n",
    )
    assert edit_of(new).others


def test_a_file_that_is_gone_is_a_change() -> None:
    edit = diff_sources({"train.py": SCRIPT, "net.py": "A = 1\n"}, {"train.py": SCRIPT, "net.py": None})
    assert [(change.file, change.what) for change in edit.others] == [("net.py", "the file is gone")]


def test_a_new_file_counts_only_if_it_is_imported() -> None:
    texts = {"train.py": SCRIPT, "notes.py": "import os\nos.remove('x')\n"}
    assert diff_sources({"train.py": SCRIPT}, texts) == edit_of(SCRIPT)
    texts = {"train.py": "from probing import report\n" + SCRIPT, "probing.py": "def report(x):\n    print(x)\n"}
    edit = diff_sources({"train.py": SCRIPT}, texts)
    assert edit.others == ()
    assert {probe.file for probe in edit.probes} == {"train.py", "probing.py"}


def test_a_new_file_that_takes_the_place_of_a_module_is_a_change() -> None:
    edit = diff_sources({"train.py": SCRIPT}, {"train.py": SCRIPT, "numpy.py": "def zeros():\n    return 0\n"})
    assert [change.file for change in edit.others] == ["numpy.py"]


def test_a_syntax_error_names_file_and_line() -> None:
    with pytest.raises(UsageError, match=r"train\.py:1"):
        edit_of("print(\n")


# --- what the plan must know


def test_a_sum_over_iterations_is_carried() -> None:
    new = SCRIPT.replace("for epoch", "seen = 0.0\nfor epoch").replace(
        OUTER, "    seen += loss.item()\n    print(seen)\n"
    )
    probes = edit_of(new).probes
    assert [probe.carries for probe in probes] == [{"seen"}] * 3


def test_a_list_that_grows_over_iterations_is_carried() -> None:
    new = SCRIPT.replace("for epoch", "seen = []\nfor epoch").replace(OUTER, "    seen.append(1)\n    print(seen)\n")
    assert all(probe.carries == {"seen"} for probe in edit_of(new).probes)


def test_a_value_of_the_same_iteration_is_not_carried() -> None:
    edit = with_outer("seen = loss.item()\nprint(seen)")
    assert all(probe.carries == frozenset() for probe in edit.probes)


def test_a_value_from_the_inner_loop_of_the_same_iteration_is_not_carried() -> None:
    new = SCRIPT.replace("        optimizer.step()\n", "        optimizer.step()\n        last = loss.item()\n")
    edit = edit_of(new.replace(OUTER, "    print(last)\n"))
    assert all(probe.carries == frozenset() for probe in edit.probes)


def test_a_value_that_an_empty_inner_loop_would_leave_from_before_is_carried() -> None:
    new = SCRIPT.replace("        optimizer.step()\n", "        optimizer.step()\n        last = loss.item()\n")
    new = new.replace("for epoch", "last = None\nfor epoch").replace(OUTER, "    print(last)\n")
    assert {probe.carries for probe in edit_of(new).probes} == {frozenset({"last"})}


def test_a_value_that_only_some_iterations_set_is_carried() -> None:
    edit = with_outer("if epoch % 2:\n    seen = loss.item()\nif epoch:\n    print(seen)")
    assert {probe.carries for probe in edit.probes} == {frozenset({"seen"})}


def test_a_list_that_an_added_function_fills_is_carried() -> None:
    head = "acts = []\ndef note(m, i, o):\n    acts.append(o.mean().item())\nnet[0].register_forward_hook(note)\n"
    probes = edit_of(SCRIPT.replace("for epoch", f"{head}for epoch").replace(OUTER, "    print(acts)\n")).probes
    assert probes[-1].carries == {"acts"}
    head = "acts = []\nnet[0].register_forward_hook(lambda m, i, o: acts.append(o.mean().item()))\n"
    probes = edit_of(SCRIPT.replace("for epoch", f"{head}for epoch").replace(OUTER, "    print(acts)\n")).probes
    assert probes[-1].carries == {"acts"}


def test_a_constant_set_before_the_loop_is_not_carried() -> None:
    new = SCRIPT.replace("for epoch", "every = 2\nfor epoch").replace(
        OUTER, "    if epoch % every == 0:\n        print(1)\n"
    )
    assert all(probe.carries == frozenset() for probe in edit_of(new).probes)


def test_a_hook_is_deferred() -> None:
    new = SCRIPT.replace("for epoch", "net[0].register_forward_hook(lambda m, i, o: print(o.mean()))\nfor epoch")
    probe = only(edit_of(new))
    assert (probe.kind, probe.deferred) == ("print", True)
    new = SCRIPT.replace(
        "for epoch", "def hook(g):\n    print(g.norm())\n\nnet[0].weight.register_hook(hook)\nfor epoch"
    )
    assert [probe.deferred for probe in edit_of(new).probes] == [False, True]


# --- a probe without an edit


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (1, "a = 1\nprint(a)\nfor i in range(2):\n    b = f(\n        i,\n    )\nc = 2\n"),
        (2, "a = 1\nfor i in range(2):\n    print(a)\n    b = f(\n        i,\n    )\nc = 2\n"),
        (4, "a = 1\nfor i in range(2):\n    b = f(\n        i,\n    )\n    print(a)\nc = 2\n"),
        (6, "a = 1\nfor i in range(2):\n    b = f(\n        i,\n    )\nc = 2\nprint(a)\n"),
    ],
)
def test_an_applied_probe_runs_right_after_the_line(line: int, expected: str) -> None:
    text = "a = 1\nfor i in range(2):\n    b = f(\n        i,\n    )\nc = 2\n"
    assert apply_probe(text, line, "print(a)") == expected


def test_an_applied_probe_goes_behind_a_docstring() -> None:
    text = 'def f():\n    """Text."""\n    return 1\n'
    assert apply_probe(text, 1, "print(1)") == 'def f():\n    """Text."""\n    print(1)\n    return 1\n'


def test_an_applied_probe_may_have_several_lines_and_the_file_no_last_newline() -> None:
    assert apply_probe("if a:\n\tb()", 2, "if c:\n    print(1)") == "if a:\n\tb()\n\tif c:\n\t    print(1)\n"


def test_an_applied_probe_on_an_empty_line_counts_for_the_one_before() -> None:
    assert apply_probe("a = 1\n\n# b\nb = 2\n", 3, "print(a)") == "a = 1\nprint(a)\n\n# b\nb = 2\n"


@pytest.mark.parametrize(("line", "statement"), [(1, "print("), (1, "# nothing"), (99, "print(1)"), (0, "print(1)")])
def test_a_probe_that_makes_no_sense_is_a_usage_error(line: int, statement: str) -> None:
    if line == 99:
        assert apply_probe("a = 1\n", line, statement) == "a = 1\nprint(1)\n"
        return
    with pytest.raises(UsageError):
        apply_probe("a = 1\n", line, statement)


def test_an_applied_probe_is_the_only_edit() -> None:
    for line in range(1, SCRIPT.count("\n") + 1):
        new = apply_probe(SCRIPT, line, "print(1)")
        ast.parse(new)
        assert only(edit_of(new)).kind == "print"


# --- the acceptance programs

PROGRAMS = Path(__file__).parents[3] / "shared" / "acceptance" / "programs"
MARK = re.compile(r"\s*#@(?P<without>!?)(?P<probe>outer|inner)$")


def version(text: str, probe: str | None) -> str:
    lines = []
    for line in text.splitlines():
        mark = MARK.search(line)
        if mark is None:
            lines.append(line)
        elif (mark["probe"] == probe) != bool(mark["without"]):
            lines.append(line[: mark.start()])
    return "\n".join(lines) + "\n"


@pytest.mark.skipif(not PROGRAMS.is_dir(), reason="the acceptance programs are not beside the repository")
@pytest.mark.parametrize("probe", ["outer", "inner"])
@pytest.mark.parametrize("folder", sorted(PROGRAMS.iterdir()) if PROGRAMS.is_dir() else [], ids=lambda path: path.name)
def test_every_probe_of_the_acceptance_programs_is_one(folder: Path, probe: str) -> None:
    files = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.py")}
    recorded = {name: version(text, None) for name, text in files.items()}
    present = {name: version(text, probe) for name, text in files.items()}
    edit = diff_sources(recorded, present)
    marked = {
        (name, number)
        for name, text in files.items()
        for number, line in enumerate(present_lines(text, probe), 1)
        if line.endswith(f"#@{probe}")
    }
    found = {(p.file, line) for p in edit.probes for line in range(p.first_line, p.last_line + 1)}
    assert (edit.others, found) == ((), marked)
    assert all(edit.lines.is_probe(*place) and edit.lines.recorded(*place) is None for place in marked)
    assert not any(p.refused or p.deferred for p in edit.probes)
    assert any(p.carries for p in edit.probes) == (folder.name[:2] in ("20", "26"))
    forward = {folder.name[:2] for p in edit.probes if p.doubts}
    assert forward <= {"09", "15", "20", "23", "24"}  # those call the model itself, or what is not known


def present_lines(text: str, probe: str) -> list[str]:
    """The lines of the version with the probe, its marks still on them."""
    other = {"outer": "inner", "inner": "outer"}[probe]
    gone = (f"#@{other}", f"#@!{probe}")
    return [line for line in text.splitlines() if not line.endswith(gone)]
