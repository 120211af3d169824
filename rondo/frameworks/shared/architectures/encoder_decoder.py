"""encoder_decoder: a Transformer that reads its previous source from a buffer when given none."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import attention, causal_mask, feed_forward
from rondo.frameworks.shared.architectures._dimensions import BATCHES, LENGTHS, MAX_BATCH
from rondo.frameworks.shared.definition import Definition
from rondo.sequences.vocabulary import Dimension, InputSpec, Schema

SOURCES = Dimension("source", (6, 4, 1, 9))
MAX_SOURCE = max(SOURCES.sizes)
WIDTH = 8


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    attend, feed = attention(nn), feed_forward(nn)

    class EncoderBlock(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = attend(WIDTH, 2)
            self.norm1 = nn.LayerNorm(WIDTH)
            self.feed_forward = feed(WIDTH, 2 * WIDTH, dropout=0.1)
            self.norm2 = nn.LayerNorm(WIDTH)

        def forward(self, x: Any) -> Any:
            x = self.norm1(x + self.attention(x))
            return self.norm2(x + self.feed_forward(x))

    class DecoderBlock(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = attend(WIDTH, 2)
            self.norm1 = nn.LayerNorm(WIDTH)
            self.cross = attend(WIDTH, 2)
            self.norm2 = nn.LayerNorm(WIDTH)
            self.feed_forward = feed(WIDTH, 2 * WIDTH, dropout=0.1)
            self.norm3 = nn.LayerNorm(WIDTH)

        def forward(self, x: Any, memory: Any) -> Any:
            mask = causal_mask(nn, nn.shape(x)[1])
            x = self.norm1(x + self.attention(x, None, mask))
            x = self.norm2(x + self.cross(x, memory))
            return self.norm3(x + self.feed_forward(x))

    class EncoderDecoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = EncoderBlock()
            self.decoder = DecoderBlock()
            self.sources_read = 1
            self.add_buffer("memory", (MAX_BATCH, MAX_SOURCE, WIDTH))

        def keep(self, memory: Any) -> None:
            """Write what was encoded into the buffer's rows and columns."""
            old = self.memory
            batch, length, _ = nn.shape(memory)
            rows = nn.concat([nn.cast(memory, old), old[:batch, length:]], 1)
            self.set_buffer("memory", nn.concat([rows, old[batch:]], 0))

        def forward(self, target: Any, source: Any = None) -> Any:
            target = nn.cast(target, self.decoder.norm1.weight)
            if source is None:
                memory = self.memory[: nn.shape(target)[0], : self.sources_read]
                memory = nn.cast(memory, target)
            else:
                memory = self.encoder(nn.cast(source, target))
                self.keep(memory)
            return self.decoder(target, memory)

    return EncoderDecoder


ARCHITECTURE = Definition(
    "encoder_decoder",
    define,
    schema=Schema(
        dimensions=(BATCHES, LENGTHS, SOURCES),
        inputs=(
            InputSpec("target", (BATCHES.name, LENGTHS.name, WIDTH)),
            InputSpec("source", (BATCHES.name, SOURCES.name, WIDTH), optional=True),
        ),
    ),
    features=WIDTH,
)


@ARCHITECTURE.change(values=3)
def set_sources_read(module: Any, value: int) -> None:
    """Let calls without a source read another part of the memory."""
    module.sources_read = (3, MAX_SOURCE, 1)[value]


@ARCHITECTURE.change(values=2)
def fill_memory(module: Any, value: int) -> None:
    """Overwrite the memory."""
    module.set_buffer("memory", module.memory * 0.0 + (0.0, 0.5)[value])


@ARCHITECTURE.change(values=3)
def set_dropout(module: Any, value: int) -> None:
    """Give the attention to the source another dropout rate."""
    module.decoder.cross.dropout.rate = (0.25, 0.5, 0.0)[value]
