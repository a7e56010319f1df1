"""The command line: parse, call one function, print."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
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
    return dict.fromkeys(("record", "replay", "plan", "runs", "show", "logs", "diff", "checkout", "fsck"), values)


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
@click.option("--overhead", type=click.FloatRange(min=0, max=10), default=1 / 15, envvar="FLOR_OVERHEAD",
              help="The share of training time that recording may take (default 0.0667).")  # fmt: skip
@click.option("--name", envvar="FLOR_NAME", help="The run's name; a free one is chosen otherwise.")
@click.option("--materialize", type=click.Choice(["thread", "sync", "off"]), default="thread", show_default=True,
              envvar="FLOR_MATERIALIZE", help="How checkpoints are written.")  # fmt: skip
@click.option("--tag", "tags", multiple=True, metavar="K=V", help="A fact of yours to keep with the run.")
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
    write = sys.stdout.write
    for row in rows:
        write((json.dumps(row.as_json()) if as_json else row_text(row)) + "\n")


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
