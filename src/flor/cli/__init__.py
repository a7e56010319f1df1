"""The command line: parse, call one function, print."""

from flor.cli import looking, replaying, running, tidying  # each hangs its verbs up
from flor.cli.main import main, parse

__all__ = ["looking", "main", "parse", "replaying", "running", "tidying"]
