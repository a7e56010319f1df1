"""The sources of a run, written out again."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from flor.errors import UsageError
from flor.query.runs import Run


def write_sources(run: Run, folder: Path) -> list[Path]:
    """Write the run's files below a new folder; files from outside the project's folder go to `_outside`."""
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty.", todo="Name a new folder.")
    written = []
    for name, text in run.sources.items():
        target = folder / _inside(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
        written.append(target)
    return written


def _inside(name: str) -> PurePosixPath:
    """The name without any way out of the folder."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("..", "/")]
    outside = ".." in PurePosixPath(name).parts or name.startswith("/")
    return PurePosixPath("_outside", *parts) if outside else PurePosixPath(*parts)
