"""The command line: parse, call one function, print."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any

import click

from flor import __version__
from flor.errors import FlorError, UsageError

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
Command = Callable[..., Any]


def settings() -> dict[str, Any]:
    """`[tool.flor]` of the pyproject.toml in this folder; it stands behind options and environment."""
    path = Path("pyproject.toml")
    try:
        table = tomllib.loads(path.read_text()).get("tool", {}).get("flor", {})
    except (OSError, tomllib.TOMLDecodeError):
        return {}
    values = {key.replace("-", "_"): value for key, value in table.items()}
    return dict.fromkeys(
        (
            "record",
            "replay",
            "plan",
            "runs",
            "show",
            "logs",
            "diff",
            "checkout",
            "fsck",
            "gc",
            "plot",
            "export",
            "resume",
        ),
        values,
    )


@click.group(context_settings=SETTINGS)
@click.version_option(__version__, prog_name="flor")
@click.pass_context
def main(context: click.Context) -> None:
    """Hindsight logging for model training.

    Record a training script; later add a log statement to it, and replay: the values of the run that is over.
    """
    context.default_map = settings()


def parse(hash_seed: str | None) -> Callable[[], None] | None:
    """Run the command line; for `record`, what is left to do once the parser is out of the way."""
    try:
        left = main(obj=hash_seed, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("flor: stopped", err=True)
        sys.exit(1)
    if isinstance(left, int):
        sys.exit(left)
    return left if callable(left) else None


def clear_errors(command: Command) -> Command:
    """Print errors of ours as one sentence on stderr, with the exit code that the contract names."""

    @wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except FlorError as error:
            click.echo(f"flor: {error}", err=True)
            sys.exit(2 if isinstance(error, UsageError) else 1)

    return guarded


def store_option(command: Command) -> Command:
    """--store, for every verb."""
    return click.option(
        "--store", type=click.Path(path_type=Path), default=Path(".flor"), envvar="FLOR_STORE", show_default=True,
        help="The folder with the runs.",
    )(command)  # fmt: skip


def json_option(command: Command) -> Command:
    """--json, for every reading verb."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")(command)


class ScriptCommand(click.Command):
    """A command whose options end where the script, or `-m MODULE`, begins: all after it is the script's."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Put a `--` where our options end."""
        at = self._end_of_options(args)
        return super().parse_args(context, [*args[:at], "--", *args[at:]])

    def _end_of_options(self, args: list[str]) -> int:
        takes = {name for p in self.params if isinstance(p, click.Option) and not p.is_flag for name in p.opts}
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] != "-":
            word = args[at]
            if word == "--":
                del args[at]
                return at
            if word in ("-m", "--module"):
                return min(at + 2, len(args))
            if word.startswith("-m") and not word.startswith("--"):
                return at + 1
            at += 2 if word in takes else 1
        return at


@main.command(cls=ScriptCommand, context_settings={"ignore_unknown_options": False})
@click.option("-m", "--module", help="Run a module, as `python -m` does.")
@click.option("--overhead", type=click.FloatRange(min=0), default=1 / 15, envvar="FLOR_OVERHEAD",
              help="The share of training time that recording may take (default 0.0667; inf: any).")  # fmt: skip
@click.option("--name", envvar="FLOR_NAME", help="The run's name; a free one is chosen otherwise.")
@click.option("--materialize", type=click.Choice(["thread", "fork", "sync", "off"]), default="thread",
              show_default=True, envvar="FLOR_MATERIALIZE", help="How checkpoints are written.")  # fmt: skip
@click.option("--tag", "tags", multiple=True, metavar="K=V", help="A fact of yours to keep with the run.")
@click.option("--background-logging", is_flag=True, envvar="FLOR_BACKGROUND_LOGGING",
              help="Have calls of SummaryWriter done by another process.")  # fmt: skip
