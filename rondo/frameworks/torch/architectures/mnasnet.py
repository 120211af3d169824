"""mnasnet: a searched network whose kernel size and depth are integers of the module."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import ConvNormAct, linear
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class SearchedConv(nn.Module):
    """A depthwise convolution that uses the middle of its largest kernel when told to."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, 1, 5, 5) / 5)
        self.kernel = 5

    def forward(self, x: Tensor) -> Tensor:
        margin = (5 - self.kernel) // 2
        weight = self.weight[:, :, margin : 5 - margin, margin : 5 - margin]
        return functional.conv2d(x, weight, padding=self.kernel // 2, groups=x.shape[1])


class SeparableBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = SearchedConv(channels)
        # Slow statistics, as in the paper: one call moves them by three in ten thousand.
        self.norm = nn.BatchNorm2d(channels, momentum=3e-4)
        self.project = ConvNormAct(channels, channels, kernel=1, act=linear, momentum=3e-4)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.project(functional.relu(self.norm(self.depthwise(x))))


class MnasNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvNormAct(3, 4, stride=2, momentum=3e-4)
        self.blocks = nn.ModuleList(SeparableBlock(4) for _ in range(2))
        self.depth = 2
        self.dropout = nn.Dropout(0.2, inplace=True)
        self.head = nn.Linear(4, 6)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image.to(self.head.weight.dtype))
        for block in self.blocks[: self.depth]:
            x = block(x)
        return self.head(self.dropout(x.mean((2, 3))))


ARCHITECTURE = Architecture(
    "mnasnet",
    MnasNet,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.change(values=3)
def set_kernel(module: MnasNet, value: int) -> None:
    """Let the first block use another part of its kernel."""
    for layer in module.blocks[0].modules():
        if isinstance(layer, SearchedConv):
            layer.kernel = (3, 1, 5)[value]


@ARCHITECTURE.change(values=3)
def set_depth(module: MnasNet, value: int) -> None:
    """Let the network use another number of its blocks."""
    module.depth = (1, 0, 2)[value]
