"""The folder of a store."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flor.errors import BadName, Damaged, NewerFormat, StoreUnwritable
from flor.store.layout import Layout


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_store_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    store = Layout(tmp_path / "deep" / ".flor")
    store.prepare()
    assert (store.root / ".gitignore").read_text() == "*\n"
    assert (store.root / "FORMAT").read_text() == '{"magic": "flor", "version": 1}\n'
    assert [mode(store.root), mode(store.runs), mode(store.format)] == [0o700, 0o700, 0o600]


def test_preparing_twice_changes_nothing(layout: Layout) -> None:
    before = layout.format.stat().st_ino
    layout.prepare()
    assert layout.format.stat().st_ino == before


def test_many_recorders_may_prepare_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        for folder in range(10):
            store = Layout(tmp_path / str(folder) / ".flor")
            list(pool.map(lambda _, store=store: store.prepare(), range(16)))
            assert sorted(path.name for path in store.root.iterdir()) == [".gitignore", "FORMAT", "runs"]


def test_a_newer_format_is_refused_with_what_to_do(layout: Layout) -> None:
    layout.format.write_text('{"magic": "flor", "version": 2}\n')
    with pytest.raises(NewerFormat, match=r"format 2, this flor reads up to 1.*Upgrade flor"):
        layout.prepare()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"magic": "flora", "version": 1}', '{"magic": "flor"}', "\0\0"])
def test_a_damaged_format_file_is_refused(layout: Layout, text: str) -> None:
    layout.format.write_text(text)
    with pytest.raises(Damaged, match="FORMAT"):
        layout.check()


def test_a_file_in_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / ".flor").write_text("mine")
    with pytest.raises(StoreUnwritable, match=r"file, not a folder.*\.flor.*--store"):
        Layout(tmp_path / ".flor").prepare()
    assert (tmp_path / ".flor").read_text() == "mine"


def test_a_folder_of_the_users_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    with pytest.raises(StoreUnwritable, match="other things in it"):
        Layout(tmp_path).prepare()
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreUnwritable, match="Permission denied"):
        Layout(tmp_path / ".flor").prepare()


def test_a_folder_that_cannot_be_made_is_told() -> None:
    with pytest.raises(StoreUnwritable, match="can't be written"):
        Layout(Path("/proc/nowhere/.flor")).prepare()


@pytest.mark.parametrize("name", ["brave-otter", "0", "a.b_c-d", "x" * 64])
def test_good_names_are_paths(layout: Layout, name: str) -> None:
    assert layout.run(name) == layout.root / "runs" / name


@pytest.mark.parametrize("name", ["", ".", "..", "a..b", "../x", "a/b", "-a", "Brave", "a\n", "x" * 65, "a b", "ä"])
def test_bad_names_are_refused(layout: Layout, name: str) -> None:
    with pytest.raises(BadName):
        layout.run(name)
