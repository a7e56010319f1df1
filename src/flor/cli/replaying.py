"""Verbs that ask the past: replay, plan, diff."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from flor.cli.main import main
from flor.cli.options import Command, clear_errors, json_option, store_option
from flor.cli.progress import progress
from flor.errors import UsageError


def replay_options(command: Command) -> Command:
    """What `replay` and `plan` have in common."""
    options: list[Callable[[Command], Command]] = [
        click.argument("run", required=False),
        click.option("-j", "--workers", type=click.IntRange(min=1), envvar="FLOR_WORKERS",
                     help="Worker processes (as many as there are cores for them, and work)."),
        click.option("--epochs", metavar="A:B", help="Only these iterations of the main loop, by slice rules."),
        click.option("--probe", "probes", multiple=True, metavar="FILE:LINE:STATEMENT",
                     help="A log statement that is added without an edit."),
        click.option("--wall", type=click.Choice(["overlay", "landlock", "python"]), envvar="FLOR_WALL",
                     help="What keeps the script's files apart (the best that this machine allows)."),
        click.option("--volatile", multiple=True, envvar="FLOR_VOLATILE", metavar="NAME",
                     help="A variable or a logged value that differs from run to run: it is not compared."),
        click.option("--force", is_flag=True, help="Replay though the sources differ by more than log statements."),
        store_option,
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def _replay(run: str | None, store: Path, workers: int | None, epochs: str | None, **wish: Any) -> Any:
    from flor.query.runs import run as one
    from flor.replay.verb import Replay, Wish

    found = one(run, store)
    most = workers or default_workers(found)
    return Replay(found, Wish(workers=most, sparing=workers is None, epochs=parse_epochs(epochs), **wish))


def default_workers(run: Any) -> int:
    """As many as the cores allow when each has the recorded number of threads."""
    from flor.launch.conditions import threads
    from flor.replay.executors.local import cores

    return max(1, cores() // threads(run))


def parse_epochs(text: str | None) -> tuple[int | None, int | None] | None:
    """`A:B` as two numbers, each of which may be left out."""
    if text is None:
        return None
    try:
        first, second = (int(part) if part.strip() else None for part in text.split(":"))
    except ValueError:
        raise UsageError(f"--epochs {text!r} is not of the form A:B.") from None
    return first, second


@main.command()
@replay_options
@click.option("--all", "everything", is_flag=True, help="All of stdout, as a full run with the probes prints it.")
@click.option("--plan", "only_plan", is_flag=True, help="Only say what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask; files of C code may change where nothing can keep them apart.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Say on stderr what is done, from which checkpoints, and how long it takes."
)
@click.option("--tensorboard", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Where event files of probes go (a folder of the replay, in the store).")  # fmt: skip
@json_option
@clear_errors
def replay(everything: bool, only_plan: bool, yes: bool, verbose: bool, as_json: bool, **wish: Any) -> None:
    """Get the values of log statements that were added after the run, for the run that is over."""
    from flor.query.text import visible
    from flor.replay.report import plan_text, result_json, verdict_text
    from flor.replay.saying import Saying, nothing

    begun = time.perf_counter()
    work = _replay(**wish, yes=yes)
    if only_plan:
        click.echo(visible(plan_text(work)))
        return
    if verbose:
        _say(f"read the run and the sources in {time.perf_counter() - begun:.1f} s")
    with progress(lambda: work.plan().estimate) as bar:
        result = work.perform(Saying(bar, _say, _say if verbose else nothing))
    if everything and work.history.children_print:
        result.warnings.append("the script starts processes that share its stdout: what they print is not recorded")
    if as_json:
        for row in result_json(work, result, everything):
            sys.stdout.write(json.dumps(row) + "\n")
    else:
        for piece in result.stdout(everything):
            sys.stdout.buffer.write(piece)
    sys.stdout.flush()
    for text in (*result.told, *([f"in TensorBoard: {result.events}"] if result.events else [])):
        _say(visible(text))
    if result.error is not None:
        raise result.error
    click.echo(visible(verdict_text(work, result)), err=True)
    sys.exit(0 if result.exact else 3)


def _say(text: str) -> None:
    """One line of ours, on stderr."""
    click.echo(f"flor: {text}", err=True)


@main.command()
@replay_options
@clear_errors
def plan(**wish: Any) -> None:
    """Say what a replay would do, and how long it takes."""
    from flor.query.text import visible
    from flor.replay.report import plan_text

    click.echo(visible(plan_text(_replay(**wish))))


@main.command()
@click.argument("run", required=False)
@store_option
@clear_errors
def diff(run: str | None, store: Path) -> None:
    """Show how the sources differ from the recorded ones."""
    from flor.query.runs import run as one
    from flor.query.text import visible
    from flor.replay.report import diff_text

    click.echo(visible(diff_text(one(run, store))), nl=False)
