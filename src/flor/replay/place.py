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
    top: str = "."  # from these folders, the one that all of the project's files are in: `..` if some are beside it

    @property
    def shown(self) -> tuple[str, str]:
        """The present folder of all files, and the path at which the recorded program had it."""
        now, then = (os.path.normpath(os.path.join(folder, self.top)) for folder in (self.now, self.then))
        return (self.now, self.then) if then == "/" else (now, then)

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
    relative = os.path.relpath(then, os.path.dirname(recorded))
    now = os.path.normpath(os.path.join(os.path.dirname(store), relative))
    if not os.path.exists(os.path.join(now, str(run.facts["script"]))):
        return Place(then, then)
    beside = [name for name in run.sources if name.startswith("../") and os.path.exists(os.path.join(now, name))]
    return Place(then, now, max((_upwards(name) for name in beside), key=len, default="."))


def _upwards(name: str) -> str:
    """The `../..` that a relative path begins with."""
    parts = name.split("/")
    return "/".join(parts[: next(n for n, part in enumerate(parts) if part != "..")])
