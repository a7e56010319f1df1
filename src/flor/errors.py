"""Every exception and warning of flor, one class a reason.

FlorError
├── UsageError                what was asked makes no sense
│   ├── NoSuchRun             a run name that is not in the store
│   ├── NoSuchScript          the script or module is not there, or is no file
│   ├── BadName               a name with characters that no run name may have
│   ├── NameTaken             a new run under the name of an existing one
│   ├── NoOpenBlock           `skipblock.end` without a `step_into` before it
│   ├── BlockLeftOpen         a block that replay had skipped was left without its `end`
│   ├── BadArgument           a parameter of the run that can't be read
│   ├── LoggerClosed          a call of a background logger after its `close`
│   ├── ResultNeeded          the result of a call that is done later is used
│   └── MissingFramework      the framework of a callback is not installed
├── StoreError                the store cannot be used
│   ├── StoreUnwritable       read-only, full, or not a folder
│   ├── NewerFormat           written by a later version of flor
│   ├── StoreBusy             another process has the store to itself
│   └── Damaged               bytes that are not what was written
├── StateError                live objects and snapshots do not fit
│   └── RestoreMismatch       the live object is not of the kind that was saved
│       └── ObjectsDiffer     other objects are declared on replay than on record
└── ReplayError               replay was refused or failed
    ├── EditRefused           the sources differ by more than log statements
    │   └── LibraryChanged    the training loop of a library is not the recorded one
    ├── NothingToReplay       the run has nothing that could be replayed
    ├── WorkerFailed          a worker process died and its retries are used up
    ├── ProbeFailed           the added statement itself raised
    ├── FilesUnsafe           the user's files can't be kept safe
    ├── TrackerNeeded         the script asks a tracker for what only its server knows
    └── Stopped               by Ctrl-C
FlorWarning                   training goes on; said once on stderr
└── DamagedRecord             what is whole of a run was read, and some of it is not
"""

from __future__ import annotations


class FlorError(Exception):
    """What happened, where, and what to do; `slug` is the row of docs/messages.md."""

    slug = "flor"

    def __init__(self, what: str, *, where: str = "", todo: str = "") -> None:
        self.what, self.where, self.todo = what, where, todo
        super().__init__(str(self))

    def __str__(self) -> str:
        parts = [self.what, f"({self.where})" if self.where else "", f"{self.todo}" if self.todo else ""]
        return " ".join(part for part in parts if part) + f" [{self.slug}]"


class UsageError(FlorError):
    """What was asked makes no sense."""

    slug = "usage"


class NoSuchRun(UsageError):
    """A run name that is not in the store."""

    slug = "no-such-run"


class NoSuchScript(UsageError):
    """The script or module is not there, or is no file."""

    slug = "no-such-script"


class BadName(UsageError):
    """A name with characters that no run name may have."""

    slug = "bad-name"


class NameTaken(UsageError):
    """A new run is asked for under the name of an existing one."""

    slug = "name-taken"


class NoOpenBlock(UsageError):
    """`skipblock.end` was called without a `step_into` before it."""

    slug = "no-open-block"


class BlockLeftOpen(UsageError):
    """A block that replay had skipped was left without its `end`, so its state was never put back."""

    slug = "block-left-open"


class BadArgument(UsageError):
    """A parameter of the run that can't be read, or is of a kind that can't be kept."""

    slug = "bad-argument"


class LoggerClosed(UsageError):
    """A background logger is called after its `close`."""

    slug = "logger-closed"


class ResultNeeded(UsageError):
    """The result of a call that is done later is used."""

    slug = "result-needed"


class MissingFramework(UsageError):
    """The framework that a callback is for is not installed."""

    slug = "missing-framework"


class StoreError(FlorError):
    """The store cannot be used."""

    slug = "store"


class StoreUnwritable(StoreError):
    """The store's folder is read-only, full, or not a folder."""

    slug = "store-unwritable"


class NewerFormat(StoreError):
    """The store was written by a later version of flor."""

    slug = "newer-format"


class StoreBusy(StoreError):
    """Another process has the store to itself."""

    slug = "store-busy"


class Damaged(StoreError):
    """Bytes on disk are not what was written."""

    slug = "damaged"


class StateError(FlorError):
    """Live objects and snapshots do not fit."""

    slug = "state"


class RestoreMismatch(StateError):
    """The live object is not of the kind that was saved."""

    slug = "restore-mismatch"


class ObjectsDiffer(RestoreMismatch):
    """Other objects are declared on replay than on record."""

    slug = "objects-differ"


class ReplayError(FlorError):
    """Replay was refused or failed."""

    slug = "replay"


class EditRefused(ReplayError):
    """The sources differ by more than log statements."""

    slug = "edit-refused"


class LibraryChanged(EditRefused):
    """The training loop of a library is not the recorded one."""

    slug = "library-changed"


class NothingToReplay(ReplayError):
    """The run has nothing that could be replayed."""

    slug = "nothing-to-replay"


class WorkerFailed(ReplayError):
    """A worker process died and its retries are used up."""

    slug = "worker-failed"


class ProbeFailed(ReplayError):
    """The added statement itself raised."""

    slug = "probe-failed"


class FilesUnsafe(ReplayError):
    """The user's files can't be kept safe, so the script is not run."""

    slug = "files-unsafe"


class TrackerNeeded(ReplayError):
    """The script asks a tracker for what only its server or its store knows."""

    slug = "tracker-needed"


class Stopped(ReplayError):
    """The replay was stopped by Ctrl-C."""

    slug = "stopped"


class FlorWarning(UserWarning):
    """Training goes on; said once on stderr."""

    slug = "warning"


class DamagedRecord(FlorWarning):
    """Records of a run are damaged; what is whole was read."""

    slug = "damaged"
