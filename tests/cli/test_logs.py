"""Logs survive: of a run that ended, one that is going on, and one that was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import flor

FLOR = Path(sys.executable).with_name("flor")
TRAIN = """\
import sys
import flor
import logging
def train(epoch):
    for batch in range(2):
        flor.log("loss", 0.5 * batch)
        print("batch", batch, file=sys.stderr)
logging.basicConfig(stream=sys.stdout, format="%(message)s")
for epoch in range(2):
    train(epoch)
    print("epoch", epoch, end="\\r")
    logging.warning("done %d", epoch)
print()
print("half a line", end="")
"""
WAITS = """\
import sys, flor
for step in range(1000):
    flor.log("step", step)
    print("line", step)
    if step == 4:
        print("ready", file=sys.stderr, flush=True)
        sys.stdin.read()
"""


def rows_of(folder: Path, *words: str) -> list[dict[str, Any]]:
    done = subprocess.run([FLOR, "logs", *words, "--json"], cwd=folder, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    (folder / "train.py").write_text(TRAIN)
    done = subprocess.run([FLOR, "record", "--name", "first", "train.py"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0
    return folder


def test_values_come_with_their_position_and_statement(recorded: Path) -> None:
    rows = rows_of(recorded, "first", "loss")
    assert [(row["value"], row["position"], row["loops"]) for row in rows] == [
        (0.5 * batch, f"main/epoch={epoch}/train:batch={batch}", {"epoch": epoch, "batch": batch})
        for epoch in range(2)
        for batch in range(2)
    ]
    assert {(row["statement"], row["channel"], row["rank"], row["origin"]) for row in rows} == {
        ("train.py:6", "flor", 0, "recorded")
    }


def test_lines_of_a_stream_are_joined_from_their_pieces(recorded: Path) -> None:
    assert [row["value"] for row in rows_of(recorded, "first", "stderr")] == ["batch 0", "batch 1"] * 2
    stdout = [row["value"] for row in rows_of(recorded, "first", "stdout")]
    assert stdout == ["epoch 0\rdone 0", "epoch 1\rdone 1", "", "half a line"]


def test_logging_records_are_kept_beside_the_text_that_they_print(recorded: Path) -> None:
    rows = rows_of(recorded, "first", "logging")
    assert [(row["name"], row["value"], row["position"]) for row in rows] == [
        ("root.WARNING", f"done {epoch}", f"main/epoch={epoch}") for epoch in range(2)
    ]


def test_all_rows_are_in_the_order_of_the_calls(recorded: Path) -> None:
    times = [row["time"] for row in rows_of(recorded) if row["channel"] in ("flor", "logging")]
    assert times == sorted(times)
    assert len(times) == 6


def test_python_reads_what_the_command_reads(recorded: Path) -> None:
    run = flor.run("first", recorded / ".flor")
    assert [row.as_json() for row in run.logs()] == rows_of(recorded)
    assert (run.status, run.sources["train.py"].decode()) == ("finished", TRAIN)


def test_text_for_people_has_one_line_a_record(recorded: Path) -> None:
    done = subprocess.run([FLOR, "logs", "first", "loss"], cwd=recorded, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "main/epoch=0/train:batch=0  loss = 0.0"


def test_a_name_that_was_never_logged_is_told_with_the_nearest_one_that_was(recorded: Path) -> None:
    done = subprocess.run([FLOR, "logs", "first", "los", "loss"], cwd=recorded, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout.splitlines()[0].endswith("loss = 0.0")
    assert "first has logged nothing called 'los'. Did you mean 'loss'?" in " ".join(done.stderr.split())


def test_a_channel_is_asked_for_by_its_label(recorded: Path) -> None:
    assert {row["channel"] for row in rows_of(recorded, "first", "stdout")} == {"stdout"}


def test_a_run_reads_while_it_goes_on_and_after_it_was_killed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(WAITS)
    command = [FLOR, "record", "--name", "live", "train.py"]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    child = subprocess.Popen(command, cwd=tmp_path, stdin=pipe, stdout=nowhere, stderr=pipe, text=True)
    assert child.stderr is not None
    while child.stderr.readline() != "ready\n":
        assert child.poll() is None
    live = flor.run("live", tmp_path / ".flor")
    assert (live.status, [row.value for row in live.logs("step")]) == ("recording", [0, 1, 2, 3, 4])
    assert [row["value"] for row in rows_of(tmp_path, "live", "stdout")] == [f"line {step}" for step in range(5)]
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    killed = flor.run("live", tmp_path / ".flor")
    assert (killed.status, [row.value for row in killed.logs("step")]) == ("killed", [0, 1, 2, 3, 4])
    assert killed.sources["train.py"].decode() == WAITS
    assert [(name, damage) for name, damage in killed.damage] == []


@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        ("import sys\nsys.exit(3)", "failed", 3),
        ("1 / 0", "failed", 1),
        ("import sys\nsys.exit()", "finished", 0),
        ("import os, signal\nfor i in [1]:\n    os.kill(os.getpid(), signal.SIGINT)\n    print(1)", "interrupted", 1),
    ],
    ids=["exit", "error", "none", "interrupt"],
)
def test_how_a_run_ended_is_kept(tmp_path: Path, script: str, status: str, code: int) -> None:
    (tmp_path / "s.py").write_text(script)
    subprocess.run([FLOR, "record", "s.py"], cwd=tmp_path, capture_output=True)
    run = flor.run(None, tmp_path / ".flor")
    assert (run.status, run.ended["exit"]) == (status, code)
    trace = run.ended["traceback"] or ""
    assert ("flor" not in trace) or "record" not in trace
    assert bool(trace) == (script.endswith(("/ 0", "print(1)")))


def test_children_do_not_write_into_their_parents_run(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text(
        "import os, multiprocessing as mp\nimport flor\n"
        "def work(n):\n    for i in range(3):\n        print('child', i, flush=True)\n        flor.log('child', i)\n"
        "if __name__ == '__main__':\n"
        "    for method in ('fork', 'spawn'):\n"
        "        p = mp.get_context(method).Process(target=work, args=(1,)); p.start(); p.join()\n"
        "    if os.fork() == 0:\n        print('forked', flush=True)\n        raise SystemExit(0)\n"
        "    os.wait()\n    print('parent')\n"
    )
    done = subprocess.run([FLOR, "record", "s.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["child 0", "child 1", "child 2"] * 2 + ["forked", "parent"]
    run = flor.run(None, tmp_path / ".flor")
    assert [row.value for row in run.logs()] == ["parent"]
    assert (run.status, len(run.folder.fragments()), run.damage) == ("finished", 1, [])


def test_sources_are_kept_as_they_were_executed(tmp_path: Path) -> None:
    first = "import friend\nfor name in ('friend.py', 's.py'):\n    open(name, 'w').write('gone')\n"
    (tmp_path / "s.py").write_text(first)
    (tmp_path / "friend.py").write_text("x = 1\n")
    subprocess.run([FLOR, "record", "s.py"], cwd=tmp_path, check=True, capture_output=True)
    run = flor.run(None, tmp_path / ".flor")
    assert {name: text.decode() for name, text in run.sources.items()} == {"s.py": first, "friend.py": "x = 1\n"}


def test_a_packages_init_is_part_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("print('init')\n")
    (tmp_path / "pkg" / "mod.py").write_text("for i in range(2):\n    print(i)\n")
    subprocess.run([FLOR, "record", "-m", "pkg.mod"], cwd=tmp_path, check=True, capture_output=True)
    run = flor.run(None, tmp_path / ".flor")
    assert sorted(run.sources) == ["pkg/__init__.py", "pkg/mod.py"]
    assert [(row.value, row.position) for row in run.logs()] == [("init", "main"), ("0", "main/i=0"), ("1", "main/i=1")]


def test_secrets_of_the_environment_are_not_kept(tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("print(1)\n")
    environment = {**os.environ, "MY_SECRET_TOKEN": "hunter2hunter2"}
    subprocess.run([FLOR, "record", "s.py"], cwd=tmp_path, check=True, capture_output=True, env=environment)
    for path in (tmp_path / ".flor").rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes()
