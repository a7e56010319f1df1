"""Edits made by a machine: none that is unsafe passes silently, and log statements pass."""

from __future__ import annotations

import ast
import builtins
import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator
from textwrap import dedent

from flor.model.edits import Edit
from flor.source.probes import diff_sources
from flor.source.treediff import sections

NESTED = """
    import functools
    import random
    import time

    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(1)
    x, y = torch.randn(100, 4), torch.randint(2, (100,))
    loader = DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    best, history, step = 0.0, [], 0
    for epoch in range(5):
        model.train()
        total = 0.0
        for i, (xb, yb) in enumerate(loader):
            optimizer.zero_grad()
            out = model(xb + 0.1 * torch.randn_like(xb))
            loss = F.cross_entropy(out, yb)
            loss.backward()
            if i % 2 == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
            step += 1
        scheduler.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == y).float().mean().item()
        history.append(accuracy)
        if accuracy > best:
            best = accuracy
            torch.save(model.state_dict(), "best.pt")
        else:
            step -= 1
        print(f"epoch {epoch}: {total / len(loader):.4f} {accuracy:.4f}")
    print("best", best, history)
    """

TRAINER = """
    import argparse
    import random

    import numpy as np
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first = nn.Linear(4, width)
            self.norm = nn.BatchNorm1d(width)
            self.last = nn.Linear(width, 1)

        def forward(self, x):
            hidden = torch.relu(self.norm(self.first(x)))
            return self.last(hidden)

    class Trainer:
        def __init__(self, model, loader, lr=0.1):
            self.model = model
            self.loader = loader
            self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
            self.loss_fn = nn.MSELoss()
            self.step, self.history = 0, []

        def train_epoch(self, epoch):
            self.model.train()
            total, count = 0.0, 0
            for x, y in self.loader:
                prediction = self.model(x)
                loss = self.loss_fn(prediction, y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.step += 1
                total += loss.item() * len(x)
                count += len(x)
            return total / count

        def fit(self, epochs):
            for epoch in range(epochs):
                mean = self.train_epoch(epoch)
                self.history.append(mean)
                for group in self.optimizer.param_groups:
                    group["lr"] *= 0.9
                if mean < 0.01 and epoch > 2:
                    break
                print(epoch, mean)
            return self.history

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--epochs", type=int, default=5)
        args = parser.parse_args()
        random.seed(1)
        np.random.seed(2)
        model = Net(16)
        trainer = Trainer(model, make_loader(), lr=0.05)
        history = trainer.fit(args.epochs)
        print("last", history[-1])

    if __name__ == "__main__":
        main()
    """

STEPS = """
    import math
    import random

    import numpy as np
    import torch
    import torch.nn as nn

    iter_num, best, window = 0, 1e9, []
    model, target = nn.Linear(3, 3), nn.Linear(3, 3)
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = iter(stream)
    config = {"decay": 0.9, "limit": 40}

    def get_lr(it):
        if it < 10:
            return 1e-3 * (it + 1) / 10
        return 1e-4 + 0.5 * (1 + math.cos(math.pi * it / 40)) * 1e-3

    @torch.no_grad()
    def update(slow, fast, decay):
        for a, b in zip(slow.parameters(), fast.parameters()):
            a.mul_(decay).add_(b, alpha=1 - decay)

    while True:
        lr = get_lr(iter_num)
        for group in optimizer.param_groups:
            group["lr"] = lr
        try:
            x, y = next(batches)
        except StopIteration:
            batches = iter(stream)
            x, y = next(batches)
        for micro in range(2):
            loss = loss_fn(model(x), y) / 2
            loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        update(target, model, config["decay"])
        window.append(loss.item())
        if iter_num % 10 == 9:
            best = min(best, sum(window) / len(window))
            print(iter_num, best)
            window.clear()
        iter_num += 1
        if iter_num > config["limit"]:
            break
    print("done", best)
    """

SCRIPTS = [dedent(text).lstrip() for text in (NESTED, TRAINER, STEPS)]
Mutation = Callable[[ast.Module, random.Random], bool]


def blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every block of statements, without the bodies of classes."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            yield from (block for _, block in sections(node) if block)


def pick(tree: ast.AST, rng: random.Random, kind: type[ast.AST]) -> ast.AST | None:
    found = [node for node in ast.walk(tree) if isinstance(node, kind)]
    return rng.choice(found) if found else None


