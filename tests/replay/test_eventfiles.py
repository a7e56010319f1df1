"""What a probe gives to TensorBoard is in event files of its own, equal to those of a full run."""

from __future__ import annotations

from pathlib import Path

import pytest

from flor.replay.eventfiles import gather, within
from tests.replay.conftest import Workshop

pytest.importorskip("tensorboard")
pytest.importorskip("torch")

TRAIN = """
import time
import torch
from torch.utils.tensorboard import SummaryWriter
torch.manual_seed(0)
weight = torch.randn(4)
writer = SummaryWriter("runs/exp1")
for epoch in range(6):
    for batch in range(3):
        weight = weight * 0.9 + torch.randn(4)
        time.sleep(0.03)
        writer.add_scalar("inner/norm", weight.norm(), epoch * 3 + batch)  #@
    writer.add_scalar("loss", weight.sum(), epoch)
    writer.add_histogram("weight", weight, epoch)  #@
    print(epoch)
writer.close()
"""

Values = dict[str, list[tuple[int, object]]]


def read(folder: Path) -> Values:
    """The scalars and histograms of a log folder, by tag."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    tags = events.Tags()
    found: Values = {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in tags["scalars"]}
    for tag in tags["histograms"]:
        found[tag] = [(event.step, tuple(event.histogram_value.bucket)) for event in events.Histograms(tag)]
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_event_files_of_a_replay_have_the_values_of_a_full_run(workshop: Workshop, tmp_path: Path) -> None:
    workshop.program(TRAIN, probed=False)
    workshop.flor("record", "--overhead", "10", "train.py")
    before = read(tmp_path / "runs" / "exp1")
    workshop.program(TRAIN, probed=True)
    replayed = workshop.flor("replay", "-j", "2")
    assert replayed.code == 0, replayed.stderr
    (folder,) = (tmp_path / ".flor").glob("runs/*/replays/*/tensorboard/runs/exp1")
    assert read(tmp_path / "runs" / "exp1") == before  # the user's own are as they were
    assert str(folder.relative_to(tmp_path)) in replayed.stderr
    workshop.flor("replay", "-j", "1", "--tensorboard", "seen")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "train.py").write_text((tmp_path / "train.py").read_text())
    workshop.run("-c", "import os, runpy; os.chdir('full'); runpy.run_path('train.py')")
    oracle = read(tmp_path / "full" / "runs" / "exp1")
    wanted = {tag: values for tag, values in oracle.items() if tag in ("inner/norm", "weight")}
    assert read(folder) == wanted
    assert read(tmp_path / "seen" / "runs" / "exp1") == wanted


def test_a_log_folder_never_leads_out_of_the_replays_own(tmp_path: Path) -> None:
    assert within("runs/exp1") == "runs/exp1"
    assert within("../elsewhere").startswith("..") is False
    assert within(str(tmp_path)).startswith("/") is False


def test_event_files_are_read_in_the_order_of_the_segments(tmp_path: Path) -> None:
    for worker, second in ((0, 30), (2, 10), (10, 20)):
        place = tmp_path / f"events-w{worker}" / "runs"
        place.mkdir(parents=True)
        (place / f"events.out.tfevents.{second}.host").write_text(str(worker))
    assert gather(tmp_path, tmp_path / "all") == ["runs"]
    assert [file.read_text() for file in sorted((tmp_path / "all" / "runs").iterdir())] == ["0", "2", "10"]
