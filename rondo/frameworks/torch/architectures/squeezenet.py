"""squeezenet: fire modules, a convolution as classifier, a pool that rounds by a flag."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class Fire(nn.Module):
    def __init__(self, channels: int, squeezed: int, expanded: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.expand1 = nn.Conv2d(squeezed, expanded, 1)
        self.expand3 = nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.squeeze(x), inplace=True)
        return functional.relu(torch.cat([self.expand1(x), self.expand3(x)], 1), inplace=True)


class SqueezeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.pool = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.fire1 = Fire(4, 2, 4)
        self.fire2 = Fire(8, 4, 4)
        self.dropout = nn.Dropout(0.5)
        self.classifier = nn.Conv2d(8, 6, 1)

    def forward(self, image: Tensor) -> Tensor:
        x = functional.relu(self.stem(image.to(self.stem.weight.dtype)), inplace=True)
        x = self.fire2(self.fire1(self.pool(x)))
        x = functional.relu(self.classifier(self.dropout(x)))
        return functional.adaptive_avg_pool2d(x, 1).flatten(1)


ARCHITECTURE = Architecture(
    "squeezenet",
    SqueezeNet,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.change(values=2)
def set_ceil_mode(module: SqueezeNet, value: int) -> None:
    """Let the pool round its output size down, or up again."""
    module.pool.ceil_mode = (False, True)[value]


@ARCHITECTURE.change(values=3)
def set_dropout(module: SqueezeNet, value: int) -> None:
    """Give the dropout another rate."""
    module.dropout.p = (0.0, 0.25, 0.5)[value]
