"""mnasnet: a searched network whose kernel size and depth are integers of the module."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import conv_norm_act
from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    conv = conv_norm_act(nn)

    class SearchedConv(nn.Module):
        """Two depthwise convolutions, of which the search uses one."""

        def __init__(self, channels: int) -> None:
            super().__init__()
            self.small = nn.Conv(channels, channels, 3, groups=channels, bias=False)
            self.large = nn.Conv(channels, channels, 5, groups=channels, bias=False)
            self.kernel = 5

        def forward(self, x: Any) -> Any:
            return self.large(x) if self.kernel == 5 else self.small(x)

    class SeparableBlock(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.depthwise = SearchedConv(channels)
            # Slow statistics, as in the paper: one call moves them by three in ten thousand.
            self.norm = nn.BatchNorm(channels, momentum=3e-4)
            self.project = conv(channels, channels, kernel=1, act="linear", momentum=3e-4)

        def forward(self, x: Any) -> Any:
            return x + self.project(nn.activate(self.norm(self.depthwise(x)), "relu"))

    class MnasNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = conv(3, 4, stride=2, momentum=3e-4)
            self.blocks = nn.Sequential(SeparableBlock(4), SeparableBlock(4))
            self.depth = 2
            self.dropout = nn.Dropout(0.2)
            self.head = nn.Linear(4, 6)

        def forward(self, image: Any) -> Any:
            x = self.stem(nn.cast(image, self.head.weight))
            for position, block in enumerate(self.blocks.layers):
                if position < self.depth:
                    x = block(x)
            return self.head(self.dropout(nn.mean(x, (1, 2))))

    return MnasNet


ARCHITECTURE = Definition("mnasnet", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=2)
def set_kernel(module: Any, value: int) -> None:
    """Let the first block use its smaller kernel, or the larger one again."""
    module.blocks.layers[0].depthwise.kernel = (3, 5)[value]


@ARCHITECTURE.change(values=3)
def set_depth(module: Any, value: int) -> None:
    """Let the network use another number of its blocks."""
    module.depth = (1, 0, 2)[value]
