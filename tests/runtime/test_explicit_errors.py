"""Explicit calls that make no sense are told; what can be handled is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import flor
from flor.errors import BadArgument, NoOpenBlock, UsageError
from flor.explicit.arguments import given
from tests.examples.bench import Bench

BLOCK = """
import time
import flor
things = [0]
if flor.skipblock.step_into("train"):
    things[0] += 1
    time.sleep(0.3)
flor.skipblock.end(things)
print(things[0])
"""


def script(folder: Path, text: str) -> Bench:
    (folder / "train.py").write_text(text)
    return Bench(folder)


def test_an_end_without_a_beginning_names_its_line(tmp_path: Path) -> None:
    said = script(tmp_path, "import flor\nflor.skipblock.end()\n").error("train.py")
    assert "train.py:2" in said
    assert said.rstrip().endswith(f"[{NoOpenBlock.slug}]")


def test_other_objects_on_replay_are_refused_before_anything_is_changed(tmp_path: Path) -> None:
    bench = script(
        tmp_path, BLOCK.replace("things = [0]", "import os\nthings = dict(a=0) if 'OTHER' in os.environ else [0]")
    )
    bench.python()
    said = bench.error("train.py", FLOR_REPLAY="latest", OTHER="yes")
    assert "was recorded with list, and is given dict" in said
    assert "[objects-differ]" in said


def test_an_edited_end_is_no_log_statement(tmp_path: Path) -> None:
    bench = script(tmp_path, BLOCK)
    bench.python()
    bench.edit("end(things)", "end(things, things)")
    assert "[edit-refused]" in bench.error("-m", "flor", "replay")


def test_a_block_that_is_left_without_its_end_is_not_memoized(tmp_path: Path) -> None:
    text = """
import time
import flor
seen = []
for epoch in flor.loop("epoch", range(4)):
    if flor.skipblock.step_into("train"):
        seen.append(epoch)
        time.sleep(0.1)
        if epoch % 2:
            continue
    flor.skipblock.end(seen)
    print(epoch, len(seen))
"""
    bench = script(tmp_path, text)
    bench.python()
    bench.edit("    print(epoch, len(seen))\n", "    print(epoch, len(seen))\n    print(seen)\n")
    assert bench.flor("replay", "--all", "-j", "1") == bench.python(FLOR_RECORD="off")


def test_a_run_that_was_recorded_hands_free_is_not_replayed_by_the_script(tmp_path: Path) -> None:
    bench = script(tmp_path, BLOCK)
    bench.flor("record", "train.py")
    assert "[nothing-to-replay]" in bench.error("train.py", FLOR_REPLAY="latest")


def test_a_store_that_cannot_be_written_stops_no_training(tmp_path: Path) -> None:
    (tmp_path / ".flor").write_text("not a store")
    assert script(tmp_path, BLOCK).python() == "1\n"


def test_a_forked_child_begins_no_run(tmp_path: Path) -> None:
    text = """
import os
import flor
list(flor.loop("parent", range(2)))
if os.fork() == 0:
    list(flor.loop("child", range(2)))
    os._exit(0)
os.wait()
"""
    bench = script(tmp_path, text)
    bench.python()
    assert len(os.listdir(tmp_path / ".flor" / "runs")) == 1


def test_parts_are_numbered_from_zero() -> None:
    with pytest.raises(UsageError, match="part 3 of 3"):
        flor.generator(range(3), 3, 3)


def test_parameters_take_the_type_of_their_default() -> None:
    argv = ["train.py", "--kwargs", "lr=0.5", "epochs=3", "fast=no", "name=x=y", "--verbose", "other=1"]
    assert given("lr", 1.0, argv) == 0.5
    assert given("epochs", 1, argv) == 3
    assert given("fast", True, argv) is False
    assert given("name", "z", argv) == "x=y"
    assert given("other", 7, argv) == 7


@pytest.mark.parametrize("words", [["--kwargs", "lr"], ["--kwargs", "lr=fast"]])
def test_a_parameter_that_cannot_be_read_is_told(words: list[str]) -> None:
    with pytest.raises(BadArgument):
        given("lr", 0.1, ["train.py", *words])


def test_a_default_that_cannot_be_kept_is_told() -> None:
    with pytest.raises(BadArgument, match="list"):
        flor.arg("sizes", [1, 2])


def test_all_names_are_public_and_found() -> None:
    assert sorted(flor.__all__) == sorted(name for name in dir(flor) if not name.startswith("_"))
    assert all(getattr(flor, name) is not None for name in flor.__all__)
