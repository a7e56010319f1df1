"""What around a run is not as it was when it was recorded: data files, versions."""

from __future__ import annotations

import hashlib
import os
import platform
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import files, packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flor.model.records import Ended, Record
from flor.query.runs import Run
from flor.replay.history import History
from flor.replay.place import Place

SHOWN = 3


def changed_inputs(history: History, place: Place) -> list[str]:
    """A sentence for each file that the run had read and that is gone or changed, and was not written by the run."""
    read = {place.present(path): fact for path, fact in history.reads.items() if path not in history.made}
    found = [text for path, fact in read.items() if (text := _change(path, fact, place))]
    rest = [f"and {len(found) - SHOWN} more data files"] if len(found) > SHOWN else []
    return [*found[:SHOWN], *rest]


def _change(path: str, fact: tuple[int, int], place: Place) -> str:
    try:
        now = os.stat(path)
    except OSError:
        return f"{path}, which the run had read, is gone"
    if now.st_size != fact[0]:
        return f"{path}, which the run had read, has changed: {fact[0]:,} bytes then, {now.st_size:,} now"
    is_younger = now.st_mtime_ns != fact[1] and not place.is_moved  # copying gives a file a new time
    return f"{path} was written again since the run had read it" if is_younger else ""


def other_versions(run: Run, streams: Iterable[Iterable[Record]]) -> list[str]:
    """A sentence for each package, and Python, that has another version now."""
    then = dict(run.ended.get("packages") or _noted(run))
    now: dict[str, str] = {}
    for records in streams:
        for record in records:
            if isinstance(record, Ended):
                now.update(record.values.get("packages", {}))
    then["Python"], now["Python"] = str(run.facts.get("python")), platform.python_version()
    return list(_differences(then, now))


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(then.keys() & now.keys()):
        if then[name] != now[name]:
            yield f"{name} is {now[name]} now, it was {then[name]} when the run was recorded"


def _noted(run: Run) -> dict[str, str]:
    """What a run that was killed says of versions."""
    return {note.kind: note.values["version"] for note in run.notes if note.kind in ("torch", "numpy")}


def changed_packages(run: Run) -> list[str]:
    """A sentence for each file of a package that the run had imported and that was edited since.

    A file that was installed again is as its package's list of files says.
    """
    begun = float(run.facts.get("started", 0.0))
    names = sorted(run.ended.get("packages") or _noted(run))
    edited = [path for name in names for path in _younger(name, begun) if not _is_as_installed(name, path)]
    rest = [f"and {len(edited) - SHOWN} more files of installed packages"] if len(edited) > SHOWN else []
    told = "of an installed package, was edited after the run was recorded; flor follows it only with --include"
    return [*(f"{path}, {told}" for path in edited[:SHOWN]), *rest]


def _younger(package: str, begun: float) -> Iterator[str]:
    """The Python files of a package in site-packages that are younger than the run."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return
    origin = (spec.origin or "") if spec is not None else ""
    if "site-packages" not in origin and "dist-packages" not in origin:
        return
    places = (spec.submodule_search_locations or ()) if spec is not None else ()
    found = [f"{folder}/{name}" for place in places for folder, _, names in os.walk(place) for name in names]
    for path in found or [origin]:
        if path.endswith(".py") and os.stat(path).st_mtime > begun:
            yield path


def _is_as_installed(package: str, path: str) -> bool:
    """True if the file's hash is the one that its distribution lists."""
    for name in packages_distributions().get(package, ()):
        for file in files(name) or ():
            if file.hash is not None and os.path.realpath(str(file.locate())) == os.path.realpath(path):
                digest = hashlib.new(file.hash.mode, Path(path).read_bytes()).digest()
                return urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value
    return False
