"""A probe's own variables are known scope by scope."""

from __future__ import annotations

from flor.source.newnames import new_names

RECORDED = """\
import os

def fit(x):
    e = x + 1
    return e

for epoch in range(3):
    loss = fit(epoch)
"""


def found(present: str) -> set[tuple[str, str]]:
    return set(new_names({"t.py": RECORDED}, {"t.py": present}))


def test_a_name_that_another_function_binds_is_new_at_module_level() -> None:
    assert found(RECORDED + "    e = loss\n") == {("<module>", "e")}


def test_a_name_that_the_module_binds_is_new_in_a_function() -> None:
    assert found(RECORDED.replace("    return e", "    loss = e\n    return e")) == {("fit", "loss")}


def test_imports_helpers_and_globals_are_new_names() -> None:
    added = "import math\ndef norm(v):\n    global count\n    count = v\n"
    assert found(added + RECORDED) == {("<module>", name) for name in ("math", "norm", "count")} | {("norm", "v")}


def test_reading_binds_nothing() -> None:
    assert found(RECORDED + "    print(loss, os)\n") == set()
