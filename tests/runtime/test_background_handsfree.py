"""`flor record --background-logging`: summary writers log in the background, and nothing else is different."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from flor_scene import Scene
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event

import flor
from flor.model.records import Channel
from flor.query.runs import run
from flor.runtime.background.handsfree import BackgroundLogging
from flor.runtime.imports import ImportWatch
from flor.runtime.loggers import LoggerWatch

SCRIPT = """
import sys
import torch
from torch.utils.tensorboard import SummaryWriter

torch.manual_seed(0)
net = torch.nn.Linear(40, 30)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
writer = SummaryWriter(sys.argv[1])
for epoch in range(3):
    for batch in range(4):
        loss = net(torch.randn(8, 40)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("loss", loss, epoch * 4 + batch, walltime=1.0)
    for name, parameter in net.named_parameters():
        writer.add_histogram(name, parameter, epoch, walltime=1.0)
    print(epoch, loss.item())
writer.close()
writer.add_scalar("late", 1.0, 5, walltime=1.0)
writer.flush()
sys.exit(5)
"""


def launch(folder: Path, *command: str, text: str = SCRIPT) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(text)
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def events(folder: Path) -> list[list[bytes]]:
    """The events of each file, in the order of the files' making, without their headers."""
    files = sorted(folder.iterdir(), key=lambda path: int(path.name.rpartition(".")[2]))
    return [[bytes(data) for data in RawEventFileLoader(str(path)).Load()][1:] for path in files]


@pytest.mark.long
def test_files_logs_output_and_exit_code_are_those_of_a_run_without_it(tmp_path: Path) -> None:
    plain = launch(tmp_path, "train.py", "plain")
    usual = launch(tmp_path, "-m", "flor", "record", "--name", "usual", "train.py", "usual")
    moved = launch(tmp_path, "-m", "flor", "record", "--background-logging", "--name", "moved", "train.py", "moved")
    assert plain.stdout == usual.stdout == moved.stdout
    assert plain.returncode == usual.returncode == moved.returncode == 5
    assert events(tmp_path / "plain") == events(tmp_path / "moved")
    usual_logs, moved_logs = (
        [
            (row.channel, row.name, row.value, row.position, row.statement)
            for row in run(name, tmp_path / ".flor").logs()
        ]
        for name in ("usual", "moved")
    )
    assert len(moved_logs) > 20
    assert moved_logs == usual_logs
    assert moved.stderr.count("\n") == usual.stderr.count("\n")

    replayed = launch(
        tmp_path, "-m", "flor", "replay", "moved", "--probe", "train.py:19:print('w', net.weight.sum().item())"
    )
    assert replayed.stdout.count("w ") == 3, replayed.stderr
    assert replayed.returncode == 0, replayed.stderr


class Recorder:
    """Stands for tensorboardX's writer, which is not installed here."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def add_scalar(self, tag: str, value: Any, step: int = 0) -> None:
        self.calls.append((tag, value, step))

    def add_figure(self, tag: str, figure: Any) -> None:
        self.calls.append((tag, figure))

    def flush(self) -> None:
        self.calls.append("flush")


@pytest.fixture
def tensorboardx(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Iterator[type]:
    """A module of that name, with background logging and a logbook around its writer."""
    module = ModuleType("tensorboardX.writer")
    writer = type("SummaryWriter", (Recorder,), dict(vars(Recorder)))
    vars(module)["SummaryWriter"] = writer
    monkeypatch.setitem(sys.modules, "tensorboardX.writer", module)
    imports = ImportWatch(pytest.fail)
    background = BackgroundLogging(imports)
    background.install()
    loggers = LoggerWatch(scene.logbook, imports)
    loggers.install()
    yield writer
    loggers.remove()
    background.remove()


def test_another_writer_gets_a_thread_and_its_flush_waits(scene: Scene, tensorboardx: type) -> None:
    scene.scope["writer"] = writer = tensorboardx()
    scene.play("for i in range(3):\n    writer.add_scalar('a', i, i)\nwriter.flush()")
    assert writer.calls == [("a", 0, 0), ("a", 1, 1), ("a", 2, 2), "flush"]
    kept = [record for record in scene.sink.kept if record.channel is Channel.TENSORBOARD]
    assert [record.position for record in kept] == [(("#0", 0, i),) for i in range(3)]
    assert {record.statement for record in kept} == {"s.py:2:<module>"}


def test_a_wrapped_writer_is_heard_where_it_is_called_once(scene: Scene, tensorboardx: type) -> None:
    real = tensorboardx()
    scene.scope["writer"] = writer = flor.background(real)
    scene.play("for i in range(2):\n    writer.add_scalar('a', i, step=i)")
    writer.flush()
    assert real.calls == [("a", 0, 0), ("a", 1, 1), "flush"]
    kept = [record for record in scene.sink.kept if record.channel is Channel.TENSORBOARD]
    assert [(record.name, record.position) for record in kept] == [("a", (("#0", 0, i),)) for i in range(2)]


@pytest.mark.long
def test_a_script_that_logs_in_the_background_itself_replays_exactly(tmp_path: Path) -> None:
    text = SCRIPT.replace("writer = SummaryWriter(sys.argv[1])", "writer = flor.background(SummaryWriter(sys.argv[1]))")
    text = text.replace("import sys\n", "import flor\nimport sys\n").replace('writer.add_scalar("late"', "#")
    text = text.replace("writer.flush()\n", "")
    recorded = launch(tmp_path, "-m", "flor", "record", "--name", "own", "train.py", "events", text=text)
    assert recorded.returncode == 5, recorded.stderr
    before = {path.name: path.read_bytes() for path in (tmp_path / "events").iterdir()}
    probe = "train.py:20:print('w', net.weight.sum().item())"
    replayed = launch(tmp_path, "-m", "flor", "replay", "own", "--probe", probe, text=text)
    assert (replayed.stdout.count("w "), replayed.returncode) == (3, 0), replayed.stderr
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "events").iterdir()}


def test_a_subclass_of_the_writer_has_its_own_way_and_then_the_background(tmp_path: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    class Own(SummaryWriter):
        def add_scalar(self, tag: str, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
            super().add_scalar(tag.upper(), *args, **kwargs)

    background = BackgroundLogging(ImportWatch(pytest.fail))
    background.install()
    try:
        writer = Own(tmp_path)
        writer.add_scalar("loss", 1.0, 7)
        assert type(writer.file_writer.event_writer).__name__ == "Forwarder"
        writer.close()
    finally:
        background.remove()
    assert [Event.FromString(data).summary.value[0].tag for data in events_of(tmp_path)] == ["LOSS"]


def events_of(folder: Path) -> list[bytes]:
    return [data for file in events(folder) for data in file]
