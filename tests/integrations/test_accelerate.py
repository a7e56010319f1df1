"""accelerate: the loop is the user's, what `prepare` gives back is captured like everything else."""

from __future__ import annotations

import pytest

from tests.integrations.conftest import Studio

pytest.importorskip("accelerate")

SCRIPT = """
import torch
from accelerate import Accelerator
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
x = torch.randn(320, 20)
loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=16, shuffle=True)
model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 20)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
for epoch in range(6):
    for inputs, labels in loader:
        with accelerator.accumulate(model):
            loss = functional.cross_entropy(model(inputs), labels)
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        print("inner", loss.item(), scheduler.get_last_lr())  #@
    print("epoch", epoch, loss.item())
"""

OUTER = SCRIPT.replace('        print("inner", loss.item(), scheduler.get_last_lr())  #@\n', "").replace(
    '    print("epoch"', '    print("norm", sum(p.norm().item() for p in model.parameters()))  #@\n    print("epoch"'
)


@pytest.mark.long
@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("text", [SCRIPT, OUTER], ids=["inner", "outer"])
def test_prepared_objects_replay(studio: Studio, text: str, workers: str) -> None:
    studio.exact(text, "-j", workers)
