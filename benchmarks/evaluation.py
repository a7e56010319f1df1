"""docs/evaluation.md, written from evaluation.template.md and the committed results: no number in it is typed by hand.

    python benchmarks/evaluation.py            # writes it
    python benchmarks/evaluation.py --check    # says whether it is what the results say

A section of the template begins with `<!-- part: NAME -->`, and `{summary[fold]:.1f}` in it stands for that number of
docs/results/NAME.json. A part without results says so; one whose results are of a quick run too.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from reporting import FIGURES, RESULTS, ROOT, Numbers, remarks

TEMPLATE = Path(__file__).with_name("evaluation.template.md")
PAGE = ROOT / "docs" / "evaluation.md"
_PART = re.compile(r"^<!-- part: (\w+) -->\n", re.MULTILINE)
_HEADING = re.compile(r"^#+ .*\n", re.MULTILINE)


def page(results: Path) -> str:
    """The whole page."""
    first, *rest = _PART.split(TEMPLATE.read_text())
    sections = zip(rest[::2], rest[1::2], strict=True)
    return first + "".join(section(name, text, results) for name, text in sections)


def section(name: str, text: str, results: Path) -> str:
    """One section, with its numbers in place."""
    heading = _HEADING.match(text)
    assert heading, f"the section {name} has no heading"
    file = results / f"{name}.json"
    if not file.exists():
        return f"{heading[0]}\nNot measured yet: `python benchmarks/run.py --only {name}`.\n\n"
    numbers: Numbers = json.loads(file.read_text())
    return (
        heading[0].format(**numbers)
        + noted(numbers)
        + text[heading.end() :].format(**numbers)
        + foot(name, numbers)
        + "\n"
    )


def noted(numbers: Numbers) -> str:
    """What a reader must know of a result before reading it."""
    words = " ".join(remarks(numbers))
    return f"\n*{words}*\n" if words else ""


def foot(name: str, numbers: Numbers) -> str:
    """The picture, the table, the command."""
    picture = f"![{name}](figures/{name}.png)\n\n" if (FIGURES / f"{name}.png").exists() else ""
    command = numbers.get("command", f"python benchmarks/{name}.py")
    return f"{picture}[Table](results/{name}.md) · [numbers](results/{name}.json) · `{command}`\n"


def main() -> int:
    """Write the page, or compare it."""
    if "--check" in sys.argv:
        return 0 if PAGE.read_text() == page(RESULTS) else 1
    PAGE.write_text(page(RESULTS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
