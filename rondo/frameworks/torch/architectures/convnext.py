"""convnext: depthwise 7x7, layer norm over channels-last, optional layer scale, drop path."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import DropPath
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class Block(nn.Module):
    def __init__(self, channels: int, rate: float) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.expand = nn.Linear(channels, 2 * channels)
        self.project = nn.Linear(2 * channels, channels)
        self.gamma: nn.Parameter | None = nn.Parameter(torch.full((channels,), 0.5))
        self.drop_path = DropPath(rate)

    def forward(self, x: Tensor) -> Tensor:
        branch = self.depthwise(x).permute(0, 2, 3, 1)
        branch = self.project(functional.gelu(self.expand(self.norm(branch))))
        if self.gamma is not None:
            branch = self.gamma * branch
        return x + self.drop_path(branch.permute(0, 3, 1, 2))


class ConvNeXt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 2, stride=2)
        self.blocks = nn.Sequential(Block(8, 0.1), Block(8, 0.2))
        self.norm = nn.LayerNorm(8, eps=1e-6)

    def forward(self, image: Tensor) -> Tensor:
        x = self.blocks(self.stem(image.to(self.stem.weight.dtype)))
        return self.norm(x.mean((-2, -1)))


ARCHITECTURE = Architecture(
    "convnext",
    ConvNeXt,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=8,
)


def blocks(module: ConvNeXt) -> list[Block]:
    """Return the blocks of `module` in order."""
    return [block for block in module.blocks if isinstance(block, Block)]


@ARCHITECTURE.change(values=3)
def set_drop_path(module: ConvNeXt, value: int) -> None:
    """Give the last block's stochastic depth another rate."""
    blocks(module)[-1].drop_path.rate = (0.0, 0.5, 0.2)[value]


@ARCHITECTURE.change()
def drop_layer_scale(module: ConvNeXt, value: int) -> None:
    """Replace the first block's layer scale by None, as a configuration without it does."""
    blocks(module)[0].gamma = None


@ARCHITECTURE.change(values=2)
def scale_gamma(module: ConvNeXt, value: int) -> None:
    """Multiply the last block's layer scale, in place and behind autograd's back."""
    gamma = blocks(module)[-1].gamma
    if gamma is not None:
        gamma.data.mul_((2.0, 0.5)[value])
