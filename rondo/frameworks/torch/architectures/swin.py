"""swin: attention in shifted windows, whose masks are made once per map size and kept in a dict."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import FeedForward
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture

WIDTH, HEADS, WINDOW = 8, 2, 2
AREA = WINDOW * WINDOW


def to_windows(x: Tensor) -> Tensor:
    """Cut (batch, height, width, channels) into (batch, windows, WINDOW * WINDOW, channels)."""
    batch, height, width, channels = x.shape
    x = x.reshape(batch, height // WINDOW, WINDOW, width // WINDOW, WINDOW, channels)
    return x.transpose(2, 3).reshape(batch, -1, AREA, channels)


def from_windows(windows: Tensor, height: int, width: int) -> Tensor:
    """Undo `to_windows`."""
    batch, _, _, channels = windows.shape
    x = windows.reshape(batch, height // WINDOW, width // WINDOW, WINDOW, WINDOW, channels)
    return x.transpose(2, 3).reshape(batch, height, width, channels)


def shifted_mask(height: int, width: int, shift: int) -> Tensor:
    """Return what to add to attention so that it stays among places that were neighbours."""
    region = torch.zeros(1, height, width, 1)
    region[:, height - shift :] += 1
    region[:, :, width - shift :] += 2
    windows = to_windows(region)[0, :, :, 0]
    return (windows[:, :, None] != windows[:, None]).to(torch.float32) * -100.0


class WindowAttention(nn.Module):
    offsets: Tensor

    def __init__(self, shift: int) -> None:
        super().__init__()
        self.shift = shift
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        span = 2 * WINDOW - 1
        self.bias = nn.Parameter(torch.randn(span * span, HEADS) * 0.02)
        place = torch.cartesian_prod(torch.arange(WINDOW), torch.arange(WINDOW))
        offset = place[:, None] - place[None] + WINDOW - 1
        self.register_buffer("offsets", offset[..., 0] * span + offset[..., 1], persistent=False)
        self.masks: dict[tuple[int, int, int], Tensor] = {}

    def mask(self, height: int, width: int) -> Tensor:
        """Return the mask for this map, made at its first use."""
        key = (height, width, self.shift)
        if key not in self.masks:
            self.masks[key] = shifted_mask(*key)
        return self.masks[key]

    def forward(self, x: Tensor) -> Tensor:
        _, height, width, _ = x.shape
        x = functional.pad(x, (0, 0, 0, -width % WINDOW, 0, -height % WINDOW))
        batch, padded_height, padded_width, channels = x.shape
        if self.shift:
            x = x.roll((-self.shift, -self.shift), (1, 2))
        windows = to_windows(x)
        projected = self.inputs(windows).reshape(batch, -1, AREA, 3, HEADS, channels // HEADS)
        query, key, value = projected.permute(3, 0, 1, 4, 2, 5).unbind(0)
        scores = query @ key.transpose(-2, -1) * (channels // HEADS) ** -0.5
        scores = scores + self.bias[self.offsets].permute(2, 0, 1)
        if self.shift:
            scores = scores + self.mask(padded_height, padded_width)[:, None].to(scores.dtype)
        mixed = (scores.softmax(-1) @ value).transpose(2, 3).reshape(windows.shape)
        x = from_windows(self.out(mixed), padded_height, padded_width)
        if self.shift:
            x = x.roll((self.shift, self.shift), (1, 2))
        return x[:, :height, :width]


class Block(nn.Module):
    def __init__(self, shift: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = WindowAttention(shift)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.feed_forward = FeedForward(WIDTH, 2 * WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


class Swin(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 2, stride=2)
        self.straight = Block(0)
        self.shifted = Block(1)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image.to(self.patches.weight.dtype)).permute(0, 2, 3, 1)
        return self.norm(self.shifted(self.straight(x)))


ARCHITECTURE = Architecture(
    "swin",
    Swin,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=WIDTH,
)


@ARCHITECTURE.observe
def observe(module: Swin) -> dict[str, object]:
    """Report the masks made so far."""
    masks = module.shifted.attention.masks
    return {"masks": {str(key): masks[key] for key in sorted(masks)}}


@ARCHITECTURE.change(values=2)
def set_shift(module: Swin, value: int) -> None:
    """Shift the first block's windows as well, or not."""
    module.straight.attention.shift = (1, 0)[value]


@ARCHITECTURE.change()
def forget_masks(module: Swin, value: int) -> None:
    """Empty the dict of masks."""
    module.shifted.attention.masks.clear()


@ARCHITECTURE.change()
def weaken_masks(module: Swin, value: int) -> None:
    """Let kept masks leak: one of them in place, as a user who tunes them does."""
    # In inference mode, which may write to its own tensors as well as to ordinary ones.
    with torch.inference_mode():
        for mask in module.shifted.attention.masks.values():
            mask.mul_(0.01)
