"""What is worth knowing of the world a run lives in: never the whole environment, never a secret."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from flor.launch.clocks import readings

# Variables that change what a run computes; their values are numbers and flags, no secrets.
KEPT_VARIABLES = (
    "PYTHONHASHSEED", "PYTHONOPTIMIZE", "PYTHONPATH", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS", "KMP_AFFINITY", "CUDA_VISIBLE_DEVICES", "CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE",
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "TORCH_COMPILE_DISABLE", "TOKENIZERS_PARALLELISM", "TF_ENABLE_ONEDNN_OPTS",
)  # fmt: skip


def facts_now(argv: list[str], script: str, module: str | None) -> dict[str, Any]:
    """What is known before the first line of the script runs."""
    return {
        "argv": argv,
        "script": script,
        "module": module,
        "cwd": os.getcwd(),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "variables": {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ},
        "git": git_facts(Path.cwd()),
        "pid": os.getpid(),
        "clocks": readings(),
        "rank": rank(os.environ),
    }


def rank(environment: Mapping[str, str]) -> int:
    """Which of several processes of one training this is."""
    try:
        return int(environment.get("RANK", "0"))
    except ValueError:
        return 0


class Job(NamedTuple):
    """What the ranks of one training have in common; `unique` if no later training can ever have the same key."""

    key: str
    unique: bool


def job(environment: Mapping[str, str]) -> Job | None:
    """The `torchrun` or `accelerate launch` that this process belongs to, or None for a process of its own."""
    elastic = "TORCHELASTIC_RUN_ID" in environment
    if environment.get("WORLD_SIZE", "1") == "1" and not elastic:
        return None
    parts = [environment.get(name, "") for name in ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")]
    began = _started(os.getppid())
    parts += [environment.get("TORCHELASTIC_RESTART_COUNT", "0"), str(os.getppid()), began]
    # The parent of an elastic rank is a launcher that serves one training; a shell may start one after another.
    return Job("-".join(parts), unique=elastic and began != "")


def _started(pid: int) -> str:
    """When a process began, in the kernel's ticks: with its pid that names it for good."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def git_facts(folder: Path) -> dict[str, Any] | None:
    """The commit and whether the tree is dirty; asked such that git writes nothing."""
    if not any((parent / ".git").exists() for parent in (folder, *folder.parents)) or not shutil.which("git"):
        return None
    commit = _git(folder, "rev-parse", "HEAD")
    status = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": bool(status)} if commit else None


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=5, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def torch_facts(torch: ModuleType) -> dict[str, Any]:
    """The build and its thread counts, without waking a device."""
    return {
        "version": torch.__version__,
        "cuda": torch.version.cuda,
        "git": torch.version.git_version,
        "threads": torch.get_num_threads(),
        "interop_threads": torch.get_num_interop_threads(),
        "initial_seed": torch.initial_seed(),
    }


def packages_loaded() -> dict[str, str]:
    """The versions of the top-level packages that the script has imported."""
    found = {}
    for name, module in list(sys.modules.items()):
        version = None if "." in name else getattr(module, "__dict__", {}).get("__version__")
        if isinstance(version, str):
            found[name] = version
    return dict(sorted(found.items()))


def devices(torch: ModuleType | None) -> list[str]:
    """The accelerators that the script has used. (No GPU on the machines where this is tested.)"""
    if torch is None or not torch.cuda.is_initialized():
        return []
    return [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
