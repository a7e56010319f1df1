"""The Trainer of Hugging Face transformers, recorded without an edit, judged by a full run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from flor.query.runs import run as open_run
from tests.integrations.conftest import Studio, steady

pytest.importorskip("transformers")
pytest.importorskip("accelerate")
SCRIPT = """
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed


class Data(torch.utils.data.Dataset):
    def __init__(self, size, seed):
        self.x = torch.randint(0, 50, (size, 12), generator=torch.Generator().manual_seed(seed))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.x[i].sum() % 2}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.drop, self.head = torch.nn.Embedding(50, 32), torch.nn.Dropout(0.1), torch.nn.Linear(32, 2)

    def forward(self, input_ids, labels=None):
        hidden = self.drop(self.embedding(input_ids).mean(1))
        logits = self.head(hidden)
        # in forward
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


class Report(TrainerCallback):
    def on_epoch_end(self, args, state, control, model=None, **kwargs):
        print("epoch", state.epoch, "step", state.global_step)
        # in a callback


# a class


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        # in compute_loss
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]


def main():
    set_seed(1)
    args = TrainingArguments(
        output_dir="out", num_train_epochs=5, per_device_train_batch_size=16, learning_rate=1e-2, logging_steps=10,
        report_to=[], use_cpu=True, eval_strategy="epoch", save_strategy="epoch", save_total_limit=2,
        disable_tqdm=True,
        load_best_model_at_end=True,
    )
    data = dict(train_dataset=Data(320, 0), eval_dataset=Data(64, 1))
    trainer = MyTrainer(model=Net(), args=args, callbacks=[Report()], **data)
    # before
    trainer.train()
    # after
    print("done", sum(p.abs().sum().item() for p in trainer.model.parameters()))


if __name__ == "__main__":
    main()
"""

NORM = "sum(p.norm().item() for p in model.parameters())"


def probed(place: str, *lines: str) -> str:
    """The script with lines in place of a comment, which the recorded version does not have."""
    found = next(line for line in SCRIPT.splitlines() if line.strip() == f"# {place}")
    indent = " " * (len(found) - len(found.lstrip()))
    return SCRIPT.replace(found, "\n".join(f"{indent}{line}  #@" for line in lines))


def with_class(*lines: str) -> str:
    """The script with a callback class and the call that hands it over."""
    text = probed("a class", "class Norms(TrainerCallback):", *(f"    {line}" for line in lines))
    return text.replace("    # before", "    trainer.add_callback(Norms())  #@")


def test_a_line_in_a_callback_skips_the_batches(studio: Studio) -> None:
    text = probed("in a callback", f'print("norm", {NORM})')
    done = studio.exact(text.replace('save_strategy="epoch"', 'save_strategy="no"').replace("load_best_", "# "))
    assert re.search(r"[1-9] skipped", done.stderr), done.stderr


@pytest.mark.long
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("place", ["in forward", "in compute_loss", "in a callback", "after"])
def test_a_line_anywhere_is_answered(studio: Studio, place: str, workers: str) -> None:
    line = {
        "in forward": 'print("hidden", self.training, hidden.abs().sum().item())',
        "in compute_loss": 'print("loss", outputs["loss"].item(), inputs["input_ids"].sum().item())',
        "in a callback": f'print("norm", {NORM})',
        "after": 'print("lr", trainer.lr_scheduler.get_last_lr(), trainer.state.log_history[-3])',
    }[place]
    studio.exact(probed(place, line), "-j", workers)


@pytest.mark.long
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_new_callback_is_answered(studio: Studio, workers: str) -> None:
    hook = "def on_epoch_end(self, args, state, control, model=None, **kwargs):"
    studio.exact(with_class(hook, f'    print("norm", {NORM})'), "-j", workers)


@pytest.mark.long
def test_what_a_new_callback_counts_is_counted_from_the_beginning(studio: Studio) -> None:
    studio.exact(
        with_class(
            "seen = 0",
            "def on_step_end(self, args, state, control, **kwargs):",
            "    self.seen += 1",
            "def on_epoch_end(self, args, state, control, **kwargs):",
            '    print("seen", self.seen)',
        ),
        "-j",
        "2",
    )


@pytest.mark.long
def test_a_run_leaves_its_checkpoints_to_the_replay_as_they_were(studio: Studio) -> None:
    studio.exact(probed("in a callback", f'print("norm", {NORM})'))
    files = {path: path.stat().st_mtime_ns for path in (studio.folder / "out").rglob("*")}
    assert files
    studio.exact(probed("in forward", 'print("hidden", hidden.sum().item())'), "-j", "2")


@pytest.mark.long
@pytest.mark.parametrize("command", [("train.py",), ("-m", "flor", "record", "train.py")])
def test_the_callback_logs_what_the_trainer_reports(studio: Studio, command: tuple[str, ...]) -> None:
    head = "from flor.integrations.transformers import FlorCallback\n"
    studio.write(head + SCRIPT.replace("[Report()]", "[Report(), FlorCallback()]"))
    done = studio.run(*command)
    assert done.code == 0, done.stderr
    rows = list(open_run(store=studio.folder / ".flor").logs("loss", "eval_loss"))
    assert [row.name for row in rows] == (["loss"] * 2 + ["eval_loss"]) * 5
    assert [dict(row.loops)["epoch"] for row in rows if row.name == "eval_loss"] == [0, 1, 2, 3, 4]


SAVING = """
import os
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast, Trainer, TrainerCallback, TrainingArguments,
    set_seed,
)


