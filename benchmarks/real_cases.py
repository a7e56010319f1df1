"""Which public scripts are tried, with what arguments and data, and with which probes (see real_scripts.py)."""

from __future__ import annotations

import pickle
import random
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

EXAMPLES, NANOGPT = "pytorch/examples", "karpathy/nanoGPT"


@dataclass(frozen=True)
class Probe:
    """A log statement of ours, and the line of the script that it follows with the same indentation."""

    kind: str  # outer | inner
    after: str  # a part of the line that it follows
    text: str
    file: str | None = None  # the script itself, if not given
    nth: int = 0  # which of the lines with that part


@dataclass(frozen=True)
class Case:
    """One script, small enough for two cores."""

    name: str
    repository: str
    script: str
    arguments: str
    probes: tuple[Probe, ...]
    prepare: Callable[[Path], None] = field(default=lambda folder: None)  # makes the data, in the script's folder
    seeded: bool = True  # else two full runs differ, and the recorded output is the only oracle


# -- data --------------------------------------------------------------------------------------------


def words(folder: Path) -> None:
    """Three small texts of words that follow each other with some regularity."""
    chance = random.Random(1)
    vocabulary = [f"word{number}" for number in range(300)]
    target = folder / "data" / "small"
    target.mkdir(parents=True)
    for name, lines in (("train", 1200), ("valid", 120), ("test", 120)):
        text = []
        for _ in range(lines):
            at = chance.randrange(300)
            line = [vocabulary[(at + step * chance.choice((1, 1, 7))) % 300] for step in range(12)]
            text.append(" ".join(line))
        (target / f"{name}.txt").write_text("\n".join(text) + "\n")


