"""Ways to save a model and its optimizer: flor's own, and the tools that people use.

torchsnapshot is no longer kept up: it needs `pip install torchsnapshot 'importlib_metadata<8'`.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn


class Saver(Protocol):
    """One way: `save` is what the training thread calls, `wait` comes back when the bytes are on disk."""

    def save(self) -> None:
        """Save the state as it is now."""
        ...

    def wait(self) -> None:
        """Come back when nothing is under way any more."""
        ...


class Nothing:
    """No checkpoint: what the noise floor is measured with."""

    def save(self) -> None:
        """Do nothing."""

    def wait(self) -> None:
        """Nothing is ever under way."""


class Flor:
    """flor's recorder: the capture on the training thread, one checkpoint writer."""

    def __init__(self, folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, how: str = "thread") -> None:
        from flor.runtime.writers import make_writer
        from flor.state import Memory
        from flor.store.layout import Layout
        from flor.store.run import create_run

        layout = Layout(folder)
        layout.prepare()
        run = create_run(layout)
        self.journal = run.fragment(0, os.getpid())
        self.writer = make_writer(how, run, self.journal.path.stem, self.journal.append, self._trouble)
        self.memory = Memory()
        self.scopes = {"module:__main__": {"model": model, "optimizer": optimizer}}
        self.count = 0

    def save(self) -> None:
        """What `Recorder` does where a checkpoint is taken."""
        from flor.model.checkpoints import Key
        from flor.model.positions import Execution
        from flor.runtime.materializing import Pending
        from flor.state import Answer, capture

        assert self.writer.ready(), "the writer is behind"
        late = self.memory.barrier.usable() and not self.writer.waits and not self.writer.forks
        answer = Answer.LATE if late and not self.writer.busy else Answer.LOOK if self.writer.forks else Answer.COPY
        snapshot = capture(
            self.scopes, project=lambda name: name == "__main__", memory=self.memory, admit=lambda demand: answer
        )
        assert not snapshot.refusals, snapshot.refusals
        self.count += 1
        self.writer.put(Pending(Key(Execution((), "bench.py::<module>#0", 0), self.count), snapshot, 0.0))

    def wait(self) -> None:
        """All announced."""
        self.writer.drain()
        assert len(self.writer.ledger.written) == self.count, "a checkpoint is missing"

    def _trouble(self, text: str) -> None:
        raise RuntimeError(text)


class TorchSave:
    """`torch.save` of both state dicts, as most scripts do."""

    def __init__(self, folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.folder, self.model, self.optimizer, self.count = folder, model, optimizer, 0

    def save(self) -> None:
        """On the training thread."""
        self.count += 1
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        torch.save(state, self.folder / f"{self.count}.pt")

    def wait(self) -> None:
        """It was waited for."""


class SafeTensors(TorchSave):
    """`safetensors.torch.save_file` of all tensors of both."""

    def save(self) -> None:
        """On the training thread."""
        from safetensors.torch import save_file

        self.count += 1
        save_file(flat(self.model, self.optimizer), self.folder / f"{self.count}.safetensors")


class Distributed(TorchSave):
    """`torch.distributed.checkpoint.async_save`, with its thread or its process."""

    def __init__(self, folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, how: str) -> None:
        super().__init__(folder, model, optimizer)
        from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType

        self.kind = AsyncCheckpointerType[how.upper()]
        self.future: Any = None
        if not torch.distributed.is_initialized():
            store = torch.distributed.FileStore(tempfile.mktemp(), 1)
            torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)

    def save(self) -> None:
        """The staging copy on the training thread, the rest not."""
        import torch.distributed.checkpoint as dcp

        self.count += 1
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        path = self.folder / str(self.count)
        self.future = dcp.async_save(state, checkpoint_id=path, async_checkpointer_type=self.kind)

    def wait(self) -> None:
        """The future has the answer."""
        if self.future is not None:
            self.future.result()


class TorchSnapshot(TorchSave):
    """`torchsnapshot.Snapshot.async_take`."""

    def __init__(self, folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        super().__init__(folder, model, optimizer)
        import torchsnapshot

        self.take = torchsnapshot.Snapshot.async_take
        self.pending: Any = None

    def save(self) -> None:
        """The staging copy on the training thread, the rest not."""
        self.count += 1
        state: Any = {"model": self.model, "optimizer": self.optimizer}
        self.pending = self.take(str(self.folder / str(self.count)), state)

    def wait(self) -> None:
        """The snapshot has the answer."""
        if self.pending is not None:
            self.pending.wait()


class ForkAndPickle(TorchSave):
    """The paper's mechanism: a forked child pickles and writes; the arrays are views, so no kernel runs in it."""

    def __init__(self, folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        super().__init__(folder, model, optimizer)
        self.child = 0

    def save(self) -> None:
        """Fork and go on."""
        self.count += 1
        arrays = {name: tensor.detach().numpy() for name, tensor in flat(self.model, self.optimizer).items()}
        self.child = os.fork()
        if self.child == 0:
            with open(self.folder / f"{self.count}.pickle", "wb") as file:
                pickle.dump(arrays, file, protocol=4)
            os._exit(0)

    def wait(self) -> None:
        """The child has ended well."""
        if self.child:
            assert os.waitpid(self.child, 0)[1] == 0
            self.child = 0


def flat(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """All tensors of a model and its optimizer by one name each."""
    found = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for number, values in optimizer.state_dict()["state"].items():
        found |= {f"optimizer.{number}.{name}": tensor for name, tensor in values.items()}
    return found


def savers() -> dict[str, Callable[[Path, nn.Module, torch.optim.Optimizer], Saver]]:
    """Every way, by name."""
    return {
        "flor": Flor,
        "flor --materialize fork": lambda *args: Flor(*args, how="fork"),
        "torch.save": TorchSave,
        "safetensors save_file": SafeTensors,
        "DCP async_save, thread": lambda *args: Distributed(*args, how="thread"),
        "DCP async_save, process": lambda *args: Distributed(*args, how="process"),
        "torchsnapshot async_take": TorchSnapshot,
        "fork and pickle": ForkAndPickle,
    }
