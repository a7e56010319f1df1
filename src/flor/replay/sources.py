"""The project's files as they were recorded and as they are now, with the probes of the command line put in."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from flor.errors import NothingToReplay, ProbeFailed, UsageError
from flor.query.runs import Run
from flor.replay.place import place_of
from flor.source.insertion import apply_probe
from flor.source.libraries import excerpt, package_of, watched
from flor.store.files import read_regular

LONGEST = 1 << 26
"""Bytes of a source file that are read."""


def recorded_sources(run: Run) -> dict[str, str]:
    """The texts as they were executed."""
    return {name: text.decode("utf-8", "replace") for name, text in run.sources.items()}


def present_sources(run: Run, probes: Sequence[str] = ()) -> dict[str, str | None]:
    """The texts as they are on disk now, None where a file is gone."""
    if not isinstance(run.facts.get("cwd"), str):
        raise NothingToReplay(f"{run.name} ended before it had noted how it was begun.", todo="Record it again.")
    folder = Path(place_of(run).now)
    libraries = run.facts.get("libraries", ())
    texts = {name: _installed(name) if name in libraries else _read(folder / name) for name in run.sources}
    for probe in probes:
        name, line, statement = _parsed(probe, texts)
        if name in libraries:
            raise UsageError(f"{name} is a library's.", todo="A probe may be put into the project's own files only.")
        texts[name] = apply_probe(texts[name] or "", line, statement)
    return texts


def check_syntax(texts: Mapping[str, str | None]) -> None:
    """ProbeFailed, with what Python says, if a file does not parse as it is now."""
    for name, text in texts.items():
        try:
            ast.parse(text or "", name)
        except SyntaxError as error:
            told = "".join(traceback.format_exception_only(error))
            raise ProbeFailed(f"{name} does not parse.\n{told}", todo="Mend it and replay again.") from error


def _installed(name: str) -> str | None:
    """What is watched of a library's file, as it is installed now; the library is not imported."""
    spec = find_spec(package_of(name))
    folders = (spec.submodule_search_locations or ()) if spec is not None else ()
    found = (_read(Path(folder).parent / name) for folder in folders)
    text = next((text for text in found if text is not None), None)
    return None if text is None else excerpt(text, watched(ast.parse(text), name))


def _read(path: Path) -> str | None:
    try:
        return read_regular(path, LONGEST).decode("utf-8", "replace")  # the store says which: it may be a pipe
    except (OSError, ValueError):
        return None


def _parsed(probe: str, texts: dict[str, str | None]) -> tuple[str, int, str]:
    """FILE:LINE:STATEMENT in its parts."""
    name, _, rest = probe.partition(":")
    line, _, statement = rest.partition(":")
    if not line.isdecimal() or not statement.strip():
        raise UsageError(f"--probe {probe!r} is not of the form FILE:LINE:STATEMENT.")
    if name not in texts:
        known = ", ".join(sorted(texts))
        raise UsageError(f"The run executed no file {name}.", todo=f"It executed {known}.")
    return name, int(line), statement.strip()
