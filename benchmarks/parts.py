"""The parts of the evaluation, in the order in which they run, and how each is called."""

from __future__ import annotations

from dataclasses import dataclass

from subjects import SHORTEST


@dataclass(frozen=True)
class Part:
    """One script of this folder; `{results}` in its arguments is the folder for NAME.json and NAME.md."""

    name: str
    title: str
    full: tuple[str, ...] = ()
    quick: tuple[str, ...] | None = ()  # None: it can't be quick, and is left out
    own: bool = True  # it has --quick, --results and --figures itself
    printed: bool = False  # it writes no .json or .md: its tables are taken from what it prints
    paper: bool = True  # it belongs to the evaluation after the paper; the others run with --everything
    needs: str = ""  # the option of run.py without which it is left out
    passes: tuple[str, ...] = ()  # options of run.py that it is given


FILES = ("--json", "{results}/{name}.json", "--markdown", "{results}/{name}.md")
LATENCY = ("--only", "outer", "--only", "inner")  # `scale` is figure 11

PARTS = (
    Part(
        "record_overhead", "What recording costs training", ("--rounds", "1", *FILES),
        ("--rounds", "1", "--only", SHORTEST, "--epochs", "2", *FILES), own=False,
    ),
    Part("table3", "Table 3"),
    Part("fig01_conservative_optimistic", "Figure 1"),
    Part("fig05_record_overhead", "Figure 5"),
    Part("fig06_adaptivity", "Figure 6"),
    Part("fig09_replay_latency", "Figure 9", ("--rounds", "1")),
    Part("fig10_parallel", "Figure 10"),
    Part("fig11_scaleout", "Figure 11", ("--seconds", "0.5")),
    Part("storage", "Storage"),
    Part("cost_growth", "Cost growth"),
    Part("flordb", "flordb", needs="flordb", passes=("flordb",)),
    Part(
        "fidelity", "Fidelity over generated programs", ("--programs", "60", "--jobs", "2"),
        ("--programs", "4", "--points", "2", "--jobs", "2"), own=False, printed=True,
    ),
    Part(
        "resume_everywhere", "Acceptance programs, resumed at every checkpoint", (), None,
        own=False, printed=True, needs="programs", passes=("programs",),
    ),
    Part(
        "real_scripts", "Public training scripts", (), None,
        own=False, printed=True, needs="mirror", passes=("mirror",),
    ),
    Part(
        "replay_latency", "Replay latency", ("--rounds", "1", *LATENCY, *FILES),
        ("--rounds", "1", "--only", "inner", "--shorter", "20", *FILES), own=False, paper=False,
    ),
    Part(
        "checkpoint_cost", "What one checkpoint costs training", ("--rounds", "5", "--gigabytes", "0.3", "1.2", *FILES),
        ("--rounds", "1", "--gigabytes", "0.03", "--seconds", "0.2", *FILES), own=False, paper=False,
    ),
    Part(
        "background_logging", "Background logging", ("--write", "--results", "{results}"),
        ("--rounds", "1", "--epochs", "1", "--threads", "1", "--write", "--results", "{results}"),
        own=False, paper=False,
    ),
    Part(
        "log_call", "What one log call costs the training thread", ("--rounds", "3", *FILES),
        ("--rounds", "1", "--calls", "200", *FILES), own=False, paper=False, passes=("peers", "flordb"),
    ),
)  # fmt: skip


def chosen(names: list[str], quick: bool, everything: bool = False) -> list[Part]:
    """The parts with one of these names, or beginnings of names; the paper's, or everything, if none is given."""
    unknown = [name for name in names if not any(part.name.startswith(name) for part in PARTS)]
    if unknown:
        raise ValueError(f"no part is called {unknown[0]}; there are: {', '.join(part.name for part in PARTS)}")
    some = [part for part in PARTS if (part.name.startswith(tuple(names)) if names else part.paper or everything)]
    return [part for part in some if not quick or part.quick is not None]