def change_constant(tree: ast.Module, rng: random.Random) -> bool:
    node = pick(tree, rng, ast.Constant)
    assert isinstance(node, ast.Constant)
    if isinstance(node.value, bool | None) or not isinstance(node.value, int | float | str):
        return False
    node.value = node.value + "x" if isinstance(node.value, str) else node.value * 2 + 1
    return True


def change_operator(tree: ast.Module, rng: random.Random) -> bool:
    node = pick(tree, rng, ast.BinOp) if rng.random() < 0.5 else pick(tree, rng, ast.Compare)
    if isinstance(node, ast.BinOp):
        node.op = ast.Sub() if not isinstance(node.op, ast.Sub) else ast.Add()
    elif isinstance(node, ast.Compare):
        node.ops[0] = ast.NotEq() if not isinstance(node.ops[0], ast.NotEq) else ast.Eq()
    return node is not None


def change_call(tree: ast.Module, rng: random.Random) -> bool:
    node = pick(tree, rng, ast.Call)
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Attribute):
        node.func.attr = f"{node.func.attr}x"
    elif isinstance(node.func, ast.Name):
        node.func.id = f"{node.func.id}x"
    return True


def change_keyword(tree: ast.Module, rng: random.Random) -> bool:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.keywords]
    rng.choice(calls).keywords.pop()
    return True


def delete_statement(tree: ast.Module, rng: random.Random) -> bool:
    block = rng.choice([block for block in blocks(tree) if len(block) > 1])
    block.pop(rng.randrange(len(block)))
    return True


def swap_statements(tree: ast.Module, rng: random.Random) -> bool:
    block = rng.choice([block for block in blocks(tree) if len(block) > 1])
    i = rng.randrange(len(block) - 1)
    block[i], block[i + 1] = block[i + 1], block[i]
    return True


def wrap_statement(tree: ast.Module, rng: random.Random) -> bool:
    block = rng.choice(list(blocks(tree)))
    i = rng.randrange(len(block))
    head = rng.choice(["if debug:", "with torch.no_grad():", "for _ in range(2):", "try:"])
    tail = "\nfinally:\n    print(1)" if head == "try:" else ""
    (outer,) = ast.parse(f"{head}\n    pass{tail}").body
    outer.body = [block[i]]  # type: ignore[attr-defined]
    block[i] = outer
    return True


REPEATABLE = ("step()", "+= 1", "loss.item())", "+= loss.item()", "backward()", "history.append(mean)", "next(batches)")


def repeat_statement(tree: ast.Module, rng: random.Random) -> bool:
    """The same statement once more: a second step, a second append."""
    places = [(block, node) for block in blocks(tree) for node in block if ast.unparse(node).endswith(REPEATABLE)]
    block, node = rng.choice(places)
    block.insert(block.index(node), copy.deepcopy(node))
    return True


DISTURBING = """
optimizer.step()
optimizer.zero_grad()
loss.backward()
print(loss.backward())
torch.manual_seed(3)
random.seed(1)
np.random.seed(1)
print(torch.rand(3))
print("noise", torch.randn_like(x).mean())
print(np.random.randn(), flush=True)
print(random.random())
print(f"{random.randint(0, 3)}")
model.train()
model.eval()
self.model.eval()
print(model(x))
print(self.model(x).mean().item())
self.step = 5
self.step += 1
history.clear()
history.append(1)
print(history.pop())
self.history.append(loss.item())
print(window.clear())
model.load_state_dict(other)
model[0].weight.data.zero_()
print([p.data.mul_(2) for p in model.parameters()])
for p in model.parameters(): p.grad = None
for p in model.parameters(): p.requires_grad_(False)
for p in model.parameters(): p.requires_grad = False
for group in optimizer.param_groups: group["lr"] = 1
print(next(batches))
print(next(iter(loader)))
for xb, yb in loader: print(xb)
print(sum(1 for _ in self.loader))
print(list(batches)[:1])
raise RuntimeError("stop")
if loss > 3: raise ValueError
print(get_lr(update(target, model, 0.5)))
with torch.no_grad(): model[0].bias += 1
torch.set_default_dtype(torch.float64)
torch.backends.cudnn.benchmark = True
torch.use_deterministic_algorithms(True)
setattr(model, "training", False)
x.add_(1)
print(x.clamp_(0, 1))
print(update(target, model, 0.5))
print(scheduler.step())
config["decay"] = 0.5
print(list(map(model, [x])))
print(sorted([x], key=model))
print(*batches)
first, *rest = batches
print(x in batches)
history.sort()
model.half()
print(model.double())
torch.nn.Module.eval(model)
print(functools.partial(optimizer.step)())
import sys; sys.exit()
exec("lr = 3")
print(nn.Linear(2, 2))
print(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0))
nn.init.zeros_(model[0].weight)
""".strip().splitlines()


