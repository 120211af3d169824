"""mobilenet_v3: hard swish and squeeze-excite, whose gate is a function held by the module."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import ConvNormAct, SqueezeExcite, linear
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class InvertedResidual(nn.Module):
    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        conv = partial(ConvNormAct, act=functional.hardswish, eps=0.001, momentum=0.01)
        self.expand = conv(channels, hidden, kernel=1)
        self.depthwise = conv(hidden, hidden, kernel=5, groups=hidden)
        self.excite = SqueezeExcite(hidden, 2, gate=functional.hardsigmoid)
        self.project = conv(hidden, channels, kernel=1, act=linear)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.project(self.excite(self.depthwise(self.expand(x))))


class MobileNetV3(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvNormAct(3, 4, stride=2, act=functional.hardswish)
        self.block = InvertedResidual(4, 8)
        self.hidden = nn.Linear(4, 8)
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(8, 6)

    def forward(self, image: Tensor) -> Tensor:
        x = image.to(self.head.weight.dtype)
        x = functional.hardswish(self.hidden(self.block(self.stem(x)).mean((2, 3))))
        return self.head(self.dropout(x))


ARCHITECTURE = Architecture(
    "mobilenet_v3",
    MobileNetV3,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.change(values=2)
def set_gate(module: MobileNetV3, value: int) -> None:
    """Give squeeze-excite another gate function."""
    module.block.excite.gate = (torch.sigmoid, functional.hardsigmoid)[value]


@ARCHITECTURE.change(values=2)
def set_eps(module: MobileNetV3, value: int) -> None:
    """Give the batch norm of the depthwise convolution another epsilon."""
    module.block.depthwise.norm.eps = (0.1, 0.001)[value]
