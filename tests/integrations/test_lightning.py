"""Lightning, recorded without an edit, judged by a full run."""

from __future__ import annotations

import re

import pytest

from flor.query.runs import run as open_run
from tests.integrations.conftest import Studio

pytest.importorskip("lightning")
SCRIPT = """
import lightning
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset


class Watch(Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        total = sum(p.abs().sum().item() for p in pl_module.parameters())
        # in a callback


# a class


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        dense = torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 3)
        self.net = torch.nn.Sequential(*dense)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = functional.cross_entropy(self.net(x), y)
        # in training_step
        self.log("train_loss", loss)
        return loss

    def on_train_epoch_end(self):
        print("epoch", self.current_epoch, float(self.trainer.callback_metrics["train_loss"]))
        # in a hook

    # a hook

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", functional.cross_entropy(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    lightning.seed_everything(1)
    x = torch.randn(640, 20)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    train = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    val = DataLoader(TensorDataset(x[:64], y[:64]), batch_size=16)
    model = Net()
    callbacks = [Watch(), ModelCheckpoint(monitor="val_loss", save_top_k=2), EarlyStopping("val_loss", patience=4)]
    trainer = lightning.Trainer(max_epochs=6, callbacks=callbacks, accelerator="cpu")
    # before
    trainer.fit(model, train, val)
    # after
    print("done", sum(p.abs().sum().item() for p in model.parameters()))


if __name__ == "__main__":
    main()
"""

MANUAL = SCRIPT.replace(
    "super().__init__()\n", "super().__init__()\n        self.automatic_optimization = False\n"
).replace(
    '        self.log("train_loss", loss)\n',
    "        optimizer = self.optimizers()\n"
    "        optimizer.zero_grad()\n"
    "        self.manual_backward(loss)\n"
    "        optimizer.step()\n"
    '        self.log("train_loss", loss)\n',
)
QUIET = SCRIPT.replace("callbacks=callbacks, ", "logger=False, enable_checkpointing=False, enable_progress_bar=False, ")
QUIET = QUIET.replace("    callbacks = [", "    ignored = [")
NORM = "sum(p.norm().item() for p in self.parameters())"


def probed(place: str, *lines: str, script: str = SCRIPT) -> str:
    """The script with lines in place of a comment, which the recorded version does not have."""
    found = next(line for line in script.splitlines() if line.strip() == f"# {place}")
    indent = " " * (len(found) - len(found.lstrip()))
    return script.replace(found, "\n".join(f"{indent}{line}  #@" for line in lines))


@pytest.mark.long
def test_a_line_in_a_hook_skips_the_batches(studio: Studio) -> None:
    done = studio.exact(probed("in a hook", f'print("norm", {NORM})'))
    assert re.search(r"[1-9] skipped", done.stderr), done.stderr


@pytest.mark.long
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("place", ["in training_step", "in a hook", "in a callback", "after"])
def test_a_line_anywhere_is_answered(studio: Studio, place: str, workers: str) -> None:
    line = {
        "in training_step": 'print("loss", batch_idx, loss.item())',
        "in a hook": f'print("norm", {NORM})',
        "in a callback": 'print("watch", trainer.current_epoch, total)',
        "after": "print(sorted((name, float(value)) for name, value in trainer.callback_metrics.items()))",
    }[place]
    studio.exact(probed(place, line), "-j", workers)


@pytest.mark.long
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_new_hook_is_answered(studio: Studio, workers: str) -> None:
    lines = "def on_train_epoch_start(self):", f'    print("begin", self.current_epoch, {NORM})'
    studio.exact(probed("a hook", *lines), "-j", workers)


@pytest.mark.long
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_new_callback_is_answered(studio: Studio, workers: str) -> None:
    lines = (
        "class Norms(Callback):",
        "    def on_train_epoch_end(self, trainer, pl_module):",
        '        print("norm", sum(p.norm().item() for p in pl_module.parameters()))',
    )
    text = probed("a class", *lines, script=QUIET)
    studio.exact(text.replace("    # before", "    trainer.callbacks.append(Norms())  #@"), "-j", workers)


@pytest.mark.long
def test_manual_optimization_is_answered(studio: Studio) -> None:
    studio.exact(probed("in training_step", 'print("loss", batch_idx, loss.item())', script=MANUAL), "-j", "2")


@pytest.mark.long
@pytest.mark.parametrize("command", [("train.py",), ("-m", "flor", "record", "train.py")])
def test_the_callback_logs_what_loggers_get(studio: Studio, command: tuple[str, ...]) -> None:
    head = "from flor.integrations.lightning import FlorCallback\n"
    studio.write(head + SCRIPT.replace("[Watch(), ", "[Watch(), FlorCallback(), "))
    done = studio.run(*command)
    assert done.code == 0, done.stderr
    logs = open_run(store=studio.folder / ".flor").logs("train_loss", "val_loss")
    rows = [row for row in logs if row.channel == "flor"]  # those of Lightning's own logger are kept too
    steps = [row for row in rows if row.name == "train_loss"]
    assert len(steps) == 6 * 40
    assert dict(steps[41].loops) == {"epoch": 1, "step": 1}
    assert [dict(row.loops)["epoch"] for row in rows if row.name == "val_loss"] == [0, 1, 2, 3, 4, 5]
