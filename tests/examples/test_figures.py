"""The paper's figures: what was added after training gives what it would have given during training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.bench import EPOCHS, EXAMPLES, Bench

pytestmark = pytest.mark.long  # each test starts several processes that import torch and sklearn

PROBED = {"figure2.py": "figure7.py", "figure3.py": "figure8.py"}
NAMES = {"line 10": "weights", "line 13": "overlay", "line 14": "overlay"}


@pytest.fixture(scope="module", params=sorted(PROBED))
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, str]:
    """A figure that was run as plain Python, and the name of the one with lines to add."""
    bench = Bench(tmp_path_factory.mktemp("figure"))
    bench.write(request.param)
    bench.python("--stop", EPOCHS)
    return bench, PROBED[request.param]


def text_of(path: Path, *, probed: bool) -> list[str]:
    code = path.read_text().split('"""', 2)[2].splitlines()
    return [line for line in code if probed or "  # line " not in line]


@pytest.mark.parametrize("figure", sorted(PROBED))
def test_figures_7_and_8_are_2_and_3_with_two_lines_more(figure: str) -> None:
    with_probes = EXAMPLES / PROBED[figure]
    assert text_of(EXAMPLES / figure, probed=True) == text_of(with_probes, probed=False)
    assert len(text_of(with_probes, probed=True)) == len(text_of(with_probes, probed=False)) + 2


def oracle(bench: Bench, name: str) -> list[object]:
    """What a full run with the lines in place logs; its stdout is that of the replay."""
    printed = bench.python("--stop", EPOCHS, FLOR_STORE="oracle")
    assert bench.flor("replay", "--all", "-j", "2") == printed
    values = bench.values("oracle", name)
    bench.flor("replay", "-j", "2")
    return values[-len(bench.values(".flor", name)) :]


def test_a_line_in_the_inner_loop(recorded: tuple[Bench, str]) -> None:
    bench, figure = recorded
    bench.write(figure, "line 10")
    wanted = oracle(bench, "weights")
    assert bench.values(".flor", "weights") == wanted
    assert len(wanted) == 150 * int(EPOCHS)
    assert bench.summary("-j", "2")["verdict"] == "exact"


def test_a_line_in_the_outer_loop_skips_the_training(recorded: tuple[Bench, str]) -> None:
    bench, figure = recorded
    bench.write(figure, "line 13" if figure == "figure7.py" else "line 14")
    wanted = oracle(bench, "overlay")
    assert bench.values(".flor", "overlay") == wanted
    summary = bench.summary("-j", "2")
    assert summary["verdict"] == "exact"
    assert summary["blocks_skipped"] >= 1


def test_the_parts_of_figure_4_print_together_what_one_run_prints(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("figure4.py")
    recorded = bench.python("--kwargs", f"epochs={EPOCHS}")
    bench.edit(
        "    lr_scheduler.step()\n", "    lr_scheduler.step()\n    print(avg_loss.item(), lr_scheduler.get_last_lr())\n"
    )
    wanted = bench.python("--kwargs", f"epochs={EPOCHS}", FLOR_RECORD="off")
    parts = [bench.python(FLOR_REPLAY="latest", PID=str(part), NPARTS="2") for part in range(2)]
    assert "".join(parts) == wanted
    assert bench.flor("replay", "--all", "-j", "2") == wanted
    assert wanted != recorded


def test_figure_2_resumes_where_the_command_line_says(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("figure2.py")
    bench.python("--stop", EPOCHS)
    bench.write("figure7.py")
    bench.edit(
        "    evaluate(net, test_data)\n", "    evaluate(net, test_data)\n    print(net[0].weight.norm().item())\n"
    )
    wanted = bench.python("--stop", EPOCHS, FLOR_RECORD="off").splitlines(keepends=True)
    some = bench.python("--start", "2", "--stop", "3", FLOR_REPLAY="latest").splitlines(keepends=True)
    assert some == wanted[4:6]


def test_a_figure_is_also_replayed_if_it_was_recorded_hands_free(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("figure2.py")
    bench.flor("record", "train.py", "--stop", EPOCHS)
    bench.edit(
        "    evaluate(net, test_data)\n", "    evaluate(net, test_data)\n    print(net[0].weight.norm().item())\n"
    )
    wanted = bench.python("--stop", EPOCHS, FLOR_RECORD="off")
    assert bench.flor("replay", "--all", "-j", "2") == wanted
