"""Whether a run can go on with the sources as they are now."""

from __future__ import annotations

from flor.errors import EditRefused, NothingToReplay
from flor.model.edits import Edit
from flor.query.runs import Run
from flor.replay.libraries import check_libraries
from flor.replay.planning import Sources
from flor.replay.sources import present_sources, recorded_sources
from flor.source.probes import diff_sources


def check_run(run: Run) -> None:
    """NothingToReplay, with the reason, if there is nothing to go on with."""
    if run.status == "recording":
        raise NothingToReplay(f"{run.name} is still being recorded.", todo="Wait for its end, or stop it first.")
    if run.status == "finished":
        raise NothingToReplay(f"{run.name} came to its end.", todo="There is nothing left to train.")
    if len(run.folder.fragments()) > 1:
        raise NothingToReplay(
            f"{run.name} was trained by {len(run.folder.fragments())} processes together.",
            todo="Resume knows runs of one process only, so far.",
        )
    if not run.checkpoints:
        raise NothingToReplay(f"{run.name} has no checkpoint to go on from.", todo="Record it again, from its start.")


def judge_sources(run: Run, *, force: bool) -> tuple[Edit, Sources]:
    """How the sources differ; EditRefused if by more than log statements, unless forced."""
    recorded, present = recorded_sources(run), present_sources(run)
    edit = diff_sources(recorded, present)
    sources = Sources(recorded, {name: text for name, text in present.items() if text is not None})
    if not force:
        check_libraries(run, edit)
    changed = [f"{change.file}: {change.what}\n{change.diff}".rstrip() for change in edit.others]
    if changed and not force:
        raise EditRefused(
            "The sources are not those of the run.\n" + "\n".join(changed),
            where=f"run {run.name}",
            todo="Undo the edit; or, if it mends what ended the run, go on with it by --force: the state at the "
            "checkpoint is the recorded one all the same, whatever was edited before it.",
        )
    moved = [old for new, old in sources.loop_ids().items() if new != old]
    if moved:
        raise EditRefused(
            f"The edit has added or taken away a loop before {moved[0]}, so the checkpoint has lost its place.",
            where=f"run {run.name}",
            todo="Write it without a loop, or put it into a function behind the others.",
        )
    return edit, sources
