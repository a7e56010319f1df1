"""Real libraries that write files: a replay leaves the user's file as it is, a resumed run loses nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from tests.resume.test_files import everything
from tests.resume.test_resume import Bench

TRAIN = """
    import random, time
    LIBRARY
    random.seed(1)
    start()
    total = 0.0
    for epoch in range(6):
        for batch in range(4):
            total += random.random()
            time.sleep(0.02)
        save(epoch, total)
        print("epoch", epoch, total, flush=True)
    print(show())
"""

LIBRARIES = {
    "h5py": """
    import h5py
    def start():
        h5py.File("results.h5", "w").close()
    def save(epoch, total):
        with h5py.File("results.h5", "a") as file:
            file[f"epoch{epoch}"] = [total]
    def show():
        with h5py.File("results.h5") as file:
            return {name: float(file[name][0]) for name in sorted(file)}
    """,
    "pyarrow": """
    import pyarrow, pyarrow.parquet
    def start():
        save(-1, 0.0)
    def save(epoch, total):
        table = pyarrow.table({"epoch": [epoch], "total": [total]})
        if epoch >= 0:
            table = pyarrow.concat_tables([pyarrow.parquet.read_table("results.parquet"), table])
        pyarrow.parquet.write_table(table, "results.parquet")
    def show():
        return pyarrow.parquet.read_table("results.parquet").to_pydict()
    """,
    "tokenizers": """
    import os
    from tokenizers import Tokenizer, models
    def start():
        Tokenizer(models.BPE()).save("tokenizer.json")
    def save(epoch, total):
        tokenizer = Tokenizer.from_file("tokenizer.json")
        tokenizer.add_tokens([f"epoch{epoch}"])
        tokenizer.save("tokenizer.json")
    def show():
        return sorted(Tokenizer.from_file("tokenizer.json").get_vocab())
    """,
    "safetensors": """
    import numpy
    from safetensors.numpy import load_file, save_file
    def start():
        save_file({"first": numpy.zeros(2)}, "results.safetensors")
    def save(epoch, total):
        save_file({**load_file("results.safetensors"), f"epoch{epoch}": numpy.array([total])}, "results.safetensors")
    def show():
        return {name: float(value[0]) for name, value in sorted(load_file("results.safetensors").items())}
    """,
    "sqlite3": """
    import sqlite3
    def run(text):
        connection = sqlite3.connect("results.db")
        found = connection.execute(text).fetchall()
        connection.commit()
        connection.close()
        return found
    def start():
        run("drop table if exists totals")
        run("create table totals (epoch, total)")
    def save(epoch, total):
        run(f"insert into totals values ({epoch}, {total})")
    def show():
        return run("select * from totals order by epoch")
    """,
    "zarr": """
    import zarr
    def start():
        zarr.open_group("results.zarr", mode="w")
    def save(epoch, total):
        array = zarr.open_group("results.zarr", mode="a").create_array(f"epoch{epoch}", shape=(1,), dtype="f8")
        array[:] = total
    def show():
        group = zarr.open_group("results.zarr", mode="r")
        return {name: float(group[name][0]) for name in sorted(group.array_keys())}
    """,
}


def add_by_hand(library: str) -> None:
    """What the user adds to the file after the run was killed."""
    space: dict[str, Callable[[int, float], None]] = {}
    exec(dedent(LIBRARIES[library]), space)
    space["save"](77, 77.0)


QUICK = ("h5py", "tokenizers")  # of the others `make long` takes care


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in LIBRARIES]
)
def test_what_the_user_added_by_hand_is_not_lost(tmp_path: Path, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(library)
    bench = Bench(tmp_path, TRAIN.replace("    LIBRARY\n", LIBRARIES[library].rstrip(" ")))
    whole, first = bench.whole().splitlines(), bench.killed("epoch 3").splitlines()
    assert first == whole[: len(first)]
    folder = tmp_path / "pieces"
    monkeypatch.chdir(folder)
    add_by_hand(library)
    before = everything(folder)

    bench.edit("    save(epoch, total)\n", "    save(epoch, total)\n    print('probe', epoch, total)\n")
    replayed = bench.flor("replay", "-j", "1")
    assert replayed.returncode == 0, replayed.stderr
    values = [line.replace("probe", "epoch") for line in replayed.stdout.splitlines()]
    assert values == whole[: len(values)]
    assert len(values) >= len(first)  # the iteration in which it was killed is executed to its end
    bench.edit("    print('probe', epoch, total)\n", "")
    assert everything(folder) == before

    resumed = bench.flor("resume")
    assert resumed.returncode == 0, resumed.stderr
    lines = resumed.stdout.splitlines()
    assert 0 < len(lines) < len(whole)
    assert lines[:-1] == whole[-len(lines) : -1]  # the last one may show what the user added
    aside = [path.read_bytes() for path in (folder / ".flor").glob("runs/*/aside/**/*") if path.is_file()]
    after = everything(folder)
    if "77" not in lines[-1]:
        assert all(after.get(path) == content or content in aside for path, content in before.items()), resumed.stderr
        assert lines[-1] == whole[-1]
