"""vit: patches with a class token; positions are resized for other images, the pool is a name."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import attention, feed_forward
from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition

WIDTH, GRID = 8, 4


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    attend, feed = attention(nn), feed_forward(nn)

    class Block(nn.Module):
        def __init__(self, rate: float) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(WIDTH, eps=1e-6)
            self.attention = attend(WIDTH, 2)
            self.norm2 = nn.LayerNorm(WIDTH, eps=1e-6)
            self.feed_forward = feed(WIDTH, 2 * WIDTH)
            self.drop_path = nn.Dropout(rate, per_sample=True)

        def forward(self, x: Any) -> Any:
            x = x + self.drop_path(self.attention(self.norm1(x)))
            return x + self.drop_path(self.feed_forward(self.norm2(x)))

    class VisionTransformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv(3, WIDTH, 3, stride=2)
            self.class_token = nn.parameter((1, 1, WIDTH))
            self.positions = nn.parameter((1, GRID, GRID, WIDTH), scale=0.2)
            self.blocks = nn.Sequential(Block(0.0), Block(0.1))
            self.norm = nn.LayerNorm(WIDTH, eps=1e-6)
            self.head = nn.Linear(WIDTH, 6)
            self.pool = "token"

        def forward(self, image: Any) -> Any:
            x = self.patches(nn.cast(image, self.class_token))
            batch, height, width, _ = nn.shape(x)
            x = x + nn.resize(self.positions * 1.0, height, width, "bilinear")
            x = nn.reshape(x, (batch, height * width, WIDTH))
            token = nn.zeros((batch, 1, WIDTH), x) + self.class_token
            x = self.norm(self.blocks(nn.concat((token, x), 1)))
            return self.head(x[:, 0] if self.pool == "token" else nn.mean(x[:, 1:], (1,)))

    return VisionTransformer


ARCHITECTURE = Definition("vit", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=2)
def set_pool(module: Any, value: int) -> None:
    """Read the mean of the patches, or the class token again."""
    module.pool = ("mean", "token")[value]


@ARCHITECTURE.change(values=2)
def set_heads(module: Any, value: int) -> None:
    """Split the last block's attention into another number of heads."""
    module.blocks.layers[-1].attention.heads = (4, 2)[value]
