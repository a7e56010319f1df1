"""Deleting from a store: what stays is whole, and what somebody is at work on stays."""

from __future__ import annotations

import fcntl
import os
import resource
import time
from pathlib import Path

import pytest
from checkpointed import BULK, CheckpointedRun, contents, readable, trained

from flor.errors import StoreBusy
from flor.model.records import Ended, Note
from flor.store.fsck import check_store
from flor.store.journal import JournalWriter
from flor.store.layout import Layout
from flor.store.packreader import read_pack
from flor.store.retention.dropped import dropped_checkpoints
from flor.store.retention.gc import carry_out, plan_retention
from flor.store.retention.holds import hold
from flor.store.retention.rules import Rules, Verdict
from flor.store.run import RunFolder, create_run, join_or_create_run, list_runs

ALL = Rules(keep_last=0)
NOW = time.time() + 10
LATER = time.time() + 7200


def names(layout: Layout) -> list[str]:
    return [run.name for run in list_runs(layout)]


def verdict(layout: Layout, rules: Rules, name: str) -> Verdict:
    return next(each for each in plan_retention(layout, rules, NOW).verdicts if each.holding.name == name)


def test_a_plan_changes_nothing(layout: Layout) -> None:
    trained(layout, "r", 9)
    before = contents(layout)
    assert plan_retention(layout, Rules(keep_last=0, keep_every=2, max_size=1), NOW).frees > 0
    assert contents(layout) == before and not (layout.root / "gc.lock").exists()


def test_where_there_is_no_store_there_is_nothing_to_do(tmp_path: Path) -> None:
    found = carry_out(Layout(tmp_path / ".flor"), ALL, NOW)
    assert found.verdicts == () and not (tmp_path / ".flor").exists()


def test_a_removed_run_leaves_nothing(layout: Layout) -> None:
    trained(layout, "r", 3)
    carry_out(layout, ALL, NOW)
    assert names(layout) == [] and set(contents(layout)) == {"FORMAT", ".gitignore"}
    assert check_store(layout) == []


def test_checkpoints_that_are_kept_have_every_byte(layout: Layout) -> None:
    run = trained(layout, "r", 9)
    carry_out(layout, Rules(keep_every=4), NOW)
    assert list(readable(run).values()) == [True, True, True]
    assert len(dropped_checkpoints(run.path)) == 6
    assert check_store(layout) == []


def shared_late(layout: Layout, name: str) -> RunFolder:
    """Four checkpoints, of which the second brings a blob that those after it share."""
    writer = CheckpointedRun(layout, name)
    for number in range(4):
        writer.add(*(["late"] if number >= 1 else []), f"own-{number}")
    return writer.end()


def test_bytes_that_a_kept_checkpoint_shares_stay_though_their_pack_is_rewritten(layout: Layout) -> None:
    run = shared_late(layout, "r")
    carry_out(layout, Rules(keep_every=3), NOW)
    assert list(readable(run).values()) == [True, True]
    with read_pack(run.packs / "0-1-000002.safetensors") as pack:  # that of a checkpoint that is gone
        assert pack.names == ["late"] and pack.metadata == {"key": "2"}
    assert not (run.packs / "0-1-000003.safetensors").exists()
    assert check_store(layout) == []


def test_a_pack_of_which_little_is_dead_is_left(layout: Layout) -> None:
    writer = CheckpointedRun(layout, "r")
    writer.add("first")
    writer.add(*(f"shared-{number}" for number in range(30)), "own")
    writer.add(*(f"shared-{number}" for number in range(30)))
    run = writer.end()
    before = (run.packs / "0-1-000002.safetensors").stat()
    carry_out(layout, Rules(keep_every=2), NOW)
    assert (run.packs / "0-1-000002.safetensors").stat().st_ino == before.st_ino


def test_a_pack_that_was_never_announced_goes(layout: Layout) -> None:
    writer = CheckpointedRun(layout, "r")
    writer.add("a")
    (writer.run.packs / "0-1-000009.safetensors").write_bytes(b"x" * 500)
    writer.journal.close()  # killed
    found = carry_out(layout, Rules(), NOW)
    assert found.frees == 500 and [path.name for path in writer.run.packs.iterdir()] == ["0-1-000001.safetensors"]


