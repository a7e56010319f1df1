from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import adopting
import parts
import pytest
import scenes
from reporting import RESULTS, Places, without_folders

from tests.benchmarks.measurements import overheads

ROOT = Path(__file__).resolve().parent.parent.parent


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py"), "--results", str(folder), "--figures", str(folder)]
    return subprocess.run([*command, *words], capture_output=True, text=True, timeout=300)


def measured(folder: Path, numbers: dict[str, object]) -> None:
    (folder / "record_overhead.json").write_text(json.dumps({"machine": {"processor": "one"}, "results": numbers}))


def test_every_part_is_a_script_of_the_folder() -> None:
    assert [p.name for p in parts.PARTS if not (ROOT / "benchmarks" / f"{p.name}.py").exists()] == []
    assert all(option in ("flordb", "peers", "mirror", "programs") for p in parts.PARTS for option in p.passes)


def test_a_part_is_chosen_by_the_beginning_of_its_name() -> None:
    assert [part.name for part in parts.chosen(["fig05", "table3"], False)] == ["table3", "fig05_record_overhead"]


def test_an_unknown_part_is_told_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="no part is called fig99; there are: record_overhead, table3"):
        parts.chosen(["fig99"], False)


def test_a_part_that_cannot_be_quick_is_left_out_of_a_quick_run() -> None:
    assert "real_scripts" not in [part.name for part in parts.chosen([], True)]


def test_what_is_not_after_the_paper_runs_when_everything_is_asked_for_or_by_name() -> None:
    assert "log_call" not in [part.name for part in parts.chosen([], False)]
    assert "log_call" in [part.name for part in parts.chosen(["log_call"], False)]
    assert tuple(parts.chosen([], False, everything=True)) == parts.PARTS


def test_a_quick_part_leaves_numbers_a_table_and_a_picture(tmp_path: Path) -> None:
    measured(tmp_path, {"rte": overheads(flor=[10.5], off=[19], two=[10.1], one=[10.05], by_hand=[15])})
    done = run("--quick", "--only", "fig05", "--only", "fig06", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    numbers = json.loads((tmp_path / "fig05_record_overhead.json").read_text())
    assert numbers["machine"] == {"processor": "one"}
    assert "| rte | 10.00 (10.00 to 10.00) |" in (tmp_path / "fig05_record_overhead.md").read_text()
    for name in ("fig05_record_overhead.png", "fig06_adaptivity.png"):
        assert 2_000 < (tmp_path / name).stat().st_size < 150_000


def test_a_part_that_fails_is_told_at_the_end_and_the_others_still_run(tmp_path: Path) -> None:
    measured(tmp_path, {"rte": overheads(flor=[10.5], by_hand=[15])})  # nothing of figure 6's ways
    done = run("--quick", "--only", "fig05", "--only", "fig06", "--only", "flordb", folder=tmp_path)
    assert done.returncode == 1
    assert re.search(r"\| fig05_record_overhead \| \d+ s \| done \|", done.stdout)
    assert re.search(r"\| fig06_adaptivity \| \d+ s \| FAILED \|", done.stdout)
    assert "| flordb | 0 s | left out: needs --flordb |" in done.stdout
    assert "fig06_adaptivity FAILED:\nTraceback" in done.stderr


def test_folders_of_this_machine_are_not_in_the_command_that_is_kept() -> None:
    words = ["--quick", "--results", "/x/y", "--flordb", "/x/python", "--rounds", "2"]
    assert without_folders(words) == ["--quick", "--flordb", "PATH", "--rounds", "2"]


def test_numbers_of_another_part_are_those_of_this_run_if_it_has_them(tmp_path: Path) -> None:
    here = Places(tmp_path, tmp_path)
    assert here.find("record_overhead") == json.loads((RESULTS / "record_overhead.json").read_text())
    measured(tmp_path, {})
    assert here.find("record_overhead")["results"] == {}


def test_tables_that_a_script_prints_are_taken_over_as_rows(tmp_path: Path) -> None:
    part = parts.Part("fidelity", "Fidelity", own=False, printed=True)
    stdout = "some words\n| a | b |\n|---|---|\n| 1 | 2 |\n\n| c |\n|---|\n| 3 |\nmore\n"
    adopting.adopt(part, tmp_path, Places(tmp_path, tmp_path), "python benchmarks/fidelity.py", stdout)
    found = json.loads((tmp_path / "fidelity.json").read_text())
    assert found["tables"] == [[{"a": "1", "b": "2"}], [{"c": "3"}]]
    assert (tmp_path / "fidelity.md").read_text().startswith("# Fidelity\n\n| a | b |")


def test_a_list_of_rows_gets_a_machine() -> None:
    assert set(adopting.complete([1])) == {"machine", "rows"}
    assert adopting.complete({"machine": "kept"}) == {"machine": "kept"}


def test_a_wrong_value_is_a_failure() -> None:
    with pytest.raises(scenes.Failed, match=r"line 2 of 2: \[\[\"b\"\], \[\"c\"\]\]"):
        scenes.expect_equal("rte", ["a", "b"], ["a", "c"])


def test_a_missing_value_is_a_failure() -> None:
    with pytest.raises(scenes.Failed, match="line 2 of 2"):
        scenes.expect_equal("rte", ["a", "b"], ["a"])


def test_a_full_run_without_a_probe_proves_nothing() -> None:
    with pytest.raises(scenes.Failed, match="no line of a probe"):
        scenes.expect_equal("rte", [], [])


def test_a_command_that_ends_badly_is_told_with_the_end_of_its_stderr(tmp_path: Path) -> None:
    scene = scenes.Scene(tmp_path)
    scene.write("import sys\nsys.exit('broken')\n")
    with pytest.raises(scenes.Failed, match="ended with 1:\nbroken"):
        scene.plain()


def test_a_script_is_recorded_and_replayed_in_its_scene(tmp_path: Path) -> None:
    scene = scenes.Scene(tmp_path)
    loops = "for i in range(3):\n    for j in range(2):\n        time.sleep(0.02)\n    print(i)\n"
    text = f"import time\n{loops}print('seconds', 1.5)\n"
    scene.write(text)
    assert scene.record().training() == 1.5
    scene.write(text.replace("print(i)", "print(i)\n    print('PROBE', i)"))
    replayed = scene.replay("-j", "1")
    scenes.expect_equal("here", scene.plain().probed(), replayed.probed())
    assert sum(replayed.blocks()) > 0
