"""bert: token, kind and position embeddings, a padding mask, dropout in every layer."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import attention, feed_forward
from rondo.frameworks.shared.architectures._dimensions import BATCHES, LENGTHS, MAX_LENGTH
from rondo.frameworks.shared.definition import Definition
from rondo.sequences.vocabulary import InputSpec, Schema

WIDTH, HEADS, TOKENS = 8, 2, 12


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    attend, feed = attention(nn), feed_forward(nn)

    class Embeddings(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token = nn.Embedding(TOKENS, WIDTH)
            self.kind = nn.Embedding(2, WIDTH)
            self.position = nn.Embedding(MAX_LENGTH, WIDTH)
            self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
            self.dropout = nn.Dropout(0.1)

        def forward(self, tokens: Any, kinds: Any) -> Any:
            x = self.token(tokens) + self.position(nn.arange(nn.shape(tokens)[1]))
            x = x + (self.kind.weight[0] if kinds is None else self.kind(kinds))
            return self.dropout(self.norm(x))

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = attend(WIDTH, HEADS, dropout=0.1)
            self.norm1 = nn.LayerNorm(WIDTH, eps=1e-12)
            self.feed_forward = feed(WIDTH, 2 * WIDTH)
            self.norm2 = nn.LayerNorm(WIDTH, eps=1e-12)

        def forward(self, x: Any, mask: Any) -> Any:
            x = self.norm1(x + self.attention(x, None, mask))
            return self.norm2(x + self.feed_forward(x))

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embeddings = Embeddings()
            self.layers = nn.Sequential(Layer(), Layer())
            self.depth = 2

        def forward(self, tokens: Any, kinds: Any = None, attended: Any = None) -> Any:
            mask = None
            if attended is not None:
                # The first token is always attended to: a row without any has no softmax.
                first = nn.arange(nn.shape(tokens)[1]) == 0
                mask = (attended | first[None, :])[:, None, None, :]
            x = self.embeddings(tokens, kinds)
            for layer in list(self.layers.layers)[: self.depth]:
                x = layer(x, mask)
            return x

    return Bert


ARCHITECTURE = Definition(
    "bert",
    define,
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


@ARCHITECTURE.change(values=3)
def set_dropout(module: Any, value: int) -> None:
    """Give the attention of all layers another dropout rate."""
    for layer in module.layers.layers:
        layer.attention.dropout.rate = (0.0, 0.5, 0.1)[value]


@ARCHITECTURE.change()
def share_layers(module: Any, value: int) -> None:
    """Use the first layer's attention in the last layer too, as ALBERT does."""
    module.layers.layers[1].attention = module.layers.layers[0].attention


@ARCHITECTURE.change(values=2)
def set_depth(module: Any, value: int) -> None:
    """Leave early, after the first layer, or run both."""
    module.depth = (1, 2)[value]