class Data(torch.utils.data.Dataset):
    def __init__(self, tokenizer, size):
        texts = [" ".join(f"w{(i * 7 + j) % 40}" for j in range(8)) for i in range(size)]
        self.encoded = tokenizer(texts, return_tensors="pt", padding=True)

    def __len__(self):
        return len(self.encoded["input_ids"])

    def __getitem__(self, i):
        return {**{k: v[i] for k, v in self.encoded.items()}, "labels": self.encoded["input_ids"][i].sum() % 2}


class Report(TrainerCallback):
    def on_epoch_end(self, args, state, control, model=None, **kwargs):
        print("epoch", state.epoch)
        print("norm", sum(p.norm().item() for p in model.parameters()))  #@


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        print("inner", outputs.loss.item())  #@
        return (outputs.loss, outputs) if return_outputs else outputs.loss


set_seed(1)
words = {"[PAD]": 0, "[UNK]": 1, **{f"w{i}": i + 2 for i in range(40)}}
raw = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
raw.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]")
sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
model = BertForSequenceClassification(BertConfig(vocab_size=42, max_position_embeddings=16, **sizes))
args = TrainingArguments(
    output_dir="out", num_train_epochs=3, per_device_train_batch_size=8, logging_steps=2, report_to=[], use_cpu=True,
    eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, disable_tqdm=True,
)
data = dict(train_dataset=Data(tokenizer, 32), eval_dataset=Data(tokenizer, 16))
trainer = MyTrainer(model=model, args=args, processing_class=tokenizer, callbacks=[Report()], **data)
trainer.train()
print("after", sum(p.norm().item() for p in model.parameters()))  #@
trainer.save_model("final")
print(sorted(os.listdir("out")), sorted(os.listdir("final")))
"""


def test_checkpoints_with_a_tokenizer_are_saved_again_and_the_real_ones_stay(studio: Studio) -> None:
    studio.program(SAVING, probed=False)
    recorded = studio.flor("record", "--overhead", "inf", "--materialize", "sync", "train.py")
    assert recorded.code == 0, recorded.stderr
    studio.program(SAVING, probed=True)
    copies = [Studio(studio.folder.parent / f"{studio.folder.name}-{workers}") for workers in (1, 2)]
    for copy in copies:
        shutil.copytree(studio.folder, copy.folder)
    oracle = studio.run("train.py")
    assert oracle.code == 0, oracle.stderr
    for workers, copy in enumerate(copies, 1):
        before = contents(copy.folder)
        done = copy.flor("replay", "--all", "-j", str(workers))
        assert (steady(done.stdout), done.code) == (steady(oracle.stdout), 0), done.stderr
        assert "from the beginning" not in done.stderr
        assert contents(copy.folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Every file outside of the store."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(".flor")}
