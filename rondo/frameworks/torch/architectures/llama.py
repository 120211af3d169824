"""llama: RoPE, RMS norm, grouped queries, a ring of keys whose write place is a tensor."""

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
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture

WIDTH, HEADS, GROUPS, TOKENS = 8, 2, 1, 12
HEAD = WIDTH // HEADS
WINDOW = MAX_LENGTH


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Turn each pair (i, i + half) of the last dimension by its angle: rotary positions."""
    first, second = x.chunk(2, -1)
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


class RingCache(nn.Module):
    """The latest `WINDOW` keys and values; the write place wraps around.

    All of its bookkeeping is tensors, so that one compiled graph serves every position: no integer
    to guard on, and every mistake in a mutation shows in the next call.

    Where gradients are wanted the counter is replaced unless told to count in place. The gradients
    of that way are wrong when compiled: the backward pass computes the angles again, from the
    counter of the next call (pytorch/pytorch#197039). It would hide whatever else there is to find,
    so it is a change.
    """

    keys: Tensor
    values: Tensor
    held: Tensor
    position: Tensor

    def __init__(self) -> None:
        super().__init__()
        shape = (MAX_BATCH, GROUPS, WINDOW, HEAD)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))
        self.register_buffer("held", torch.full((WINDOW,), -1))
        self.register_buffer("position", torch.zeros((), dtype=torch.int64))
        self.count_in_place = False

    def reset(self) -> None:
        """Forget everything, in place."""
        self.keys.zero_()
        self.values.zero_()
        self.held.fill_(-1)
        self.position.zero_()

    def places(self, length: int) -> Tensor:
        """Return the positions of the next `length` tokens."""
        return self.position + torch.arange(length, device=self.position.device)

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add keys and values; return all that is held and which queries may see what.

        The buffers get detached copies, and the caller gets tensors of its own: gradients flow to
        this call's keys and no later call can overwrite what its backward pass needs.
        """
        batch, length = key.shape[0], key.shape[2]
        places = self.places(length)
        slots = places % WINDOW
        keys = self.keys[:batch].to(key.dtype).index_copy(2, slots, key)
        values = self.values[:batch].to(value.dtype).index_copy(2, slots, value)
        self.keys[:batch] = keys.detach()
        self.values[:batch] = values.detach()
        self.held.index_copy_(0, slots, places)
        if self.count_in_place or not torch.is_grad_enabled():
            self.position += length
        else:
            self.position = self.position + length
        visible = (self.held >= 0) & (self.held <= places[:, None])
        return keys, values, visible


class GroupedAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, HEADS * HEAD, bias=False)
        self.key = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.value = nn.Linear(WIDTH, GROUPS * HEAD, bias=False)
        self.out = nn.Linear(HEADS * HEAD, WIDTH, bias=False)
        self.cache = RingCache()

    def forward(self, x: Tensor, frequencies: Tensor, use_cache: bool) -> Tensor:
        batch, length, _ = x.shape
        places = torch.arange(length, device=x.device)
        if use_cache:
            places = self.cache.places(length)
        angles = places[:, None] * frequencies.float()
        query = rotate(self.query(x).reshape(batch, length, HEADS, HEAD).transpose(1, 2), angles)
        key = rotate(self.key(x).reshape(batch, length, GROUPS, HEAD).transpose(1, 2), angles)
        value = self.value(x).reshape(batch, length, GROUPS, HEAD).transpose(1, 2)
        if use_cache:
            key, value, visible = self.cache.extend(key, value)
        else:
            visible = places <= places[:, None]
        mixed = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=visible, enable_gqa=True
        )
        return self.out(mixed.transpose(1, 2).reshape(batch, length, HEADS * HEAD))


class SwiGLU(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.RMSNorm(WIDTH, eps=1e-5)
        self.attention = GroupedAttention()
        self.norm2 = nn.RMSNorm(WIDTH, eps=1e-5)
        self.feed_forward = SwiGLU()

    def forward(self, x: Tensor, frequencies: Tensor, use_cache: bool) -> Tensor:
        x = x + self.attention(self.norm1(x), frequencies, use_cache)
        return x + self.feed_forward(self.norm2(x))


class Llama(nn.Module):
    frequencies: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.head = nn.Linear(WIDTH, TOKENS, bias=False)
        self.use_cache = True
        self.register_buffer("frequencies", rope_frequencies(10_000.0), persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens)
        use_cache = self.use_cache and not self.training
        for block in self.blocks:
            x = block(x, self.frequencies, use_cache)
        return self.head(self.norm(x))


def rope_frequencies(base: float) -> Tensor:
    """Return the angle that each pair of a head turns per position."""
    exponents = torch.arange(0, HEAD, 2, dtype=torch.float32) / HEAD
    return base**-exponents


ARCHITECTURE = Architecture(
    "llama",
    Llama,
    schema=Schema(
        dimensions=(BATCHES, LENGTHS),
        inputs=(InputSpec("tokens", (BATCHES.name, LENGTHS.name), kind="index", high=TOKENS),),
    ),
    features=TOKENS,
    guarded=False,  # counting in place gives a wrong gradient below Dynamo
)


@ARCHITECTURE.change()
def reset_cache(module: Llama, value: int) -> None:
    """Forget all keys and values, in place."""
    for layer in module.modules():
        if isinstance(layer, RingCache):
            layer.reset()


@ARCHITECTURE.change(values=3)
def set_base(module: Llama, value: int) -> None:
    """Stretch the rotary positions by another base, written into the buffer in place."""
    module.frequencies.copy_(rope_frequencies((500.0, 1e6, 1e4)[value]))


@ARCHITECTURE.change(values=2)
def set_count_in_place(module: Llama, value: int) -> None:
    """Begin anew with counters that are written in place, or that are replaced."""
    reset_cache(module, 0)
    for layer in module.modules():
        if isinstance(layer, RingCache):
            layer.count_in_place = (True, False)[value]


@ARCHITECTURE.change(values=2)
def set_use_cache(module: Llama, value: int) -> None:
    """Decode without the cache, or with it again."""
    module.use_cache = (False, True)[value]
