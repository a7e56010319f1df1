"""The ways to materialize by their names: `--materialize thread|fork|sync|off`."""

from __future__ import annotations

from collections.abc import Callable

from flor.model.records import Note
from flor.runtime.forking import ForkWriter
from flor.runtime.writer import CheckpointWriter
from flor.store.run import RunFolder

HOW = ("thread", "fork", "sync", "off")


def make_writer(
    how: str,
    folder: RunFolder,
    fragment: str,
    announce: Callable[[Note], None],
    on_trouble: Callable[[str], None],
) -> CheckpointWriter | ForkWriter:
    """The writer of that name; for `off` one that is never asked."""
    if how == "fork":
        return ForkWriter(folder, fragment, announce, on_trouble)
    return CheckpointWriter(folder, fragment, announce, on_trouble, at_once=how == "sync")
