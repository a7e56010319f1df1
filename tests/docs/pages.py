"""A page of documentation as steps: its commands, with what they are shown to print, and its edits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """A line for a shell, and the lines below it."""

    text: str
    shown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edit:
    """A ```diff block: which file, and its hunks."""

    file: str
    hunks: tuple[str, ...]


def steps_of(page: Path) -> list[Command | Edit]:
    """What a reader who follows the page does, in order."""
    return [step for block in _BLOCK.finditer(page.read_text()) for step in _steps(block["info"], block["body"])]


def _steps(info: str, body: str) -> list[Command | Edit]:
    kind, _, file = info.partition(" ")
    if kind == "diff":
        return [Edit(file, tuple(re.split(r"^@@\n", body, flags=re.MULTILINE)))]
    if kind == "sh":
        return [Command(text) for line in body.splitlines() if (text := line.partition("  #")[0].strip())]
    return _session(body) if kind == "console" else []


def _session(body: str) -> list[Command | Edit]:
    """Lines with a prompt are commands, the others are what the last one prints."""
    commands: list[Command | Edit] = []
    for piece in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        text, *shown = piece.splitlines()
        commands.append(Command(text, tuple(shown)))
    return commands


def edited(text: str, edit: Edit) -> str:
    """The text with the added lines of every hunk; the lines around them have to be there, once."""
    for hunk in edit.hunks:
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] == " ")
        assert text.count(before) == 1, f"{edit.file} has not once:\n{before}"
        text = text.replace(before, "".join(line[1:] for line in lines))
    return text
