"""Where a run's project is now: where it was recorded, or where it was copied or moved to together with its store."""

from __future__ import annotations

import os
from dataclasses import dataclass

from flor.query.runs import Run


@dataclass(frozen=True)
class Place:
    """The folder in which the run was started, and the one that has its files now."""

    then: str
    now: str

    @property
    def is_moved(self) -> bool:
        """True if these are two."""
        return self.then != self.now

    def present(self, path: str) -> str:
        """The present path of a recorded one."""
        inside = path == self.then or path.startswith(self.then.rstrip("/") + "/")
        return self.now + path.removeprefix(self.then) if inside else path


def place_of(run: Run) -> Place:
    """A store that is not where it was recorded is a copy, or was moved: the project is beside it, as it was then."""
    then = str(run.facts["cwd"])
    store = os.path.realpath(run.folder.path.parent.parent)
    recorded = str(run.facts.get("store") or os.path.join(then, ".flor"))
    if os.path.realpath(recorded) == store:
        return Place(then, then)
    beside = os.path.relpath(then, os.path.dirname(recorded))
    now = os.path.normpath(os.path.join(os.path.dirname(store), beside))
    found = os.path.exists(os.path.join(now, str(run.facts["script"])))
    return Place(then, now if found else then)