def test_a_pack_of_which_an_unknown_note_speaks_stays(layout: Layout) -> None:
    writer = CheckpointedRun(layout, "r")
    pack = writer.run.packs / "0-1-000009.safetensors"
    pack.write_bytes(b"x" * 500)
    writer.journal.append(Note("of a later version", {"where": [{"file": "0-1-000009.safetensors/graph-9"}]}))
    writer.end()
    carry_out(layout, Rules(keep_every=2), NOW)
    assert pack.exists()


def test_a_run_with_a_damaged_journal_keeps_its_packs(layout: Layout) -> None:
    run = trained(layout, "r", 5)
    journal = run.path / "0-1.journal"
    data = bytearray(journal.read_bytes())
    data[data.rindex(b"own-3")] ^= 1
    journal.write_bytes(bytes(data))
    before = contents(layout)
    found = carry_out(layout, Rules(keep_every=2, max_size=1), NOW)
    assert contents(layout) == before and "damaged" in found.verdicts[0].reason


def test_a_damaged_pack_is_not_written_anew(layout: Layout) -> None:
    run = shared_late(layout, "r")
    pack = run.packs / "0-1-000002.safetensors"
    data = bytearray(pack.read_bytes())
    data[data.rindex(b"late..")] ^= 1
    pack.write_bytes(bytes(data))
    found = carry_out(layout, Rules(keep_every=3), NOW)
    assert "damaged" in found.troubles[0] and pack.read_bytes() == bytes(data)


def test_a_run_of_which_it_is_not_known_how_old_it_is_stays(layout: Layout) -> None:
    run = trained(layout, "r", 3)
    journal = run.path / "0-1.journal"
    journal.write_bytes(b"\0" * 80 + journal.read_bytes()[80:])
    trained(layout, "s", 3)
    carry_out(layout, ALL, NOW)
    assert names(layout) == ["r"]


def test_a_live_run_is_never_touched(layout: Layout) -> None:
    writer = CheckpointedRun(layout, "live")
    for number in range(6):
        writer.add(f"own-{number}")
    (writer.run.packs / "0-1-000007.safetensors.9-aa.tmp").write_bytes(b"half")
    before = contents(layout)
    found = carry_out(layout, Rules(keep_last=0, keep_every=3, max_size=1), LATER)
    assert contents(layout) == before
    assert found.verdicts[0].reason == "it is being recorded"
    writer.add("own-6")
    assert all(readable(writer.end()).values())


def test_a_run_whose_job_lives_is_never_touched(layout: Layout) -> None:
    run = join_or_create_run(layout, "job", "key")
    run.fragment(0, 1).seal(Ended({}))  # this rank has ended; another may be about to begin
    assert verdict(layout, ALL, "job").reason == "its job is still running"
    run.leave()
    assert verdict(layout, ALL, "job").removed


def test_looking_for_living_jobs_leads_no_rank_into_an_old_run(layout: Layout) -> None:
    run = join_or_create_run(layout, None, "key")
    run.fragment(0, 1).seal(Ended({}))
    run.leave()
    carry_out(layout, Rules(), NOW)
    again = join_or_create_run(layout, None, "key")
    assert again.name != run.name
    again.leave()


def test_a_run_that_is_being_replayed_is_left(layout: Layout) -> None:
    run = trained(layout, "r", 3)
    folder = run.path / "replays" / "1-brave-otter"
    folder.mkdir(parents=True)
    worker = JournalWriter.create(folder / "w0.live")
    assert verdict(layout, ALL, "r").reason == "it is being replayed"
    worker.close()
    assert verdict(layout, ALL, "r").removed
    (folder / "w1-0.json").write_text("{}")  # ordered, and its worker has not begun
    assert verdict(layout, ALL, "r").reason == "it is being replayed"


def test_a_run_on_which_somebody_has_a_hold_is_left(layout: Layout) -> None:
    run = trained(layout, "r", 3)
    with hold(run.path):
        assert verdict(layout, ALL, "r").reason == "a process is at work on it"
    assert verdict(layout, ALL, "r").removed


def test_packs_that_a_resumed_run_shares_stay_there(layout: Layout) -> None:
    first, second = shared_late(layout, "a"), create_run(layout, "b")
    for pack in first.packs.iterdir():
        os.link(pack, second.packs / pack.name)
    (second.path / "0-1.journal").write_bytes((first.path / "0-1.journal").read_bytes())
    assert plan_retention(layout, Rules(keep_every=3), NOW).frees == 0  # each is needed by the other's name
    before = (second.packs / "0-1-000002.safetensors").stat()
    carry_out(layout, Rules(keep_every=3, only=("a",)), NOW)
    assert (second.packs / "0-1-000002.safetensors").stat().st_ino == before.st_ino
    assert list(readable(first).values()) == [True] * 2 and list(readable(second).values()) == [True] * 4
    carry_out(layout, Rules(keep_last=0, only=("a",)), NOW)
    assert list(readable(second).values()) == [True] * 4 and check_store(layout) == []


