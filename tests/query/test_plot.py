"""Charts of logged numbers: what is drawn, where, and how it looks."""

from __future__ import annotations

import builtins
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from recordings import add_replay, at, inner_end, log, losses, recording, resume_point, tensor

from flor.errors import UsageError
from flor.model.positions import Level
from flor.model.records import Channel
from flor.query.plot.braille import Canvas, thinned
from flor.query.plot.image import save
from flor.query.plot.series import Chart, chart_of
from flor.query.plot.terminal import draw


def values_of(chart: Chart, name: str) -> list[float]:
    return [y for series in dict(chart.panels)[name] for y in series.y]


def x_of(chart: Chart, name: str) -> list[float]:
    return [x for series in dict(chart.panels)[name] for x in series.x]


def shown(chart: Chart, width: int = 60) -> list[str]:
    return draw(chart, width).plain.splitlines()


def test_every_logger_is_a_source_of_numbers(tmp_path: Path) -> None:
    channels = (Channel.FLOR, Channel.TENSORBOARD, Channel.WANDB, Channel.MLFLOW)
    run = recording(tmp_path, [log(channel.label, 0.5, at(0), channel) for channel in channels])
    chart = chart_of(run, [])
    assert [name for name, _ in chart.panels] == ["flor", "tensorboard", "wandb", "mlflow"]


def test_numbers_are_numbers_however_they_were_logged(tmp_path: Path) -> None:
    given = [1, 2.5, True, tensor(4.0), [7.0], 10**400]
    run = recording(tmp_path, [log("v", value, at(epoch)) for epoch, value in enumerate(given)])
    assert values_of(chart_of(run, ["v"]), "v") == [1, 2.5, 1, 4, 7, math.inf]


def test_x_is_the_iteration_of_the_main_loop_and_how_far_into_it(tmp_path: Path) -> None:
    accuracies = [log("accuracy", 0.1 * epoch, at(epoch)) for epoch in range(4)]
    chart = chart_of(recording(tmp_path, [*losses(), *accuracies]), ["loss", "accuracy"])
    assert chart.x_label == "epoch"
    assert x_of(chart, "loss")[:6] == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert x_of(chart, "accuracy") == [0, 1, 2, 3]


def test_a_loop_of_one_iteration_is_looked_through(tmp_path: Path) -> None:
    run = recording(tmp_path, [log("v", step, at(0, step)) for step in range(5)])
    chart = chart_of(run, ["v"])
    assert (chart.x_label, x_of(chart, "v")) == ("batch", [0, 1, 2, 3, 4])


def test_a_second_main_loop_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    again = [log("v", 9, (Level("train.py::<module>#0", 1, epoch),)) for epoch in range(2)]
    run = recording(tmp_path, [*(log("v", 1, at(epoch)) for epoch in range(3)), *again])
    assert x_of(chart_of(run, ["v"]), "v") == [0, 1, 2, 3, 4]


def test_outside_of_loops_x_is_the_order(tmp_path: Path) -> None:
    chart = chart_of(recording(tmp_path, [log("v", n, ()) for n in range(3)]), ["v"])
    assert (chart.x_label, x_of(chart, "v")) == ("order", [0, 1, 2])


def test_a_step_that_is_logged_beside_is_the_x(tmp_path: Path) -> None:
    steps = [log("global_step", 100 * epoch, at(epoch)) for epoch in range(3)]
    run = recording(tmp_path, [*steps, *(log("v", 1, at(epoch)) for epoch in range(3))])
    chart = chart_of(run, ["v"])
    assert (chart.x_label, x_of(chart, "v")) == ("global_step", [0, 100, 200])


def test_any_logged_value_can_be_the_x(tmp_path: Path) -> None:
    tokens = [log("tokens", 7 * epoch, at(epoch)) for epoch in range(3)]
    run = recording(tmp_path, [*tokens, *(log("v", 1, at(epoch)) for epoch in range(3))])
    assert x_of(chart_of(run, ["v"], "tokens"), "v") == [0, 7, 14]
    with pytest.raises(UsageError, match="'words' was not logged"):
        chart_of(run, ["v"], "words")


def test_hindsight_is_a_series_of_its_own_and_the_last_replay_counts(tmp_path: Path) -> None:
    run = recording(tmp_path, losses())
    add_replay(run, "1-a", losses(2.0))
    add_replay(run, "2-b", losses(3.0))
    (_, panel), *_ = chart_of(run, ["loss"]).panels
    assert [(series.origin, series.y[0], len(series.y)) for series in panel] == [
        ("recorded", 1.0, 20),
        ("hindsight", 3.0, 20),
    ]


def test_checkpoints_are_ticks_where_they_were_taken(tmp_path: Path) -> None:
    run = recording(tmp_path, losses(), [resume_point(1), inner_end(2), resume_point(3)])
    chart = chart_of(run, ["loss"])
    assert chart.ticks == (1, 3)  # the end of the inner loop in epoch 2 and the beginning of epoch 3 are one place
    axis = next(line for line in shown(chart) if "└" in line)
    assert axis.count("┴") == 2 and "2 checkpoints" in shown(chart)[-1]


