"""Capture in one process, restore in another that ran the same prologue."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import pathlib, pickle, random, sys
import numpy as np
import torch
from torch import nn
from flor.state import capture, decode, differences, encode, restore, watch_loaders

torch.manual_seed(0); random.seed(0); np.random.seed(0)
watch_loaders()

class Meter:
    count = 0
    def __init__(self): self.values = {"a", "b"}

def make_counter():
    n = 0
    def count():
        nonlocal n
        n += 1
        return n
    return count

net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters())
loader = torch.utils.data.DataLoader(torch.arange(40.0).reshape(10, 4), batch_size=4, shuffle=True)
meter, counter, stream = Meter(), make_counter(), None
NAMES = ("net", "optimizer", "loader", "meter", "counter", "stream", "Meter")

def step():
    global stream
    stream = stream or iter(loader)
    batch = next(stream, None)
    if batch is None:
        stream = iter(loader)
        batch = next(stream)
    loss = net(batch).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    Meter.count += 1
    meter.values.add(str(counter()))
    return [loss.item(), random.random(), np.random.rand(), sorted(meter.values), Meter.count]

def scopes(): return {"main": {name: globals()[name] for name in NAMES}}
def mine(module): return module == "__main__"

file = pathlib.Path(sys.argv[2])
if sys.argv[1] == "record":
    for _ in range(6): step()
    graph, blobs = encode(capture(scopes(), project=mine))
    file.write_bytes(pickle.dumps((graph, {b.name: bytes(b.data) for b in blobs})))
else:
    graph, stored = pickle.loads(file.read_bytes())
    saved = decode(graph, lambda name: memoryview(stored[name]))
    live = net, optimizer, meter, counter
    globals().update(restore(saved, scopes(), project=mine).values["main"])
    assert live == (net, optimizer, meter, counter)
    found = differences(saved, capture(scopes(), project=mine))
    assert found == [], found
for _ in range(5): print(step())
"""


def run(script: Path, verb: str, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(script), verb, str(script.parent / "state.bin")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_fresh_process_goes_on_as_the_recorded_one_did(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    recorded = run(script, "record", "1")
    assert run(script, "replay", "2") == recorded


def test_a_script_without_torch_is_captured_without_importing_it(tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    script.write_text(
        "import sys\n"
        "from flor.state import capture, encode, watch_loaders\n"
        "from flor.state.values import encode_value\n"
        "assert watch_loaders() is False\n"
        "snapshot = capture({'main': {'x': [1, {'a': 2.0}]}}, project=lambda m: True)\n"
        "encode(snapshot), encode_value([1, 2])\n"
        "assert not snapshot.refusals, snapshot.refusals\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
        "print('fine')\n"
    )
    assert run(script, "", "0") == "fine\n"
