"""Loops that live in a library: a small package stands in for transformers, so that a run takes no time."""

from __future__ import annotations

from pathlib import Path

import pytest

from flor.query.runs import run as open_run
from tests.integrations.conftest import Studio

LIBRARY = '''
import time


def helper(values):
    total = 0
    for value in values:
        total += value
    return total


class Trainer:
    """Trains."""

    def __init__(self, step, callbacks):
        self.step, self.callbacks, self.weights, self.log = step, callbacks, [0.0] * 3, []

    def train(self):
        return self._inner_training_loop(epochs=5)

    def _inner_training_loop(self, epochs):
        started = time.time()
        for epoch in range(epochs):
            self._run_epoch(epoch)
            self.tell(epoch)
        return {"train_runtime": time.time() - started, "weights": sum(self.weights)}

    def tell(self, epoch):
        for callback in self.callbacks:
            callback.on_epoch_end(self, epoch)

    def _run_epoch(self, epoch):
        for update_step in range(4):
            self.weights[update_step % 3] += self.step(epoch, update_step)
        self.log.append(helper(self.weights))
'''

SCRIPT = """
import random
import time

from transformers.trainer import Trainer


class Report:
    def on_epoch_end(self, trainer, epoch):
        print("epoch", epoch, trainer.log[-1])
        print("weights", trainer.weights)  #@


def step(epoch, number):
    time.sleep(0.02)
    return random.random()


random.seed(1)
trainer = Trainer(step, [Report()])
print(trainer.train())
"""

INNER = SCRIPT.replace('        print("weights", trainer.weights)  #@\n', "").replace(
    "    return random.random()\n",
    '    value = random.random()  #@\n    print("step", number, value)  #@\n    return random.random()\n',
)


@pytest.fixture
def library(studio: Studio, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a library that is installed outside of the project."""
    site = tmp_path_factory.mktemp("site")
    file = site / "transformers" / "trainer.py"
    file.parent.mkdir()
    (file.parent / "__init__.py").write_text('__version__ = "1.0"\n')
    file.write_text(LIBRARY)
    monkeypatch.setenv("PYTHONPATH", str(site))
    return file


def test_a_librarys_loops_are_recorded_and_skipped_without_an_edit(studio: Studio, library: Path) -> None:
    studio.exact(SCRIPT)
    summary = studio.summary("-j", "1")
    assert summary["verdict"] == "exact"
    assert int(str(summary["blocks_skipped"])) >= 3


def test_two_workers_share_a_librarys_epochs(studio: Studio, library: Path) -> None:
    studio.exact(SCRIPT, "-j", "2")
    assert studio.summary("-j", "2")["workers"] == 2


def test_only_the_functions_with_training_loops_are_kept_and_named(studio: Studio, library: Path) -> None:
    studio.program(SCRIPT, probed=False)
    assert studio.flor("record", "train.py").code == 0
    found = open_run(store=studio.folder / ".flor")
    text = found.sources["transformers/trainer.py"].decode()
    assert "def _run_epoch" in text and "def helper" not in text
    lines = LIBRARY.splitlines()
    assert all(line in ("", lines[number]) for number, line in enumerate(text.splitlines()))
    assert {"epoch", "step"} <= set(found.loop_names.values())


def test_a_library_can_be_left_out(studio: Studio, library: Path) -> None:
    studio.program(SCRIPT, probed=False)
    assert studio.flor("record", "--exclude", "*/transformers/*", "train.py").code == 0
    assert list(open_run(store=studio.folder / ".flor").sources) == ["train.py"]


def test_a_file_of_the_project_is_its_own_whatever_it_is_called(studio: Studio) -> None:
    studio.write('__version__ = "1.0"\n', "transformers/__init__.py")
    studio.write(LIBRARY, "transformers/trainer.py")
    studio.program(SCRIPT, probed=False)
    assert studio.flor("record", "train.py").code == 0
    assert b"def helper" in open_run(store=studio.folder / ".flor").sources["transformers/trainer.py"]


def test_another_version_of_a_library_is_told(studio: Studio, library: Path) -> None:
    studio.program(SCRIPT, probed=False)
    assert studio.flor("record", "train.py").code == 0
    studio.program(SCRIPT, probed=True)
    library.write_text(LIBRARY.replace("self._run_epoch(epoch)\n", "self._run_epoch(epoch + 0)\n"))
    refused = studio.flor("replay")
    assert refused.code == 1
    assert "transformers/trainer.py is not the recorded one" in refused.stderr
    assert "[library-changed]" in refused.stderr
    assert studio.flor("replay", "--force").code in (0, 3)


def test_an_edit_elsewhere_in_a_library_is_no_edit_of_the_loop(studio: Studio, library: Path) -> None:
    studio.program(SCRIPT, probed=False)
    assert studio.flor("record", "--overhead", "10", "train.py").code == 0
    studio.program(SCRIPT, probed=True)
    library.write_text(LIBRARY.replace("total = 0\n", "total = 0  # nothing yet\n"))
    assert studio.flor("replay", "-j", "1").code == 0


def test_a_library_takes_no_probe_of_the_command_line(studio: Studio, library: Path) -> None:
    studio.program(SCRIPT, probed=False)
    assert studio.flor("record", "train.py").code == 0
    refused = studio.flor("replay", "--probe", "transformers/trainer.py:24:print(epoch)")
    assert refused.code == 2
    assert "is a library's" in refused.stderr


def test_a_callback_that_the_probe_adds_is_not_lost_by_a_jump(studio: Studio, library: Path) -> None:
    text = SCRIPT.replace('        print("weights", trainer.weights)  #@\n', "").replace(
        "print(trainer.train())\n", "trainer.callbacks.append(Norms())  #@\nprint(trainer.train())\n"
    )
    text = text.replace(
        "def step(",
        "class Norms:  #@\n"
        "    def on_epoch_end(self, trainer, epoch):  #@\n"
        '        print("norm", epoch, sum(trainer.weights))  #@\n'
        "  #@\n"
        "  #@\n"
        "def step(",
    )
    studio.exact(text, "-j", "2")


def test_a_folder_that_was_there_before_is_there_on_replay(studio: Studio) -> None:
    studio.write("one\n", "data/numbers.txt")
    studio.exact("""
        import os
        import time

        os.makedirs("data", exist_ok=True)
        for epoch in range(3):
            time.sleep(0.02)
            text = open("data/numbers.txt").read()
            print(epoch, text)  #@
    """)
