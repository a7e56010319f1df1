from __future__ import annotations

import ast

import fig01_conservative_optimistic as fig01
import fig11_scaleout as fig11
import flordb
import pytest
from subjects import INNER, OUTER, SUBJECTS, insert


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_workload_has_a_place_for_each_probe(name: str) -> None:
    text = SUBJECTS[name].source(OUTER, INNER)
    ast.parse(text)
    assert (text.count(OUTER), text.count(INNER)) == (1, 1)
    assert SUBJECTS[name].epochs() > 1


def test_a_line_is_inserted_as_deep_as_the_one_before_it() -> None:
    assert insert("for i in x:\n    a(i)\nb()\n", "a(i)", "c()") == "for i in x:\n    a(i)\n    c()\nb()\n"


def test_a_place_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError):
        insert("a()\na()\n", "a()", "b()")


@pytest.mark.parametrize("name", flordb.NAMES)
def test_a_script_for_flordb_names_both_loops_and_its_epochs(name: str) -> None:
    text = flordb.for_flordb(SUBJECTS[name], 3, "outer", "inner")
    ast.parse(text)
    for call in ('flor.loop("epoch", ', 'flor.loop("step", ', 'flor.arg("epochs", 3)', 'flor.log("inner", '):
        assert text.count(call) == 1, call


@pytest.mark.parametrize(("share", "between"), [(25, (6, 10)), (50, (4, 12)), (100, (0, 16))])
def test_the_epochs_that_are_asked_for_are_around_the_middle(share: int, between: tuple[int, int]) -> None:
    assert fig01.around_the_middle(16, share) == between


def test_chuck_logs_only_what_he_asks_for() -> None:
    assert "6 <= epoch < 10" in fig01.text(everything=True, between=(6, 10))
    ast.parse(fig01.text(everything=True, background=True, between=(6, 10)))


def test_the_three_scripts_of_figure_11_differ_by_flor_only() -> None:
    resume, pseudo, free = (fig11.SCRIPTS[way](fig11.TRAIN) for way in fig11.SCRIPTS)
    assert "checkpoint_resume" in resume
    assert "checkpoint_resume" not in pseudo and "skipblock" in pseudo
    assert "flor" not in free
    ast.parse(free)
