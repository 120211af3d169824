"""resnext: grouped convolutions between narrow ones; slow batch norms with a settable momentum."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import conv_norm_act
from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    conv = conv_norm_act(nn)

    class Block(nn.Module):
        def __init__(self, channels: int, groups: int) -> None:
            super().__init__()
            self.reduce = conv(channels, channels, kernel=1)
            self.grouped = conv(channels, channels, groups=groups)
            self.expand = conv(channels, channels, kernel=1, act="linear")

        def forward(self, x: Any) -> Any:
            return nn.activate(x + self.expand(self.grouped(self.reduce(x))), "relu")

    class ResNeXt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = conv(3, 8, stride=2)
            self.block = Block(8, groups=4)
            self.head = nn.Linear(8, 6)

        def forward(self, image: Any) -> Any:
            x = self.block(self.stem(nn.cast(image, self.head.weight)))
            return self.head(nn.mean(x, (1, 2)))

    return ResNeXt


ARCHITECTURE = Definition("resnext", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=3)
def set_momentum(module: Any, value: int) -> None:
    """Let new statistics count for all, for nothing, or for a tenth again."""
    for layer in (module.stem, module.block.reduce, module.block.grouped):
        layer.norm.momentum = (1.0, 0.0, 0.1)[value]


@ARCHITECTURE.change(values=2)
def set_activation(module: Any, value: int) -> None:
    """Give the grouped convolution another activation."""
    module.block.grouped.act = ("silu", "relu")[value]
