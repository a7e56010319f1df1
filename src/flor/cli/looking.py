"""Verbs that look at what is kept: runs, show, logs, plot, export, checkout."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import click

from flor.cli.main import main
from flor.cli.options import clear_errors, json_option, store_option, whole
from flor.errors import Damaged


@main.command()
@store_option
@json_option
@clear_errors
def runs(store: Path, as_json: bool) -> None:
    """List the runs of this folder's store."""
    from flor.query.runs import runs as all_runs
    from flor.query.text import runs_table, summary_json, visible

    found = all_runs(store)
    summaries = [run.summary for run in found]
    if as_json:
        for summary in summaries:
            click.echo(json.dumps(summary_json(summary)))
    else:
        click.echo(visible(runs_table(summaries)))
    _say_damage(found)


@main.command()
@click.argument("run", required=False)
@click.option("--loops", is_flag=True, help="Each loop, what of it is kept, and why or why not.")
@click.option("--instrumented", metavar="SCRIPT", help="Print a script with flor's calls in it.")
@store_option
@json_option
@clear_errors
def show(run: str | None, loops: bool, instrumented: str | None, store: Path, as_json: bool) -> None:
    """Show one run: what was executed, for how long, how it ended."""
    from flor.query import text
    from flor.query.loops import loop_reports, loops_text
    from flor.query.runs import run as one

    if instrumented is not None:
        click.echo(text.instrumented(Path(instrumented)))
        return
    found = one(run, store)
    if loops and as_json:
        for report in loop_reports(found):
            click.echo(json.dumps(report.as_json()))
    elif as_json:
        click.echo(json.dumps(text.run_json(found)))
    else:
        click.echo(text.visible(loops_text(found) if loops else text.run_text(found)))
    _say_damage([found])


def _say_damage(found: list[Any]) -> None:
    """Fail, once all is out, if a journal is damaged."""
    damaged = [run.name for run in found if run.damage]
    if damaged:
        raise Damaged(f"Journals of {', '.join(damaged)} are damaged.", todo="`flor fsck` lists all damage.")


@main.command()
@click.argument("run", required=False)
@click.argument("names", nargs=-1)
@store_option
@json_option
@clear_errors
def logs(run: str | None, names: tuple[str, ...], store: Path, as_json: bool) -> None:
    """Print the logs of a run: all of them, or those with the given names."""
    from flor.query.runs import run as one
    from flor.query.text import row_text

    found = one(run, store)
    rows, missing = found.logs(*names), dict.fromkeys(names)
    with whole(found):
        while some := list(islice(rows, 1000)):  # one write each, also where stdout is unbuffered
            sys.stdout.write("".join([(row.json_line() if as_json else row_text(row)) + "\n" for row in some]))
            for name in {word for row in some for word in (row.name, row.channel)} if missing else ():
                missing.pop(name, None)
    if missing:
        known = dict.fromkeys(row.name or row.channel for row in found.logs())
        raise found.nothing_called(next(iter(missing)), list(known))


@main.command()
@click.argument("run", required=False)
@click.argument("names", nargs=-1)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="An image instead: .png, .svg, .pdf (matplotlib)."
)
@click.option("--x", metavar="NAME", help="Another logged value as the x-axis (default: step, else the iteration).")
@click.option("--width", type=click.IntRange(min=20), help="Characters (default: as wide as the terminal).")
@store_option
@clear_errors
def plot(run: str | None, names: tuple[str, ...], output: Path | None, x: str | None, width: int | None,
         store: Path) -> None:  # fmt: skip
    """Draw logged numbers: recorded ones solid, those of replays dashed, checkpoints as ticks."""
    from rich.console import Console

    from flor.query.plot.image import save
    from flor.query.plot.series import chart_of
    from flor.query.plot.terminal import draw
    from flor.query.runs import run as one

    found = one(run, store)
    with whole(found):
        chart = chart_of(found, names, x)
        if output is not None:
            save(chart, output)
            click.echo(output)
        else:
            console = Console(width=width, highlight=False)
            console.print(draw(chart, console.width), end="", crop=False, no_wrap=True, overflow="ignore")


@main.command()
@click.argument("run", required=False)
@click.argument("names", nargs=-1)
@click.option("--format", "format_name", type=click.Choice(["csv", "jsonl", "tensorboard"]), help="Else by the ending.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file, or a new folder for event files.")
@store_option
@clear_errors
def export(run: str | None, names: tuple[str, ...], format_name: str | None, output: Path | None, store: Path) -> None:
    """Write the logs of a run for other programs: CSV, JSON lines, or TensorBoard's event files."""
    from flor.query.export.verb import export as write
    from flor.query.runs import run as one

    found = one(run, store)
    with whole(found):
        done = write(found, names, None if output == Path("-") else output, format_name)
        if done.path is not None:
            left = f", {done.left_out:,} that are no numbers left out" if done.left_out else ""
            click.echo(f"flor: {done.rows:,} values in {done.path}{left}", err=True)


@main.command()
@click.argument("run")
@click.argument("folder", type=click.Path(path_type=Path))
@store_option
@clear_errors
def checkout(run: str, folder: Path, store: Path) -> None:
    """Write the sources of a run, as they were executed, into a new folder."""
    from flor.query.checkout import write_sources
    from flor.query.runs import run as one
    from flor.query.text import visible

    for path in write_sources(one(run, store), folder):
        click.echo(visible(str(path)))
