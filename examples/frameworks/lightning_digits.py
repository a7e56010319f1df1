"""A Lightning script without a line of flor: `flor record lightning_digits.py`, add a print, `flor replay`."""

import sys

import lightning
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 10


class Digits(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 10))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("accuracy", (self.net(x).argmax(1) == y).float().mean())

    def on_train_epoch_end(self):
        print(f"epoch {self.current_epoch} accuracy {self.trainer.callback_metrics['accuracy']:.4f}")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


lightning.seed_everything(7)
digits = load_digits()
images = torch.tensor(digits.data / 16, dtype=torch.float32)
train, val = random_split(TensorDataset(images, torch.tensor(digits.target)), [1500, 297])

trainer = lightning.Trainer(
    max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
)
trainer.fit(Digits(), DataLoader(train, batch_size=32, shuffle=True), DataLoader(val, batch_size=297))

# Now ask the past. Below `loss = nn.functional.cross_entropy(self.net(x), y)` add:
#     print("loss", batch_idx, loss.item())
# and run: flor replay
