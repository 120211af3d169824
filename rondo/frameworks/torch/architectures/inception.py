"""inception: four branches joined; an auxiliary classifier takes part in training only."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import ConvNormAct
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class Mixed(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.branch1 = ConvNormAct(channels, 2, kernel=1)
        self.branch3 = nn.Sequential(ConvNormAct(channels, 2, kernel=1), ConvNormAct(2, 4))
        self.branch5 = nn.Sequential(
            ConvNormAct(channels, 2, kernel=1), ConvNormAct(2, 2, kernel=5)
        )
        self.branch_pool = ConvNormAct(channels, 2, kernel=1)

    def forward(self, x: Tensor) -> Tensor:
        pooled = functional.max_pool2d(x, 3, stride=1, padding=1)
        branches = [self.branch1(x), self.branch3(x), self.branch5(x), self.branch_pool(pooled)]
        return torch.cat(branches, 1)


class Inception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.transform_input = False
        self.auxiliary_weight = 0.3
        self.stem = ConvNormAct(3, 4)
        self.mixed = Mixed(4)
        self.auxiliary: nn.Linear | None = nn.Linear(4, 6)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(10, 6)

    def forward(self, image: Tensor) -> Tensor:
        x = image.to(self.head.weight.dtype)
        if self.transform_input:
            planes = [x[:, plane] * (0.5 + plane) - 0.1 for plane in range(3)]
            x = torch.stack(planes, 1)
        x = self.stem(x)
        logits = self.head(self.dropout(self.mixed(x).mean((2, 3))))
        if self.training and self.auxiliary is not None:
            logits = logits + self.auxiliary_weight * self.auxiliary(x.mean((2, 3)))
        return logits


ARCHITECTURE = Architecture(
    "inception",
    Inception,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.change(values=2)
def set_transform(module: Inception, value: int) -> None:
    """Normalise the planes of the image first, or take them as they are."""
    module.transform_input = (True, False)[value]


@ARCHITECTURE.change(values=3)
def set_auxiliary_weight(module: Inception, value: int) -> None:
    """Give the auxiliary classifier another say in training."""
    module.auxiliary_weight = (0.0, 1.0, 0.3)[value]


@ARCHITECTURE.change()
def drop_auxiliary(module: Inception, value: int) -> None:
    """Remove the auxiliary classifier, as one does before deployment."""
    module.auxiliary = None