def test_recorded_lines_are_solid_and_hindsight_is_dashed() -> None:
    solid, dashed = Canvas(40, 1), Canvas(40, 1)
    solid.line([(0, 0), (79, 0)], 0)
    dashed.line([(0, 0), (79, 0)], 0, dashed=True)
    assert {character for row in solid.cells() for character, _ in row} == {"⠉"}
    assert " " in {character for row in dashed.cells() for character, _ in row}


def test_the_terminal_shows_the_curve(tmp_path: Path) -> None:
    lines = shown(chart_of(recording(tmp_path, [log("v", e, at(e)) for e in range(4)]), ["v"]), width=32)
    assert (
        "v" in lines[0]
        and "recorded, 4 values, last 3"
        in draw(chart_of(recording(tmp_path / "b", [log("v", e, at(e)) for e in range(4)]), ["v"]), 80).plain
    )
    assert lines[1].strip().startswith("3 ┤") and lines[1].rstrip()[-1] not in " ┤"
    assert lines[12].strip().startswith("0 ┤") and lines[12][12] != " "
    assert all(len(line) <= 32 for line in lines)


def test_values_that_are_not_finite_are_gaps_and_are_counted(tmp_path: Path) -> None:
    values = [1.0, math.nan, 2.0, math.inf, 3.0]
    chart = chart_of(recording(tmp_path, [log("v", value, at(e)) for e, value in enumerate(values)]), ["v"])
    assert "2 not finite" in draw(chart, 100).plain
    assert "3 ┤" in shown(chart)[1]


@pytest.mark.parametrize("values", [[5.0], [5.0, 5.0], [0.0], [math.nan], [1e308, -1e308], [10**400]])
def test_odd_series_are_drawn(tmp_path: Path, values: list[Any]) -> None:
    chart = chart_of(recording(tmp_path, [log("v", value, at(e)) for e, value in enumerate(values)]), ["v"])
    assert len(shown(chart)) >= 14
    if values[0] != 1e308:  # matplotlib's own margins overflow there
        save(chart, tmp_path / "odd.svg")


def test_a_name_that_is_not_there_is_said_with_the_nearest(tmp_path: Path) -> None:
    run = recording(tmp_path, [*losses(), log("text", "hello", at(0)), log("big", tensor(1.0, 2.0), at(0))])
    with pytest.raises(UsageError, match="Did you mean 'loss'"):
        chart_of(run, ["los"])
    for name in ("text", "big"):
        with pytest.raises(UsageError, match="never as a number"):
            chart_of(run, [name])


def test_a_run_without_numbers_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no numbers"):
        chart_of(recording(tmp_path, []), [])


def test_a_name_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    name = "\x1b]0;owned\x07\nv"
    text = draw(chart_of(recording(tmp_path, [log(name, 1, at(0))]), [name]), 80).plain
    assert "\x1b" not in text and "\x07" not in text


def test_a_long_series_keeps_its_peaks() -> None:
    count = 100_000
    y = [1e6 if index == 77_777 else float(index % 7) for index in range(count)]
    points = thinned(range(count), y, (0, count), 160)
    assert len(points) <= 4 * 161 and max(value for _, value in points) == 1e6


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_an_image_is_written(tmp_path: Path, ending: str) -> None:
    run = recording(tmp_path, losses(), [resume_point(1)])
    add_replay(run, "1-a", losses(2.0, "grad_norm"))
    save(chart_of(run, ["loss", "grad_norm"]), tmp_path / f"out.{ending}")
    assert (tmp_path / f"out.{ending}").stat().st_size > 1000


def test_an_image_has_solid_dashed_and_ticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    seen: list[Any] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: seen.append(figure))
    run = recording(tmp_path, losses(), [resume_point(1), resume_point(2)])
    add_replay(run, "1-a", losses(2.0))
    save(chart_of(run, ["loss"]), tmp_path / "out.png")
    recorded, hindsight, checkpoints = seen[0].axes[0].get_lines()
    assert (recorded.get_linestyle(), hindsight.get_linestyle()) == ("-", "--")
    assert list(checkpoints.get_xdata()) == [1, 2]


def test_an_unknown_image_format_is_said(tmp_path: Path) -> None:
    chart = chart_of(recording(tmp_path, losses()), ["loss"])
    with pytest.raises(UsageError, match="png"):
        save(chart, tmp_path / "out.xyz")


def test_without_matplotlib_it_is_said_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    for name in [name for name in sys.modules if name.startswith("matplotlib.figure")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(UsageError, match="pip install matplotlib"):
        save(chart_of(recording(tmp_path, losses()), ["loss"]), tmp_path / "out.png")