def tokens(folder: Path) -> None:
    """Two files of 16-bit tokens, and the size of their vocabulary."""
    chance = random.Random(2)
    target = folder / "data" / "small"
    target.mkdir(parents=True)
    for name, count in (("train", 20_000), ("val", 2_000)):
        values = array("H", ((number * 7 + chance.randrange(3)) % 64 for number in range(count)))
        (target / f"{name}.bin").write_bytes(values.tobytes())
    (target / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": 64}))


def noise(path: Path, size: int, seed: int) -> None:
    """An image of coloured blocks."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    blocks = Image.frombytes("RGB", (8, 8), random.Random(seed).randbytes(192))
    blocks.resize((size, size), Image.Resampling.BILINEAR).save(path)


def classes(folder: Path) -> None:
    """Images for training and validation, in five classes."""
    for number in range(60):
        noise(folder / "small" / "train" / f"class{number % 5}" / f"{number}.png", 256, number)
    for number in range(20):
        noise(folder / "small" / "val" / f"class{number % 5}" / f"{number}.png", 256, 100 + number)


def photographs(folder: Path) -> None:
    """What the super-resolution example would download."""
    for number in range(24):
        noise(folder / "dataset/BSDS300/images/train" / f"{number}.png", 288, number)
    for number in range(6):
        noise(folder / "dataset/BSDS300/images/test" / f"{number}.png", 288, 200 + number)


def waves(folder: Path) -> None:
    """Sine waves, in the format that the script reads."""
    import numpy as np
    import torch

    shifts = np.random.default_rng(2).integers(-80, 80, (12, 1))
    torch.save(np.sin((np.arange(120) + shifts) / 20.0), folder / "traindata.pt")


def citations(folder: Path) -> None:
    """A graph of papers: words of each, and who cites whom."""
    chance = random.Random(3)
    (folder / "cora").mkdir()
    rows = [
        " ".join([str(1000 + node), *(str(int(chance.random() < 0.1)) for _ in range(60)), f"topic{node % 7}"])
        for node in range(1800)
    ]
    edges = [f"{1000 + chance.randrange(1800)} {1000 + chance.randrange(1800)}" for _ in range(5000)]
    (folder / "cora" / "cora.content").write_text("\n".join(rows) + "\n")
    (folder / "cora" / "cora.cites").write_text("\n".join(sorted(set(edges))) + "\n")


def results(folder: Path) -> None:
    """The folder that the script writes images to."""
    (folder / "results").mkdir()


# -- scripts -----------------------------------------------------------------------------------------

NORM = "print('PROBE', {0}, sum(p.double().norm().item() for p in {1}.parameters()))"
GRADS = "print('PROBE', {0}, sum(p.grad.double().norm().item() for p in {1}.parameters() if p.grad is not None))"


def loss_of(counter: str, loss: str = "loss") -> str:
    """A probe that prints a loss in full precision."""
    return f"print('PROBE', {counter}, {loss}.item())"


LANGUAGE = "--data data/small --epochs 10 --emsize 64 --nhid 64 --log-interval 10 --batch_size 10"
LANGUAGE_PROBES = (
    Probe("outer", "val_loss = evaluate(val_data)", NORM.format("epoch, val_loss", "model")),
    Probe("inner", "total_loss += loss.item()", GRADS.format("batch", "model")),
)
GPT = (
    "--device=cpu --compile=False --eval_iters=2 --log_interval=1 --block_size=32 --batch_size=4 --n_layer=2"
    " --n_head=2 --n_embd=32 --max_iters=150 --lr_decay_iters=150 --dropout=0.1 --dataset=small --eval_interval=10"
    " --gradient_accumulation_steps=16"
)
DIGITS_PROBES = (
    Probe("outer", "scheduler.step()", NORM.format("epoch", "model")),
    Probe("inner", "optimizer.step()", GRADS.format("batch_idx, loss.item()", "model")),
)

CASES = (
    Case("mnist", EXAMPLES, "mnist/main.py", "--epochs 6", DIGITS_PROBES),
    Case(
        "mnist, forward", EXAMPLES, "mnist/main.py", "--epochs 3",
        (Probe("inner", "x = self.fc2(x)", "print('PROBE', self.training, x.double().sum().item())"),),
    ),
    Case("mnist_rnn", EXAMPLES, "mnist_rnn/main.py", "--epochs 12 --batch-size 32", DIGITS_PROBES),
    Case(
        "mnist_forward_forward", EXAMPLES, "mnist_forward_forward/main.py",
        "--epochs 100 --train_size 1200 --test_size 200",
        (
            Probe("outer", "h_pos, h_neg = layer.train(h_pos, h_neg)", NORM.format("i", "layer")),
            Probe("inner", "self.opt.step()", loss_of("i")),
        ),
        seeded=False,
    ),
    Case("siamese_network", EXAMPLES, "siamese_network/main.py", "--epochs 3 --test-batch-size 100", DIGITS_PROBES),
    Case(
        "vae", EXAMPLES, "vae/main.py", "--epochs 16 --batch-size 32",
        (
            Probe("outer", "test(epoch)", NORM.format("epoch", "model"), nth=1),
            Probe("inner", "train_loss += loss.item()", "print('PROBE', batch_idx, train_loss, mu.sum().item())"),
        ),
        prepare=results,
    ),
    Case(
        "dcgan", EXAMPLES, "dcgan/main.py",
        "--dataset fake --manualSeed 7 --ngf 8 --ndf 8 --niter 5 --workers 0 --outf out",
        (
            Probe("outer", "netG_epoch_%d.pth", NORM.format("epoch", "netG")),
            Probe("inner", "optimizerD.step()", GRADS.format("i, errD.item()", "netD")),
        ),
    ),
    Case(
        "dcgan, 2 loader workers", EXAMPLES, "dcgan/main.py",
        "--dataset fake --manualSeed 7 --ngf 8 --ndf 8 --niter 5 --workers 2 --outf out",
        (
            Probe("outer", "netG_epoch_%d.pth", NORM.format("epoch", "netG")),
            Probe("inner", "optimizerD.step()", GRADS.format("i, errD.item()", "netD")),
        ),
    ),
    Case(
        "imagenet", EXAMPLES, "imagenet/main.py", "small --epochs 5 -b 12 -j 1 --seed 3 -p 1 --lr 0.01",
        (
            Probe("outer", "scheduler.step()", NORM.format("epoch, float(acc1)", "model")),
            Probe("inner", "optimizer.step()", loss_of("i")),
        ),
        prepare=classes,
    ),
    Case("word_language_model, LSTM", EXAMPLES, "word_language_model/main.py", LANGUAGE, LANGUAGE_PROBES, words),
    Case(
        "word_language_model, Transformer", EXAMPLES, "word_language_model/main.py",
        f"{LANGUAGE} --model Transformer --use-optimizer --lr 0.001", LANGUAGE_PROBES, words,
    ),
    Case(
        "super_resolution", EXAMPLES, "super_resolution/main.py",
        "--upscale_factor 4 --batchSize 4 --nEpochs 6 --threads 0",
        (
            Probe("outer", "checkpoint(epoch)", NORM.format("epoch", "model"), nth=1),
            Probe("inner", "epoch_loss += loss.item()", "print('PROBE', iteration, epoch_loss)"),
        ),
        prepare=photographs,
    ),
    Case(
        "regression", EXAMPLES, "regression/main.py", "",
        (
            Probe("outer", "loss = output.item()", "if batch_idx % 50 == 0: print('PROBE', batch_idx, loss)"),
            Probe("inner", "param.data.add_", "if batch_idx % 50 == 0: print('PROBE', param.grad.sum().item())"),
        ),
        seeded=False,
    ),
    Case(
        "time_sequence_prediction", EXAMPLES, "time_sequence_prediction/train.py", "--steps 4",
        (
            Probe("outer", "plt.close()", NORM.format("i", "seq")),
            Probe("inner", "loss.backward()", GRADS.format("float(out.sum())", "seq")),
        ),
        prepare=waves,
    ),
    Case(
        "gat", EXAMPLES, "gat/main.py", "--epochs 20 --val-every 2 --num-heads 2 --hidden-dim 16",
        (
            Probe("outer", "train_iter(epoch + 1", NORM.format("epoch", "gat_net")),
            Probe("inner", "optimizer.step()", GRADS.format("epoch, loss.item()", "model")),
        ),
        prepare=citations,
    ),
    Case(
        "reinforce", EXAMPLES, "reinforcement_learning/reinforce.py", "",
        (
            Probe("outer", "finish_episode()", NORM.format("i_episode, ep_reward", "policy"), nth=1),
            Probe("inner", "policy.rewards.append(reward)", "print('PROBE', t, action, state.tolist())"),
        ),
    ),
    Case(
        "actor_critic", EXAMPLES, "reinforcement_learning/actor_critic.py", "",
        (
            Probe("outer", "finish_episode()", NORM.format("i_episode, ep_reward", "model"), nth=1),
            Probe("inner", "model.rewards.append(reward)", "print('PROBE', t, action, state.tolist())"),
        ),
    ),
    Case(
        "nanoGPT", NANOGPT, "train.py", GPT,
        (
            Probe("outer", "local_iter_num += 1", NORM.format("iter_num", "model")),
            Probe("inner", "scaler.scale(loss).backward()", loss_of("micro_step")),
        ),
        prepare=tokens,
    ),
)  # fmt: skip
