"""What `flor gc` would do or has done, as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flor.query.text import columns
from flor.store.retention.amounts import size_text
from flor.store.retention.gc import Retention
from flor.store.retention.rules import Rules, Verdict


def retention_json(found: Retention, rules: Rules) -> Iterator[dict[str, Any]]:
    """One object a run, and a summary."""
    for verdict in found.verdicts:
        before, after = _counts(verdict)
        yield {
            "run": verdict.holding.name,
            "action": _action(verdict),
            "reason": verdict.reason,
            "bytes": verdict.holding.size,
            "frees": verdict.frees,
            "checkpoints": before,
            "checkpoints_kept": after,
        }
    yield {
        "summary": {
            "done": found.done,
            "bytes": found.size,
            "frees": found.frees,
            "leftovers": len(found.leftovers),
            "within_max_size": _within(found, rules),
            "troubles": list(found.troubles),
        }
    }


def retention_text(found: Retention, rules: Rules) -> str:
    """A line for each run that changes, one for those left alone, and what it comes to."""
    rows: list[tuple[str, ...]] = [("run", "takes", "frees", "checkpoints", "what", "why")]
    rows += [_cells(verdict, done=found.done) for verdict in found.verdicts if _action(verdict) != "keep"]
    lines = [columns(rows)] if len(rows) > 1 else []
    for reason, names in _left_alone(found).items():
        lines.append(f"left alone ({reason}): {_some(names)}")
    if found.leftovers:
        lines.append(f"leftovers of processes that ended: {len(found.leftovers)}, {size_text(found.leftover_bytes)}")
    lines += [f"not done: {trouble}" for trouble in found.troubles]
    if not _within(found, rules):
        lines.append(
            f"{size_text(found.size - found.frees)} are left, more than --max-size: the rest is logs, checkpoints of "
            "the latest run, or runs that are kept; --keep-last and --older-than remove whole runs"
        )
    return "\n".join([*lines, _total(found)])


def _total(found: Retention) -> str:
    if found.done:
        return f"freed {size_text(found.frees)} of {size_text(found.size)}"
    if not found.frees:
        return f"nothing to free in {size_text(found.size)}"
    return f"would free {size_text(found.frees)} of {size_text(found.size)}; nothing was changed: --yes does it"


def _cells(verdict: Verdict, *, done: bool) -> tuple[str, ...]:
    before, after = _counts(verdict)
    what = {"remove": ("remove", "removed"), "thin": ("thin", "thinned"), "tidy": ("tidy", "tidied")}[_action(verdict)]
    return (
        verdict.holding.name,
        size_text(verdict.holding.size),
        size_text(verdict.frees),
        f"{before} -> {after}" if before != after else str(before),
        what[done],
        verdict.reason or "bytes that nothing needs",
    )


def _action(verdict: Verdict) -> str:
    if verdict.removed:
        return "remove"
    if verdict.sweep.dropped:
        return "thin"
    return "tidy" if verdict.sweep else "keep"


def _counts(verdict: Verdict) -> tuple[int, int]:
    """Checkpoints before and after."""
    before = len(verdict.holding.checkpoints)
    return before, 0 if verdict.removed else before - len(verdict.sweep.dropped)


def _left_alone(found: Retention) -> dict[str, list[str]]:
    """Runs that are not touched for a reason other than that nothing of them can go."""
    reasons: dict[str, list[str]] = {}
    for verdict in found.verdicts:
        reason = verdict.reason if _action(verdict) == "keep" else ""
        if reason and reason != "it was not named" and not reason.startswith("1 checkpoint in"):
            reasons.setdefault(reason, []).append(verdict.holding.name)
    return reasons


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _within(found: Retention, rules: Rules) -> bool:
    left = sum(verdict.holding.size - verdict.frees for verdict in found.verdicts)
    return rules.max_size is None or left <= rules.max_size
