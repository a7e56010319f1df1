"""Scripts that name their own loops and blocks: recorded as plain Python, replayed, judged by a full run."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.examples.bench import Bench

TRAINING = """
import random
import time

import flor

random.seed(flor.arg("seed", 1))
weights, history = [0.0] * 4, []
print("before")
flor.checkpoint_resume(None, (weights, history))
for epoch in flor.loop("epoch", range(6)):
    total = 0.0
    if flor.skipblock.step_into("train"):
        for batch in range(5):
            noise = random.gauss(0, 1)
            weights[batch % 4] += noise
            total += noise
            time.sleep(0.02)
    flor.skipblock.end(weights, total)
    history.append(total)
    print(f"epoch {epoch} total {total:.6f}")
print(len(history), sum(weights))
"""
OUTER = ("    history.append(total)\n", '    history.append(total)\n    print("outer", weights, history)\n')
INNER = ("            time.sleep(0.02)\n", '            time.sleep(0.02)\n            print("inner", noise, total)\n')
LEFT_OVER = ("    history.append(total)\n", '    history.append(total)\n    print("left over", noise)\n')


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def record(bench: Bench, text: str, *words: str) -> None:
    (bench.folder / "train.py").write_text(dedent(text))
    bench.python(*words)


def judge(bench: Bench, *options: str) -> str:
    """Require that the replay prints what a full run prints; what that is."""
    wanted = bench.python(FLOR_RECORD="off")
    assert bench.flor("replay", "--all", *options) == wanted
    return wanted


def test_an_outer_probe_skips_the_blocks(bench: Bench) -> None:
    record(bench, TRAINING)
    bench.edit(*OUTER)
    judge(bench, "-j", "1")
    assert bench.summary("-j", "1")["blocks_skipped"] >= 4


def test_an_inner_probe_executes_them(bench: Bench) -> None:
    record(bench, TRAINING)
    bench.edit(*INNER)
    judge(bench, "-j", "2")
    summary = bench.summary("-j", "2")
    assert (summary["blocks_skipped"], summary["workers"]) == (0, 2)


def test_a_probe_that_reads_what_no_block_declares_has_the_block_executed(bench: Bench) -> None:
    record(bench, TRAINING.replace("weights, history = ", "noise = None\nweights, history = "))
    bench.edit(*LEFT_OVER)
    assert "left over None" not in judge(bench, "-j", "1")


def test_the_paper_s_own_way_prints_its_part_only(bench: Bench) -> None:
    record(bench, TRAINING)
    bench.edit(*OUTER)
    wanted = bench.python(FLOR_RECORD="off")
    parts = [bench.python(FLOR_REPLAY="latest", FLOR_PID=str(part), FLOR_NPARTS="3") for part in range(3)]
    assert "".join(parts) == wanted


def test_a_parameter_is_given_back_on_replay(bench: Bench) -> None:
    record(bench, TRAINING, "--kwargs", "seed=7")
    bench.edit(*OUTER)
    wanted = bench.python("--kwargs", "seed=7", FLOR_RECORD="off")
    assert bench.flor("replay", "--all", "-j", "1") == wanted
    assert bench.python(FLOR_REPLAY="latest") == wanted
    assert bench.values(".flor", "seed") == [7]


def test_a_script_without_a_seed_replays(bench: Bench) -> None:
    record(bench, TRAINING.replace('random.seed(flor.arg("seed", 1))\n', ""))
    bench.edit(*INNER)
    assert bench.flor("replay", "-j", "2").count("inner") == 30
    assert bench.summary("-j", "2")["verdict"] == "exact"


def test_a_loop_that_nobody_named_is_replayed_by_its_blocks(bench: Bench) -> None:
    record(bench, TRAINING.replace('flor.loop("epoch", range(6))', "range(6)"))
    bench.edit(*OUTER)
    judge(bench)
    assert bench.summary()["blocks_skipped"] >= 4


def test_an_iterable_of_unknown_length_is_passed_through_from_its_beginning(bench: Bench) -> None:
    record(bench, TRAINING.replace("range(6)", "(number for number in range(6))"))
    bench.edit(*OUTER)
    judge(bench, "-j", "2")


def test_a_name_used_twice_in_one_position_is_two_blocks(bench: Bench) -> None:
    twice = """
    flor.skipblock.end(weights, total)
    if flor.skipblock.step_into("train"):
        weights.reverse()
        time.sleep(0.1)
    flor.skipblock.end(weights)
"""
    record(bench, TRAINING.replace("\n    flor.skipblock.end(weights, total)\n", twice))
    bench.edit(*OUTER)
    judge(bench, "-j", "1")
    assert bench.summary("-j", "1")["blocks_skipped"] >= 8


def test_nested_blocks_end_their_own_beginnings(bench: Bench) -> None:
    record(
        bench,
        """
        import time
        import flor

        outer, inner, seen = flor.SkipBlock("outer"), flor.SkipBlock("inner"), []
        for epoch in flor.loop("epoch", range(4)):
            if outer.step_into():
                if inner.step_into():
                    seen.append(epoch)
                    time.sleep(0.1)
                inner.end(seen)
                seen.append(-epoch)
            outer.end(seen)
            print(len(seen))
        """,
    )
    bench.edit("    print(len(seen))\n", "    print(len(seen))\n    print(seen)\n")
    judge(bench, "-j", "1")
    assert bench.summary("-j", "1")["blocks_skipped"] >= 3


def test_a_checkpoint_in_the_loop_is_a_place_to_resume(bench: Bench) -> None:
    record(
        bench,
        """
        import random, time
        import flor

        random.seed(5)
        weights = [0.0]
        for epoch in flor.loop("epoch", range(8)):
            for batch in range(4):
                weights[0] += random.random()
                time.sleep(0.02)
            print(epoch, f"{weights[0]:.3f}")
            flor.checkpoint(weights)
        """,
    )
    bench.edit("    print(epoch, ", "    print(weights)\n    print(epoch, ")
    judge(bench, "-j", "2")
    summary = bench.summary("-j", "2")
    assert summary["workers"] == 2
    assert summary["blocks_executed"] <= 2


def test_the_run_knows_the_names(bench: Bench) -> None:
    record(bench, TRAINING)
    assert "main/epoch=5" in bench.flor("logs")
    assert "flor.skipblock::train#0 (train)" in bench.flor("show", "--loops")
