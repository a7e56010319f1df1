"""A Hugging Face Trainer without a line of flor: `flor record hf_tiny.py`, add a print, `flor replay`."""

import sys

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 6


class Parity(torch.utils.data.Dataset):
    """Is the sum of twelve tokens odd?"""

    def __init__(self, size, seed):
        self.tokens = torch.randint(0, 50, (size, 12), generator=torch.Generator().manual_seed(seed))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index].sum() % 2}


class Report(TrainerCallback):
    def on_epoch_end(self, args, state, control, model, **kwargs):
        print(f"epoch {state.epoch:.0f} after {state.global_step} steps")


set_seed(7)
config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
trainer = Trainer(
    model=BertForSequenceClassification(config),
    args=TrainingArguments(
        "hf_tiny_output", num_train_epochs=epochs, per_device_train_batch_size=16, learning_rate=1e-3, logging_steps=10,
        eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
    ),
    train_dataset=Parity(320, seed=0),
    eval_dataset=Parity(64, seed=1),
    callbacks=[Report()],
)  # fmt: skip
trainer.train()

# Now ask the past. Below `print(f"epoch {state.epoch:.0f} after {state.global_step} steps")` add:
#     print("norm", sum(p.norm().item() for p in model.parameters()))
# and run: flor replay
