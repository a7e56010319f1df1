"""torch does under `flor record` what it does under `python`: compiled, scripted, traced, loaded in parallel."""

# ruff: noqa: E501 (a small script is best on one line)

from __future__ import annotations

from pathlib import Path

import pytest
from bothways import Row, assert_same, names

COMPILE = """
    import torch, torch._dynamo
    from torch._dynamo.callback import on_compile_start
    from torch._dynamo.utils import counters
    import friend
    compiled = []
    on_compile_start(lambda *_: compiled.append(1))
    def helper(x):
        for i in range(2):
            x = x + torch.sin(x) * i
        return x
    @torch.compile(backend="eager", fullgraph=True)
    def whole(x):
        for i in range(3):
            x = helper(x) * 2
        while x.shape[0] > 4:
            x = x[:len(x) - 1].clone()
        return friend.more(x)
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(2))
        def forward(self, x):
            for layer in self.layers:
                x = layer(x).relu()
            return x
    @torch.compile(backend="aot_eager")
    def broken(x):
        for i in range(2):
            x = x + 1
            print("break", i)
        return x
    torch.manual_seed(0)
    net = torch.compile(Net(), backend="eager", fullgraph=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(3):
        for n in (5, 6):
            print(whole(torch.ones(n)).sum().item())
            loss = net(torch.ones(n, 3)).sum()
            loss.backward(); optimizer.step(); optimizer.zero_grad()
        print(broken(torch.ones(2)), loss.item())
    def train():
        for step in range(2):
            print(whole(torch.ones(4)).sum().item())
    train()
    print(dict(counters["stats"]), dict(counters["graph_break"]), len(compiled), sum(counters["recompiles"].values()) if "recompiles" in counters else 0)
    print(torch._dynamo.explain(Net())(torch.ones(2, 3)).graph_break_count)
"""
SCRIPTED = """
    import torch
    from typing import List
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(2))
        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            n = 0
            while n < 3:
                x = x * 2
                n += 1
            return x
    @torch.jit.script
    def f(x, n: int) -> torch.Tensor:
        for i in range(n):
            if i > 1:
                x = x + i
        return x
    def g(items: List[int]) -> int:
        total = 0
        for i in items:
            total += max(i, 1)
        return total
    from torch.utils.data import DataLoader, Dataset
    class Data(Dataset):
        def __len__(self): return 6
        def __getitem__(self, i):
            for k in range(2):
                i = i + torch.rand(()).item()
            return i
    class Bad(Data):
        def __getitem__(self, i):
            for k in range(2):
                raise KeyError(f"sample {i}")
    if __name__ == "__main__":
        torch.manual_seed(0)
        net = Net()
        x = torch.ones(1, 2)
        for how in (torch.jit.script(net), torch.jit.trace(net, x), torch.fx.symbolic_trace(net)):
            print(how(x), hasattr(how, "graph"))
        print(f(x, 4), torch.jit.script(g)([1, 2]), torch.fx.symbolic_trace(net).code, torch.jit.script(net).code)
        print(torch.export.export(net, (x,)).graph_module.code)
        torch.save(net, "net.pt")
        print(torch.load("net.pt", weights_only=False)(x), torch.func.vmap(lambda v: v * 2)(x))
        for context in (None, "fork", "spawn"):
            torch.manual_seed(1)
            loader = DataLoader(Data(), 2, shuffle=True, num_workers=2 if context else 0, multiprocessing_context=context)
            for epoch in range(2):
                for batch in loader:
                    print(context, epoch, batch)
        for workers in (0, 2):
            try:
                for batch in DataLoader(Bad(), 2, num_workers=workers):
                    pass
            except KeyError:
                import traceback
                traceback.print_exc()
        for batch in DataLoader(Bad(), 2):
            pass
"""
ROWS = [
    Row("compile", COMPILE, files={"friend.py": "def more(x):\n    for i in range(2):\n        x = x + i\n    return abs(x)"},
        table="torch.compile: fullgraph, graph breaks, recompiles"),
    Row("script, trace and loaders", SCRIPTED, table="torch.jit, torch.fx, torch.export, DataLoader workers"),
]  # fmt: skip


LONG = {"script,-trace-and-loaders"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=name, marks=[pytest.mark.long] * (name in LONG))
        for row, name in zip(ROWS, names(ROWS), strict=True)
    ],
)
def test_torch_does_what_it_does_under_python(row: Row, tmp_path: Path) -> None:
    assert_same(row, tmp_path / "work")
