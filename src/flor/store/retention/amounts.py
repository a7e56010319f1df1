"""Sizes and ages as people write them: `10GB`, `30d`."""

from __future__ import annotations

import math
import re

from flor.errors import UsageError

_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*")
_DECIMAL = ("", "k", "m", "g", "t", "p")
SIZES = {
    **{f"{prefix}b": 1000**power for power, prefix in enumerate(_DECIMAL)},
    **{prefix: 1000**power for power, prefix in enumerate(_DECIMAL)},
    **{f"{prefix}ib": 1024**power for power, prefix in enumerate(_DECIMAL) if power},
}
AGES = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


def parse_size(text: str) -> int:
    """Bytes: `10GB` and `10 gb` are decimal, `10GiB` is binary, a bare number is bytes."""
    return math.floor(_parse(text, SIZES, "a size such as 10GB, 500MB or 1.5GiB"))


def parse_age(text: str) -> float:
    """Seconds: `90min`, `12h`, `30d`, `2w`."""
    return _parse(text, AGES, "an age such as 12h, 30d or 2w")


def _parse(text: str, units: dict[str, int], form: str) -> float:
    match = _NUMBER.fullmatch(text)
    unit = units.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise UsageError(f"{text!r} is not {form}.")
    return float(match[1]) * unit


def size_text(count: int) -> str:
    """A number of bytes for people."""
    number = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{count} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
