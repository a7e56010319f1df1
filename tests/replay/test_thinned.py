"""A run of which `flor gc` has taken checkpoints replays as exactly as before; it only takes longer."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.replay.conftest import Workshop

TRAIN = """
import random, time
random.seed(1)
weights, history = [0.0] * 4, []
for epoch in range(12):
    total = 0.0
    for batch in range(5):
        noise = random.gauss(0, 1)
        weights[batch % 4] += noise
        total += noise
        time.sleep(0.01)
    print("weights", epoch, weights)  #@
    history.append(total)
    print(f"epoch {epoch} total {total:.6f}")
print(len(history), sum(weights))
"""


def recorded(workshop: Workshop) -> str:
    """Record without the probe, then add it; gives what a full run with it prints."""
    workshop.program(TRAIN, probed=False)
    assert workshop.flor("record", "--name", "r", "--overhead", "10", "train.py").code == 0
    workshop.program(TRAIN, probed=True)
    return workshop.run("train.py").stdout


def swept(workshop: Workshop, *rules: str) -> dict[str, Any]:
    """What `flor gc` says of the run."""
    done = workshop.flor("gc", "--json", "--yes", *rules)
    assert done.code == 0, done.stderr
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    assert workshop.flor("fsck").code == 0
    return row


@pytest.mark.parametrize("rules", [("--keep-every", "4"), ("--keep-last", "0", "--checkpoints-only")])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_thinned_run_replays_exactly(workshop: Workshop, rules: tuple[str, ...], workers: str) -> None:
    oracle = recorded(workshop)
    row = swept(workshop, *rules)
    assert row["checkpoints"] > row["checkpoints_kept"]
    replayed = workshop.flor("replay", "--all", "-j", workers)
    assert (replayed.stdout, replayed.code) == (oracle, 0), replayed.stderr


def test_what_was_dropped_is_not_listed(workshop: Workshop) -> None:
    recorded(workshop)
    row = swept(workshop, "--keep-every", "4")
    (run,) = (json.loads(line) for line in workshop.flor("runs", "--json").stdout.splitlines())
    assert run["checkpoints"] == row["checkpoints_kept"] > 0


def test_a_sweep_while_a_run_is_recorded_leaves_it_whole(workshop: Workshop) -> None:
    workshop.program(TRAIN, probed=False)
    command = [sys.executable, "-m", "flor", "record", "--name", "r", "--overhead", "10", "train.py"]
    recorder = subprocess.Popen(command, cwd=workshop.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sweeps = 0
    while recorder.poll() is None:
        done = workshop.flor("gc", "--keep-last", "1", "--keep-every", "3", "--max-size", "1", "--yes")
        sweeps += "it is being recorded" in done.stdout
    _, stderr = recorder.communicate()
    assert recorder.returncode == 0 and sweeps > 0, stderr
    assert workshop.flor("fsck").code == 0
    workshop.program(TRAIN, probed=True)
    oracle = workshop.run("train.py").stdout
    replayed = workshop.flor("replay", "--all", "-j", "1")
    assert (replayed.stdout, replayed.code) == (oracle, 0), replayed.stderr
