"""How the main loop is divided among workers."""

from __future__ import annotations

from flor.model.checkpoints import Checkpoint, Key
from flor.model.plan import Segment
from flor.model.positions import Execution, Level
from flor.replay.history import History, LoopRun
from flor.replay.planning import Reach, Work, in_coroutine, split

EPOCHS = Execution((), "a.py::<module>#0", 0)
BATCHES = "a.py::<module>#1"


def history(*, points: list[int], ends: list[int], epochs: int = 20, inside: float = 0.9) -> History:
    """Epochs of a second, of which the loop inside takes a part; resume points and memoized ends at some of them."""
    found = History(loops={EPOCHS: LoopRun(EPOCHS, epochs, float(epochs), (1.0,) * epochs)}, seconds=epochs + 4.0)
    keys = [Key(EPOCHS, point) for point in points]
    for epoch in ends:
        batches = Execution((Level(EPOCHS.loop, 0, epoch),), BATCHES, 0)
        found.loops[batches] = LoopRun(batches, 10, inside)
        keys.append(Key(batches, None))
    found.checkpoints = {key: Checkpoint(key, "", {}, 0.0, 0, 0) for key in keys}
    return found


def work(found: History, *, inner: bool) -> Work:
    """What there is to do for a probe of each epoch, or of each batch."""
    main, loops = found.loops[EPOCHS], {EPOCHS.loop, *([BATCHES] if inner else [])}
    reach = Reach(frozenset(loops), anywhere=False, outside_main=False, inside_main=True, carries=False)
    return Work.of(main, found, reach, main.iterations)


def segments(found: History, workers: int) -> list[Segment]:
    return split(work(found, inner=True), 0, found.loops[EPOCHS].iterations, workers, open_end=True)


def test_segments_begin_at_resume_points() -> None:
    found = segments(history(points=list(range(1, 20)), ends=[]), 4)
    assert found == [Segment(0, 5, None), Segment(5, 10, 5), Segment(10, 15, 10), Segment(15, None, 15)]


def test_memoized_ends_lead_from_a_resume_point_to_a_better_place() -> None:
    found = segments(history(points=[4, 13], ends=list(range(20)), inside=0.99), 4)
    assert found == [Segment(0, 5, None), Segment(5, 10, 4), Segment(10, 15, 4), Segment(15, None, 13)]


def test_a_way_that_costs_more_than_it_evens_out_is_not_taken() -> None:
    found = segments(history(points=[8, 12], ends=list(range(20)), inside=0.0), 2)
    assert found == [Segment(0, 8, None), Segment(8, None, 8)]


def test_an_iteration_without_an_end_is_run_on_the_way() -> None:
    found = segments(history(points=[4], ends=[epoch for epoch in range(20) if epoch != 6], inside=0.99), 2)
    assert found == [Segment(0, 10, None), Segment(10, None, 4)]


def test_a_run_whose_first_end_was_not_kept_is_still_divided() -> None:
    found = segments(history(points=[], ends=list(range(1, 8)), epochs=8, inside=0.99), 2)
    assert [segment.start for segment in found] in ([0, 4], [0, 5])


def test_without_checkpoints_one_worker_does_it_all() -> None:
    assert segments(history(points=[], ends=[]), 4) == [Segment(0, None, None)]


def test_blocks_of_unknown_length_are_passed_over_for_nothing() -> None:
    found = history(points=[], ends=list(range(20)))
    found.loops = {EPOCHS: found.loops[EPOCHS]}
    assert [segment.start for segment in segments(found, 4)] == [0, 5, 10, 15]


def test_a_probe_of_each_epoch_costs_what_is_not_skipped() -> None:
    found = history(points=[], ends=[epoch for epoch in range(20) if epoch != 6], inside=0.9)
    outer, inner = work(found, inner=False), work(found, inner=True)
    assert inner.seconds(0, 20) == 20.0
    assert outer.iterations[6] == 1.0
    assert 19 * 0.1 + 1 <= outer.seconds(0, 20) <= 19 * 0.12 + 1


def test_a_worker_that_would_start_longer_than_it_works_is_not_worth_it() -> None:
    found = history(points=[], ends=list(range(20)), inside=0.95)
    assert work(found, inner=False).worth_workers(0, 20) == 1
    assert work(found, inner=True).worth_workers(0, 20) == 1 + 20 // 4  # so long was the record before and after it


def test_a_loop_of_a_coroutine_is_known_by_its_function() -> None:
    sources = {"train.py": "async def main():\n    for epoch in range(3):\n        pass\ndef fit():\n    pass\n"}
    assert in_coroutine("train.py::main#0", sources)
    assert not in_coroutine("train.py::fit#0", sources) and not in_coroutine("train.py::<module>#0", sources)
