"""What probes give to a SummaryWriter, in event files of the replay, so that TensorBoard shows both."""

from __future__ import annotations

import functools
import inspect
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from flor.runtime.imports import ImportWatch

WORK, KEPT = "events-", "tensorboard"  # folders of a replay: while a worker writes, and when it has ended well

MARK = "tfevents."  # in the name of every event file


class EventFiles:
    """A second writer beside each of the script's own, which gets the calls of probes, and only these.

    The script's own does not get them: what it writes in a replay nobody sees, and a histogram takes milliseconds.
    """

    def __init__(self, folder: Path, is_probe: Callable[[FrameType], bool], wanted: Callable[[], bool]) -> None:
        self.folder = folder
        self.is_probe = is_probe
        self.wanted = wanted  # False until the segment begins
        self.twins: dict[int, Any] = {}

    def watch(self, imports: ImportWatch) -> None:
        """Hear of the calls once the library is there."""
        imports.when("torch.utils.tensorboard.writer", self._patch)
        imports.when("tensorboardX.writer", self._patch)

    def close(self) -> None:
        """Have everything on disk."""
        for _, twin in self.twins.values():
            twin.close()

    def _patch(self, module: ModuleType) -> None:
        writer = module.SummaryWriter
        for name in [name for name in vars(writer) if name.startswith("add_")]:
            setattr(writer, name, self._divided(getattr(writer, name)))

    def _divided(self, method: Any) -> Any:
        """The method; for probes the library's own, on the twin, and the note that is made of each call."""
        own, note = inspect.unwrap(method), vars(method).get("flor_note")

        @functools.wraps(method)
        def divided(writer: Any, *args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            if note is None or not self.wanted() or not self.is_probe(frame):
                return method(writer, *args, **kwargs)
            note((writer, *args), kwargs, frame)
            return own(self._twin(writer), *args, **kwargs)

        return divided

    def _twin(self, writer: Any) -> Any:
        known = self.twins.get(id(writer))
        if known is None:
            place = self.folder / within(os.fspath(writer.log_dir))
            known = self.twins[id(writer)] = (writer, type(writer)(log_dir=str(place)))
        return known[1]


def within(folder: str) -> str:
    """The path of a log folder from the current one, or its whole path if it is elsewhere; never upwards."""
    relative = os.path.relpath(folder)
    return os.path.abspath(folder).lstrip("/") if relative.startswith("..") else relative


def gather(folder: Path, target: Path) -> list[str]:
    """Bring the event files of all workers into one tree; the log folders that it has, as the script named them.

    TensorBoard reads the files of a folder by their names, so these begin with the worker's place among the others:
    by the library's own names, which begin with a second, a later segment could come first.
    """
    found = set()
    for number, work in enumerate(sorted(folder.glob(f"{WORK}*"), key=_in_order)):
        for file in [path for path in work.rglob("*") if path.is_file()]:
            name = file.name.replace(MARK, f"{MARK}{number:04}.", 1)
            place = target / file.relative_to(work).with_name(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, place)
            found.add(place.parent.relative_to(target).as_posix())
    return sorted(found)


def _in_order(work: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", work.name)]


def deliver(folder: Path, wanted: Path | None) -> str:
    """Put the event files where they are wanted, else under the replay's folder; how to look at them, if there are any.

    Only with a folder of the user's choice does anything of ours go outside of the store.
    """
    target = (wanted or folder / KEPT).absolute()
    found = gather(folder, target)
    return command(found, target) if found else ""


def command(folders: list[str], target: Path) -> str:
    """How to see recorded and hindsight values in one picture."""
    pairs = [f"{name}:{name},{name}-hindsight:{_short(target / name)}" for name in folders]
    return f"tensorboard --logdir_spec {','.join(pairs)}"


def _short(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
