"""Made-up measurements in the form that benchmarks/record_overhead.py and fig09_replay_latency.py keep."""

from __future__ import annotations

from typing import Any

Numbers = dict[str, Any]


def round_of(seconds: float, checkpoints: int = 3) -> Numbers:
    return {"training": seconds, "process": seconds + 2, "checkpoints": checkpoints}


def overheads(**others: list[float]) -> Numbers:
    """The rounds of one workload: plain takes 10 s, the ways named here what is given."""
    names = {"flor": "flor", "off": "flor, adaptivity off", "by_hand": "torch.save each epoch"}
    names |= {"two": "flor 2 %", "one": "flor 1 %"}
    found = {"plain": [round_of(10.0), round_of(10.0)]}
    return found | {names[key]: [round_of(second) for second in seconds] for key, seconds in others.items()}


def latency(full: float, outer: float, inner: float, *, start: float = 2.0, epochs: int = 7) -> Numbers:
    """One row of figure 9."""
    probe = {"executed": 1, "skipped": 6, "lines": 7}
    return {
        "workload": "rte",
        "epochs": epochs,
        "checkpoints": 9,
        "full": full,
        "start": start,
        "outer": {**probe, "seconds": [outer]},
        "inner": {**probe, "seconds": [inner, inner]},
    }