@click.option("--include", multiple=True, metavar="GLOB", help="Files to instrument besides the project's own.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Files of the project to leave alone.")
@store_option
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SCRIPT [ARGS]...")
@click.pass_obj
@clear_errors
def record(hash_seed: str | None, module: str | None, words: tuple[str, ...], overhead: float, store: Path,
           **options: Any) -> Callable[[], None]:  # fmt: skip
    """Run a training script as `python` would, and keep what happens."""
    from flor.record import Request, prepare

    if module is None and not words:
        raise UsageError("No script was given.", todo="flor record SCRIPT [ARGS]..., or flor record -m MODULE")
    if any("=" not in tag for tag in options["tags"]):
        raise UsageError("A --tag is written K=V.")
    script, arguments = (None, words) if module is not None else (words[0], words[1:])
    request = Request(script, module, arguments, store=store, tolerance=overhead, hash_seed=hash_seed, **options)
    return prepare(request).run_script


@main.command()
@store_option
@json_option
@clear_errors
def runs(store: Path, as_json: bool) -> None:
    """List the runs of this folder's store."""
    from flor.query.runs import runs as all_runs
    from flor.query.text import runs_table, summary_json

    summaries = [run.summary for run in all_runs(store)]
    if as_json:
        for summary in summaries:
            click.echo(json.dumps(summary_json(summary)))
    else:
        click.echo(runs_table(summaries))


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
        click.echo(loops_text(found) if loops else text.run_text(found))


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

    rows = one(run, store).logs(*names)
    while some := list(islice(rows, 1000)):  # one write each, also where stdout is unbuffered
        sys.stdout.write("".join([(row.json_line() if as_json else row_text(row)) + "\n" for row in some]))


@main.command()
@store_option
@json_option
@clear_errors
def fsck(store: Path, as_json: bool) -> None:
    """Check every byte of a store; executes nothing of it."""
    from flor.store.fsck import check_store
    from flor.store.layout import Layout

    findings = check_store(Layout(store.absolute()))
    for finding in findings:
        click.echo(json.dumps(vars(finding) if hasattr(finding, "__dict__") else str(finding)) if as_json else finding)
    if not findings and not as_json:
        click.echo("all is as it was written")
    sys.exit(1 if findings else 0)


@main.command()
@click.argument("only", nargs=-1, metavar="[RUN]...")
@click.option("--keep-last", type=click.IntRange(min=0), envvar="FLOR_KEEP_LAST", metavar="N",
              help="Remove all but the last N runs.")  # fmt: skip
@click.option("--older-than", envvar="FLOR_OLDER_THAN", metavar="AGE",
              help="Remove only runs older than this: 12h, 30d, 2w.")  # fmt: skip
@click.option("--checkpoints-only", is_flag=True, help="Where a run would be removed, remove only its checkpoints.")
@click.option("--keep-every", type=click.IntRange(min=1), envvar="FLOR_KEEP_EVERY", metavar="K",
              help="Keep every K-th checkpoint of each loop, and the first and the last.")  # fmt: skip
@click.option("--max-size", envvar="FLOR_MAX_SIZE", metavar="SIZE",
              help="Thin out checkpoints, those of the oldest runs first, until all runs take this: 10GB.")  # fmt: skip
@click.option("--keep", multiple=True, metavar="NAME", help="Leave these runs as they are; * and ? stand for others.")
@click.option("--keep-tag", "keep_tags", multiple=True, metavar="K[=V]", help="Leave runs with this tag as they are.")
@click.option("--keep-named", is_flag=True, help="Leave runs that were given a --name as they are.")
@click.option("--yes", is_flag=True, help="Do it; otherwise it is only said what would be done.")
@store_option
@json_option
@clear_errors
def gc(store: Path, as_json: bool, yes: bool, older_than: str | None, max_size: str | None, **wish: Any) -> None:
    """Free disk space: say what would go, and with --yes delete it.

    Without a rule only what nobody needs goes. Runs that are being recorded or replayed are never touched. A run
    without some or all of its checkpoints still replays, and as exactly: it only takes longer.
    """
    import time

    from flor.query.retention import retention_json, retention_text
    from flor.store.layout import Layout
    from flor.store.retention.amounts import parse_age, parse_size
    from flor.store.retention.gc import carry_out, plan_retention
    from flor.store.retention.rules import Rules

    age = parse_age(older_than) if older_than is not None else None
    rules = Rules(older_than=age, max_size=parse_size(max_size) if max_size is not None else None, **wish)
    found = (carry_out if yes else plan_retention)(Layout(store.absolute()), rules, time.time())
    if as_json:
        for row in retention_json(found, rules):
            click.echo(json.dumps(row))
    else:
        click.echo(retention_text(found, rules))
    sys.exit(1 if found.troubles else 0)


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

    chart = chart_of(one(run, store), names, x)
    if output is not None:
        save(chart, output)
        click.echo(output)
        return
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

    done = write(one(run, store), names, None if output == Path("-") else output, format_name)
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

    for path in write_sources(one(run, store), folder):
        click.echo(path)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A line that moves, on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("replaying") as status:
        yield status.update


