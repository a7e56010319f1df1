"""Times and rates, known by their names or by their values."""

from __future__ import annotations

import time

import pytest

from flor.launch.clocks import Clocks, readings
from flor.source.rates import is_bar, is_rate, without_rates


@pytest.mark.parametrize(
    "name", ["train_runtime", "eval_samples_per_second", "eval/runtime", "train/tokens_per_second"]
)
def test_a_rate_is_known_by_its_name(name: str) -> None:
    assert is_rate(name)


@pytest.mark.parametrize("name", ["loss", "runtime_error", "runtime", "per_second", "train_runtime_loss"])
def test_other_names_are_no_rates(name: str) -> None:
    assert not is_rate(name)


def test_a_report_is_compared_without_its_rates() -> None:
    then = "{'eval_loss': '0.69', 'eval_runtime': '0.08', 'eval_steps_per_second': 97.4, 'epoch': '1'}"
    now = "{'eval_loss': '0.69', 'eval_runtime': '1.5e-05', 'eval_steps_per_second': 1742, 'epoch': '1'}"
    assert without_rates(then) == without_rates(now)
    assert without_rates(then) != without_rates(now.replace("0.69", "0.70"))


def test_a_clock_reading_of_then_may_be_one_of_now() -> None:
    now = readings()
    clocks = Clocks({name: value - 5000 for name, value in now.items()}, 60.0, now)
    assert clocks.read(now["monotonic"] - 4990, time.monotonic())
    assert clocks.read(now["time"] - 4990, time.time())
    assert clocks.read(now["time"] - 4990, now["time"] - 4950)  # as a restore left it


def test_other_numbers_are_no_clock_readings() -> None:
    now = readings()
    clocks = Clocks({name: value - 5000 for name, value in now.items()}, 60.0, now)
    assert not clocks.read(0.5, 0.6)
    assert not clocks.read(now["time"] - 4990, now["time"] - 1000)  # the second one is of neither time
    assert not clocks.read(now["time"] - 4990, time.monotonic() + 10_000)
    assert not clocks.read(int(now["time"]) - 4990, int(time.time()))


def test_what_a_progress_bar_draws_is_known() -> None:
    assert is_bar("Epoch 7/7  ━━━━━ 40/40 0:00:00 • 0:00:00 301.43it/s v_num: 0.000")
    assert is_bar("Epoch 7/7        0/40 0:00:00 • -:--:-- 0.00it/s v_num: 0.000")
    assert is_bar("\r 50%|#####     | 1/2")
    assert not is_bar("epoch 7/7 loss 0.31")
    assert not is_bar("we make 300 it/s here")
