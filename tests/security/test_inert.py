"""P5: looking at a store executes nothing from it; P6: nothing is written outside of where it belongs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from flor.model.records import Ended, Facts, Note, Source
from flor.query.checkout import write_sources
from flor.query.runs import run
from flor.store.layout import Layout
from flor.store.run import create_run

HOSTILE = b"import os\nos.system('touch executed')\nfor i in range(3):\n    os.system('touch executed')\n"


def hostile_store(root: Path) -> Path:
    """A store whose one run was written by somebody with bad intentions."""
    layout = Layout(root / ".flor")
    folder = create_run(layout, "evil")
    journal = folder.fragment(0, 1)
    journal.append(Facts({"argv": ["train.py"], "script": "train.py", "module": None, "cwd": "/", "started": 0}))
    journal.append(Source("../../outside.py", "__main__", HOSTILE))
    journal.append(Source("/absolute.py", "x", HOSTILE))
    journal.append(Source("train.py", "__main__", HOSTILE))
    journal.append(Note("trouble", {"text": "\x1b]0;title\x07"}))
    checkpoints = {"written": 0, "bytes": 0, "seconds": 0, "left_out": {}}
    ended = {"status": "finished", "exit": 0, "seconds": 1.0, "cpu_seconds": 1.0, "records": 0}
    journal.seal(Ended({**ended, "loops": {}, "checkpoints": checkpoints}))
    return layout.root


def test_every_reading_verb_executes_nothing(tmp_path: Path) -> None:
    hostile_store(tmp_path)
    for words in (
        ["runs"],
        ["show"],
        ["show", "--loops"],
        ["logs"],
        ["runs", "--json"],
        ["fsck"],
        ["gc", "--keep-every", "2", "--max-size", "1", "--yes"],
        ["plot"],
        ["export"],
        ["checkout", "evil", "out"],
    ):
        done = subprocess.run([sys.executable, "-m", "flor", *words], cwd=tmp_path, capture_output=True, text=True)
        assert "Traceback" not in done.stderr, done.stderr
    assert not list(tmp_path.rglob("executed"))


def test_checkout_writes_inside_its_folder_only(tmp_path: Path) -> None:
    store = hostile_store(tmp_path / "project")
    written = write_sources(run("evil", store), tmp_path / "out")
    assert all(path.resolve().is_relative_to((tmp_path / "out").resolve()) for path in written)
    assert not (tmp_path / "outside.py").exists()


def test_reading_a_store_imports_nothing_that_could_execute_it(tmp_path: Path) -> None:
    hostile_store(tmp_path)
    code = (
        "import sys, flor\n"
        "for run in flor.runs():\n    list(run.logs()); run.summary\n"
        "print(sorted({'torch', 'numpy', 'pickle', 'cloudpickle', 'marshal_', 'flor.state'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
