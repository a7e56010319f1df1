"""Runs: folders of journals."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from flor.errors import BadName, NameTaken, NoSuchRun, StoreError
from flor.model.records import Ended
from flor.store import run as run_module
from flor.store.layout import Layout
from flor.store.reader import read_journal
from flor.store.run import create_run, join_or_create_run, list_runs, open_run


def test_a_run_without_a_name_gets_one(layout: Layout) -> None:
    first, second = create_run(layout, None), create_run(layout, None)
    assert first.name != second.name
    assert first.path == layout.run(first.name) and first.packs.is_dir()


def test_a_run_is_listed_once_it_has_a_journal(layout: Layout) -> None:
    created = [create_run(layout, name) for name in ("zebra", "ant")]
    assert list_runs(layout) == []
    for each in created:
        each.fragment(0, 1).close()
    assert list_runs(layout) == created  # oldest first, not by name


def test_a_store_that_is_not_there_has_no_runs(tmp_path: Path) -> None:
    assert list_runs(Layout(tmp_path / ".flor")) == []
    assert list(tmp_path.iterdir()) == []


def test_a_name_is_taken_once(layout: Layout) -> None:
    create_run(layout, "mine")
    with pytest.raises(NameTaken, match="'mine' already"):
        create_run(layout, "mine")
    with pytest.raises(BadName):
        create_run(layout, "../mine")


def test_after_some_collisions_a_number_is_added(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "propose", lambda *, numbered: "brave-otter-1234" if numbered else "brave-otter")
    assert [create_run(layout, None).name for _ in range(2)] == ["brave-otter", "brave-otter-1234"]
    with pytest.raises(StoreError, match="No free name"):
        create_run(layout, None)


def test_a_misspelt_run_is_answered_with_the_nearest(layout: Layout) -> None:
    create_run(layout, "brave-otter")
    assert open_run(layout, "brave-otter").name == "brave-otter"
    with pytest.raises(NoSuchRun, match="Did you mean 'brave-otter'"):
        open_run(layout, "brave-oter")
    with pytest.raises(NoSuchRun, match="flor runs"):
        open_run(layout, "quite-different")


def test_journals_are_listed_by_rank(layout: Layout) -> None:
    run = create_run(layout, "r")
    for rank in (10, 2, 0):
        run.fragment(rank, 7).close()
    assert [path.name for path in run.fragments()] == ["0-7.live", "2-7.live", "10-7.live"]


def test_a_process_id_that_comes_again_does_not_overwrite(layout: Layout) -> None:
    run = create_run(layout, "r")
    run.fragment(0, 7).seal(Ended({"turn": 1}))
    second = run.fragment(0, 7)
    third = run.fragment(0, 7)
    assert (second.path.name, third.path.name) == ("0-7-1.live", "0-7-2.live")
    second.seal(Ended({"turn": 2}))
    third.close()
    ends = [list(read_journal(path)) for path in run.fragments()]
    assert sorted(map(str, ends)) == sorted(map(str, [[Ended({"turn": 1})], [Ended({"turn": 2})], []]))


MEMBER = """
import sys
from pathlib import Path
from flor.store.layout import Layout
from flor.store.run import join_or_create_run

run = join_or_create_run(Layout(Path(sys.argv[1])), None, sys.argv[2])
run.fragment(int(sys.argv[3]), 1).close()
print(run.name, flush=True)
sys.stdin.read()
"""


def start(layout: Layout, key: str, rank: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MEMBER, str(layout.root), key, str(rank)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.communicate()


def test_processes_of_a_job_share_a_run_and_the_next_job_has_its_own(tmp_path: Path) -> None:
    store = Layout(tmp_path / ".flor")
    ranks = [start(store, "torchrun-none", rank) for rank in range(4)]
    other = start(store, "another", 0)
    names = {said(process) for process in ranks}
    assert len(names) == 1 and said(other) not in names
    assert len(open_run(store, names.pop()).fragments()) == 4
    for process in ranks[:2]:
        process.kill()
    late = start(store, "torchrun-none", 4)
    assert len(open_run(store, said(late)).fragments()) == 5  # as long as one lives, it is the same job
    end([*ranks, late, other])
    again = start(store, "torchrun-none", 0)
    assert len(open_run(store, said(again)).fragments()) == 1
    end([again])


def test_leaving_a_group_ends_it(layout: Layout) -> None:
    first = join_or_create_run(layout, None, "key")
    second = join_or_create_run(layout, "ignored", "key")
    assert first.name == second.name
    first.leave()
    second.leave()
    second.leave()
    third = join_or_create_run(layout, "named", "key")
    assert third.name == "named"
    third.leave()


def test_a_rank_that_comes_after_the_others_have_ended_still_belongs_to_their_job(layout: Layout) -> None:
    first = join_or_create_run(layout, None, "key", unique=True)
    first.leave()
    late = join_or_create_run(layout, None, "key", unique=True)
    assert late.name == first.name
    late.leave()


def test_a_group_whose_run_was_deleted_makes_a_new_one(layout: Layout) -> None:
    first = join_or_create_run(layout, "gone", "key")
    (layout.packs("gone")).rmdir()
    layout.run("gone").rmdir()
    second = join_or_create_run(layout, "fresh", "key")
    assert second.name == "fresh"
    first.leave()
    second.leave()


def test_a_forked_child_does_not_keep_the_group_alive(layout: Layout) -> None:
    first = join_or_create_run(layout, None, "key")
    context = multiprocessing.get_context("fork")
    release, begun = context.Event(), context.Event()

    def stay() -> None:
        begun.set()
        release.wait()

    child = context.Process(target=stay, daemon=True)
    child.start()
    begun.wait()
    first.leave()
    second = join_or_create_run(layout, None, "key")
    release.set()
    child.join()
    assert second.name != first.name
    second.leave()


def _claim(root: Path) -> str:
    return create_run(Layout(root), None).name


def test_many_recorders_get_different_runs(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        names = pool.map(_claim, [tmp_path / ".flor"] * 24)
    assert len(set(names)) == 24
