"""Bad input and bad luck: said in words, with partial results kept and nothing left running."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import flor
from flor.model.plan import Order, Plan, Segment
from flor.model.positions import Execution
from flor.model.records import Note
from flor.replay.crew import last_good_point
from tests.replay.conftest import Workshop

LOOP = """
import os, random, time
random.seed(1)
total = 0.0
for epoch in range(8):
    for batch in range(4):
        total += random.random()
        time.sleep(0.02)
        print("probe", epoch, batch, total)  #@
    print(epoch, total)
"""


def recorded(workshop: Workshop, text: str, *options: str) -> None:
    workshop.program(text, probed=False)
    done = workshop.flor("record", "--overhead", "10", *options, "train.py")
    assert done.code == 0, done.stderr
    workshop.program(text, probed=True)


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    path.write_bytes(data)


def test_damaged_checkpoints_are_done_without(workshop: Workshop) -> None:
    recorded(workshop, LOOP)
    oracle = workshop.run("train.py")
    (run,) = flor.runs(workshop.folder / ".flor")
    for path in sorted(run.folder.packs.glob("*.safetensors"))[3::2]:
        damage(path)
    replayed = workshop.flor("replay", "--all", "-j", "2")
    assert (replayed.stdout, replayed.code) == (oracle.stdout, 0), replayed.stderr


def test_a_probe_that_does_not_parse_is_shown_as_python_does(workshop: Workshop) -> None:
    recorded(workshop, LOOP)
    workshop.program(LOOP.replace('print("probe", epoch, batch, total)', 'print("probe", epoch'), probed=True)
    done = workshop.flor("replay")
    assert (done.code, done.stdout) == (1, "")
    assert 'File "train.py", line 9' in done.stderr
    assert "was never closed" in done.stderr
    assert done.stderr.rstrip().endswith("[probe-failed]")


def test_a_probe_that_raises_says_where_in_the_run(workshop: Workshop) -> None:
    recorded(workshop, LOOP)
    workshop.program(LOOP.replace('print("probe", epoch, batch, total)', "print(1 / (3 - epoch))"), probed=True)
    done = workshop.flor("replay", "-j", "2")
    assert done.code == 1
    assert "at main/epoch=3/batch=0" in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert done.stdout.splitlines() == [f"{1 / (3 - epoch)}" for epoch in range(3) for _ in range(4)]
    assert "12 values computed before are kept: `flor logs" in done.stderr
    assert "flor: executing from the beginning, since the checkpoints did not suffice" in done.stderr
    assert len(hindsight(workshop)) == 12


def hindsight(workshop: Workshop) -> list[str]:
    """What `flor logs` has of the probes' values."""
    rows = [json.loads(line) for line in workshop.flor("logs", "--json").stdout.splitlines()]
    return [row["value"] for row in rows if row["origin"] == "hindsight"]


def test_what_happened_is_told_to_one_who_asks(workshop: Workshop) -> None:
    recorded(workshop, LOOP)
    said = workshop.flor("replay", "-j", "2", "--verbose").stderr
    for words in ("planned in", "w1: restored", "came to iteration", "was executed", "merged", "flor: exact"):
        assert words in said
    assert workshop.flor("replay", "-j", "2").stderr.count("flor: ") == 1


DATA = LOOP.replace("random.seed(1)", "random.seed(1)\nscale = float(open('data.txt').read())").replace(
    "random.random()", "scale * random.random()"
)


@pytest.mark.parametrize("change", ["gone", "changed"])
def test_a_data_file_that_is_not_what_it_was_is_named(workshop: Workshop, change: str) -> None:
    data = workshop.folder / "data.txt"
    data.write_text("1.5")
    recorded(workshop, DATA)
    data.unlink() if change == "gone" else data.write_text("2.25")
    done = workshop.flor("replay", "-j", "1")
    assert done.code in (1, 3), done.stderr
    assert str(data) in done.stderr


def test_another_version_of_a_package_is_told_and_exact_is_exact(workshop: Workshop) -> None:
    (workshop.folder / "lib").mkdir()
    package = workshop.folder / "lib" / "measures.py"
    package.write_text("__version__ = '1.0'\n")
    text = LOOP.replace("import os,", "import sys\nsys.path.insert(0, 'lib')\nimport measures\nimport os,")
    recorded(workshop, text, "--exclude", "lib/*")
    package.write_text("__version__ = '2.0'\n")
    done = workshop.flor("replay", "-j", "1")
    assert "measures is 2.0 now, it was 1.0 when the run was recorded" in done.stderr
    assert done.code == 0


