"""Runs that are killed at random moments: what a replay and a resumed run make of them is judged by a whole run."""

from __future__ import annotations

import json
import random
import shutil
import signal
from dataclasses import dataclass, field
from pathlib import Path

from zygote import Zygote

HEAD = """
import json, random, os
from pathlib import Path
import numpy as np
import torch
from torch import nn
torch.manual_seed(3); random.seed(3); np.random.seed(3)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
"""
TAIL = """
torch.save(model.state_dict(), "final.pt")
print("final", [p.double().sum().item() for p in model.parameters()])
"""
STEP = """
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

SHAPES = {
    "nested": f"""{HEAD}
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(5):
    for batch in range(4):
        x, y = torch.randn(8, 4), torch.randn(8, 1){STEP}
        print("probe", epoch, batch, loss.item(), flush=True)  #@
    print("epoch", epoch, loss.item(), random.random(), np.random.rand(), flush=True)
{TAIL}""",
    "steps": f"""{HEAD}
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
epoch = 0
for step in range(24):
    if True:
        x, y = torch.randn(8, 4), torch.randn(8, 1){STEP}
    if step % 3 == 0:
        print("step", step, loss.item(), flush=True)
    print("probe", step, loss.item(), model[0].weight.norm().item(), flush=True)  #@
{TAIL}""",
    "files": f"""{HEAD}
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
log = open("log.csv", "w")
counter = Path("count.txt")
counter.write_text("0")
for epoch in range(5):
    for batch in range(3):
        x, y = torch.randn(8, 4), torch.randn(8, 1){STEP}
        counter.write_text(str(int(counter.read_text()) + 1))
    log.write(f"{{epoch}},{{loss.item()}}\\n")
    log.flush()
    torch.save(model.state_dict(), f"epoch{{epoch}}.pt")
    print("probe", epoch, counter.read_text(), flush=True)  #@
    print("epoch", epoch, loss.item(), counter.read_text(), flush=True)
log.close()
{TAIL}""",
    "loader": f"""{HEAD}
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
data = torch.utils.data.TensorDataset(torch.randn(24, 4), torch.randn(24, 1))
loader = torch.utils.data.DataLoader(data, batch_size=6, shuffle=True)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
history = []
for epoch in range(5):
    for x, y in loader:{STEP}
        print("batch", loss.item(), flush=True)
    scheduler.step()
    history.append(loss.item())
    print("probe", epoch, sum(history), scheduler.get_last_lr(), flush=True)  #@
{TAIL}""",
    "function": f"""{HEAD}
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
def train(epoch, state):
    for batch in range(4):
        x, y = torch.randn(8, 4) + state["shift"], torch.randn(8, 1){STEP}
        state["seen"] += len(x)
    print("probe", epoch, state["seen"], loss.item(), flush=True)  #@
    return loss.item()
def validate(state):
    total = 0.0
    for batch in range(2):
        total += model(torch.randn(8, 4)).sum().item() * state["shift"]
    return total
state = {{"seen": 0, "shift": 0.0}}
for epoch in range(5):
    value = train(epoch, state)
    print("epoch", epoch, value, validate(state), flush=True)
    state["shift"] += random.random()
{TAIL}""",
    "while": f"""{HEAD}
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
step, best = 0, 1e9
while step < 20:
    for x in torch.randn(2, 8, 4):
        y = x.sum(1, keepdim=True){STEP}
    step += 1
    if loss.item() < best:
        best = loss.item()
        print("best", step, best, flush=True)
    print("probe", step, best, loss.item(), flush=True)  #@
{TAIL}""",
}
"""Training scripts; a line that ends in `#@` is the probe."""

MOMENTS = ("log", "boundary", "pack", "announced", "end")
"""Where a run is killed: behind a log record, at a loop's boundary, before and behind a pack, before it is sealed."""


@dataclass(frozen=True)
class Kill:
    """One kill: of which program, at which moment, the how-manieth of them."""

    shape: str
    moment: str
    count: int

    @classmethod
    def drawn(cls, seed: int) -> Kill:
        """A random one."""
        chance = random.Random(seed)
        shape = list(SHAPES)[seed % len(SHAPES)]
        moment = chance.choices(MOMENTS, (6, 4, 2, 2, 1))[0]
        most = {"log": 26, "boundary": 36, "pack": 14, "announced": 14, "end": 1}[moment]
        return cls(shape, moment, chance.randint(1, most))


@dataclass(frozen=True)
class Whole:
    """What a run that nobody kills prints, without and with the probe, and its weights."""

    plain: str
    probed: str
    weights: bytes


