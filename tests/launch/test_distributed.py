"""Several ranks of one training make one run, with a fragment a rank."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from bothways import environment, without_ours, write_files

import flor

TRAIN = """
    import os, sys
    rank = os.environ["RANK"]
    for step in range(2):
        sys.stdout.write(f"rank {rank} step {step} {sys.argv[1:]} {__name__}\\n")
        sys.stdout.flush()
"""
LAUNCHERS = {
    "torchrun": ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29517"],
    "accelerate": ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1",
                   "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "29518"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_ranks_make_one_run(launcher: str, tmp_path: Path) -> None:
    if launcher == "accelerate" and importlib.util.find_spec("accelerate") is None:
        pytest.skip("accelerate is not installed")
    write_files(tmp_path, {"train.py": TRAIN})
    command = [sys.executable, *LAUNCHERS[launcher], "-m", "flor", "record", "train.py", "--lr", "1"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment({"CUDA_VISIBLE_DEVICES": ""}), capture_output=True, text=True
    )
    assert done.returncode == 0, without_ours(done.stderr)
    assert sorted(done.stdout.splitlines()) == sorted(
        f"rank {rank} step {step} ['--lr', '1'] __main__" for rank in (0, 1) for step in (0, 1)
    )
    (run,) = flor.runs(tmp_path / ".flor")
    assert sorted(path.name.partition("-")[0] for path in run.folder.fragments()) == ["0", "1"]
    assert {(row.rank, row.value) for row in run.logs("stdout")} == {
        (rank, f"rank {rank} step {step} ['--lr', '1'] __main__") for rank in (0, 1) for step in (0, 1)
    }
    assert done.stderr.count("flor: recording") == 1
