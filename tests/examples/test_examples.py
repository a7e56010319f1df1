"""The examples: each is recorded, asked what its last lines propose, and judged by a full run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.examples.bench import EXAMPLES, Bench

# Small sizes, so that a run is over as soon as torch is imported.
ARGUMENTS = {
    "digits.py": "",
    "function_style.py": "--epochs 3 --batch-size 100",
    "char_lm.py": "--steps 12 --eval-every 4 --batch-size 4 --context 16 --width 16 --layers 1",
    "finetune_frozen.py": "--pretrain-epochs 1 --epochs 3 --width 32",
    "gan.py": "--epochs 3 --batch-size 128",
}
QUESTION = re.compile(
    r"^# Now ask the past\. Below `(?P<anchor>.+)` add: (?P<statement>.+)\n# and run: flor (?P<command>.+)\n\Z",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Question:
    """What the last two lines of an example propose."""

    anchor: str
    statement: str
    command: list[str]


def question_of(example: str) -> Question:
    found = QUESTION.search((EXAMPLES / example).read_text())
    assert found is not None, f"{example} does not end with its question"
    return Question(found["anchor"], found["statement"], found["command"].split())


def add_probe(bench: Bench, question: Question) -> None:
    """Put the statement where the question says, as deep as the line above it."""
    text = (bench.folder / "train.py").read_text()
    places = re.findall(rf"^( *){re.escape(question.anchor)}$", text, re.MULTILINE)
    assert len(places) == 1, question.anchor
    line = f"{places[0]}{question.anchor}\n"
    bench.edit(line, f"{line}{places[0]}{question.statement}\n")


def test_every_example_is_judged() -> None:
    scripts = {path.name for path in EXAMPLES.glob("*.py") if not path.name.startswith("figure")}
    assert scripts == set(ARGUMENTS)


@pytest.mark.parametrize("example", sorted(ARGUMENTS))
def test_an_example_knows_nothing_of_flor(example: str) -> None:
    assert "import flor" not in (EXAMPLES / example).read_text()


@pytest.mark.long
@pytest.mark.parametrize("example", sorted(ARGUMENTS))
def test_a_question_to_an_example_is_answered_as_by_a_full_run(example: str, tmp_path: Path) -> None:
    bench, question, words = Bench(tmp_path), question_of(example), ARGUMENTS[example].split()
    bench.write(example)
    recorded = bench.flor("record", "train.py", *words)
    add_probe(bench, question)
    wanted = bench.python(*words)
    assert wanted != recorded
    # A replay that is not exact ends with another code than 0, which Bench does not accept.
    assert bench.flor(*question.command, "--all", "-j", "1") == wanted
