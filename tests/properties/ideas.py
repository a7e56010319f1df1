"""What training programs do besides training: small pieces of source text, each with its own names.

`idiomatic.ideas`, `wild.ideas` and `models.ideas` have them, one behind the other: a line `== name`, then for up to
six places a line `-- place` and the text: `top` of the file, `setup` before the loops, the beginning of an outer
iteration (`outer`), behind the step of an inner one (`inner`), the end of an outer one (`after`), the report at the
end (`final`). Names bound in `setup` are the program's state, wherever the generator puts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

INLINE = " (inline)"


@dataclass(frozen=True)
class Idea:
    """One piece."""

    name: str
    top: str = ""
    setup: str = ""
    outer: str = ""
    inner: str = ""
    after: str = ""
    final: str = ""
    inline: bool = False  # `after` reads what the inner loop left over, so that loop can't be in a function


def read(text: str) -> Iterator[Idea]:
    """The ideas of a file."""
    for block in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = block.partition("\n")
        parts = dict(part.split("\n", 1) for part in re.split(r"^-- ", rest, flags=re.MULTILINE)[1:])
        places = {place: part.strip("\n") for place, part in parts.items()}
        yield Idea(name.removesuffix(INLINE), inline=name.endswith(INLINE), **places)


def of_file(name: str) -> tuple[Idea, ...]:
    """The ideas of a file beside this one."""
    return tuple(read((Path(__file__).parent / name).read_text()))


IDIOMATIC = of_file("idiomatic.ideas")
WILD = of_file("wild.ideas")
MODELS = {idea.name: idea for idea in of_file("models.ideas")}


def named(*names: str) -> list[Idea]:
    """The ideas of these names."""
    known = {idea.name: idea for idea in (*IDIOMATIC, *WILD)}
    return [known[name] for name in names]
