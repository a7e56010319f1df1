"""What checkpoints have cost a run and what they hold, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def size(count: float) -> str:
    """Bytes for people."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 1000:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} TB"


def counted(number: int, what: str) -> str:
    """So many of them, in words: 1 end, 2 ends."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def kept_text(facts: Mapping[str, Any]) -> str:
    """How many checkpoints, and their bytes: those that were written, and those of the states that they stand for."""
    text = f"{counted(facts['written'], 'checkpoint')}, {size(facts['bytes'])}"
    logical = facts.get("bytes_logical", 0)
    return text + (f" for {size(logical)} of state" if logical > 1.5 * facts["bytes"] else "")


def overhead_text(facts: Mapping[str, Any], seconds: float) -> str:
    """The share of the program's own time that they took."""
    share = 100 * facts["seconds"] / max(seconds - facts["seconds"], 1e-9)
    return f"measured overhead {share:.1f} %"


def cost_lines(facts: Mapping[str, Any], seconds: float) -> list[str]:
    """Everything about a run's checkpoints, a line each."""
    stall, slow = facts.get("stall", facts["seconds"]), facts.get("slowdown", 0.0)
    lines = [kept_text(facts)]
    lines.append(f"{overhead_text(facts, seconds)}: {stall:.2f} s of waiting, {slow:.2f} s of slower steps")
    if facts.get("late"):
        lines.append(f"{counted(facts['late'], 'checkpoint')} copied beside training")
    for loop, kinds in facts.get("loops", {}).items():
        lines.append(f"{loop}: {counted(kinds['ends'], 'end')}, {counted(kinds['points'], 'resume point')}")
    lines += [f"left out {count}: {reason}" for reason, count in facts["left_out"].items()]
    return lines + [f"can't be kept: {reason}" for reason in dict.fromkeys(facts.get("refused", {}).values())]
