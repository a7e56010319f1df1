"""The command itself: its verbs hang themselves up here."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from flor import __version__

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


def settings(verbs: Iterable[str]) -> dict[str, Any]:
    """`[tool.flor]` of the pyproject.toml in this folder, for every verb; it stands behind options and environment."""
    path = Path("pyproject.toml")
    try:
        table = tomllib.loads(path.read_text()).get("tool", {}).get("flor", {})
    except (OSError, tomllib.TOMLDecodeError):
        return {}
    values = {key.replace("-", "_"): value for key, value in table.items()}
    return dict.fromkeys(verbs, values)


@click.group(context_settings=SETTINGS)
@click.version_option(__version__, prog_name="flor")
@click.pass_context
def main(context: click.Context) -> None:
    """Hindsight logging for model training.

    Record a training script; later add a log statement to it, and replay: the values of the run that is over.
    """
    context.default_map = settings(main.commands)


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
