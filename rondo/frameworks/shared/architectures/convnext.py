"""convnext: depthwise 7x7, layer norm over channels, layer scale, stochastic depth."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""

    class Block(nn.Module):
        def __init__(self, channels: int, rate: float) -> None:
            super().__init__()
            self.depthwise = nn.Conv(channels, channels, 7, groups=channels)
            self.norm = nn.LayerNorm(channels, eps=1e-6)
            self.expand = nn.Linear(channels, 2 * channels)
            self.project = nn.Linear(2 * channels, channels)
            self.gamma = nn.parameter((channels,), fill=0.5)
            self.scaled = True
            self.drop_path = nn.Dropout(rate, per_sample=True)

        def forward(self, x: Any) -> Any:
            branch = nn.activate(self.expand(self.norm(self.depthwise(x))), "gelu")
            branch = self.project(branch)
            if self.scaled:
                branch = self.gamma * branch
            return x + self.drop_path(branch)

    class ConvNeXt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv(3, 8, 3, stride=2)
            self.blocks = nn.Sequential(Block(8, 0.1), Block(8, 0.2))
            self.norm = nn.LayerNorm(8, eps=1e-6)

        def forward(self, image: Any) -> Any:
            x = self.blocks(self.stem(nn.cast(image, self.stem.weight)))
            return self.norm(nn.mean(x, (1, 2)))

    return ConvNeXt


ARCHITECTURE = Definition("convnext", define, schema=IMAGES, features=8)


@ARCHITECTURE.change(values=3)
def set_drop_path(module: Any, value: int) -> None:
    """Give the last block's stochastic depth another rate."""
    module.blocks.layers[-1].drop_path.rate = (0.0, 0.5, 0.2)[value]


@ARCHITECTURE.change(values=2)
def set_scaled(module: Any, value: int) -> None:
    """Leave the first block's layer scale out, or use it again."""
    module.blocks.layers[0].scaled = (False, True)[value]
