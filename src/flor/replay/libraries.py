"""Whether the training loops that live in libraries are those that were recorded."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from flor.errors import LibraryChanged
from flor.model.edits import Edit
from flor.query.runs import Run
from flor.source.libraries import package_of


def check_libraries(run: Run, edit: Edit) -> None:
    """LibraryChanged if the loop of a library, in which positions are counted, is not the recorded one."""
    edited = {change.file for change in edit.others} | {probe.file for probe in edit.probes}
    files = edited & set(run.facts.get("libraries", ()))
    if not files:
        return
    then = dict(run.ended.get("packages", {}))
    packages = sorted({package_of(file) for file in files})
    versions = ", ".join(_versions(package, then.get(package)) for package in packages)
    recorded = " ".join(f"{package}=={then[package]}" for package in packages if package in then)
    raise LibraryChanged(
        f"The training loop in {', '.join(sorted(files))} is not the recorded one: {versions}.",
        where=f"run {run.name}",
        todo=f"Install {recorded or 'the recorded version'}, or use --force (the values may then differ).",
    )


def _versions(package: str, then: str | None) -> str:
    try:
        now = version(package.replace("_", "-"))
    except PackageNotFoundError:
        return f"{package} is not installed now"
    if then is None:
        return f"{package} is {now} now"
    return f"{package} is {now} now, it was {then}" if now != then else f"{package} {now} was edited"
