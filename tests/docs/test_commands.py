"""Every command of README.md and docs/quickstart.md, run in order as a reader would, in a folder with the examples."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.docs.pages import Command, Edit, edited, steps_of

ROOT = Path(__file__).parent.parent.parent
PAGES = ("README.md", "docs/quickstart.md")
# What a test must not do: install, and run all tests from within one.
NOT_RUN = ("pip install .", "make test")
# The make target also makes the environment that this test already runs in.
INSTEAD = {"make demo": 'bash demo.sh "$BIN"'}
# Their stdout is the script's, so it is as shown but for numbers.
COMPARED = re.compile(r"flor (record|replay)\b")


@dataclass
class Reader:
    """Somebody who follows a page in a folder of their own."""

    folder: Path
    name: str = field(default="", init=False)

    def follow(self, step: Command | Edit) -> None:
        """Do one step of the page."""
        if isinstance(step, Edit):
            path = self.folder / step.file
            path.write_text(edited(path.read_text(), step))
        elif step.text not in NOT_RUN:
            self._run(step)

    def _run(self, command: Command) -> None:
        line = INSTEAD.get(command.text, command.text)
        assert line.split()[0] in ("flor", "bash"), f"a command that this test does not know: {line}"
        done = self._shell(re.sub(r"\bRUN\b", self.name, line))
        assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"
        if line.startswith("flor record"):
            self.name = done.stderr.split()[2]  # flor: recording NAME
        if COMPARED.match(line):
            expect_shown(command, done.stdout)

    def _shell(self, line: str) -> subprocess.CompletedProcess[str]:
        scripts = str(Path(sys.executable).parent)
        environment = {
            **os.environ,
            "PATH": os.pathsep.join([scripts, os.environ.get("PATH", "")]),
            "BIN": scripts,
            "OMP_NUM_THREADS": "1",
        }
        return subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600
        )


def expect_shown(command: Command, stdout: str) -> None:
    """What the page shows below a command is the beginning of what it prints, but for the digits of numbers."""
    shown = [unnumbered(line) for line in command.shown if not line.startswith(("flor: ", "..."))]
    printed = [unnumbered(line) for line in stdout.splitlines()]
    assert printed[: len(shown)] == shown, f"$ {command.text}"


def unnumbered(line: str) -> str:
    return re.sub(r"\d+(\.\d+)?(e-?\d+)?", "0", line)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """A reader with a copy of the examples."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns(".flor", "__pycache__"))
    return Reader(tmp_path / "examples")


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_a_reader_can_follow_the_page(page: str, reader: Reader) -> None:
    for step in steps_of(ROOT / page):
        reader.follow(step)


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_flor_are_in_blocks_that_are_run(page: str) -> None:
    text = (ROOT / page).read_text()
    prompts = re.findall(r"^ *\$ (.*)$", text, re.MULTILINE)
    known = [step.text for step in steps_of(ROOT / page) if isinstance(step, Command)]
    assert known
    assert set(prompts) <= set(known)
    assert not re.findall(r"^ {4}flor \w.*$", text, re.MULTILINE)


@pytest.mark.parametrize("page", [*PAGES, "docs/faq.md", "docs/how-it-works.md"])
def test_links_lead_to_files(page: str) -> None:
    path = ROOT / page
    links = re.findall(r"\]\(([^)#]+)\)", path.read_text())
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []
