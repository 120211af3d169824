"""shufflenet: half of the channels pass by, then all are shuffled among settable groups."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import ConvNormAct, linear
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


def shuffle(x: Tensor, groups: int) -> Tensor:
    """Deal the channels out to `groups` piles and collect them pile by pile."""
    batch, channels, height, width = x.shape
    x = x.reshape(batch, groups, channels // groups, height, width)
    return x.transpose(1, 2).reshape(batch, channels, height, width)


class Unit(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        half = channels // 2
        self.groups = 2
        self.branch = nn.Sequential(
            ConvNormAct(half, half, kernel=1),
            ConvNormAct(half, half, groups=half, act=linear),
            ConvNormAct(half, half, kernel=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        passing, branch = x.chunk(2, 1)
        return shuffle(torch.cat((passing, self.branch(branch)), 1), self.groups)


class ShuffleNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvNormAct(3, 8, stride=2)
        self.units = nn.Sequential(Unit(8), Unit(8))

    def forward(self, image: Tensor) -> Tensor:
        x = self.units(self.stem(image.to(self.stem.conv.weight.dtype)))
        return x.permute(0, 2, 3, 1)


ARCHITECTURE = Architecture(
    "shufflenet",
    ShuffleNet,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=8,
)


@ARCHITECTURE.change(values=3)
def set_groups(module: ShuffleNet, value: int) -> None:
    """Shuffle the last unit's channels among another number of groups."""
    unit = module.units[-1]
    if isinstance(unit, Unit):
        unit.groups = (4, 1, 2)[value]


@ARCHITECTURE.change(values=2)
def set_momentum(module: ShuffleNet, value: int) -> None:
    """Give the stem's batch norm another momentum."""
    module.stem.norm.momentum = (1.0, 0.1)[value]
