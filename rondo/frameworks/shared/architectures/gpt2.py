"""gpt2: learned positions, a causal mask with a settable window, the head tied to the embedding."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import attention, causal_mask, feed_forward
from rondo.frameworks.shared.architectures._dimensions import BATCHES, LENGTHS, MAX_LENGTH
from rondo.frameworks.shared.definition import Definition
from rondo.sequences.vocabulary import InputSpec, Schema

WIDTH, HEADS, TOKENS = 8, 2, 12


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    attend, feed = attention(nn), feed_forward(nn)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(WIDTH)
            self.attention = attend(WIDTH, HEADS, dropout=0.1)
            self.norm2 = nn.LayerNorm(WIDTH)
            self.feed_forward = feed(WIDTH, 2 * WIDTH, act="gelu_tanh")
            self.window = MAX_LENGTH

        def mask(self, length: Any) -> Any:
            """Return which places a place may see: the latest `window` of those before it."""
            places = nn.arange(length)
            recent = places[:, None] - places[None, :] < self.window
            return causal_mask(nn, length) & recent

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x), None, self.mask(nn.shape(x)[1]))
            return x + self.feed_forward(self.norm2(x))

    class GPT2(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(TOKENS, WIDTH)
            self.positions = nn.Embedding(MAX_LENGTH, WIDTH)
            self.blocks = nn.Sequential(Block(), Block())
            self.norm = nn.LayerNorm(WIDTH)
            self.untied = nn.Linear(WIDTH, TOKENS, bias=False)
            self.tied = True

        def forward(self, tokens: Any) -> Any:
            x = self.tokens(tokens) + self.positions(nn.arange(nn.shape(tokens)[1]))
            x = self.norm(self.blocks(x))
            if self.tied:
                return nn.matmul(x, nn.transpose(self.tokens.weight * 1.0, (1, 0)))
            return self.untied(x)

    return GPT2


ARCHITECTURE = Definition(
    "gpt2",
    define,
    schema=Schema(
        dimensions=(BATCHES, LENGTHS),
        inputs=(InputSpec("tokens", (BATCHES.name, LENGTHS.name), kind="index", high=TOKENS),),
    ),
    features=TOKENS,
)


@ARCHITECTURE.change(values=2)
def set_tied(module: Any, value: int) -> None:
    """Use a head of its own, or the embedding's weight again."""
    module.tied = (False, True)[value]


@ARCHITECTURE.change(values=3)
def set_window(module: Any, value: int) -> None:
    """Let the first block see only its latest one or three tokens, or all of them."""
    module.blocks.layers[0].window = (1, 3, MAX_LENGTH)[value]


@ARCHITECTURE.change(values=3)
def set_dropout(module: Any, value: int) -> None:
    """Give the dropout of all attention weights another rate."""
    for block in module.blocks.layers:
        block.attention.dropout.rate = (0.0, 0.5, 0.1)[value]
