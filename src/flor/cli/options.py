"""What the verbs have in common: settings, errors as one sentence, shared options."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from flor.errors import Damaged, DamagedRecord, FlorError, UsageError

Command = Callable[..., Any]
_SENSELESS = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError, SyntaxError)
"""What reading raises where a journal is whole and its values are of other kinds than flor writes."""
_TODO = "If `flor fsck` finds no damage, please report this. FLOR_TRACEBACK=1 shows where it was."


def _say(error: FlorError) -> None:
    from flor.query.text import visible

    if os.environ.get("FLOR_TRACEBACK"):
        traceback.print_exc()
    click.echo(visible(f"flor: {error}"), err=True)


def clear_errors(command: Command) -> Command:
    """Print errors of ours as one sentence on stderr, with the exit code that the contract names."""

    @wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except FlorError as error:
            _say(error)
            sys.exit(2 if isinstance(error, UsageError) else 1)
        except _SENSELESS as error:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            _say(Damaged(f"The store has something in it that makes no sense here ({what}).", todo=_TODO))
            sys.exit(1)

    return guarded


@contextmanager
def whole(run: Any) -> Iterator[None]:
    """Read the logs of a run; if some are damaged, fail once all that is whole is out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedRecord)
        yield
    if run.lost:
        raise Damaged(run.lost_text(), todo="`flor fsck` lists all damage; what is whole was read.")


def store_option(command: Command) -> Command:
    """--store, for every verb."""
    return click.option(
        "--store", type=click.Path(path_type=Path), default=Path(".flor"), envvar="FLOR_STORE", show_default=True,
        help="The folder with the runs.",
    )(command)  # fmt: skip


def json_option(command: Command) -> Command:
    """--json, for every reading verb."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")(command)
