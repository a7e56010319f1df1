"""What a script leaves that has its own options, completed: every result has its machine, its command, and a title."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from machine import facts, facts_line
from parts import Part
from reporting import Numbers, Places, remarks

_ROW = re.compile(r"^\|(.*)\|$")


def adopt(part: Part, work: Path, where: Places, command: str, stdout: str) -> None:
    """Put NAME.json and NAME.md from the folder that the script worked in to where results go."""
    where.results.mkdir(parents=True, exist_ok=True)
    page = tables_of(stdout) if part.printed else (work / f"{part.name}.md").read_text()
    found = {"tables": parse(page)} if part.printed else json.loads((work / f"{part.name}.json").read_text())
    numbers = {"command": command, "quick": where.quick, "remark": where.remark, **complete(found)}
    (where.results / f"{part.name}.json").write_text(json.dumps(numbers, indent=1) + "\n")
    (where.results / f"{part.name}.md").write_text(titled(part, page, numbers))


def complete(found: Any) -> Numbers:
    """The numbers with the machine's facts, if they have none."""
    whole = found if isinstance(found, dict) else {"rows": found}
    return whole if "machine" in whole else {"machine": facts(), **whole}


def titled(part: Part, page: str, numbers: Numbers) -> str:
    """The page with its title, its command and its machine, each once."""
    title, _, rest = page.partition("\n") if page.startswith("# ") else (f"# {part.title}", "", page)
    pieces = [title, *remarks(numbers), rest.strip()]
    pieces += [] if "python benchmarks/" in page else [f"`{numbers['command']}`"]
    pieces += [] if "torch" in page and "cores" in page else [f"Measured on: {facts_line()}."]
    return "\n\n".join(pieces) + "\n"


def tables_of(stdout: str) -> str:
    """Only the tables of what was printed, with an empty line between them."""
    kept: list[str] = []
    for line in stdout.splitlines():
        if _ROW.match(line):
            kept.append(line)
        elif kept and kept[-1]:
            kept.append("")
    return "\n".join(kept).strip()


def parse(page: str) -> list[list[dict[str, str]]]:
    """Each table as rows, by the names in its head."""
    tables = []
    for block in page.split("\n\n"):
        head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        tables.append([dict(zip(head, row, strict=True)) for row in rows])
    return tables
