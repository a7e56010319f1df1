"""A run that was killed or raised goes on, and ends as if nothing had happened."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

import flor

PLAIN = """
    import random, time
    random.seed(7)
    log = open("log.csv", "w")
    print("the beginning")
    weights, history = [0.0] * 3, []
    for epoch in range(10):
        total = 0.0
        for batch in range(4):
            weights[batch % 3] += random.gauss(0, 1)
            total += weights[batch % 3]
            time.sleep(0.02)
        history.append(total)
        log.write(f"{epoch},{total}\\n")
        log.flush()
        with open(f"epoch{epoch}.txt", "w") as file:
            file.write(str(weights))
        print("epoch", epoch, total, flush=True)
    log.close()
    print("end", sum(history), weights)
"""

TORCH = """
    import random, time
    import torch
    torch.manual_seed(0)
    random.seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    data = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    for epoch in range(8):
        for x, y in loader:
            loss = ((model(x) - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            time.sleep(0.02)
        print("epoch", epoch, loss.item(), random.random(), flush=True)
    torch.save(model.state_dict(), "final.pt")
"""

FUNCTIONS = """
    import random, time

    def train(fold, state):
        step = 0
        while True:
            state["x"] = 0.9 * state["x"] + random.random()
            time.sleep(0.03)
            step += 1
            if step % 10 == 0:
                print("fold", fold, "step", step, state["x"], flush=True)
            if step == 50:
                return state["x"]

    random.seed(3)
    results = []
    for fold in range(2):
        results.append(train(fold, {"x": 1.0 + fold}))
        print("fold", fold, "is done", results, flush=True)
"""


@dataclass(frozen=True)
class Bench:
    """A program, run whole in one folder and in pieces in another."""

    folder: Path
    text: str

    def whole(self) -> str:
        """What it prints if nothing happens to it."""
        (self.folder / "whole").mkdir(exist_ok=True)
        return self._in("whole", [sys.executable, "train.py"]).stdout

    def killed(self, after: str) -> str:
        """What it printed until it was killed, a while after a line that begins so."""
        (self.folder / "pieces").mkdir(exist_ok=True)
        (self.folder / "pieces" / "train.py").write_text(dedent(self.text))
        command = [sys.executable, "-m", "flor", "record", "--overhead", "10", "train.py"]
        process = subprocess.Popen(
            command, cwd=self.folder / "pieces", env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        assert process.stdout is not None
        printed = ""
        while not printed.rpartition("\n")[0].rpartition("\n")[2].startswith(after):
            line = process.stdout.readline()
            assert line, "the script ended by itself"
            printed += line
        time.sleep(0.05)
        process.kill()
        printed += process.stdout.read()
        process.stdout.close()
        process.wait()
        return printed

    def flor(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of ours where it was killed."""
        return self._in("pieces", [sys.executable, "-m", "flor", *words])

    def _in(self, folder: str, command: list[str]) -> subprocess.CompletedProcess[str]:
        script = self.folder / folder / "train.py"
        if not script.exists():
            script.write_text(dedent(self.text))
        return subprocess.run(
            command, cwd=self.folder / folder, env=_environment(), capture_output=True, text=True, timeout=120
        )

    def same(self, name: str) -> bool:
        """True if a file has the same bytes in both folders."""
        return (self.folder / "whole" / name).read_bytes() == (self.folder / "pieces" / name).read_bytes()

    def edit(self, old: str, new: str) -> None:
        """Change the program where it was killed."""
        path = self.folder / "pieces" / "train.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))


def _environment() -> dict[str, str]:
    values = {**os.environ, "OMP_NUM_THREADS": "1"}
    values.pop("PYTHONHASHSEED", None)
    return values


def joined(first: str, second: str, whole: str) -> bool:
    """True if the second part begins where a prefix of the first one ends."""
    return whole.endswith(second) and first.startswith(whole[: len(whole) - len(second)])


@pytest.mark.parametrize("after", ["the beginning", "epoch 3", "epoch 7"])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path: Path, after: str) -> None:
    bench = Bench(tmp_path, PLAIN)
    whole, first = bench.whole(), bench.killed("epoch 0" if after == "the beginning" else after)
    second = bench.flor("resume")
    assert second.returncode == 0, second.stderr
    assert joined(first, second.stdout, whole), second.stdout
    assert len(second.stdout) < len(whole)
    assert bench.same("log.csv")
    assert bench.same("epoch9.txt")


def test_weights_after_a_resume_are_those_of_the_whole_run(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    bench = Bench(tmp_path, TORCH)
    whole, first = bench.whole(), bench.killed("epoch 4")
    second = bench.flor("resume")
    assert joined(first, second.stdout, whole), second.stderr
    wanted, found = (torch.load(tmp_path / folder / "final.pt") for folder in ("whole", "pieces"))
    assert all(torch.equal(wanted[name], found[name]) for name in wanted)


def test_a_loop_in_a_function_in_a_loop_goes_on_in_its_middle(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FUNCTIONS)
    whole, first = bench.whole(), bench.killed("fold 1 step 40")
    second = bench.flor("resume")
    assert joined(first, second.stdout, whole), second.stdout + second.stderr
    assert "fold 1 step 10" not in second.stdout


def test_a_resumed_run_is_a_whole_run_that_replays(tmp_path: Path) -> None:
    bench = Bench(tmp_path, PLAIN)
    whole = bench.whole()
    bench.killed("epoch 5")
    bench.flor("resume", "--name", "second")
    logged = "".join(f"{row.value}\n" for row in flor.run("second", tmp_path / "pieces" / ".flor").logs("stdout"))
    assert logged == whole
    bench.edit("    history.append(total)\n", "    history.append(total)\n    print('probe', epoch, total)\n")
    replayed = bench.flor("replay", "second", "-j", "1")
    assert replayed.returncode == 0, replayed.stderr
    assert [line.split()[1] for line in replayed.stdout.splitlines()] == [str(epoch) for epoch in range(10)]
    assert {line.removeprefix("probe ") for line in replayed.stdout.splitlines()} == {
        line.removeprefix("epoch ") for line in whole.splitlines() if line.startswith("epoch")
    }


def test_a_run_that_is_killed_twice_goes_on_twice(tmp_path: Path) -> None:
    bench = Bench(tmp_path, PLAIN)
    whole = bench.whole()
    bench.killed("epoch 2")
    process = subprocess.Popen(
        [sys.executable, "-m", "flor", "resume"], cwd=tmp_path / "pieces", env=_environment(), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert any(line.startswith("epoch 6") for line in process.stdout)
    process.kill()
    process.stdout.close()
    process.wait()
    third = bench.flor("resume")
    assert whole.endswith(third.stdout), third.stderr
    assert "epoch 3" not in third.stdout
    assert bench.same("log.csv")


def test_files_from_after_the_checkpoint_are_set_aside_and_made_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, PLAIN.replace('open(f"epoch{epoch}.txt", "w")', 'open(f"epoch{epoch}.txt", "x")'))
    bench.whole()
    bench.killed("epoch 4")
    second = bench.flor("resume")
    assert second.returncode == 0, second.stderr  # mode x fails if the file is there
    assert all(bench.same(f"epoch{epoch}.txt") for epoch in range(10))


RAISES = PLAIN.replace("        history.append(total)\n", "        history.append(total / (epoch - 6))\n")


def test_a_run_that_raised_goes_on_with_the_mended_source(tmp_path: Path) -> None:
    bench = Bench(tmp_path, RAISES)
    (tmp_path / "pieces").mkdir()
    assert bench.flor("record", "--overhead", "10", "--name", "first", "train.py").returncode == 1
    again = bench.flor("resume", "first")
    assert again.returncode == 1
    assert "ZeroDivisionError" in again.stderr
    assert "epoch 5" not in again.stdout
    bench.edit("total / (epoch - 6)", "total / (epoch - 6 or 1)")
    refused = bench.flor("resume", "first")
    assert refused.returncode == 1
    assert refused.stderr.rstrip().endswith("[edit-refused]")
    assert "+    history.append(total / (epoch - 6 or 1))" in refused.stderr.replace("+        h", "+    h")
    forced = bench.flor("resume", "first", "--force", "--name", "mended")
    assert forced.returncode == 0, forced.stderr
    bench.edit("total / (epoch - 6 or 1)", "total / (epoch - 6 or 1)")
    mended = Bench(tmp_path / "other", RAISES.replace("(epoch - 6)", "(epoch - 6 or 1)"))
    (tmp_path / "other").mkdir()
    assert mended.whole().endswith(forced.stdout)


def test_added_log_statements_log_from_the_checkpoint_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, PLAIN)
    bench.killed("epoch 4")
    bench.edit("    history.append(total)\n", "    history.append(total)\n    print('more', epoch)\n")
    second = bench.flor("resume")
    assert second.returncode == 0, second.stderr
    assert "more 9" in second.stdout
    assert "more 0" not in second.stdout


def test_what_can_not_go_on_is_said(tmp_path: Path) -> None:
    (tmp_path / "pieces").mkdir()
    bench = Bench(tmp_path, "for i in range(3):\n    print(i)\n")
    bench.flor("record", "--name", "done", "train.py")
    finished = bench.flor("resume", "done")
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.rstrip().endswith("[nothing-to-replay]")
    bench.edit("print(i)", "raise SystemExit(3)")
    assert bench.flor("record", "--name", "short", "train.py").returncode == 3
    assert "has no checkpoint" in bench.flor("resume", "short").stderr
    assert bench.flor("resume", "nobody").returncode == 2


def test_a_damaged_checkpoint_makes_way_for_an_earlier_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path, PLAIN)
    whole, first = bench.whole(), bench.killed("epoch 5")
    (run,) = flor.runs(tmp_path / "pieces" / ".flor")
    for last in sorted(run.folder.packs.glob("*.safetensors"))[-2:]:  # the very last may not be announced yet
        data = bytearray(last.read_bytes())
        data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
        last.write_bytes(data)
    second = bench.flor("resume")
    assert joined(first, second.stdout, whole), second.stderr
    assert "An earlier one is tried" in second.stderr
    assert len(flor.runs(tmp_path / "pieces" / ".flor")) == 2  # the attempt that failed left no run behind


def test_the_new_run_says_where_it_came_from(tmp_path: Path) -> None:
    bench = Bench(tmp_path, PLAIN)
    bench.killed("epoch 4")
    told = bench.flor("resume", "--name", "second").stderr
    (note,) = [note for note in flor.run("second", tmp_path / "pieces" / ".flor").notes if note.kind == "resumed"]
    assert f"at {note.values['position']} as second" in told
    assert flor.run("second", tmp_path / "pieces" / ".flor").facts["resumed"]["run"] == note.values["run"]
