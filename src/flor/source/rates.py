"""Values whose own names say that they are times or rates, as libraries report their speed under."""

from __future__ import annotations

import re

_NAME = re.compile(r"(?:.*/)?(?:\w+_runtime|\w+_per_second)|.*/runtime")
_VALUE = re.compile(r"""((?:\w+_runtime|\w+_per_second)['"]?\s*[:=]\s*)(['"]?)-?[\d.]+(?:e[+-]?\d+)?\2""")
_BAR = re.compile(r"\b\d+/\d+\b.*\d ?(?:it/s|s/it)\b")


def is_rate(name: str) -> bool:
    """True for `train_runtime`, `eval/samples_per_second` and the like."""
    return _NAME.fullmatch(name) is not None


def without_rates(text: str) -> str:
    """The text with a mark in place of each value that stands behind such a name."""
    return _VALUE.sub(r"\1~", text)


def is_bar(text: str) -> bool:
    """True for what a progress bar draws: `40/40 0:00:00 • 0:00:00 301.43it/s`."""
    return "\r" in text or _BAR.search(text) is not None
