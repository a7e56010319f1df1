"""The process of a rehearsal: a resumed run up to its checkpoint, in a namespace that keeps all changes."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from flor.errors import FlorError
from flor.launch.conditions import hide_from_script
from flor.launch.parents import end_with_parent
from flor.launch.wall.choice import Wall, build
from flor.query.runs import Run
from flor.record import Request
from flor.resume.order import ResumeOrder
from flor.resume.process import Resumed
from flor.resume.rehearsing import REPORT
from flor.store.layout import Layout
from flor.store.run import open_run


class Rehearsal(Resumed):
    """A resumed run that ends where the checkpoint is in place."""

    def __init__(self, order: ResumeOrder, folder: Path) -> None:
        self.folder = folder
        super().__init__(order)

    def _request(self) -> Request:
        """Without trackers: the beginning is run once more, for real."""
        return replace(super()._request(), silent=self.folder / "trackers")

    def _arrived(self, doubts: list[str]) -> None:
        """Everything up to here can be done."""
        self._report(arrived=True)
        os._exit(0)

    def _keep_files(self) -> None:
        """Nothing needs a copy here: only the namespace's files are put in place."""
        self.place_files(self.history.unseen)

    def _try_without(self, checkpoint: str) -> NoReturn:
        """Leave it to the process that asked."""
        self._report(without=checkpoint)
        sys.stderr.flush()
        os._exit(0)

    def _report(self, **found: object) -> None:
        (self.folder / REPORT).write_text(json.dumps(found))


def main() -> None:
    """Enter the namespace and do what the order says."""
    end_with_parent(int(sys.argv[3]))
    hide_from_script()
    order, folder = ResumeOrder.parse(sys.argv[1]), Path(sys.argv[2])
    run = Run(open_run(Layout(Path(order.store)), order.run))
    cwd = os.getcwd()
    build(Wall.OVERLAY, folder, pass_through=[folder], expected=[run.facts["cwd"], order.store])
    os.chdir(cwd)
    try:
        rehearsal = Rehearsal(order, folder)
    except FlorError as error:
        print(f"flor: {error}", file=sys.stderr)
        sys.exit(1)
    rehearsal.go_on()
