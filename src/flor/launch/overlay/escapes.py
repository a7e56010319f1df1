"""What replay could not keep in its folder."""

from __future__ import annotations

from typing import NamedTuple


class Escape(NamedTuple):
    """Something the overlay cannot see into or had to refuse: what it was, and which command or file."""

    what: str
    detail: str
