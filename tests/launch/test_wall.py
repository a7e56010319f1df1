"""No way to write reaches a file outside of a replay: the kernel's overlays, Landlock, and Python alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fileoperations import tree
from ways import WAYS

from flor.errors import UsageError
from flor.launch.wall.choice import Wall, best_wall
from flor.launch.wall.mounts import Mount, covers, parse

HERE = Path(__file__).parent


def try_all(tmp_path: Path, wall: str, *words: str) -> tuple[dict[str, str], set[str]]:
    """What each way sees behind a wall, and the ways that changed something outside."""
    places, layer = tmp_path / "places", tmp_path / "layer"
    layer.mkdir()
    for number in range(len(WAYS)):
        place = places / str(number)
        (place / "sub").mkdir(parents=True)
        for name in ("old.txt", "sub/old.txt"):
            (place / name).write_text("old")
    before = tree(places)
    command = [sys.executable, str(HERE / "walled.py"), wall, str(layer), str(places), str(os.getpid()), *words]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(HERE)})
    assert done.returncode == 0, done.stderr
    after = tree(places)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    names = list(WAYS)
    harmed = {names[int(Path(path).relative_to(places).parts[0])] for path in changed if path != str(places)}
    return json.loads((layer / "seen.json").read_text())["seen"], harmed


needs_overlay = pytest.mark.skipif(
    best_wall(Path("/tmp")) is not Wall.OVERLAY, reason="this machine allows no overlays in a namespace"
)


@needs_overlay
@pytest.mark.parametrize("who", ["administrator", "user"])
def test_behind_overlays_no_way_reaches_outside_and_each_reads_back_what_it_wrote(tmp_path: Path, who: str) -> None:
    seen, harmed = try_all(tmp_path, "overlay", who)
    assert harmed == set()
    assert seen == {name: wanted for name, (_, wanted) in WAYS.items()}


def test_behind_landlock_no_way_reaches_outside(tmp_path: Path) -> None:
    _, harmed = try_all(tmp_path, "landlock")
    assert harmed == set()


def test_a_wall_that_the_machine_does_not_allow_is_an_error_that_names_the_best_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flor.launch.wall.choice._can", lambda *_: False)
    with pytest.raises(UsageError, match="does not allow the wall 'overlay'"):
        best_wall(tmp_path, "overlay")


MOUNTS = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
22 27 0:21 / /proc rw - proc proc rw
24 27 0:6 / /dev rw - devtmpfs devtmpfs rw
25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw
30 27 0:9 / {root}/home rw,nosuid,noatime - ext4 /dev/vdb rw
31 30 0:9 / {root}/home/with\\040space ro - squashfs /dev/loop0 ro
32 27 0:9 / {root}/data rw - nfs4 server:/data rw
"""


def test_each_mount_is_covered_by_the_largest_folders_that_have_no_other_mount_in_them(tmp_path: Path) -> None:
    for name in ("home/with space", "home/user", "home/other", "data"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "home/link").symlink_to("user")
    mounts = parse(MOUNTS.format(root=tmp_path))
    assert mounts[-2].point == f"{tmp_path}/home/with space"
    found = {cover.mount.point: cover for cover in covers(mounts)}
    assert found[f"{tmp_path}/home"].folders == (f"{tmp_path}/home/other", f"{tmp_path}/home/user")
    assert not found[f"{tmp_path}/home"].is_whole
    assert found[f"{tmp_path}/data"].is_whole
    assert found["/"].folders and not {"/proc", "/dev", str(tmp_path)} & set(found["/"].folders)
    assert f"{tmp_path}/home/with space" not in found
    assert found["/dev/shm"].is_shared  # only the folders in it are covered


def test_a_later_mount_at_the_same_point_hides_the_earlier_one() -> None:
    mounts = parse("1 0 0:1 / /a rw - ext4 x rw\n2 0 0:2 / /a ro - tmpfs y rw\n")
    assert mounts == [Mount("/a", "tmpfs", frozenset({"ro"}))]
