"""gpt_decoder: a causal decoder over a key-value cache that lives in buffers and fills up."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import (
    BATCHES,
    LENGTHS,
    MAX_BATCH,
    MAX_LENGTH,
)
from rondo.frameworks.torch.architectures._layers import FeedForward
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture

CAPACITY = 2 * MAX_LENGTH
WIDTH, HEADS, TOKENS = 8, 2, 12


class Cursor:
    """How full the cache is.

    A plain object on purpose: Dynamo burns the integers of an `nn.Module` into the graph and would
    compile again for each call, while this one becomes symbolic at its second value.
    """

    def __init__(self) -> None:
        self.position = 0


class CachedAttention(nn.Module):
    keys: Tensor
    values: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        shape = (MAX_BATCH, HEADS, CAPACITY, WIDTH // HEADS)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, x: Tensor, start: int, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        projected = self.inputs(x).reshape(batch, length, 3, HEADS, width // HEADS)
        query, key, value = projected.permute(2, 0, 3, 1, 4).unbind(0)
        if not self.training:
            end = start + length
            past_keys, past_values = self.keys[:batch, :, :start], self.values[:batch, :, :start]
            self.keys[:batch, :, start:end] = key.detach()
            self.values[:batch, :, start:end] = value.detach()
            # Joined, not read back from the buffers: gradients reach the keys of this call, and
            # the next call may write to the buffers before this one's backward pass.
            key, value = torch.cat((past_keys, key), 2), torch.cat((past_values, value), 2)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(mixed.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = CachedAttention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.feed_forward = FeedForward(WIDTH, 2 * WIDTH)

    def forward(self, x: Tensor, start: int, mask: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x), start, mask)
        return x + self.feed_forward(self.norm2(x))


class GPTDecoder(nn.Module):
    """Training sees whole sequences; evaluation decodes on from where the last call stopped.

    A call that no longer fits starts the cache over.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.positions = nn.Embedding(CAPACITY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, TOKENS)
        self.cursor = Cursor()

    def forward(self, tokens: Tensor) -> Tensor:
        start = 0 if self.training else self.cursor.position
        end = start + tokens.shape[1]
        if end > CAPACITY:
            start, end = 0, tokens.shape[1]
        reached = torch.arange(start, end, device=tokens.device)
        x = self.tokens(tokens) + self.positions(reached)
        mask = torch.arange(end, device=tokens.device) <= reached[:, None]
        for block in self.blocks:
            x = block(x, start, mask)
        if not self.training:
            self.cursor.position = end
        return self.head(self.norm(x))


ARCHITECTURE = Architecture(
    "gpt_decoder",
    GPTDecoder,
    schema=Schema(
        dimensions=(BATCHES, LENGTHS),
        inputs=(InputSpec("tokens", (BATCHES.name, LENGTHS.name), kind="index", high=TOKENS),),
    ),
    features=TOKENS,
)


@ARCHITECTURE.observe
def observe(module: GPTDecoder) -> dict[str, object]:
    """Report how full the cache is."""
    return {"position": module.cursor.position}


@ARCHITECTURE.change()
def reset_cache(module: GPTDecoder, value: int) -> None:
    """Start the cache over and empty it."""
    module.cursor.position = 0
    for layer in module.modules():
        if isinstance(layer, CachedAttention):
            layer.keys.zero_()
            layer.values.zero_()


@ARCHITECTURE.change(values=2)
def rewind_cache(module: GPTDecoder, value: int) -> None:
    """Take back the last one or four positions, as speculative decoding does."""
    module.cursor.position = max(0, module.cursor.position - (1, 4)[value])


@ARCHITECTURE.change()
def renew_cursor(module: GPTDecoder, value: int) -> None:
    """Begin a new text with a new cursor, over what the buffers still hold."""
    module.cursor = Cursor()