REBINDING = {
    0: ["best = 3", "total = 0", "model = nn.Linear(4, 2)", "del model", "step, other = 0, 1", "print(best := 3)",
        "len = max", "for step in range(3): print(step)", "import random as optimizer", "def history(): print(1)",
        "with open('a') as loader: print(1)", "loss = total = 0", "range = print", "print(step)\n{0}step += 1"],
    1: ["total = 0", "count += 1", "x = None", "len = max", "print(total := 3)", "global total",
        "for x in [1]: print(x)"],
    2: ["best = 3", "window = []", "lr = 0.5\n{0}group['lr'] = lr", "model = target", "iter_num += 1", "batches = 3",
        "get_lr = print", "class config: pass", "def update(*args): print(args)", "optimizer = None", "del window[0]"],
}  # fmt: skip


def fits(added: list[ast.stmt], tree: ast.Module) -> bool:
    """True if the script has every name that the statement is about."""
    known = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | set(dir(builtins))
    known |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    known |= {alias.asname or alias.name for node in ast.walk(tree) for alias in getattr(node, "names", [])}
    names = {node for part in added for node in ast.walk(part) if isinstance(node, ast.Name)}
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return all(node.id in known | bound for node in names)


def add_disturbance(tree: ast.Module, rng: random.Random) -> bool:
    block = rng.choice(list(blocks(tree)))
    added = ast.parse(rng.choice(DISTURBING)).body
    if not fits(added, tree):
        return False
    if rng.random() < 0.4:
        (outer,) = ast.parse(rng.choice(["if flag:\n    print(1)", "try:\n    print(1)\nfinally:\n    print(2)"])).body
        outer.body += added  # type: ignore[attr-defined]
        added = [outer]
    if rng.random() < 0.4:
        added += ast.parse("print('here')").body
    at = rng.randrange(len(block) + 1)
    block[at:at] = added
    return True


MUTATIONS: list[Mutation] = [
    change_constant, change_operator, change_call, change_keyword, delete_statement, swap_statements,
    wrap_statement, repeat_statement, add_disturbance, add_disturbance, add_disturbance,
]  # fmt: skip

LOGS = """
print("loss", loss.item())
print(f"{loss.item():.6f} {optimizer.param_groups[0]['lr']}")
print([p.norm().item() for p in model.parameters()])
print({n: p.grad.abs().max().item() for n, p in model.named_parameters() if p.grad is not None})
logging.info("loss %.4f", loss)
logger.warning(f"{out.argmax(1)[:3].tolist()}")
flor.log("weight", model[0].weight)
writer.add_scalar("loss", loss.item(), step)
writer.add_histogram("w", model.weight, epoch)
wandb.log({"loss": loss.item(), "lr": scheduler.get_last_lr()[0]})
mlflow.log_metric("loss", loss.item(), step=epoch)
tqdm.write(f"{loss.item()}")
print(torch.linalg.vector_norm(model.weight).item(), np.mean(history), math.sqrt(2))
print(self.model.norm.running_mean.tolist(), self.step, len(self.history))
print(optimizer.state[model.weight]["exp_avg"].norm().item())
print(torch.cat([p.detach().flatten() for p in model.parameters()]).std().item())
print(x.shape, y.dtype, x.float().mean(dim=0).cpu().numpy().round(3), sep="\\t")
print(sorted(model.state_dict())[:3], torch.isnan(loss).any().item(), torch.get_rng_state().sum().item())
print(F.softmax(out, dim=1).max().item(), loss_fn(x, y).item())
print("%d %s" % (len(history), str(history[-1:])), file=sys.stderr)
""".strip().splitlines()

