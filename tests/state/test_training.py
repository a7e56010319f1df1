"""Whole training states: restore and go on equals the full run."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from flor.state import differences


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)
        self.register_buffer("seen", torch.zeros(1), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return self.second(torch.dropout(self.norm(self.first(x)).relu(), 0.2, self.training))


class Training:
    """A little of everything that a script holds."""

    def __init__(self, optimizer: Callable[..., Any]) -> None:
        self.net = Net()
        self.optimizer = optimizer(self.net.parameters())
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 10)
        self.average = AveragedModel(self.net)
        self.scaler = torch.amp.GradScaler("cpu", enabled=True)
        self.losses: list[float] = []
        self.best: dict[str, torch.Tensor] = {}

    def step(self) -> float:
        def closure() -> torch.Tensor:
            self.optimizer.zero_grad()
            loss = self.net(torch.randn(16, 3)).square().mean()
            loss.backward()
            return loss

        loss = self.optimizer.step(closure)
        self.scheduler.step()
        self.average.update_parameters(self.net)
        self.losses.append(loss.item())
        self.best = {name: value.clone() for name, value in self.net.state_dict().items()}
        self.net.eval() if len(self.losses) % 3 == 0 else self.net.train()
        return self.losses[-1]


OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, 0.01),
    "fused adamw": lambda p: torch.optim.AdamW(p, 0.01, fused=True),
    "lbfgs": lambda p: torch.optim.LBFGS(p, 0.1, max_iter=3),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("steps", [0, 3])
def test_restore_and_go_on_equals_the_full_run(name: str, steps: int, trip: Any) -> None:
    torch.manual_seed(0)
    training = Training(OPTIMIZERS[name])
    before = [id(p) for p in training.net.parameters()]
    for _ in range(steps):
        training.step()
    saved = trip.through_bytes(trip.take({"s": {"training": training}}))
    expected = [training.step() for _ in range(4)]
    trip.put(saved, {"s": {"training": training}})
    assert [training.step() for _ in range(4)] == expected
    assert [id(p) for p in training.net.parameters()] == before
    assert training.optimizer.param_groups[0]["params"][0] is training.net.first.weight
    assert training.scheduler.optimizer is training.optimizer


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_fresh_training_takes_over_the_state_of_another(name: str, trip: Any) -> None:
    torch.manual_seed(0)
    recorded = Training(OPTIMIZERS[name])
    for _ in range(3):
        recorded.step()
    saved = trip.through_bytes(trip.take({"s": {"training": recorded}}))
    expected = [recorded.step() for _ in range(4)]
    torch.manual_seed(9)
    fresh = Training(OPTIMIZERS[name])
    net, weight = fresh.net, fresh.net.first.weight
    trip.put(saved, {"s": {"training": fresh}})
    assert fresh.net is net and fresh.net.first.weight is weight
    assert differences(saved, trip.take({"s": {"training": fresh}})) == []
    assert [fresh.step() for _ in range(4)] == expected


def test_a_group_added_during_training_is_there_again(trip: Any) -> None:
    backbone, head = nn.Linear(2, 2), nn.Linear(2, 2)
    optimizer = torch.optim.SGD(head.parameters(), 0.1)
    scopes = {"s": {"backbone": backbone, "head": head, "optimizer": optimizer}}
    optimizer.add_param_group({"params": list(backbone.parameters()), "lr": 0.01})
    saved = trip.through_bytes(trip.take(scopes))
    fresh = torch.optim.SGD(head.parameters(), 0.1)
    trip.put(saved, {"s": {"backbone": backbone, "head": head, "optimizer": fresh}})
    assert [group["lr"] for group in fresh.param_groups] == [0.1, 0.01]
    assert fresh.param_groups[1]["params"][0] is backbone.weight


def hidden_model() -> tuple[Any, Any, list[Any]]:
    net = Net()
    return torch.optim.SGD(net.parameters(), 0.1), weakref.ref(net), [net]


def test_a_module_that_only_the_optimizer_knows_is_found(trip: Any) -> None:
    optimizer, net, keep = hidden_model()
    saved = trip.through_bytes(trip.take({"s": {"optimizer": optimizer}}))
    assert saved.hidden
    net().norm.running_mean.fill_(7)
    net().eval()
    trip.put(saved, {"s": {"optimizer": optimizer}})
    assert net().training and not net().norm.running_mean.any()
    keep.clear()


def test_parameters_without_a_module_are_searched_for_once(trip: Any, memory: Any, monkeypatch: Any) -> None:
    optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], 0.1)
    assert not trip.take({"s": {"optimizer": optimizer}}, memory=memory).hidden
    monkeypatch.setattr(gc, "get_objects", lambda: pytest.fail("searched again"))
    assert not trip.take({"s": {"optimizer": optimizer}}, memory=memory).refusals


def test_an_alias_made_after_the_prologue_is_made_again(trip: Any) -> None:
    net = nn.Linear(2, 2)
    copy = nn.Linear(2, 2)
    saved = trip.through_bytes(trip.take({"s": {"net": net, "best": copy}}))
    values = trip.put(saved, {"s": {"net": net, "best": net}}).values["s"]
    assert values["net"] is net and values["best"] is not net
    assert torch.equal(values["best"].weight, copy.weight) and not torch.equal(values["best"].weight, net.weight)
