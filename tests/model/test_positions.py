"""Positions and loop executions."""

from __future__ import annotations

from flor.model.checkpoints import Checkpoint, Key
from flor.model.positions import Execution, Level, LoopId, readable

EPOCH, BATCH = "train.py::<module>#0", "engine.py::train#1"
INSIDE = (Level(EPOCH, 0, 3), Level(BATCH, 0, 17))


def test_a_loop_is_its_text() -> None:
    loop = LoopId("a/b.py", "Trainer.fit", 2)
    assert LoopId.parse(str(loop)) == loop


def test_a_position_reads_as_loops_with_iterations() -> None:
    assert readable(INSIDE, {EPOCH: "epoch", BATCH: "batch"}) == "main/epoch=3/train:batch=17"
    assert readable((), {}) == "main"


def test_a_loop_that_runs_twice_in_one_iteration_is_told_apart() -> None:
    position = (Level(EPOCH, 0, 3), Level(BATCH, 1, 0))
    assert readable(position, {EPOCH: "epoch", BATCH: "batch"}) == "main/epoch=3/train:batch#1=0"


def test_an_execution_encloses_what_happens_in_it() -> None:
    execution = Execution(INSIDE[:1], BATCH, 0)
    assert execution.encloses(INSIDE)
    assert not execution.encloses(INSIDE[:1])
    assert not execution.encloses((Level(EPOCH, 0, 4), Level(BATCH, 0, 17)))
    assert not Execution(INSIDE[:1], BATCH, 1).encloses(INSIDE)


def test_a_checkpoint_survives_json() -> None:
    key = Key(Execution(INSIDE[:1], BATCH, 0), 5)
    pack = "p.safetensors"
    unkept = {"frame0:f": {"x": "big"}}
    checkpoint = Checkpoint(key, f"{pack}/g", {"a": pack}, 0.5, 10, 5, unkept, {"/f": (3, 7, "h")})
    assert Checkpoint.from_json(checkpoint.as_json()) == checkpoint
