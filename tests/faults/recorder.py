"""A small training that records: stdout is the training's, and each acknowledgement goes to another descriptor."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from flor.errors import FlorError
from flor.model.records import Ended, Note
from flor.store.journal import JournalWriter
from flor.store.layout import Layout
from flor.store.packs import PackEntry, write_pack
from flor.store.run import RunFolder, join_or_create_run

STEPS = 3


def acknowledge(what: object) -> None:
    os.write(int(sys.argv[2]), f"{what}\n".encode())


def begin() -> tuple[RunFolder, JournalWriter] | None:
    try:
        run = join_or_create_run(Layout(Path(sys.argv[1])), "run", "key")
        return run, run.fragment(0, 1)
    except FlorError:
        return None


def record(recording: tuple[RunFolder, JournalWriter] | None, step: int) -> None:
    if recording is None:
        return
    recording[1].append(Note("step", {"step": step}))
    if recording[1].failed is None:
        acknowledge(step)
    if step == 0:
        recording[1].sync()


def checkpoint(run: RunFolder) -> None:
    try:
        write_pack(run.packs / "0.safetensors", [PackEntry("weight", "U8", (4,), b"1234")])
        acknowledge("pack")
    except FlorError:
        pass


def main() -> None:
    recording = begin()
    for step in range(STEPS):
        print("step", step)
        record(recording, step)
    if recording is not None:
        checkpoint(recording[0])
        if recording[1].seal(Ended({"exit": 0})):
            acknowledge("sealed")
    print("done")


if __name__ == "__main__":
    main()
