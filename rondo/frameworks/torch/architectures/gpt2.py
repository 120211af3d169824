"""gpt2: learned positions, a causal mask kept as a buffer, the head tied to the embedding."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES, LENGTHS, MAX_LENGTH
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture

WIDTH, HEADS, TOKENS = 8, 2, 12


class CausalAttention(nn.Module):
    visible: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1)
        visible = torch.ones(MAX_LENGTH, MAX_LENGTH, dtype=torch.bool).tril()
        self.register_buffer("visible", visible, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        query, key, value = (
            part.reshape(batch, length, HEADS, width // HEADS).transpose(1, 2)
            for part in self.inputs(x).split(width, dim=2)
        )
        scores = query @ key.transpose(-2, -1) / (width // HEADS) ** 0.5
        scores = scores.masked_fill(~self.visible[:length, :length], float("-inf"))
        mixed = self.dropout(scores.softmax(-1)) @ value
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = CausalAttention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.expand = nn.Linear(WIDTH, 2 * WIDTH)
        self.project = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        hidden = nn.functional.gelu(self.expand(self.norm2(x)), approximate="tanh")
        return x + self.project(hidden)


class GPT2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.positions = nn.Embedding(MAX_LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, TOKENS, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


ARCHITECTURE = Architecture(
    "gpt2",
    GPT2,
    schema=Schema(
        dimensions=(BATCHES, LENGTHS),
        inputs=(InputSpec("tokens", (BATCHES.name, LENGTHS.name), kind="index", high=TOKENS),),
    ),
    features=TOKENS,
)


@ARCHITECTURE.change(values=2)
def set_tied(module: GPT2, value: int) -> None:
    """Give the head a copy of the embedding, half as large, or tie the two again."""
    weight = module.tokens.weight
    module.head.weight = (nn.Parameter(weight.detach() / 2), weight)[value]


@ARCHITECTURE.change(values=3)
def set_window(module: GPT2, value: int) -> None:
    """Let the first block see only its latest one or three tokens, or all of them; in place."""
    attention = next(layer for layer in module.modules() if isinstance(layer, CausalAttention))
    everything = torch.ones_like(attention.visible).tril()
    attention.visible.copy_(everything.triu((0, -2, -MAX_LENGTH)[value]))


@ARCHITECTURE.change(values=3)
def set_dropout(module: GPT2, value: int) -> None:
    """Give the dropout of all attention weights another rate."""
    for layer in module.modules():
        if isinstance(layer, CausalAttention):
            layer.dropout.p = (0.0, 0.5, 0.1)[value]
