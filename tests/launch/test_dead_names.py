"""Names that nothing reads any more, asked loop by loop from the project's files."""

from __future__ import annotations

import pytest

from flor.launch import liveness
from flor.launch.liveness import DeadNames

SCRIPT = b"""
for epoch in range(3):
    total, spare = 0, 1
    for step in range(4):
        total += step
    print(total)
kept = 1
"""


def test_both_questions_about_a_loop_take_one_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    made, real = [], liveness.Liveness
    monkeypatch.setattr(liveness, "Liveness", lambda *given: made.append(given) or real(*given))
    dead = DeadNames({"t.py": SCRIPT})
    assert "spare" in dead("t.py::<module>#1", True)
    assert "total" not in dead("t.py::<module>#1", True)
    assert "total" in dead("t.py::<module>#0", False)
    assert len(made) == 1


def test_a_file_that_is_imported_later_may_read_names_of_this_one() -> None:
    sources = {"t.py": SCRIPT}
    dead = DeadNames(sources)
    assert "spare" in dead("t.py::<module>#1", True)
    sources["other.py"] = b"from t import spare"
    assert "spare" not in dead("t.py::<module>#0", False)
