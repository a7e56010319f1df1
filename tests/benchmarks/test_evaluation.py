"""docs/evaluation.md says what the committed results say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import evaluation
import pytest
from parts import PARTS
from reporting import FIGURES, RESULTS, ROOT


def test_the_page_is_what_the_committed_results_say() -> None:
    assert evaluation.PAGE.read_text() == evaluation.page(RESULTS), "run: python benchmarks/evaluation.py"


def test_links_and_pictures_of_the_page_are_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", evaluation.PAGE.read_text())
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


def test_each_section_is_of_a_part() -> None:
    sections = re.findall(r"<!-- part: (\w+) -->", evaluation.TEMPLATE.read_text())
    assert sections
    assert set(sections) <= {part.name for part in PARTS}


def test_a_part_without_results_says_how_to_get_them(tmp_path: Path) -> None:
    assert evaluation.section("storage", "## Storage\n\n{summary[fold]}\n", tmp_path) == (
        "## Storage\n\nNot measured yet: `python benchmarks/run.py --only storage`.\n\n"
    )


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_result_is_marked_as_one(tmp_path: Path, quick: bool) -> None:
    (tmp_path / "storage.json").write_text(json.dumps({"quick": quick, "summary": {"fold": 2.345}}))
    text = evaluation.section("storage", "## Storage\n\n{summary[fold]:.1f} times\n\n", tmp_path)
    assert "2.3 times" in text
    assert ("From a quick run" in text) is quick


def test_pictures_are_small() -> None:
    pictures = list(FIGURES.glob("*.png"))
    assert pictures
    assert [path.name for path in pictures if path.stat().st_size > 150_000] == []
