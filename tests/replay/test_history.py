"""Which loop is the main one, and what its iterations took."""

from __future__ import annotations

from flor.model.positions import Execution, Level
from flor.model.records import Channel, LogRecord, Statement, Tag
from flor.replay.history import History, LoopRun

EPOCHS, SHOW = Execution((), "a.py::<module>#0", 0), Execution((), "a.py::show#0", 0)


def history(*, complete: bool, last: str) -> History:
    """A run that printed in two loops; only the epochs were long enough to be noted, unless it was killed in them."""
    record = LogRecord(Channel.STDOUT, "", Tag.STR, b"x", (Level(last, 0, 3),), Statement("a.py", 1, ""), 1.0)
    seconds = 9.0 if complete else None
    loops = {EPOCHS: LoopRun(EPOCHS, 4, seconds), SHOW: LoopRun(SHOW, 8, None)}
    return History(loops=loops, logs=[record], complete=complete)


def test_a_loop_too_short_to_be_noted_is_not_the_main_one() -> None:
    found = history(complete=True, last=SHOW.loop).main()
    assert found is not None and found.execution == EPOCHS


def test_the_loop_that_a_run_was_killed_in_is_the_main_one() -> None:
    found = history(complete=False, last=EPOCHS.loop).main()
    assert found is not None and found.execution == EPOCHS


def test_a_loop_too_short_to_be_noted_has_ended_all_the_same() -> None:
    run = history(complete=True, last=SHOW.loop)
    assert not run.under_way(run.loops[SHOW])
    killed = history(complete=False, last=EPOCHS.loop)
    assert killed.under_way(killed.loops[EPOCHS]) and not killed.under_way(killed.loops[SHOW])


def test_a_loop_that_was_left_by_ctrl_c_has_not_ended() -> None:
    run = history(complete=True, last=EPOCHS.loop)
    run.interrupted, run.ends = True, {EPOCHS: 1}
    assert run.under_way(run.loops[EPOCHS]) and run.cut_off
    run.ends[EPOCHS] = 0  # something was logged behind it
    assert not run.under_way(run.loops[EPOCHS])


def test_iterations_that_were_not_measured_one_by_one_share_the_rest_of_the_time() -> None:
    assert LoopRun(EPOCHS, 4, 10.0, (1.0, 3.0)).costs(4) == [1.0, 3.0, 3.0, 3.0]
    assert LoopRun(EPOCHS, 4, 10.0).cost(1, 3) == 5.0
    assert LoopRun(EPOCHS, 4, None, (1.0, 3.0)).costs(3) == [1.0, 3.0, 2.0]
