"""The page of public scripts is rendered from rows, of which some may be older than others."""

from __future__ import annotations

import json
from pathlib import Path

from real_scripts import Row, page, with_earlier

ROOT = Path(__file__).resolve().parent.parent.parent


def test_a_row_measured_again_replaces_the_earlier_one_in_its_place() -> None:
    earlier = [Row("mnist", "outer", full=1.0), Row("vae", "outer", full=2.0)]
    rows = with_earlier([Row("vae", "inner"), Row("mnist", "outer", full=9.0)], earlier)
    assert [(row.script, row.probe, row.full) for row in rows] == [
        ("mnist", "outer", 9.0),
        ("vae", "outer", 2.0),
        ("vae", "inner", 0.0),
    ]


def test_the_page_counts_what_is_exact_and_names_what_is_not() -> None:
    text = page([Row("mnist", "outer"), Row("vae", "outer", verdict="told", notes=["told: a file is gone"])])
    assert "1 of 2 are exact" in text
    assert "- vae, outer: told: a file is gone" in text


def test_the_page_in_the_documentation_has_the_kept_rows() -> None:
    rows = [Row(**row) for row in json.loads((ROOT / "docs" / "results" / "real_scripts.json").read_text())]
    kept = (ROOT / "docs" / "real-scripts.md").read_text()
    assert [line for line in page(rows).splitlines() if line.startswith("| ")] == [
        line for line in kept.splitlines() if line.startswith("| ")
    ]