def test_a_worker_that_dies_goes_on_from_its_last_finished_iteration() -> None:
    main = Execution((), "train.py::<module>#0", 0)
    plan = Plan(main, 8, (Segment(0, 8, None),), frozenset(), False, False, 0.0)
    order = Order("r", "s", "f", 0, plan.segments[0], plan, (), "", None, {}, {}, {}, (), {}, ())
    key = {"parent": [], "loop": main.loop, "occurrence": 0, "differences": []}
    said = [
        Note("segment", {"start": 0}),
        Note("checked", {**key, "iteration": 2}),
        Note("checked", {**key, "iteration": 3}),
        Note("checked", {**key, "iteration": 4, "differences": ["x"]}),
        Note("checked", {**key, "loop": "train.py::<module>#1", "iteration": 1}),
    ]
    assert last_good_point(said, order) == (2, 3)
    assert last_good_point(said[:1], order) is None


def test_a_worker_that_is_killed_is_sent_again_and_its_values_are_exact(workshop: Workshop) -> None:
    recorded(workshop, LOOP)
    oracle = workshop.run("train.py")
    process = _start(workshop, "--all", "-j", "1")
    worker = _worker_at(workshop, iteration=3)
    os.kill(worker, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == (oracle.stdout, 0), err
    assert "worker 0 is sent again, from iteration 3: it ended with code -9" in err


def test_a_worker_that_always_dies_is_given_up(workshop: Workshop) -> None:
    recorded(workshop, LOOP)
    workshop.program(LOOP.replace('print("probe", epoch, batch, total)', "print(os.kill(os.getpid(), 9))"), probed=True)
    done = workshop.flor("replay", "-j", "1", "--force")
    assert done.code == 1
    assert "ended with code -9" in done.stderr


def test_ctrl_c_leaves_no_worker_and_keeps_what_there_is(workshop: Workshop) -> None:
    recorded(workshop, LOOP.replace("0.02", "0.1"))
    process = _start(workshop, "-j", "1")
    worker = _worker_at(workshop, iteration=2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=5)  # the promise: workers are gone within five seconds
    assert process.returncode == 1
    assert err.rstrip().endswith("[stopped]")
    assert not Path(f"/proc/{worker}").exists()
    values = hindsight(workshop)
    assert len(values) > 8
    assert values[0].startswith("probe 0 0")
    assert out.splitlines() == values
    assert f"{len(values)} values computed before are kept" in err


def test_a_run_that_is_still_going_replays_what_is_durable(workshop: Workshop) -> None:
    text = LOOP.replace("range(8)", "range(10**6)")  # it ends when it is killed
    workshop.program(text, probed=False)
    process = subprocess.Popen(
        [sys.executable, "-m", "flor", "record", "--overhead", "10", "train.py"], cwd=workshop.folder,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("6 "):
            break
    workshop.program(text, probed=True)
    done = workshop.flor("replay", "-j", "1", "--epochs", "0:5")
    still = process.poll() is None
    process.kill()
    process.stdout.close()
    process.wait()
    assert still
    assert done.code == 0, done.stderr
    assert len(done.stdout.splitlines()) == 20


def _start(workshop: Workshop, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "flor", "replay", *options], cwd=workshop.folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def _worker_at(workshop: Workshop, iteration: int) -> int:
    """The process id of the worker, once it is in that iteration of the outer loop."""
    while True:
        for journal in (workshop.folder / ".flor").glob("runs/*/replays/*/w0.live"):
            if journal.read_bytes().count(b"probe") > 4 * iteration:
                return _holder(journal)
        time.sleep(0.02)


def _holder(path: Path) -> int:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and entry.name != str(os.getpid()):
            try:
                if any(os.readlink(fd) == str(path) for fd in (entry / "fd").iterdir()):
                    return int(entry.name)
            except OSError:
                continue
    raise AssertionError("nobody holds the worker's journal")


def test_where_threads_outnumber_cores_they_wait_without_spinning(workshop: Workshop) -> None:
    cores = len(os.sched_getaffinity(0))
    recorded(workshop, LOOP.replace('"probe", epoch, batch, total', 'os.environ.get("OMP_WAIT_POLICY")'))
    assert set(workshop.flor("replay", "-j", "1").stdout.split()) == {"None"}
    shutil.rmtree(next(workshop.folder.glob(".flor/runs/*/replays")))  # or it is answered from there
    assert set(workshop.flor("replay", "-j", str(cores + 1)).stdout.split()) == {"passive"}