def replay_options(command: Command) -> Command:
    """What `replay` and `plan` have in common."""
    options: list[Callable[[Command], Command]] = [
        click.argument("run", required=False),
        click.option("-j", "--workers", type=click.IntRange(min=1), envvar="FLOR_WORKERS",
                     help="Worker processes (as many as there are cores for them)."),
        click.option("--epochs", metavar="A:B", help="Only these iterations of the main loop, by slice rules."),
        click.option("--probe", "probes", multiple=True, metavar="FILE:LINE:STATEMENT",
                     help="A log statement that is added without an edit."),
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
    return Replay(found, Wish(workers=workers or default_workers(found), epochs=parse_epochs(epochs), **wish))


def default_workers(run: Any) -> int:
    """As many as the cores allow when each has the recorded number of threads."""
    threads = next((note.values["threads"] for note in run.notes if note.kind == "torch"), 1)
    return max(1, len(os.sched_getaffinity(0)) // max(1, int(threads)))


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
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--tensorboard", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Where event files of probes go (a folder of the replay, in the store).")  # fmt: skip
@json_option
@clear_errors
def replay(everything: bool, only_plan: bool, yes: bool, as_json: bool, **wish: Any) -> None:
    """Get the values of log statements that were added after the run, for the run that is over."""
    from flor.replay.report import plan_text, result_json, verdict_text

    work = _replay(**wish)
    if only_plan:
        click.echo(plan_text(work))
        return
    with progress() as say:
        result = work.perform(say)
    if everything and work.history.children_print:
        result.warnings.append("the script starts programs that share its stdout: what they print is not recorded")
    if as_json:
        for row in result_json(work, result, everything):
            sys.stdout.write(json.dumps(row) + "\n")
    else:
        for piece in result.stdout(everything):
            sys.stdout.buffer.write(piece)
    sys.stdout.flush()
    for text in (*result.told, *([f"in TensorBoard: {result.events}"] if result.events else [])):
        click.echo(f"flor: {text}", err=True)
    click.echo(verdict_text(work, result), err=True)
    sys.exit(0 if result.exact else 3)


@main.command()
@replay_options
@clear_errors
def plan(**wish: Any) -> None:
    """Say what a replay would do, and how long it takes."""
    from flor.replay.report import plan_text

    click.echo(plan_text(_replay(**wish)))


@main.command()
@click.argument("run", required=False)
@store_option
@clear_errors
def diff(run: str | None, store: Path) -> None:
    """Show how the sources differ from the recorded ones."""
    from flor.query.runs import run as one
    from flor.replay.report import diff_text

    click.echo(diff_text(one(run, store)), nl=False)


@main.command()
@click.argument("run", required=False)
@click.option("--name", envvar="FLOR_NAME", help="The new run's name; a free one is chosen otherwise.")
@click.option("--force", is_flag=True, help="Go on though the sources differ by more than log statements.")
@store_option
@clear_errors
def resume(run: str | None, name: str | None, force: bool, store: Path) -> None:
    """Go on training from the last checkpoint of a run that was killed or raised, as a new run."""
    from flor.query.runs import run as one
    from flor.resume.verb import resume as go_on

    go_on(one(run, store), name=name, force=force)
