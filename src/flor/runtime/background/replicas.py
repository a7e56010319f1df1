"""Summary writers as they are in the process that logs: torch's own code over an event file of ours."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy

from flor.runtime.background.eventlog import EventLog
from flor.runtime.background.histograms import Edges
from flor.runtime.background.messages import CLOSE, EVENT, OPEN, Opening
from flor.runtime.background.squares import Numbers, parts_of


class Replicas:
    """The writers of one training process, by number."""

    def __init__(self) -> None:
        self.logs: dict[int, EventLog] = {}
        self.writers: dict[int, Any] = {}

    def open(self, number: int, opening: Opening) -> None:
        """Go on with a writer's event file."""
        from torch.utils.tensorboard import writer as tensorboard

        if number in self.logs:
            return  # an opening that is done again
        attributes = opening.attributes
        log = self.logs[number] = EventLog(opening.path, str(attributes["log_dir"]), opening.size)
        files = tensorboard.FileWriter.__new__(tensorboard.FileWriter)
        files.event_writer = log
        writer = self.writers[number] = tensorboard.SummaryWriter.__new__(tensorboard.SummaryWriter)
        vars(writer).update(attributes, file_writer=files, all_writers={log.get_logdir(): files})

    def do(self, number: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Do one call, in full."""
        if method == OPEN:
            self.open(number, Opening(*args))
        elif method == EVENT:
            self.logs[number].append(*args)
        elif method == CLOSE:
            del self.writers[number]
            self.logs.pop(number).close()
        else:
            real = getattr(type(self.writers[number]), method)
            while hasattr(real, "__wrapped__"):  # where it is done in training itself, not by what sent it here
                real = real.__wrapped__
            real(self.writers[number], *args, **kwargs)

    def size(self, number: int) -> int:
        """The length of a writer's file, all of it whole records."""
        log = self.logs.get(number)
        return log.size if log is not None else 0


class FastHistograms:
    """Counts histograms of float32 in a writer's default bins in a faster way, with equal results."""

    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.numbers: Any = None  # of the histogram that is being made, before torch makes them float64
        self.known: dict[int, Edges] = {}

    def install(self) -> None:
        """Let torch's own code find our counting where it looks for numpy's; leave it alone if it looks elsewhere."""
        from torch.utils.tensorboard import summary, writer

        real = writer.histogram

        def histogram(name: Any, values: Any, bins: Any, max_bins: Any = None) -> Any:
            array = summary.make_np(values)
            self.numbers = array.reshape(-1) if array.dtype == numpy.float32 else None
            return real(name, array.view(Numbers), bins, max_bins)

        if getattr(summary, "np", None) is not numpy:
            if Numbers.parts > 1:
                raise RuntimeError("this version of torch makes histograms in another way")
            return
        writer.histogram = histogram
        summary.np = SimpleNamespace(**{**vars(numpy), "histogram": self.histogram})

    def histogram(self, values: Any, bins: Any = 10, **options: Any) -> Any:
        """numpy.histogram, for the numbers at hand."""
        numbers, self.numbers = self.numbers, None
        edges = self._edges(bins) if numbers is not None and len(numbers) == len(values) and not options else None
        if edges is None:
            return numpy.histogram(numpy.asarray(values), bins=bins, **options)
        return edges.counts(numpy.ascontiguousarray(numbers)), edges.edges

    def _edges(self, bins: Any) -> Edges | None:
        """Prepared edges for the default bins of a writer: these are one list for its life."""
        if all(bins is not writer.default_bins for writer in self.replicas.writers.values()):
            return None
        if id(bins) not in self.known:
            self.known = {id(bins): Edges(bins)} if len(self.known) > 7 else {**self.known, id(bins): Edges(bins)}
        return self.known[id(bins)]


def prepare_process(replicas: Replicas, sums: tuple[float, ...]) -> None:
    """What only a process of our own may do to the libraries."""
    import torch
    import torch.utils.tensorboard.writer

    torch.set_num_threads(1)
    Numbers.parts = parts_of(sums)
    FastHistograms(replicas).install()
