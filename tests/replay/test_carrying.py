"""Probes that remember, asked for a part of a run: the values are those of a full run, and no others are printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.replay.conftest import Done, Workshop

REMEMBERING = """
import random, time
random.seed(1)
weights, history = [0.0] * 4, []
calls = 0  #@
def best_of(value, seen=[]):  #@
    global calls  #@
    calls += 1  #@
    seen.append(value)  #@
    return calls, max(seen)  #@
def count():  #@
    yield from range(1000)  #@
numbers = count()  #@
for epoch in range(6):
    for batch in range(5):
        noise = random.gauss(0, 1)
        weights[batch % 4] += noise
        time.sleep(0.01)
        if batch == 3:  #@
            print("fed", epoch, next(numbers), best_of(noise))  #@
    print("best", epoch, next(numbers), best_of(sum(weights)))  #@
    history.append(sum(weights))
print(sum(history))
"""


def replayed_in_a_copy(workshop: Workshop, *options: str) -> Done:
    """A replay in a fresh copy of the store, so that no earlier one answers it."""
    store, kept = workshop.folder / ".flor", workshop.folder / "kept"
    if not kept.exists():
        shutil.copytree(store, kept)
    shutil.rmtree(store)
    shutil.copytree(kept, store)
    return workshop.flor("replay", *options)


def epochs_of(text: str, wanted: str) -> str:
    """The lines of the probes in these epochs."""
    return "".join(line for line in text.splitlines(keepends=True) if re.match(rf"(fed|best) [{wanted}] ", line))


def test_exactly_the_window_is_printed_of_a_probe_that_remembers(workshop: Workshop) -> None:
    workshop.program(REMEMBERING, probed=False)
    assert workshop.flor("record", "--overhead", "10", "train.py").code == 0
    workshop.program(REMEMBERING, probed=True)
    oracle = workshop.run("train.py").stdout
    for options, wanted in (((), "0-5"), (("--epochs", "1:4"), "1-3"), (("--epochs", "4:6"), "45")):
        done = replayed_in_a_copy(workshop, "-j", "2", *options)
        assert (done.stdout, done.code) == (epochs_of(oracle, wanted), 0), (options, done.stderr)


KILLED = """
import os, random, time
random.seed(1)
total = 0.0
for epoch in range(4):
    for batch in range(3):
        total += random.random()
        time.sleep(0.02)
    print("total", epoch, total, flush=True)
    print("again", epoch, total)  #@
    if epoch == 3 and not os.path.exists("whole"):
        os.kill(os.getpid(), 9)
print("end", total)
"""


def test_a_run_that_was_killed_in_its_last_iteration_is_exact(workshop: Workshop) -> None:
    workshop.program(KILLED, probed=False)
    recorded = workshop.flor("record", "--overhead", "10", "train.py")
    assert recorded.code != 0
    workshop.program(KILLED, probed=True)
    Path(workshop.folder, "whole").touch()
    wanted = recorded.stdout.replace("total", "again")
    for options in (("-j", "1"), ("-j", "2"), ("--epochs", "2:4")):
        done = replayed_in_a_copy(workshop, *options)
        lines = wanted.splitlines(keepends=True)[2 if "--epochs" in options else 0 :]
        assert (done.stdout, done.code) == ("".join(lines), 0), (options, done.stderr)
