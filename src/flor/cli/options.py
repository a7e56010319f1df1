"""What the verbs have in common: settings, errors as one sentence, shared options."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from flor.errors import FlorError, UsageError

Command = Callable[..., Any]


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
