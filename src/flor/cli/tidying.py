"""Verbs that keep the store in order: fsck and gc."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from flor.cli.main import main
from flor.cli.options import clear_errors, json_option, store_option


@main.command()
@store_option
@json_option
@clear_errors
def fsck(store: Path, as_json: bool) -> None:
    """Check every byte of a store; executes nothing of it."""
    from flor.query.text import visible
    from flor.store.fsck import check_store
    from flor.store.layout import Layout

    findings = check_store(Layout(store.absolute()))
    for finding in findings:
        if as_json:
            click.echo(json.dumps({**asdict(finding), "path": str(finding.path)}))
        else:
            place = f" at byte {finding.offset:,}" if finding.offset is not None else ""
            click.echo(visible(f"{finding.severity}: {finding.path}{place}: {finding.what}"))
    if not findings and not as_json:
        click.echo("all is as it was written")
    sys.exit(1 if any(finding.severity == "damage" for finding in findings) else 0)


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