WRAPPED = r"""
{log}
if epoch % 10 == 0:\n    {log}
with torch.no_grad():\n    {log}
for probe_name, probe_value in model.named_parameters():\n    print(probe_name, probe_value.mean().item())\n    {log}
try:\n    {log}\nexcept (ValueError, KeyError) as problem:\n    print("no", problem)
norm_now = sum(q.norm() ** 2 for q in model.parameters()).item() ** 0.5\n{log}\nprint(norm_now)
seen = []\nfor q in model.parameters():\n    seen.append(q.abs().max().item())\nprint(max(seen))
def describe(value):\n    return f"{{value.mean().item()}}"\nprint(describe(loss))\n{log}
import statistics\n{log}\nprint(statistics.mean([1, 2]))
with open("probe.txt", "a") as handle:\n    handle.write(f"{{loss.item()}}\\n")
""".strip().splitlines()


def add_log(tree: ast.Module, rng: random.Random) -> bool:
    block = rng.choice([block for block in blocks(tree) if not isinstance(block[-1], ast.Return | ast.Break)])
    text = rng.choice(WRAPPED).replace("\\n", "\n").replace("{{", "{").replace("}}", "}")
    at = rng.randrange(len(block) + 1)
    block[at:at] = ast.parse(text.replace("{log}", rng.choice(LOGS))).body
    return True


def edited(script: str, mutation: Mutation, rng: random.Random) -> tuple[str, str] | None:
    """The script as a machine writes it, before and after; None if the mutation had nothing to do."""
    tree = ast.parse(script)
    before = ast.unparse(tree)
    if not mutation(tree, rng):
        return None
    after = ast.unparse(ast.fix_missing_locations(tree))
    return (before, after) if after != before else None


def compare(before: str, after: str) -> Edit:
    return diff_sources({"train.py": before}, {"train.py": after})


def many(mutations: list[Mutation], count: int, seed: int) -> Iterator[tuple[str, str, str]]:
    rng = random.Random(seed)
    while count:
        mutation = rng.choice(mutations)
        texts = edited(rng.choice(SCRIPTS), mutation, rng)
        if texts is not None:
            count -= 1
            yield (mutation.__name__, *texts)


def test_no_unsafe_edit_passes_silently() -> None:
    silent, seen = [], Counter[str]()
    for name, before, after in many(MUTATIONS, 505, seed=1):
        edit = compare(before, after)
        seen[name] += 1
        if not edit.others and not any(probe.doubts for probe in edit.probes):
            silent.append((name, [after.splitlines()[probe.first_line - 1] for probe in edit.probes]))
    assert silent == []
    assert min(seen.values()) >= 20


def after_backward(script: str, statement: str) -> Edit:
    lines = script.splitlines()
    at = next(n for n, line in enumerate(lines) if "loss.backward()" in line)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return compare(script, "\n".join([*lines[: at + 1], indent + statement.format(indent), *lines[at + 1 :]]))


def test_every_disturbing_statement_is_doubted() -> None:
    for script in SCRIPTS:
        for statement in DISTURBING:
            if not fits(ast.parse(statement).body, ast.parse(script)):
                continue
            edit = after_backward(script, statement.replace("{", "{{").replace("}", "}}"))
            assert edit.others or any(probe.doubts for probe in edit.probes), statement


def test_a_rebinding_of_what_training_reads_later_is_refused() -> None:
    for number, rebindings in REBINDING.items():
        for statement in rebindings:
            edit = after_backward(SCRIPTS[number], statement)
            assert edit.others or any(probe.refused for probe in edit.probes), statement


def test_log_statements_are_accepted() -> None:
    total, refused = 0, []
    for _, before, after in many([add_log], 150, seed=2):
        edit = compare(before, after)
        total += 1
        if edit.others or any(probe.refused for probe in edit.probes):
            refused.append(([change.what for change in edit.others], [probe.doubts for probe in edit.probes]))
    assert len(refused) <= 0.02 * total, refused


def test_after_an_addition_every_old_line_is_found_again() -> None:
    for _, before, after in many([add_log], 20, seed=3):
        old, new, lines = before.splitlines(), after.splitlines(), compare(before, after).lines
        for number, text in enumerate(old, 1):
            there = lines.present("train.py", number)
            if there is not None:
                assert new[there - 1] == text
                assert lines.recorded("train.py", there) == number
                assert not lines.is_probe("train.py", there)
            else:
                assert text.strip() in ("", "else:", "try:", "finally:") or text.strip().startswith("except")
