"""The thread that syncs."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from flor.model.records import Note
from flor.store.journal import JournalWriter
from flor.store.syncer import Syncer


class Counted(JournalWriter):
    """A journal that says when it was synced."""

    def sync(self) -> None:
        super().sync()
        self.syncs: int = getattr(self, "syncs", 0) + 1
        self.synced: threading.Event = getattr(self, "synced", threading.Event())
        self.synced.set()


@pytest.fixture
def writer(tmp_path: Path) -> Counted:
    writer = Counted.create(tmp_path / "0-1.live")
    assert isinstance(writer, Counted)
    writer.synced, writer.syncs = threading.Event(), 0
    return writer


def test_what_was_written_is_synced_and_then_left_alone(writer: Counted) -> None:
    with Syncer(writer, interval=0.001):
        assert writer.synced.wait(10)
        writer.synced.clear()
        writer.append(Note("n"))
        assert writer.synced.wait(10)
        writer.synced.clear()
        assert not writer.synced.wait(0.05)
    assert writer.syncs == 2
    writer.close()


def test_stopping_ends_the_thread_at_once(writer: Counted) -> None:
    syncer = Syncer(writer, interval=3600)
    syncer.start()
    syncer.stop()
    syncer.stop()
    assert "flor-sync" not in [thread.name for thread in threading.enumerate()]
    writer.close()


def test_one_that_was_never_started_can_be_stopped(writer: Counted) -> None:
    Syncer(writer).stop()
    writer.close()


def test_a_closed_journal_is_not_synced(writer: Counted) -> None:
    writer.close()
    with Syncer(writer, interval=0.001):
        assert not writer.synced.wait(0.03)
    assert writer.failed is None


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_no_such_thread_and_may_stop_it(writer: Counted) -> None:
    with Syncer(writer, interval=3600) as syncer:
        child = os.fork()
        if child == 0:
            syncer.stop()
            os._exit(threading.active_count())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    writer.close()
