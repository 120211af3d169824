"""resnet_block: a pre-activation residual block in channels-last memory with stochastic depth."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import DropPath
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class ResNetBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(4)
        self.conv1 = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.drop_path = DropPath(0.25)
        self.memory_format = torch.channels_last

    def forward(self, image: Tensor) -> Tensor:
        x = image.to(self.conv1.weight.dtype, memory_format=self.memory_format)
        branch = self.conv1(functional.relu(self.norm1(x)))
        branch = self.conv2(functional.relu(self.norm2(branch)))
        return (x + self.drop_path(branch)).permute(0, 2, 3, 1)


ARCHITECTURE = Architecture(
    "resnet_block",
    ResNetBlock,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 4, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=4,
)


@ARCHITECTURE.change(values=3)
def set_drop_path(module: ResNetBlock, value: int) -> None:
    """Give the stochastic depth another rate."""
    module.drop_path.rate = (0.0, 0.5, 0.25)[value]


@ARCHITECTURE.change(values=2)
def set_memory_format(module: ResNetBlock, value: int) -> None:
    """Let the block compute in another memory format."""
    module.memory_format = (torch.contiguous_format, torch.channels_last)[value]
