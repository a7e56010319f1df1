"""The figures in README.md are those of the result pages that it links to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent.parent / "README.md"
ROW = re.compile(r"^\| \[[^]]+\]\((?P<page>docs/results/[^)]+)\) \| (?P<text>.*) \|$", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?")


def rows() -> list[tuple[str, str]]:
    section = README.read_text().partition("<!-- figures -->")[2].partition("<!-- end of figures -->")[0]
    return [(row["page"], row["text"]) for row in ROW.finditer(section)]


def test_there_are_figures() -> None:
    assert rows()


@pytest.mark.parametrize(("page", "text"), rows())
def test_each_number_is_on_its_page(page: str, text: str) -> None:
    measured = set(NUMBER.findall((README.parent / page).read_text()))
    assert set(NUMBER.findall(text)) - measured == set()
