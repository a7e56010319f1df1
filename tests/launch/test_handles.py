"""Which code reads, after a checkpoint, an object that the checkpoint does not hold."""

from __future__ import annotations

import pytest

from flor.launch.handles import ReadLater

LOOP = "train.py::<module>#0"
PROGRAM = """
fig, ax = figure()
start = ax.get_lines()
for epoch in range(3):
    train()
    {}
"""


def where(statement: str, *names: str, before: str = "") -> str:
    return ReadLater({"train.py": before + PROGRAM.format(statement)})(names or ("fig", "ax"), LOOP)


@pytest.mark.parametrize(
    "statement",
    [
        "pass",
        "fig.savefig('a.png')",
        "ax.plot([1], [2]).set(color='red')",
        "plt.close(fig)",
        "writer.add_figure('f', fig)",
        "folder = fig.log_dir + '/a'",
        "if fig is not None: fig.clf()",
        "with fig: pass",
        "show(fig)",
        "other = fig; other.clf()",
    ],
)
def test_output_alone_is_no_read(statement: str) -> None:
    assert where(statement, before="def show(shown): shown.draw()\n") == ""


@pytest.mark.parametrize(
    "statement",
    [
        "print(fig)",
        "print(len(ax.lines))",
        "total += ax.count",
        "n = len(fig)",
        "lines = ax.plot([1], [2])",
        "show(fig)",
        "other = fig; total = other.n",
        "total = given().n",
        "holders = [fig]",
        "logger.info('%s', fig.n)",
    ],
)
def test_what_uses_its_state_is_a_read(statement: str) -> None:
    before = "def show(shown): return shown.count + 1\ndef given(): return fig\n"
    assert where(statement, before=before).startswith("train.py:")


def test_what_ran_before_the_loop_is_past() -> None:
    assert where("pass", before="size = fig.size\n") == ""


def test_an_attribute_of_an_object_is_followed_by_its_name() -> None:
    assert where("trainer.log()", "writer", before="class T:\n    def log(self): self.writer.add(1)\n") == ""
    assert where("trainer.log()", "writer", before="class T:\n    def log(self): return self.writer.n\n")


def test_a_function_that_is_called_once_has_a_past_of_its_own() -> None:
    text = "def main():\n    fig = make()\n    n = fig.n\n    for i in range(3):\n        fig.draw()\nmain()\n"
    assert ReadLater({"a.py": text})(("fig",), "a.py::main#0") == ""
    assert ReadLater({"a.py": text + "main()\n"})(("fig",), "a.py::main#0") == "a.py:3"


def test_numbers_that_stand_for_files_of_the_system_are_found() -> None:
    text = "import os\nfrom os import pipe\nfd = os.open('a', 0)\nnear, far = pipe()\nn = os.getpid()\n"
    assert ReadLater({"a.py": text}).descriptors() == ("far", "fd", "near")