@dataclass
class Judged:
    """What came of one kill: what is wrong, and what could be judged at all."""

    faults: list[str] = field(default_factory=list)
    killed: bool = True  # False if the script came to its end before
    replayed: bool = False
    restored: int = 0  # checkpoints, by the replay
    resumed: bool = False  # False if there was no checkpoint yet


def text_of(shape: str, *, probed: bool) -> str:
    """The script."""
    lines = SHAPES[shape].splitlines()
    return "\n".join(line.removesuffix("  #@") for line in lines if probed or not line.endswith("#@")) + "\n"


def whole_run(zygote: Zygote, shape: str, folder: Path) -> Whole:
    """Run a shape to its end, both ways."""
    outputs = []
    for probed in (False, True):
        place = folder / f"{shape}-{probed}"
        place.mkdir()
        (place / "train.py").write_text(text_of(shape, probed=probed))
        ran = zygote.step("plain", place)
        assert ran.code == 0, ran.stderr
        outputs.append(ran.stdout)
    return Whole(*outputs, (folder / f"{shape}-False" / "final.pt").read_bytes())


def judge(zygote: Zygote, kill: Kill, whole: Whole, folder: Path) -> Judged:
    """Record and kill, replay with the probe, and resume from the same state."""
    work = folder / "work"
    work.mkdir(parents=True)
    (work / "train.py").write_text(text_of(kill.shape, probed=False))
    ran = zygote.step("killed", work, moment=kill.moment, count=kill.count)
    if ran.code not in (-signal.SIGKILL, 0):
        return Judged([f"the recording ended with {ran.code}: {ran.stderr[-500:]}"])
    if not whole.plain.startswith(ran.stdout):
        return Judged(["the recording printed something else"])
    judged = Judged(killed=ran.code != 0)
    saved = folder / "saved"
    shutil.copytree(work, saved)
    judged.faults += _judge_replay(zygote, kill, whole, work, judged)
    shutil.rmtree(work)
    saved.rename(work)  # a run is resumed where it was recorded
    if judged.killed:
        judged.faults += _judge_resume(zygote, ran.stdout, whole, work, judged)
    return judged


def _judge_replay(zygote: Zygote, kill: Kill, whole: Whole, work: Path, judged: Judged) -> list[str]:
    (work / "train.py").write_text(text_of(kill.shape, probed=True))
    result = work.parent / "result.json"
    ran = zygote.step("replay", work, workers=1 + kill.count % 2, result=str(result))
    if not result.exists():
        return [f"replay ended without a word: {ran.stderr[-500:]}"]
    found = json.loads(result.read_text())
    if found["exit"] == 1 and "has executed no source file" in found["said"]:
        return []  # killed before its first line
    if found["exit"]:
        return [f"replay: exit {found['exit']}: {found['said'][:500]}"]
    judged.replayed, judged.restored = True, found["restored"]
    wanted = [line for line in whole.probed.splitlines() if line.startswith("probe")]
    given = found["hindsight"].splitlines()
    faults = []
    if given != wanted[: len(given)]:
        faults.append(f"replay: other values: {given} for {wanted}")
    recorded = found["recorded"]
    if not whole.plain.startswith(recorded):
        faults.append("replay: the record is not what the whole run prints")
    if len(given) < _probes_before(whole.probed, len(recorded)):
        faults.append(f"replay: {len(given)} values only, though the run printed {len(recorded)} characters")
    return faults


def _probes_before(probed: str, characters: int) -> int:
    """How many lines of the probe come before so many characters of the other lines."""
    count = 0
    for line in probed.splitlines(keepends=True):
        if line.startswith("probe"):
            count += 1
        else:
            characters -= len(line)
            if characters <= 0:
                return count
    return count


def _judge_resume(zygote: Zygote, first: str, whole: Whole, work: Path, judged: Judged) -> list[str]:
    ran = zygote.step("resume", work)
    if "no checkpoint to go on from" in ran.stderr or "No checkpoint of" in ran.stderr:
        return []
    if "has executed no source file" in ran.stderr:
        return []
    if ran.code:
        return [f"resume: exit {ran.code}: {ran.stderr[-500:]}"]
    judged.resumed = True
    if not whole.plain.endswith(ran.stdout) or not first.startswith(whole.plain[: len(whole.plain) - len(ran.stdout)]):
        return [f"resume: printed {ran.stdout[-300:]!r} behind {first[-200:]!r}"]
    if not (work / "final.pt").exists() or (work / "final.pt").read_bytes() != whole.weights:
        return ["resume: other weights"]
    return []
