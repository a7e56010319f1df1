"""A run that several ranks trained together replays as such a group, and is judged by a full run of it."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

import flor
from flor.replay.history import History
from flor.replay.ranks import in_common, not_in_common
from tests.replay.conftest import Done, Workshop

pytest.importorskip("torch")

TRAIN = """
import sys, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\\n")  # one write, so that ranks do not mix within a line
    sys.stdout.flush()

def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    layers = torch.nn.Linear(4, 8), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1)
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
    sampler = torch.utils.data.DistributedSampler(data, world, rank)
    loader = torch.utils.data.DataLoader(data, batch_size=4, sampler=sampler)
    torch.manual_seed(rank)
    for epoch in range(6):
        sampler.set_epoch(epoch)
        total = 0.0
        for x, y in loader:
            loss = ((model(x) - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            time.sleep(0.03)
            sys.stdout.write(f"probe inner {rank} {epoch} {loss.item()}\\n")  #@
        summed = torch.tensor([total])
        dist.all_reduce(summed)
        sys.stdout.write(f"probe outer {rank} {epoch} {total}\\n")  #@
        if rank == 0:
            say("epoch", epoch, summed.item())
    dist.destroy_process_group()

main()
"""


def torchrun(workshop: Workshop, *words: str) -> Done:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    done = workshop.run("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", port, *words)
    assert done.code == 0, done.stderr
    return done


def plain(workshop: Workshop) -> Done:
    """Without flor, where gloo itself aborts once in many runs when a rank ends; then once more."""
    try:
        return torchrun(workshop, "train.py")
    except AssertionError as error:
        if "terminate called without an active exception" not in str(error):
            raise
    return torchrun(workshop, "train.py")


def probes(done: Done) -> list[str]:
    return sorted(line for line in done.stdout.splitlines() if line.startswith("probe"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["outer", pytest.param("inner", marks=pytest.mark.long)])
def test_two_ranks_give_what_a_full_run_of_two_ranks_prints(workshop: Workshop, kind: str) -> None:
    other = "inner" if kind == "outer" else "outer"
    text = "\n".join(line for line in TRAIN.splitlines() if f"probe {other}" not in line)
    workshop.program(text, probed=False)
    torchrun(workshop, "-m", "flor", "record", "--overhead", "10", "train.py")
    workshop.program(text, probed=True)
    oracle = plain(workshop)
    replayed = workshop.flor("replay", "-j", "2")
    assert replayed.code == 0, replayed.stderr
    assert probes(replayed) == probes(oracle)
    assert [line.split()[2] for line in replayed.stdout.splitlines()] == sorted(
        line.split()[2] for line in replayed.stdout.splitlines()
    )  # rank by rank
    rows = [json.loads(line) for line in workshop.flor("logs", "--json").stdout.splitlines()]
    assert {(row["rank"], row["origin"]) for row in rows} >= {(0, "hindsight"), (1, "hindsight")}


def test_only_checkpoints_that_every_rank_has_are_used(workshop: Workshop) -> None:
    workshop.program("import time\nfor i in range(9):\n    time.sleep(0.05)\n", probed=False)
    workshop.flor("record", "--overhead", "10", "--name", "one", "train.py")
    history = History.of(flor.run("one", workshop.folder / ".flor"))
    fewer = History.of(flor.run("one", workshop.folder / ".flor"))
    gone = next(iter(fewer.checkpoints))
    del fewer.checkpoints[gone]
    assert in_common([history, fewer]).checkpoints.keys() == fewer.checkpoints.keys()
    assert not_in_common([fewer, history]) == (str(gone),)
    assert not_in_common([history]) == ()


def test_a_run_with_a_rank_missing_is_refused(workshop: Workshop, tmp_path: Path) -> None:
    workshop.program("print(1)\n", probed=False)
    workshop.flor("record", "--name", "one", "train.py")
    run = flor.run("one", tmp_path / ".flor")
    (journal,) = run.folder.fragments()
    (journal.parent / journal.name.replace("0-", "2-", 1)).write_bytes(journal.read_bytes())
    refused = workshop.flor("replay", "one")
    assert refused.code == 1
    assert refused.stderr.rstrip().endswith("[nothing-to-replay]")
