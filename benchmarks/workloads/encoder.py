"""A RoBERTa-like encoder, small."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Encoder(nn.Module):
    """Token and position embeddings, transformer layers, a layer norm."""

    def __init__(self, vocabulary: int, width: int, layers: int, heads: int, length: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.1, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.norm(self.layers(self.tokens(tokens) + self.positions(places)))


class Classifier(nn.Module):
    """An encoder whose weights are frozen, with a head that is trained."""

    def __init__(self, encoder: Encoder, width: int, classes: int) -> None:
        super().__init__()
        self.encoder = encoder.requires_grad_(False)
        self.dense = nn.Linear(width, width)
        self.out = nn.Linear(width, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        with torch.no_grad():
            first = self.encoder(tokens)[:, 0]
        return self.out(torch.tanh(self.dense(first)))
