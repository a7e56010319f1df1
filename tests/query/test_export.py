"""Logs for other programs: read back by these programs."""

from __future__ import annotations

import csv
import json
import math
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recordings import add_replay, at, log, losses, recording, tensor

from flor.errors import StoreUnwritable, UsageError
from flor.model.records import Channel
from flor.query.export.events import crc32c
from flor.query.export.verb import export
from flor.query.runs import Run

FLOR = [sys.executable, "-m", "flor"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    odd = [
        log("text", 'a "quoted", line\nand another', at(3)),
        log("pair", tensor(1.0, 2.0), at(3)),
        log("flag", True, at(3)),
        log("stdout", "epoch 3\n", at(3), Channel.STDOUT),
    ]
    found = recording(tmp_path, [*losses(), *odd])
    add_replay(found, "1-brave-otter", losses(2.0))
    return found


def test_csv_has_a_row_a_value_and_a_column_a_loop(run: Run, tmp_path: Path) -> None:
    done = export(run, [], tmp_path / "out.csv", None)
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert done.rows == len(rows) == 44
    assert [float(row["value"]) for row in rows[:20]] == [1 / (1 + n) for n in range(20)]
    assert (rows[7]["epoch"], rows[7]["batch"], rows[7]["origin"]) == ("1", "2", "recorded")
    assert [row["value"] for row in rows[20:24]] == ['a "quoted", line\nand another', "[1.0, 2.0]", "true", "epoch 3"]
    assert {(row["origin"], row["replay"]) for row in rows[24:]} == {("hindsight", "1-brave-otter")}


def test_jsonl_is_what_logs_prints_as_json(run: Run, tmp_path: Path) -> None:
    export(run, ["loss"], tmp_path / "out.jsonl", None)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert lines == [row.as_json() for row in run.logs("loss")]


def test_pandas_reads_the_csv(run: Run, tmp_path: Path) -> None:
    import pandas

    export(run, ["loss"], tmp_path / "out.csv", None)
    frame = pandas.read_csv(tmp_path / "out.csv")
    assert frame[frame.origin == "recorded"].value.tolist() == [1 / (1 + n) for n in range(20)]


def test_tensorboard_reads_the_event_files(run: Run, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    done = export(run, [], tmp_path / "events", "tensorboard")
    assert (done.rows, done.left_out) == (41, 3)
    for folder, scale in (("recorded", 1.0), ("hindsight-brave-otter", 2.0)):
        found = EventAccumulator(str(tmp_path / "events" / folder), size_guidance={"scalars": 0}).Reload()
        scalars = found.Scalars("loss")
        assert [event.step for event in scalars] == list(range(20))
        assert [event.value for event in scalars] == pytest.approx([scale / (1 + n) for n in range(20)], rel=1e-7)
        assert {event.wall_time for event in scalars} == {1000.0}


def test_event_files_hold_any_number(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    values = [math.nan, math.inf, -math.inf, 1e300, -1e300, 10**400, 0.0, 300.5]
    found = recording(tmp_path, [log("v\u00e9", value, at(e)) for e, value in enumerate(values)])
    export(found, [], tmp_path / "events", "tensorboard")
    scalars = EventAccumulator(str(tmp_path / "events" / "recorded")).Reload().Scalars("v\u00e9")
    assert str([event.value for event in scalars]) == "[nan, inf, -inf, inf, -inf, inf, 0.0, 300.5]"


@given(st.binary(max_size=64))
def test_the_checksum_of_a_text_and_its_change_differ(data: bytes) -> None:
    assert crc32c(data) != crc32c(data + b"\1")


def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # the check value of its definition


def test_a_folder_with_something_in_it_is_not_written_to(run: Run, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "mine").touch()
    with pytest.raises(UsageError, match="not an empty folder"):
        export(run, [], tmp_path / "events", "tensorboard")
    assert [path.name for path in (tmp_path / "events").iterdir()] == ["mine"]


def test_a_format_that_is_not_clear_is_asked_for(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--format csv"):
        export(run, [], tmp_path / "out", None)


def test_a_file_that_can_not_be_written_is_said(run: Run, tmp_path: Path) -> None:
    with pytest.raises(StoreUnwritable, match="No such file"):
        export(run, [], tmp_path / "nowhere" / "out.csv", None)


def test_an_export_that_fails_leaves_the_old_file(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    target.write_text("mine")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(StoreUnwritable):
            export(run, ["loss"], target, None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert target.read_text() == "mine" and not list(tmp_path.glob("*.tmp"))


def test_the_command_line_draws_exports_and_sweeps_without_torch_or_numpy(run: Run, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom flor.cli import parse\n"
        "try:\n    parse(None)\nfinally:\n"
        "    print(sorted({'torch', 'numpy', 'cloudpickle', 'flor.state'} & set(sys.modules)), file=sys.stderr)\n"
    )
    for words in (["plot", "r", "loss"], ["export", "r"], ["gc", "--keep-every", "2", "--yes"]):
        done = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout and done.stderr.endswith("[]\n"), done.stderr


def test_the_forms_of_the_command_line(run: Run, tmp_path: Path) -> None:
    def flor(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*FLOR, *words], cwd=tmp_path, capture_output=True, text=True)

    drawn = flor("plot", "r", "loss", "--width", "60")
    assert drawn.returncode == 0 and "hindsight" in drawn.stdout and "\x1b" not in drawn.stdout
    assert flor("plot", "r", "loss", "-o", "out.png").stdout == "out.png\n"
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    assert flor("plot", "r", "nothing").returncode == 2
    assert flor("export", "r", "loss", "--format", "jsonl", "-o", "-").stdout.count("\n") == 40
    assert "44 values in out.csv" in flor("export", "r", "-o", "out.csv").stderr
