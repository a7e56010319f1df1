"""What replays note of restores, and what later recordings learn from it."""

from __future__ import annotations

from flor.store.layout import Layout
from flor.store.restores import HIGH, LAST, note_restore, restore_ratio


def test_without_a_replay_nothing_is_known(layout: Layout) -> None:
    assert restore_ratio(layout) is None


def test_the_ratio_is_of_the_sums(layout: Layout) -> None:
    note_restore(layout, restore=1.0, materialize=1.0)
    note_restore(layout, restore=3.0, materialize=1.0)
    assert restore_ratio(layout) == 2.0


def test_only_the_latest_count(layout: Layout) -> None:
    for _ in range(LAST):
        note_restore(layout, restore=9.0, materialize=1.0)
    for _ in range(LAST):
        note_restore(layout, restore=1.5, materialize=1.0)
    assert restore_ratio(layout) == 1.5


def test_a_line_that_makes_no_sense_is_passed_over(layout: Layout) -> None:
    layout.restores.write_text('{"restore": 1}\nhello\n{"restore": "x", "materialize": 1}\n')
    assert restore_ratio(layout) is None
    note_restore(layout, restore=1.0, materialize=0.5)
    assert restore_ratio(layout) == 2.0


def test_a_ratio_that_cannot_be_is_bounded(layout: Layout) -> None:
    note_restore(layout, restore=1e9, materialize=1e-6)
    assert restore_ratio(layout) == HIGH


def test_a_store_that_cannot_be_written_is_left_alone(layout: Layout) -> None:
    layout.restores.mkdir()
    note_restore(layout, restore=1.0, materialize=1.0)
    assert restore_ratio(layout) is None
