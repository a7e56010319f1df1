"""Whatever becomes of its checkpoints, training ends as without flor; what was announced before reads back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from flor.query.runs import Run, run
from flor.store.fsck import check_store
from flor.store.layout import Layout

# A fault is put in by the script itself in its third epoch; where there is no flor, there is nothing to put it into.
TRAIN = """
import hashlib, sys, time
import torch
from torch import nn

def fault():
    FAULT

torch.manual_seed(0)
model = nn.Linear(300, 300)
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(7):
    for step in range(3):
        x = torch.randn(8, 300)
        optimizer.zero_grad()
        (model(x) - x).square().mean().backward()
        optimizer.step()
    time.sleep(0.02)
    if epoch == 2:
        time.sleep(0.3)  # what was handed over by now is on disk
        if "flor.runtime.writer" in sys.modules:
            fault()
print(hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())
"""

DISK_FULL = """
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
"""
FAILING_DISK = """
    import errno, os
    from flor.store import directio
    def broken(*_): raise OSError(errno.EIO, "Input/output error")
    directio._DirectFile._pwrite = broken
"""
NO_MEMORY = """
    from flor.runtime import writer, forking
    def no_memory(*_): raise MemoryError("not one byte more")
    writer.materialize = forking.materialize = no_memory
"""
NO_STAGING = """
    from flor.state import staging
    def no_memory(*_): raise MemoryError("not one byte more")
    staging.private = no_memory
    staging.Staging.take = no_memory
"""
SLOW_DISK = """
    from flor.runtime import writer
    real = writer.materialize
    def slow(*args):
        time.sleep(0.6)
        return real(*args)
    writer.materialize = slow
"""


@dataclass(frozen=True)
class Outcome:
    """How a recorded training ended."""

    stdout: str
    stderr: str
    run: Run

    @property
    def warnings(self) -> int:
        return self.stderr.count("[checkpoints-ended]")


def python(folder: Path, *command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, done.stderr
    return done


def record(folder: Path, text: str, *options: str, code: int = 0) -> Outcome:
    (folder / "train.py").write_text(text)
    done = python(folder, "-m", "flor", "record", "--overhead", "inf", *options, "train.py", code=code)
    return Outcome(done.stdout, done.stderr, run(None, folder / ".flor"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the script prints under plain python."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "train.py").write_text(TRAIN.replace("FAULT", "pass"))
    return python(folder, "train.py").stdout


def undamaged(folder: Path) -> bool:
    return [found for found in check_store(Layout(folder / ".flor")) if found.severity == "damage"] == []


@pytest.mark.parametrize("how", ["thread", "sync", "fork"])
@pytest.mark.parametrize("fault", [DISK_FULL, FAILING_DISK, NO_MEMORY])
def test_a_writer_that_fails_is_one_warning(tmp_path: Path, plain: str, fault: str, how: str) -> None:
    outcome = record(tmp_path, TRAIN.replace("    FAULT", fault), "--materialize", how)
    assert outcome.stdout == plain
    assert outcome.warnings == 1 and "Traceback" not in outcome.stderr
    assert 0 < len(outcome.run.checkpoints) < 10 and undamaged(tmp_path)


def test_no_memory_for_copies_leaves_checkpoints_out(tmp_path: Path, plain: str) -> None:
    outcome = record(tmp_path, TRAIN.replace("    FAULT", NO_STAGING))
    assert outcome.stdout == plain and "Traceback" not in outcome.stderr
    assert len(outcome.run.checkpoints) > 0 and undamaged(tmp_path)


def test_a_slow_disk_leaves_checkpoints_out_and_stalls_nothing(tmp_path: Path, plain: str) -> None:
    outcome = record(tmp_path, TRAIN.replace("    FAULT", SLOW_DISK))
    assert outcome.stdout == plain and outcome.warnings == 0
    assert outcome.run.ended["checkpoints"]["left_out"]["the writer was busy"] > 0
    assert undamaged(tmp_path)


STUCK = SLOW_DISK.replace("0.6", "1000")


@pytest.mark.parametrize(("end", "code"), [("os.kill(os.getpid(), 15)", -signal.SIGTERM), ("os._exit(7)", 7)])
def test_a_kill_with_a_checkpoint_under_way_leaves_it_absent(tmp_path: Path, end: str, code: int) -> None:
    text = TRAIN.replace("    FAULT", STUCK).replace("print(", f"import os; {end}\nprint(")
    outcome = record(tmp_path, text, code=code)
    assert 0 < len(outcome.run.checkpoints) < 10 and undamaged(tmp_path)


ODD = """
import torch
torch.manual_seed(0)
kept = {
    "nan": torch.tensor([float("nan"), float("inf"), -0.0]).repeat(40_000),
    "empty": torch.empty(0, 3), "strided": torch.randn(300, 400).t()[::2], "flags": torch.rand(200_000) > 0.5,
    "half": torch.randn(90_000).bfloat16(), "waves": torch.randn(40_000, dtype=torch.complex64),
    "eighth": torch.randn(100_000).to(torch.float8_e4m3fn), "meta": torch.empty(5, device="meta"),
}
base = torch.randn(100_000)
views = [base[:60_000], base[40_000:], base.as_strided((1000, 200), (50, 1))]
for epoch in range(4):
    views[0].add_(1)
    kept["waves"].mul_(1j)
    print(epoch, base.double().sum().item(), kept["nan"].isnan().sum().item(), kept["waves"].real.double().sum().item())
"""
PROBE = "print('probe', epoch, views[1].double().sum().item(), kept['eighth'].float().sum().item())"


def test_odd_tensors_are_kept_and_replay_exactly(tmp_path: Path) -> None:
    outcome = record(tmp_path, ODD, "--materialize", "sync")
    assert len(outcome.run.checkpoints) >= 3 and outcome.warnings == 0
    (tmp_path / "oracle.py").write_text(ODD.rstrip() + f"\n    {PROBE}\n")
    oracle = [line for line in python(tmp_path, "oracle.py").stdout.splitlines() if line.startswith("probe")]
    (tmp_path / "train.py").write_text(ODD.rstrip() + f"\n    {PROBE}\n")
    replayed = python(tmp_path, "-m", "flor", "replay", "--epochs", "2:4")
    assert "exact" in replayed.stderr
    assert replayed.stdout.splitlines() == oracle[2:]


def test_a_quantized_tensor_is_refused_by_name_and_harms_nothing(tmp_path: Path) -> None:
    text = "import torch\nq = torch.quantize_per_tensor(torch.ones(9), 0.1, 0, torch.qint8)\n"
    text += "for i in range(3):\n    print(q.dequantize().sum().item() + i)\n"
    outcome = record(tmp_path, "import warnings\nwarnings.simplefilter('ignore')\n" + text)
    assert outcome.stdout.splitlines() == ["9.0", "10.0", "11.0"]
    assert "quantized" in str(outcome.run.ended["checkpoints"]["refused"])


MEMORY = """
import resource, time
import torch
weights = [torch.randn(1 << 20, requires_grad=True) for _ in range(24)]
for epoch in range(8):
    for w in weights:
        w.data.mul_(1.01)
    time.sleep(0.05)
open("peak", "w").write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""


def test_copies_take_at_most_two_snapshots_and_a_tenth(tmp_path: Path) -> None:
    record(tmp_path, MEMORY, "--materialize", "off")
    without = int((tmp_path / "peak").read_text())
    outcome = record(tmp_path, MEMORY)
    extra = (int((tmp_path / "peak").read_text()) - without) << 10
    assert len(outcome.run.checkpoints) >= 2
    assert extra <= 2.1 * 24 * (4 << 20)