def test_what_workers_wrote_goes_once_the_result_is_kept(layout: Layout) -> None:
    run = trained(layout, "r", 1)
    done, failed = run.path / "replays" / "1-a", run.path / "replays" / "2-b"
    for folder in (done, failed):
        folder.mkdir(parents=True)
        (folder / "w0.journal").write_bytes(b"w" * 100)
    (done / "hindsight.journal").write_bytes(b"h")
    found = carry_out(layout, Rules(), NOW)
    assert found.frees == 100
    assert (failed / "w0.journal").exists() and not (done / "w0.journal").exists()
    assert (done / "hindsight.journal").exists()


def test_leftovers_go_when_nobody_can_come_back_for_them(layout: Layout) -> None:
    run = trained(layout, "r", 1)
    (run.packs / "1.safetensors.7-aa.tmp").write_bytes(b"half")
    (layout.root / "FORMAT.7-aa.tmp").write_bytes(b"")
    create_run(layout, "claimed")
    carry_out(layout, Rules(), NOW)
    assert (layout.runs / "claimed").exists() and (layout.root / "FORMAT.7-aa.tmp").exists()
    assert not list(run.packs.glob("*.tmp"))  # its recorder is known to be gone
    carry_out(layout, Rules(), LATER)
    assert not (layout.runs / "claimed").exists() and not (layout.root / "FORMAT.7-aa.tmp").exists()
    assert check_store(layout) == []


def test_two_sweeps_at_once_are_refused(layout: Layout) -> None:
    fd = os.open(layout.root / "gc.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with pytest.raises(StoreBusy):
        carry_out(layout, ALL, NOW)
    os.close(fd)
    carry_out(layout, ALL, NOW)


def test_what_is_behind_a_link_is_the_users(layout: Layout, tmp_path: Path) -> None:
    run = trained(layout, "r", 3)
    run.packs.rename(tmp_path / "big-disk")
    run.packs.symlink_to(tmp_path / "big-disk")
    carry_out(layout, Rules(keep_last=0, keep_every=2), NOW)
    assert len(list((tmp_path / "big-disk").iterdir())) == 3


def test_a_journal_that_names_files_elsewhere_deletes_nothing_there(layout: Layout, tmp_path: Path) -> None:
    victim = tmp_path / "victim.safetensors"
    victim.write_bytes(b"x" * BULK)
    writer = CheckpointedRun(layout, "r")
    for number in range(3):
        writer.stored["evil"] = "../../../../victim.safetensors"
        writer.add("evil", f"own-{number}")
    writer.end()
    carry_out(layout, Rules(keep_every=2), NOW)
    carry_out(layout, ALL, NOW)
    assert victim.read_bytes() == b"x" * BULK


def test_an_unreadable_note_of_a_checkpoint_keeps_the_packs(layout: Layout) -> None:
    writer = CheckpointedRun(layout, "r")
    writer.add("a")
    writer.journal.append(Note("checkpoint", {"graph": "0-1-000001.safetensors/x", "blobs": 7}))
    writer.end()
    before = contents(layout)
    carry_out(layout, Rules(keep_every=2, max_size=1), NOW)
    assert contents(layout) == before


def test_a_checkpoint_whose_bytes_are_missing_is_damage(layout: Layout) -> None:
    run = trained(layout, "r", 2)
    (run.packs / "0-1-000001.safetensors").unlink()
    assert {finding.severity for finding in check_store(layout)} == {"damage"}


def test_a_disk_without_room_keeps_no_run_from_being_freed(layout: Layout) -> None:
    for name in ("a", "b"):
        shared_late(layout, name)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (BULK // 2, limits[1]))
    try:
        found = carry_out(layout, Rules(keep_every=3), NOW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [trouble.partition(":")[0] for trouble in found.troubles] == ["a", "b"]
    assert all(len(list(run.packs.iterdir())) == 3 for run in list_runs(layout))  # what needs no room has gone
    assert all(all(readable(run).values()) for run in list_runs(layout))
    assert check_store(layout) == []
    assert carry_out(layout, Rules(keep_every=3), NOW).troubles == ()
