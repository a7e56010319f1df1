"""A recording of fine-tuning: what its checkpoints hold, what they cost, and that a replay from them is exact."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from flor.query.runs import Run, run
from flor.store.layout import Layout
from flor.store.restores import restore_ratio

# 82 MB that are frozen; 4.3 MB that are trained, with their moments: enough to be copied beside training.
TRAIN = """
import time
import torch
from torch import nn

torch.manual_seed(0)
backbone, head = nn.Sequential(nn.Linear(3200, 3200), nn.Linear(3200, 3200)).requires_grad_(False), nn.Linear(3200, 112)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-3)
for epoch in range(5):
    for step in range(3):
        x = torch.randn(4, 3200)
        head(backbone(x)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.1)
    print("epoch", epoch, head.bias.sum().item())
"""
PROBE = '    print("probe", epoch, head.weight.norm().item())\n'


@dataclass(frozen=True)
class Finetuned:
    """A folder with a recorded run in it."""

    folder: Path
    run: Run

    def flor(self, *command: str) -> str:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, *command], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Finetuned:
    folder = tmp_path_factory.mktemp("tuned")
    (folder / "train.py").write_text(TRAIN)
    found = Finetuned(folder, None)  # type: ignore[arg-type]
    found.flor("-m", "flor", "record", "--overhead", "inf", "train.py")
    return Finetuned(folder, run(None, folder / ".flor"))


def test_frozen_weights_are_written_once(tuned: Finetuned) -> None:
    first, *others = [note.values for note in tuned.run.checkpoints]
    assert first["bytes_written"] > 80_000_000
    assert len(others) >= 3 and all(note["bytes_written"] <= 0.06 * note["bytes_logical"] for note in others)


def test_what_is_trained_was_copied_beside_training(tuned: Finetuned) -> None:
    assert tuned.run.ended["checkpoints"]["late"] >= 2


def test_the_run_says_what_its_checkpoints_cost(tuned: Finetuned) -> None:
    shown = tuned.flor("-m", "flor", "show")
    assert "of state" in shown and "measured overhead" in shown
    assert "s of waiting" in shown and "s of slower steps" in shown
    assert "copied beside training" in shown and " ends, " in shown and "resume point" in shown


def test_a_replay_is_exact_and_tells_later_recordings_what_a_restore_costs(tuned: Finetuned) -> None:
    layout = Layout(tuned.folder / ".flor")
    assert restore_ratio(layout) is None
    text = TRAIN.replace("    print(", PROBE + "    print(")
    (tuned.folder / "oracle.py").write_text(text)
    oracle = [line for line in tuned.flor("oracle.py").splitlines() if line.startswith("probe")]
    (tuned.folder / "train.py").write_text(text)
    assert tuned.flor("-m", "flor", "replay").splitlines() == oracle
    ratio = restore_ratio(layout)
    assert ratio is not None and 0.1 < ratio < 100


def test_gc_only_tells_unless_it_is_told_to_do_it(tuned: Finetuned) -> None:
    packs = list((tuned.folder / ".flor").rglob("*.safetensors"))
    told = tuned.flor("-m", "flor", "gc", "--keep-every", "3")
    assert "--yes" in told and all(pack.exists() for pack in packs)
