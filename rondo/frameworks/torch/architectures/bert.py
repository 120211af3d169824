"""bert: token, kind and position embeddings, a padding mask, attention chosen by a string."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES, LENGTHS, MAX_LENGTH
from rondo.frameworks.torch.architectures._layers import Attention
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture

WIDTH, HEADS, TOKENS = 8, 2, 12


class Embeddings(nn.Module):
    positions: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(TOKENS, WIDTH, padding_idx=0)
        self.kind = nn.Embedding(2, WIDTH)
        self.position = nn.Embedding(MAX_LENGTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("positions", torch.arange(MAX_LENGTH)[None], persistent=False)

    def forward(self, tokens: Tensor, kinds: Tensor | None) -> Tensor:
        if kinds is None:
            kinds = torch.zeros_like(tokens)
        x = self.token(tokens) + self.kind(kinds)
        x = x + self.position(self.positions[:, : tokens.shape[1]])
        return self.dropout(self.norm(x))


class BertAttention(Attention):
    """Attention by the fused function, or spelt out, as `implementation` says."""

    implementation = "fused"

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        if self.implementation == "fused":
            return super().forward(x, memory, mask=mask, causal=causal)
        query, key = self.split(self.query(x)), self.split(self.key(x))
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = nn.functional.dropout(scores.softmax(-1), self.dropout, self.training)
        mixed = weights @ self.split(self.value(x))
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = BertAttention(WIDTH, HEADS, dropout=0.1)
        self.norm1 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.intermediate = nn.Linear(WIDTH, 2 * WIDTH)
        self.output = nn.Linear(2 * WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.norm1(x + self.attention(x, mask=mask))
        return self.norm2(x + self.output(nn.functional.gelu(self.intermediate(x))))


class Bert(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings = Embeddings()
        self.layers = nn.ModuleList(Layer() for _ in range(2))

    def forward(
        self, tokens: Tensor, kinds: Tensor | None = None, attended: Tensor | None = None
    ) -> Tensor:
        mask = None
        if attended is not None:
            # The first token is always attended to: a row without any has no softmax.
            mask = (
                attended[:, None, None, :]
                | (self.embeddings.positions == 0)[:, None, None, : tokens.shape[1]]
            )
        x = self.embeddings(tokens, kinds)
        for layer in self.layers:
            x = layer(x, mask)
        return x


ARCHITECTURE = Architecture(
    "bert",
    Bert,
    schema=Schema(
        dimensions=(BATCHES, LENGTHS),
        inputs=(
            InputSpec("tokens", (BATCHES.name, LENGTHS.name), kind="index", high=TOKENS),
            InputSpec("kinds", (BATCHES.name, LENGTHS.name), kind="index", high=2, optional=True),
            InputSpec("attended", (BATCHES.name, LENGTHS.name), kind="bool", optional=True),
        ),
    ),
    features=WIDTH,
)


def attentions(module: Bert) -> list[BertAttention]:
    """Return the attention modules of all layers."""
    return [layer for layer in module.modules() if isinstance(layer, BertAttention)]


@ARCHITECTURE.change(values=2)
def set_implementation(module: Bert, value: int) -> None:
    """Spell the attention out in all layers, or use the fused function again."""
    for attention in attentions(module):
        attention.implementation = ("spelt", "fused")[value]


@ARCHITECTURE.change(values=3)
def set_dropout(module: Bert, value: int) -> None:
    """Give the attention of all layers another dropout rate."""
    for attention in attentions(module):
        attention.dropout = (0.0, 0.5, 0.1)[value]


@ARCHITECTURE.change()
def share_layers(module: Bert, value: int) -> None:
    """Use the first layer's attention in the last layer too, as ALBERT does."""
    layers = [layer for layer in module.layers if isinstance(layer, Layer)]
    layers[-1].attention = layers[0].attention
