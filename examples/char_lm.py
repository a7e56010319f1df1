"""A small GPT that learns to write Python, from a text that is on any machine: the standard library's own source."""

import argparse
import inspect
import textwrap

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=250)
parser.add_argument("--eval-every", type=int, default=50)
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--context", type=int, default=48)
parser.add_argument("--width", type=int, default=64)
parser.add_argument("--layers", type=int, default=2)
args = parser.parse_args()

torch.manual_seed(1337)
text = inspect.getsource(textwrap)
letters = sorted(set(text))
number = {letter: i for i, letter in enumerate(letters)}
data = torch.tensor([number[letter] for letter in text])
split = int(0.9 * len(data))
parts = {"train": data[:split], "val": data[split:]}


class Block(nn.Module):
    """Attention and a perceptron, each with a residual."""

    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        """Mix what came before, then think."""
        batch, time, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(batch, time, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(mixed.transpose(1, 2).reshape(batch, time, width)))
        return x + self.dropout(self.mlp(self.norm2(x)))


class GPT(nn.Module):
    """Characters in, scores of the next character out; input and output weights are tied."""

    def __init__(self, letters, context, width, layers):
        super().__init__()
        self.tokens, self.places = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, x):
        """The scores at each place."""
        x = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def get_batch(part):
    """Random pieces of the text, and the same one character on."""
    source = parts[part]
    starts = torch.randint(len(source) - args.context, (args.batch_size,)).tolist()
    x = torch.stack([source[i : i + args.context] for i in starts])
    y = torch.stack([source[i + 1 : i + 1 + args.context] for i in starts])
    return x, y


def loss_of(x, y):
    """The mean cross entropy of the next character."""
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


@torch.no_grad()
def estimate_loss():
    """The mean loss over a few batches of each part."""
    model.eval()
    found = {part: torch.stack([loss_of(*get_batch(part)) for _ in range(5)]).mean().item() for part in parts}
    model.train()
    return found


@torch.no_grad()
def write(length):
    """What the model writes by itself."""
    model.eval()
    written = torch.zeros(1, 1, dtype=torch.long)
    for _ in range(length):
        scores = model(written[:, -args.context :])[:, -1]
        written = torch.cat([written, torch.multinomial(scores.softmax(-1), 1)], dim=1)
    return "".join(letters[i] for i in written[0].tolist())


model = GPT(len(letters), args.context, args.width, args.layers)
for table in (model.tokens, model.places):
    nn.init.normal_(table.weight, std=0.02)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

step = 0
x, y = get_batch("train")
while True:
    if step % args.eval_every == 0:
        losses = estimate_loss()
        print(f"step {step}: train {losses['train']:.4f}, val {losses['val']:.4f}")
    if step == args.steps:
        break
    loss = loss_of(x, y)
    x, y = get_batch("train")
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    step += 1
print(write(120))

# Now ask the past. Below `optimizer.step()` add: print("embedding", step, model.tokens.weight.norm().item())
# and run: flor replay
