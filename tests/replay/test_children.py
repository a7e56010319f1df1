"""Probes in forked children: every line once, each child's in its order, and told where more can't be known."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.replay.conftest import Workshop
from tests.replay.test_carrying import replayed_in_a_copy

LOADER = """
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        print("item", i)  #@
        return i

def joined(items):
    print("joined", items)  #@
    return torch.tensor(items)

if __name__ == "__main__":
    torch.manual_seed(1)
    weight = torch.zeros(3)
    loader = DataLoader(Rows(), batch_size=4, num_workers=1, collate_fn=joined, shuffle=True)
    Rows()[0]
    for epoch in range(4):
        for rows in loader:
            weight += rows.sum() * torch.rand(3)
        for step in range(4):
            weight += torch.rand(3)
            time.sleep(0.01)
        time.sleep(0.05)
    print(weight.tolist())
"""


def recorded(workshop: Workshop, text: str) -> str:
    """Record without the probes, put them in, and give what a full run prints."""
    workshop.program(text, probed=False)
    done = workshop.flor("record", "--overhead", "10", "train.py")
    assert done.code == 0, done.stderr
    workshop.program(text, probed=True)
    return workshop.run("train.py").stdout


def test_a_probe_in_a_loaders_worker_prints_every_line_once_and_in_order(workshop: Workshop) -> None:
    whole = recorded(workshop, LOADER)
    lines = whole.splitlines(keepends=True)
    items = "".join(line for line in lines if line.startswith(("item", "joined")))
    for options in (("-j", "1"), ("-j", "2")):
        done = replayed_in_a_copy(workshop, *options)
        assert (done.stdout, done.code) == (items, 0), (options, done.stderr)
    everything = replayed_in_a_copy(workshop, "-j", "2", "--all")
    assert (everything.stdout, everything.code) == (whole, 0), everything.stderr
    window = replayed_in_a_copy(workshop, "--epochs", "1:3", "-j", "2")
    per_epoch = items.splitlines(keepends=True)[1:]
    assert (window.stdout, window.code) == ("".join(per_epoch[10:30]), 0), window.stderr


PROCESSES = """
import multiprocessing, os, random, time

def square(n):
    print("square", n, flush=True)  #@
    return n * n

def work(n, queue):
    for i in range(2):
        n += 0
        print("work", n, i, flush=True)  #@
    queue.put(n)

def fork_once(epoch):
    child = os.fork()
    if child == 0:
        print("forked", epoch, end="", flush=True)  #@
        os._exit(0)
    os.waitpid(child, 0)

if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    random.seed(1)
    total = square(1)
    for epoch in range(4):
        for step in range(3):
            total += random.random()
            time.sleep(0.02)
        with fork.Pool(1) as pool:
            total += sum(pool.map(square, range(3)))
        queue = fork.Queue()
        process = fork.Process(target=work, args=(epoch, queue))
        process.start()
        total += queue.get()
        process.join()
        fork_once(epoch)
        print("total", epoch, total, flush=True)
"""


def test_probes_in_pools_processes_and_forks(workshop: Workshop) -> None:
    whole = recorded(workshop, PROCESSES)
    for options in (("-j", "1"), ("-j", "2")):
        done = replayed_in_a_copy(workshop, "--all", *options)
        assert (done.stdout, done.code) == (whole, 0), (options, done.stderr)


PERSISTENT = """
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        print("item", i)  #@
        return i

if __name__ == "__main__":
    torch.manual_seed(1)
    weight = torch.zeros(3)
    loader = DataLoader(Rows(), batch_size=4, num_workers=1, persistent_workers=True, shuffle=True)
    for epoch in range(4):
        for rows in loader:
            weight += rows.sum() * torch.rand(3)
    print(weight.tolist())
"""


def test_workers_that_live_across_epochs_are_exact_as_a_whole_and_told_in_a_window(workshop: Workshop) -> None:
    whole = recorded(workshop, PERSISTENT)
    items = "".join(line for line in whole.splitlines(keepends=True) if line.startswith("item"))
    for options in (("-j", "1"), ("-j", "2")):
        done = replayed_in_a_copy(workshop, *options)
        assert (done.stdout, done.code) == (items, 0), (options, done.stderr)
    window = replayed_in_a_copy(workshop, "--epochs", "1:3", "-j", "1")
    assert window.code == 3
    assert "a process that was forked before the segment" in window.stderr


STARTED_ANEW = """
import multiprocessing, random, sys, time
import helper

def work(n, queue):
    for i in range(2):
        n += 0
        print("work", n, i)  #@
    queue.put(helper.square(n))

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    random.seed(1)
    total = 0
    for epoch in range(3):
        for step in range(3):
            total += random.random()
            time.sleep(0.02)
        queue = context.Queue()
        process = context.Process(target=work, args=(epoch, queue))
        process.start()
        total += queue.get()
        process.join()
        print("total", epoch, total, flush=True)
"""
HELPER = """
def square(n):
    return n * n
"""


@pytest.mark.parametrize(("method", "workers"), [("spawn", "2"), ("forkserver", "1")])
def test_probes_in_processes_that_are_started_anew(workshop: Workshop, method: str, workers: str) -> None:
    workshop.write(HELPER, "helper.py")
    workshop.program(STARTED_ANEW, probed=False)
    done = workshop.flor("record", "--overhead", "10", "train.py", method)
    assert done.code == 0, done.stderr
    workshop.write(HELPER.replace("    return", '    print("square", n)\n    return'), "helper.py")
    workshop.program(STARTED_ANEW, probed=True)
    whole = workshop.run("train.py", method).stdout
    assert whole.count("work") == 6 and whole.count("square") == 3
    done = workshop.flor("replay", "--all", "-j", workers)
    assert (done.stdout, done.code) == (whole, 0), done.stderr


def test_a_probe_that_stands_in_no_file_logs_in_a_process_that_is_started_anew(workshop: Workshop) -> None:
    workshop.write(HELPER, "helper.py")
    workshop.program(STARTED_ANEW, probed=False)
    assert workshop.flor("record", "--overhead", "10", "train.py", "spawn").code == 0
    done = workshop.flor("replay", "--probe", 'train.py:8:print("asked", n)')
    assert (done.stdout, done.code) == ("asked 0\nasked 1\nasked 2\n", 0), done.stderr


def test_a_process_that_can_not_be_listened_to_is_told(workshop: Workshop) -> None:
    workshop.write(HELPER, "helper.py")
    workshop.program(STARTED_ANEW.replace("import helper", "import helper, os"), probed=False)
    assert workshop.flor("record", "--overhead", "10", "train.py", "spawn").code == 0
    broken = "import flor.replay.spawned as s; s.read_order = None"
    (workshop.folder / "sitecustomize.py").write_text(
        f"import sys\nif '--multiprocessing-fork' in sys.argv: {broken}\n"
    )
    workshop.program(STARTED_ANEW.replace("import helper", "import helper, os"), probed=True)
    done = subprocess.run(
        [sys.executable, "-m", "flor", "replay", "-j", "1"],
        cwd=workshop.folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(workshop.folder)},
    )  # fmt: skip
    assert done.returncode == 3 and "could not be listened to" in done.stderr, done.stderr
