"""efficientnet: MBConv blocks with squeeze-excite; a list holds their stochastic-depth rates."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import ConvNormAct, SqueezeExcite, linear
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class MBConv(nn.Module):
    def __init__(self, channels: int, hidden: int, *, kernel: int) -> None:
        super().__init__()
        silu = functional.silu
        self.expand = ConvNormAct(channels, hidden, kernel=1, act=silu)
        self.depthwise = ConvNormAct(hidden, hidden, kernel=kernel, groups=hidden, act=silu)
        self.excite = SqueezeExcite(hidden, 2, act=silu)
        self.project = ConvNormAct(hidden, channels, kernel=1, act=linear)

    def forward(self, x: Tensor) -> Tensor:
        return self.project(self.excite(self.depthwise(self.expand(x))))


class EfficientNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvNormAct(3, 4, stride=2, act=functional.silu)
        self.blocks = nn.ModuleList([MBConv(4, 8, kernel=3), MBConv(4, 8, kernel=5)])
        self.rates = [0.1, 0.2]
        self.head = nn.Linear(4, 6)

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image.to(self.head.weight.dtype))
        for block, rate in zip(self.blocks, self.rates, strict=True):
            branch = block(x)
            if self.training and rate > 0.0:
                survives = torch.rand(x.shape[0], 1, 1, 1, dtype=x.dtype, device=x.device) >= rate
                branch = branch * survives / (1.0 - rate)
            x = x + branch
        return self.head(x.mean((2, 3)))


ARCHITECTURE = Architecture(
    "efficientnet",
    EfficientNet,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.change(values=4)
def set_rates(module: EfficientNet, value: int) -> None:
    """Write other rates of stochastic depth into the list."""
    module.rates[:] = ((0.0, 0.0), (0.0, 0.5), (0.5, 0.5), (0.1, 0.2))[value]


@ARCHITECTURE.change(values=2)
def scale_rates(module: EfficientNet, value: int) -> None:
    """Put a new list of rates, half as high or with the usual rates, in the old one's place."""
    module.rates = ([rate / 2 for rate in module.rates], [0.1, 0.2])[value]
