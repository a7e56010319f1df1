"""Verbs that run the script: record and resume."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from flor.cli.main import main
from flor.cli.options import clear_errors, store_option
from flor.errors import UsageError


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
@click.argument("run", required=False)
@click.option("--name", envvar="FLOR_NAME", help="The new run's name; a free one is chosen otherwise.")
@click.option("--force", is_flag=True, help="Go on though the sources differ by more than log statements.")
@click.option("--wall", type=click.Choice(["overlay", "landlock", "python"]), envvar="FLOR_WALL",
              help="What keeps files apart while the beginning is tried (the best allowed here).")  # fmt: skip
@store_option
@clear_errors
def resume(run: str | None, name: str | None, force: bool, wall: str | None, store: Path) -> None:
    """Go on training from the last checkpoint of a run that was killed or raised, as a new run."""
    from flor.query.runs import layout
    from flor.query.runs import run as one
    from flor.resume.recovery import recover
    from flor.resume.verb import resume as go_on

    recover(layout(store), lambda text: click.echo(f"flor: {text}", err=True))
    go_on(one(run, store), name=name, force=force, wall=wall)
