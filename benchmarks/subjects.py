"""The paper's eight workloads in miniature: what they are, and where a probe goes."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from scenes import PROBE, Scene

FOLDER = Path(__file__).resolve().parent / "workloads"
NORM = "sum(float(p.norm()) for group in optimizer.param_groups for p in group['params'])"
OUTER = f"print('{PROBE} outer', epoch, {NORM})"
INNER = f"print('{PROBE} inner', loss.item(), {NORM})"
_AFTER = {OUTER: 'print(f"epoch ', INNER: "total += loss.item()"}
_EPOCHS = re.compile(r'"--epochs", type=int, default=(\d+)')


@dataclass(frozen=True)
class Subject:
    """One row of the paper's table 3, and what stands for it here."""

    name: str
    paper: str
    model: str
    data: str
    mode: str
    paper_epochs: int

    def source(self, *probes: str) -> str:
        """The script, with these probes in it."""
        text = (FOLDER / f"{self.name}.py").read_text()
        for probe in probes:
            text = insert(text, _AFTER[probe], probe)
        return text

    def epochs(self) -> int:
        """How many epochs it trains if nothing else is said."""
        found = _EPOCHS.search(self.source())
        assert found, f"{self.name}.py has no --epochs"
        return int(found[1])

    def scene(self, home: Path) -> Scene:
        """A folder with the script, as `train.py`, and the models that it imports."""
        scene = Scene(home / self.name)
        scene.write(self.source())
        for model in ("encoder.py", "squeezenet.py"):
            shutil.copy(FOLDER / model, scene.folder)
        return scene


def insert(text: str, after: str, line: str) -> str:
    """The text with one more line after the only one that has `after` in it, as deep as that one."""
    lines = text.splitlines()
    (at,) = (number for number, old in enumerate(lines) if after in old)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return "\n".join([*lines[: at + 1], indent + line, *lines[at + 1 :], ""])


SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("rte", "RoBERTa, RTE", "transformer encoder, frozen, and a head", "random tokens", "fine-tune", 200),
        Subject("cola", "RoBERTa, CoLA", "transformer encoder, frozen, and a head", "random tokens", "fine-tune", 80),
        Subject("cifr", "SqueezeNet, Cifar100", "SqueezeNet", "random images, 32 x 32", "train", 200),
        Subject("rsnt", "ResNet-152, Cifar100", "ResNet of 6 blocks", "random images, 32 x 32", "train", 200),
        Subject("wiki", "RoBERTa, Wiki", "transformer encoder, masked tokens", "random tokens", "train", 12),
        Subject("jasp", "Jasper, LibriSpeech", "7 convolutions, CTC", "random sound", "train", 4),
        Subject("imgn", "SqueezeNet, ImageNet", "wider SqueezeNet", "random images, 64 x 64", "train", 8),
        Subject("rnnt", "RNN with attention, WMT16", "GRUs with attention", "random tokens", "train", 8),
    )
}
SHORTEST = "rte"  # of all, for a quick look
