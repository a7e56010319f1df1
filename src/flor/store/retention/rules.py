"""Which runs and which checkpoints may go by the user's rules: a decision on facts, nothing is touched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from flor.store.names import ADJECTIVES, ANIMALS
from flor.store.retention.holdings import Holding
from flor.store.retention.references import HeldCheckpoint
from flor.store.retention.sweep import Sweep, bytes_after, sweep_of

_WORDS = (frozenset(ADJECTIVES), frozenset(ANIMALS))


@dataclass(frozen=True, slots=True)
class Rules:
    """What the user wants kept; a rule that is None lets nothing go.

    A run is removed if all of `keep_last` and `older_than` that are given let it go. `keep_every` and `max_size` only
    ever take checkpoints: what they cost is time at the next replay, never an answer.
    """

    keep_last: int | None = None
    older_than: float | None = None  # seconds
    keep_every: int | None = None
    max_size: int | None = None
    checkpoints_only: bool = False  # where a run would be removed, only its checkpoints are
    keep: tuple[str, ...] = ()  # names, with * and ?
    keep_tags: tuple[str, ...] = ()  # K or K=V
    keep_named: bool = False
    only: tuple[str, ...] = ()  # the rules are about these runs; all if empty


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one run, and why; `sweep` is what goes of a run that stays."""

    holding: Holding
    removed: bool
    reason: str
    sweep: Sweep
    frees: int


def decide(holdings: Sequence[Holding], rules: Rules, now: float) -> list[Verdict]:
    """A verdict on every run, oldest first."""
    verdicts = [_verdict(holding, rules, _outdated(holding, holdings, rules, now)) for holding in holdings]
    return _within(verdicts, rules)


def _verdict(holding: Holding, rules: Rules, outdated: str) -> Verdict:
    alone = holding.alone or why_protected(holding, rules)
    if alone:
        return Verdict(holding, False, alone, Sweep(), 0)
    if outdated and not rules.checkpoints_only:
        return Verdict(holding, True, outdated, Sweep(), holding.own_size)
    if outdated:
        return _thinned(holding, [], outdated)
    if rules.keep_every is not None and holding.checkpoints:
        kept = every(holding.references.checkpoints, holding.checkpoints, rules.keep_every)
        return _thinned(holding, kept, f"1 checkpoint in {rules.keep_every}")
    return _thinned(holding, holding.checkpoints, "")


def _thinned(holding: Holding, kept: Iterable[HeldCheckpoint], reason: str) -> Verdict:
    sweep = sweep_of(holding, kept)
    return Verdict(
        holding, False, holding.references.doubt or reason, sweep, holding.size - bytes_after(holding, sweep)
    )


def why_protected(holding: Holding, rules: Rules) -> str:
    """The user's reason to keep a run as it is; empty if there is none."""
    if rules.only and holding.name not in rules.only:
        return "it was not named"
    if any(fnmatchcase(holding.name, pattern) for pattern in rules.keep):
        return "--keep"
    tags = {*holding.references.tags, *(tag.partition("=")[0] for tag in holding.references.tags)}
    if tags & set(rules.keep_tags):
        return "--keep-tag"
    return "--keep-named" if rules.keep_named and not is_proposed(holding.name) else ""


def is_proposed(name: str) -> bool:
    """True if a run got this name from us, and not from its user."""
    adjective, _, rest = name.partition("-")
    animal, _, number = rest.partition("-")
    return adjective in _WORDS[0] and animal in _WORDS[1] and (not number or number.isdecimal())


def every(announced: Sequence[HeldCheckpoint], existing: Sequence[HeldCheckpoint], step: int) -> list[HeldCheckpoint]:
    """Every `step`-th checkpoint of each loop, and the first and the last; the ranks of a job keep the same moments.

    Counted as they were announced, so that asking the same again drops nothing more.
    """
    numbers: dict[tuple[str, bool], dict[str, int]] = {}
    for each in announced:
        moments = numbers.setdefault((each.loop, each.is_end), {})
        moments.setdefault(each.moment, len(moments))
    there = {each.moment for each in existing}
    kept = {
        moment
        for moments in numbers.values()
        for moment in _spaced({moment: n for moment, n in moments.items() if moment in there}, step)
    }
    return [each for each in existing if each.moment in kept]


def _spaced(numbers: dict[str, int], step: int) -> list[str]:
    """The first, each that is at least a step behind the one kept before it, and the last."""
    kept = list(numbers)[:1]
    for moment, number in numbers.items():
        if number >= numbers[kept[-1]] + step:
            kept.append(moment)
    return [*kept, *list(numbers)[-1:]]


def _outdated(holding: Holding, holdings: Sequence[Holding], rules: Rules, now: float) -> str:
    """Why a run may be removed; empty if a rule keeps it, or if there is none about whole runs."""
    reasons = []
    if rules.keep_last is not None:
        in_question = [each for each in holdings if not rules.only or each.name in rules.only]
        if holding in in_question[max(0, len(in_question) - rules.keep_last) :]:
            return ""
        reasons.append(f"not of the last {rules.keep_last}" if rules.keep_last else "none is kept")
    if rules.older_than is not None:
        if now - holding.created < rules.older_than:
            return ""
        reasons.append(f"{(now - holding.created) / 86_400:.0f} days old")
    return ", ".join(reasons)


def _within(verdicts: list[Verdict], rules: Rules) -> list[Verdict]:
    """Meet the size limit: the oldest runs lose their checkpoints first, the latest is only thinned."""
    if rules.max_size is None:
        return verdicts
    excess = sum(each.holding.size - each.frees for each in verdicts) - rules.max_size
    able = [i for i, each in enumerate(verdicts) if _may_lose(each, rules)]
    for i in able:
        if excess > 0:
            better = _lighter(verdicts[i], excess, thin_only=i == able[-1])
            excess -= better.frees - verdicts[i].frees
            verdicts[i] = better
    return verdicts


def _may_lose(verdict: Verdict, rules: Rules) -> bool:
    holding = verdict.holding
    return not (verdict.removed or holding.alone or holding.references.doubt or why_protected(holding, rules))


def _lighter(verdict: Verdict, excess: int, *, thin_only: bool) -> Verdict:
    """The run with so many fewer checkpoints that the excess is gone, or with as few as it may have."""
    kept = [each for each in verdict.holding.checkpoints if each.graph not in verdict.sweep.dropped]
    wanted = verdict.frees + excess
    step, thinned = 1, verdict
    while step < len(verdict.holding.references.checkpoints):
        step *= 2
        fewer = every(verdict.holding.references.checkpoints, kept, step)
        thinned = _thinned(verdict.holding, fewer, "--max-size")
        if thinned.frees >= wanted:
            return thinned
    return thinned if thin_only else _thinned(verdict.holding, [], "--max-size")
