"""`flor resume`: judge, then become the process that goes on training."""

from __future__ import annotations

import os
from typing import NoReturn

from flor.errors import NothingToReplay
from flor.launch.conditions import command, environment
from flor.query.runs import Run
from flor.replay.place import place_of
from flor.resume.judging import check_run, judge_sources
from flor.resume.order import ResumeOrder
from flor.resume.rehearsing import rehearsed
from flor.store.retention.holds import hold


def resume(run: Run, *, name: str | None, force: bool, wall: str | None = None) -> NoReturn:
    """Begin this process anew under the conditions of the record; what the script prints and its exit are its own."""
    check_run(run)
    judge_sources(run, force=force)
    check_place(run)
    order = ResumeOrder(run.name, str(run.folder.path.parent.parent), name, force)
    with hold(run.folder.path):
        order = rehearsed(run, order, wall)
    become(run, order)


def become(run: Run, order: ResumeOrder) -> NoReturn:
    """The process that carries the order out, in place of this one."""
    words = command("flor.resume.process", order.handed_on())
    os.chdir(run.facts["cwd"])
    os.execve(words[0], words, environment(run))


def check_place(run: Run) -> None:
    """NothingToReplay if the project is not where it was."""
    place = place_of(run)
    if place.is_moved:
        raise NothingToReplay(
            f"{run.name} was recorded in another folder, and its state has paths of that folder in it.",
            where=place.then,
            todo="Move the project back there to go on with it; `flor replay` works here too.",
        )
    if not os.access(run.facts["cwd"], os.X_OK):
        raise NothingToReplay(f"The folder in which {run.name} was started is not there.", where=run.facts["cwd"])
