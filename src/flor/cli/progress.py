"""A bar on a terminal while a replay is under way, with how long it will take; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Task

NEARLY = 0.97  # what is shown at most before it is over


@contextmanager
def progress(estimate: Callable[[], float]) -> Iterator[Callable[[str], None]]:
    """Give what says how far it is; the estimate, in seconds, is asked for only where somebody looks."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, TextColumn
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    class Bar(ProgressColumn):
        """Fills as time goes by."""

        max_refresh = 0.1

        def render(self, task: Task) -> RenderableType:
            """As much as the elapsed time is of the estimate."""
            return ProgressBar(total=1.0, completed=share(task.elapsed or 0.0, task.total or 0.0), width=30)

    class Left(ProgressColumn):
        """Counts down."""

        max_refresh = 0.5

        def render(self, task: Task) -> RenderableType:
            """How long it will still take."""
            return Text(left(task.elapsed or 0.0, task.total or 0.0), style="cyan")

    shown = Progress(TextColumn("{task.description}"), Bar(), Left(), console=Console(stderr=True), transient=True)
    with shown:
        task = shown.add_task("replaying", total=estimate())
        yield lambda text: shown.update(task, description=text)


def share(elapsed: float, estimate: float) -> float:
    """How much of the bar is filled."""
    return min(NEARLY, elapsed / estimate) if estimate > 0 else 0.0


def left(elapsed: float, estimate: float) -> str:
    """How long it still takes, in words."""
    seconds = estimate - elapsed
    if seconds <= 0:
        return f"{elapsed:.0f} s, longer than expected"
    minutes, rest = divmod(round(seconds), 60)
    return f"about {minutes}:{rest:02d} min left" if minutes else f"about {max(1, rest)} s left"
