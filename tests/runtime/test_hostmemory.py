"""The memory that copies may take."""

from __future__ import annotations

from pathlib import Path

import pytest

from flor.runtime.hostmemory import local_ranks, memory_for_copies

GB = 1 << 30


def machine(root: Path, cgroup: str = "") -> Path:
    """A file tree like /proc and /sys of a machine with 64 GB available."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {64 * GB >> 10} kB\n")
    (root / "proc/self/cgroup").write_text(cgroup)
    return root


def group(root: Path, folder: str, **facts: object) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    for name, value in facts.items():
        (root / folder / name.replace("memory_", "memory.", 1)).write_text(f"{value}\n")


def test_one_process_may_take_a_quarter_of_what_is_available(tmp_path: Path) -> None:
    assert memory_for_copies({}, machine(tmp_path)) == 16 * GB


def test_the_ranks_of_a_machine_share_it(tmp_path: Path) -> None:
    root = machine(tmp_path)
    assert memory_for_copies({"LOCAL_WORLD_SIZE": "8", "WORLD_SIZE": "64"}, root) == 2 * GB
    assert memory_for_copies({"WORLD_SIZE": "4"}, root) == 4 * GB


@pytest.mark.parametrize(("variable", "ranks"), [("8", 8), ("4(x2)", 4), ("0", 1), ("many", 1), ("", 1)])
def test_odd_variables_are_read_or_left(variable: str, ranks: int) -> None:
    assert local_ranks({"SLURM_NTASKS_PER_NODE": variable}) == ranks


def test_the_limit_of_a_control_group_counts_version_2(tmp_path: Path) -> None:
    root = machine(tmp_path, cgroup="0::/job/step\n")
    group(root, "sys/fs/cgroup/job/step", memory_max=8 * GB, memory_current=5 * GB)
    (root / "sys/fs/cgroup/job/step/memory.stat").write_text(f"anon 1\ninactive_file {GB}\n")
    assert memory_for_copies({}, root) == GB


def test_the_narrowest_of_nested_groups_counts(tmp_path: Path) -> None:
    root = machine(tmp_path, cgroup="0::/job/step\n")
    group(root, "sys/fs/cgroup/job/step", memory_max="max", memory_current=1)
    group(root, "sys/fs/cgroup/job", memory_max=4 * GB, memory_current=2 * GB)
    assert memory_for_copies({"LOCAL_WORLD_SIZE": "2"}, root) == GB // 4


def test_the_limit_of_a_control_group_counts_version_1(tmp_path: Path) -> None:
    root = machine(tmp_path, cgroup="5:cpu,cpuacct:/\n4:memory:/docker/abc\n")
    group(root, "sys/fs/cgroup/memory", memory_limit_in_bytes=12 * GB, memory_usage_in_bytes=4 * GB)  # a container's
    assert memory_for_copies({}, root) == 2 * GB


def test_a_group_that_is_full_leaves_nothing(tmp_path: Path) -> None:
    root = machine(tmp_path, cgroup="0::/\n")
    group(root, "sys/fs/cgroup", memory_max=GB, memory_current=2 * GB)
    assert memory_for_copies({}, root) == 0


def test_where_nothing_is_known_there_is_no_bound(tmp_path: Path) -> None:
    assert memory_for_copies({"LOCAL_WORLD_SIZE": "8"}, tmp_path) > 1 << 60
