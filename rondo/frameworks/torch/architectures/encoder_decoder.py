"""encoder_decoder: a Transformer that reads its previous source from buffers when given none."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES, LENGTHS, MAX_BATCH
from rondo.frameworks.torch.architectures._layers import Attention, FeedForward
from rondo.sequences.vocabulary import Dimension, InputSpec, Schema
from rondo.subjects.target import Architecture

SOURCES = Dimension("source", (6, 4, 1, 9))
MAX_SOURCE = max(SOURCES.sizes)
WIDTH = 8


class EncoderBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention(WIDTH, 2)
        self.norm1 = nn.LayerNorm(WIDTH)
        self.feed_forward = FeedForward(WIDTH, 2 * WIDTH, dropout=0.1)
        self.norm2 = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed_forward(x))


class DecoderBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention(WIDTH, 2)
        self.norm1 = nn.LayerNorm(WIDTH)
        self.cross = Attention(WIDTH, 2)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.feed_forward = FeedForward(WIDTH, 2 * WIDTH, dropout=0.1)
        self.norm3 = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        x = self.norm1(x + self.attention(x, causal=True))
        x = self.norm2(x + self.cross(x, memory))
        return self.norm3(x + self.feed_forward(x))


class EncoderDecoder(nn.Module):
    memory: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.encoder = EncoderBlock()
        self.decoder = DecoderBlock()
        self.sources_read = 1
        self.register_buffer("memory", torch.zeros(MAX_BATCH, MAX_SOURCE, WIDTH))

    def forward(self, target: Tensor, source: Tensor | None = None) -> Tensor:
        target = target.to(self.decoder.norm1.weight.dtype)
        batch = target.shape[0]
        if source is None:
            # A copy: backward reads it after a later call has written the buffer.
            memory = self.memory[:batch, : self.sources_read].clone()
        else:
            memory = self.encoder(source.to(target.dtype))
            self.sources_read = source.shape[1]
            self.memory[:batch, : source.shape[1]] = memory.detach()
        return self.decoder(target, memory)


ARCHITECTURE = Architecture(
    "encoder_decoder",
    EncoderDecoder,
    schema=Schema(
        dimensions=(BATCHES, LENGTHS, SOURCES),
        inputs=(
            InputSpec("target", (BATCHES.name, LENGTHS.name, WIDTH)),
            InputSpec("source", (BATCHES.name, SOURCES.name, WIDTH), optional=True),
        ),
    ),
    features=WIDTH,
)


@ARCHITECTURE.observe
def observe(module: EncoderDecoder) -> dict[str, object]:
    """Report how much of the memory the next call may read."""
    return {"sources_read": int(module.sources_read)}


@ARCHITECTURE.change(values=3)
def set_sources_read(module: EncoderDecoder, value: int) -> None:
    """Let calls without a source read another part of the memory."""
    module.sources_read = (1, 3, MAX_SOURCE)[value]


@ARCHITECTURE.change(values=2)
def fill_memory(module: EncoderDecoder, value: int) -> None:
    """Overwrite the memory in place."""
    module.memory.fill_((0.0, 0.5)[value])


@ARCHITECTURE.change(values=3)
def set_dropout(module: EncoderDecoder, value: int) -> None:
    """Give the attention to the source another dropout rate."""
    module.decoder.cross.dropout = (0.25, 0.5, 0.0)[value]
