"""vit: patches with a class token; position embeddings are resampled for other image sizes."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import Attention, DropPath, FeedForward
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture

WIDTH, GRID = 8, 4


class Block(nn.Module):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH, eps=1e-6)
        self.attention = Attention(WIDTH, 2)
        self.norm2 = nn.LayerNorm(WIDTH, eps=1e-6)
        self.feed_forward = FeedForward(WIDTH, 2 * WIDTH)
        self.drop_path = DropPath(rate)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_path(self.attention(self.norm1(x)))
        return x + self.drop_path(self.feed_forward(self.norm2(x)))


class VisionTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 2, stride=2)
        self.class_token = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.randn(1, WIDTH, GRID, GRID) * 0.2)
        self.blocks = nn.ModuleList([Block(0.0), Block(0.1)])
        self.norm = nn.LayerNorm(WIDTH, eps=1e-6)
        self.head = nn.Linear(WIDTH, 6)
        self.pool = "token"
        self.dropped_patches = 0.0

    def drop_patches(self, x: Tensor) -> Tensor:
        """Keep a random subset of the patches, another one for each sample."""
        batch, count, width = x.shape
        kept = max(1, int(count * (1.0 - self.dropped_patches)))
        order = torch.rand(batch, count, dtype=torch.float32, device=x.device).argsort(1)
        return x.gather(1, order[:, :kept, None].expand(-1, -1, width))

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image.to(self.class_token.dtype))
        positions: Tensor = self.positions
        if x.shape[-2:] != positions.shape[-2:]:
            positions = functional.interpolate(positions, x.shape[-2:], mode="bicubic")
        x = (x + positions).flatten(2).transpose(1, 2)
        if self.training and self.dropped_patches > 0.0:
            x = self.drop_patches(x)
        x = torch.cat((self.class_token.expand(x.shape[0], -1, -1), x), 1)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x[:, 0] if self.pool == "token" else x[:, 1:].mean(1))


ARCHITECTURE = Architecture(
    "vit",
    VisionTransformer,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.change(values=2)
def set_pool(module: VisionTransformer, value: int) -> None:
    """Read the mean of the patches, or the class token again."""
    module.pool = ("mean", "token")[value]


@ARCHITECTURE.change(values=3)
def set_dropped_patches(module: VisionTransformer, value: int) -> None:
    """Train on another share of the patches."""
    module.dropped_patches = (0.5, 0.25, 0.0)[value]


@ARCHITECTURE.change()
def resample_positions(module: VisionTransformer, value: int) -> None:
    """Replace the position embeddings by new ones for a larger image, as fine-tuning does."""
    with torch.no_grad():
        larger = functional.interpolate(module.positions, (5, 5), mode="bilinear")
    module.positions = nn.Parameter(larger)
