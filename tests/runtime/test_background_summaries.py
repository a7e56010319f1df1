"""A SummaryWriter in the background: another process writes its event file, byte for byte what the writer would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from torch.utils.tensorboard import SummaryWriter

import flor
from flor.runtime import current
from flor.runtime.background import server as serving
from flor.runtime.background.child import Child
from flor.runtime.background.server import Server
from flor.runtime.background.summaries import server_of_process


@pytest.fixture
def small_server() -> Iterator[Server]:
    """A server with little memory, in place of the one that the other tests share."""
    before = current.background
    current.background = made = Server(memory=100_000)
    yield made
    made.stop()
    current.background = before


def raw(folder: Path) -> list[bytes]:
    """All events but the header."""
    return [bytes(data) for path in sorted(folder.iterdir()) for data in RawEventFileLoader(str(path)).Load()][1:]


def steps(folder: Path) -> list[int]:
    return [Event.FromString(data).step for data in raw(folder)]


def kill_process() -> None:
    server = server_of_process()
    assert server._child is not None
    os.kill(server._child.process.pid, signal.SIGKILL)


def log_all_kinds(writer: Any) -> None:
    """Calls of every sort, on tensors that change right after the call."""
    numbers = torch.Generator().manual_seed(0)
    for step in range(3):
        for size in (1, 5000, 100_000):
            values = torch.randn(size, generator=numbers)
            writer.add_histogram(f"h{size}", values, step, walltime=1.0)
            values.zero_()
        noise = torch.randn(4000, generator=numbers)
        writer.add_histogram("bfloat16", noise.bfloat16(), step, walltime=1.0)
        writer.add_histogram("float64", noise.double().numpy(), step, "tensorflow", 2.0)
        writer.add_histogram("other bins", noise, step, bins=[-1, 0, 1], walltime=1.0)
        writer.add_histogram("few", noise, step, max_bins=20, walltime=1.0)
        writer.add_histogram("turned", noise.reshape(40, 100).t(), step, walltime=1.0)
        writer.add_histogram("whole", torch.arange(10), step, walltime=1.0)
        writer.add_scalar("s", noise.sum(), step, walltime=1.0)
        writer.add_scalar("s", numpy.float32(step), numpy.int64(step), walltime=1.0, new_style=True)
        writer.add_text("t", f"step {step}", step, walltime=1.0)
        writer.add_image("i", noise[:192].reshape(3, 8, 8).clamp(0, 1), step, walltime=1.0)
        writer.add_tensor("v", noise[:5], step, walltime=1.0)
        writer.add_pr_curve("p", (noise > 0).int(), noise.sigmoid(), step, walltime=1.0)
        writer.add_mesh("m", noise[:30].reshape(1, 10, 3), config_dict={"a": [1]}, global_step=step, walltime=1.0)


def test_every_event_is_byte_for_byte_the_direct_one(tmp_path: Path) -> None:
    direct, background = SummaryWriter(tmp_path / "direct"), flor.background(SummaryWriter(tmp_path / "background"))
    for writer in (direct, background):
        log_all_kinds(writer)
        writer.close()
    assert raw(tmp_path / "background") == raw(tmp_path / "direct")
    assert len(list((tmp_path / "background").iterdir())) == 1


def test_the_time_is_that_of_the_call(tmp_path: Path) -> None:
    writer = flor.background(SummaryWriter(tmp_path))
    kill_process()  # so that it is done much later
    before = time.time()
    writer.add_scalar("by name", 1.0, 0)
    writer.add_histogram("by place", torch.ones(3), 0, "tensorflow", None)
    after = time.time()
    writer.close()
    assert all(before <= Event.FromString(data).wall_time <= after for data in raw(tmp_path))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, of its tracer
def test_what_is_done_in_training_comes_in_its_place_in_the_same_file(tmp_path: Path) -> None:
    direct, background = SummaryWriter(tmp_path / "direct"), flor.background(SummaryWriter(tmp_path / "background"))
    for writer in (direct, background):
        writer.add_scalar("a", 1.0, 0, walltime=1.0)
        writer.add_custom_scalars({"all": {"a": ["Multiline", ["a"]]}})
        writer.add_graph(torch.nn.Linear(2, 1), torch.ones(1, 2))
        writer.add_scalar("a", 2.0, 1, walltime=1.0)
        writer.add_scalars("both", {"x": 1.0, "y": 2.0}, 1, walltime=1.0)
        writer.close()

    def without_times(folder: Path) -> list[Event]:
        found = [
            Event.FromString(d) for path in sorted(folder.glob("events*")) for d in RawEventFileLoader(str(path)).Load()
        ]
        for event in found:
            event.wall_time = 0
        return found

    for folder in ("", "both_x", "both_y"):
        assert without_times(tmp_path / "background" / folder) == without_times(tmp_path / "direct" / folder)


def test_after_flush_everything_can_be_read(tmp_path: Path) -> None:
    writer = flor.background(SummaryWriter(tmp_path))
    for step in range(100):
        writer.add_scalar("a", step, step)
        if step % 30 == 0:
            writer.flush()
            assert steps(tmp_path) == list(range(step + 1))
    assert writer.get_logdir() == tmp_path
    writer.close()


def test_a_process_that_is_killed_loses_nothing_and_repeats_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    writer = flor.background(SummaryWriter(tmp_path))
    writer.add_scalar("a", 0, 0)
    writer.flush()
    for step in range(1, 400):
        writer.add_histogram("h", torch.full((3000,), float(step)), step)
        if step in (150, 300):
            kill_process()
    writer.close()
    assert steps(tmp_path) == list(range(400))
    assert "are done again in a new one [background-died]" in capsys.readouterr().err


def test_half_a_record_that_a_dead_process_left_goes(tmp_path: Path) -> None:
    writer = flor.background(SummaryWriter(tmp_path))
    writer.add_scalar("a", 0, 0)
    writer.flush()
    kill_process()
    with next(tmp_path.iterdir()).open("ab") as file:
        file.write(b"half a rec")
    writer.add_scalar("a", 1, 1)
    writer.close()
    assert steps(tmp_path) == [0, 1]


def test_a_call_that_the_process_dies_of_twice_is_left_out_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    deadly = tmp_path / "sitecustomize.py"
    deadly.write_text(
        "import os\nfrom flor.runtime.background import replicas\nreal = replicas.Replicas.do\n"
        "def do(self, number, method, args, kwargs):\n"
        "    if args[:1] == ('poison',): os.kill(os.getpid(), 11)\n"
        "    real(self, number, method, args, kwargs)\n"
        "replicas.Replicas.do = do\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{Path(flor.__file__).parents[1]}")
    writer = flor.background(SummaryWriter(tmp_path / "events"))
    kill_process()  # a new one that reads the file above
    writer.add_scalar("a", 0, 0)
    writer.add_scalar("poison", 1, 1)
    writer.add_scalar("a", 2, 2)
    writer.close()
    said = capsys.readouterr().err
    assert steps(tmp_path / "events") == [0, 2]
    assert "1 call is lost: SummaryWriter.add_scalar(), called at " in said
    assert "by signal 11 twice while it was done [calls-lost]" in said
    kill_process()


def test_without_a_process_calls_are_done_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, small_server: Server
) -> None:
    monkeypatch.setattr("flor.runtime.background.child.COMMAND", "raise SystemExit(5)")
    writer = flor.background(SummaryWriter(tmp_path / "background"))
    direct = SummaryWriter(tmp_path / "direct")
    for each in (writer, direct):
        log_all_kinds(each)
        each.close()
    assert raw(tmp_path / "background") == raw(tmp_path / "direct")
    assert "calls are done on the training thread [background-died]" in capsys.readouterr().err


def test_a_process_that_cannot_be_started_is_no_harm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, small_server: Server
) -> None:
    def refused(*_: Any) -> Child:
        raise OSError("no more processes")

    monkeypatch.setattr(serving, "Child", refused)
    writer = flor.background(SummaryWriter(tmp_path))
    writer.add_scalar("a", 0, 0)
    writer.add_histogram("empty", torch.empty(0), 1)
    writer.close()
    said = capsys.readouterr().err
    assert steps(tmp_path) == [0]
    assert "no more processes" in said
    assert "raised ValueError: The input has no element. [background-failed]" in said


def test_memory_is_bounded_and_a_larger_call_makes_room(tmp_path: Path, small_server: Server) -> None:
    writer = flor.background(SummaryWriter(tmp_path))
    for step in range(60):
        writer.add_histogram("h", torch.full((2000,), float(step)), step)
        assert len(small_server.pending) <= 12
    assert small_server.memory.size == 100_000
    writer.add_histogram("large", torch.ones(100_000), 60)
    writer.close()
    assert steps(tmp_path) == list(range(61))
    assert small_server.memory.size >= 400_000


def test_what_raises_in_the_process_is_told_with_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer = flor.background(SummaryWriter(tmp_path))
    writer.add_histogram("empty", torch.empty(0), 1)  # this line is named
    writer.close()
    line = next(
        n
        for n, text in enumerate(Path(__file__).read_text().splitlines(), 1)
        if text.endswith("1)  # this line is named")
    )
    assert f"SummaryWriter.add_histogram(), called at {__file__}:{line}, raised ValueError" in capsys.readouterr().err


def test_two_writers_share_one_process(tmp_path: Path) -> None:
    first, second = (flor.background(SummaryWriter(tmp_path / name)) for name in "ab")
    for step in range(5):
        first.add_scalar("x", step, step)
        second.add_scalar("x", step, 10 + step)
    first.close()
    second.add_scalar("x", 0, 15)
    second.close()
    assert steps(tmp_path / "a") == list(range(5))
    assert steps(tmp_path / "b") == list(range(10, 16))


def test_a_subclass_that_might_do_anything_gets_a_thread(tmp_path: Path) -> None:
    class Own(SummaryWriter):
        def add_scalar(self, tag: str, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
            super().add_scalar(tag.upper(), *args, **kwargs)

    writer = flor.background(Own(tmp_path))
    writer.add_scalar("loss", 1.0, 7)
    writer.close()
    assert Event.FromString(raw(tmp_path)[0]).summary.value[0].tag == "LOSS"


def run(script: str, folder: Path, check: Callable[[int], bool]) -> None:
    ended = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True)
    assert check(ended.returncode), ended.stderr


SCRIPT = """
import os, signal, sys, torch, flor
from torch.utils.tensorboard import SummaryWriter
writer = flor.background(SummaryWriter(sys.argv[1]))
for step in range(200):
    writer.add_histogram("h", torch.ones(100), step)
"""


def test_the_end_of_the_script_waits_for_all_events(tmp_path: Path) -> None:
    run(SCRIPT + "raise SystemExit(4)\n", tmp_path, lambda code: code == 4)
    assert steps(tmp_path) == list(range(200))


def test_what_was_sent_is_written_although_training_is_killed(tmp_path: Path) -> None:
    run(SCRIPT + "os.kill(os.getpid(), signal.SIGKILL)\n", tmp_path, lambda code: code == -9)
    deadline = time.monotonic() + 60
    while steps(tmp_path)[-1:] != [199] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert steps(tmp_path) == list(range(200))


def test_a_forked_process_that_logs_is_told_that_it_is_lost(tmp_path: Path) -> None:
    script = (
        SCRIPT
        + "pid = os.fork()\nif pid == 0:\n    writer.add_scalar('a', 1.0, 1)\n    os._exit(0)\nos.waitpid(pid, 0)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True)
    assert "these events are lost [calls-lost]" in ended.stderr
    assert steps(tmp_path) == list(range(200))
