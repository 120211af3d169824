"""efficientnet: MBConv blocks with squeeze-excite and stochastic depth at rates that grow."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import conv_norm_act, squeeze_excite
from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    conv = conv_norm_act(nn)
    excite = squeeze_excite(nn)

    class MBConv(nn.Module):
        def __init__(self, channels: int, hidden: int, *, kernel: int, rate: float) -> None:
            super().__init__()
            self.expand = conv(channels, hidden, kernel=1, act="silu")
            self.depthwise = conv(hidden, hidden, kernel=kernel, groups=hidden, act="silu")
            self.excite = excite(hidden, 2, act="silu")
            self.project = conv(hidden, channels, kernel=1, act="linear")
            self.drop = nn.Dropout(rate, per_sample=True)

        def forward(self, x: Any) -> Any:
            return x + self.drop(self.project(self.excite(self.depthwise(self.expand(x)))))

    class EfficientNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = conv(3, 4, stride=2, act="silu")
            self.blocks = nn.Sequential(
                MBConv(4, 8, kernel=3, rate=0.1), MBConv(4, 8, kernel=5, rate=0.2)
            )
            self.head = nn.Linear(4, 6)

        def forward(self, image: Any) -> Any:
            x = self.blocks(self.stem(nn.cast(image, self.head.weight)))
            return self.head(nn.mean(x, (1, 2)))

    return EfficientNet


ARCHITECTURE = Definition("efficientnet", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=4)
def set_rates(module: Any, value: int) -> None:
    """Give both blocks other rates of stochastic depth."""
    rates = ((0.0, 0.0), (0.0, 0.5), (0.5, 0.5), (0.1, 0.2))[value]
    for block, rate in zip(module.blocks.layers, rates, strict=True):
        block.drop.rate = rate


@ARCHITECTURE.change()
def reverse_blocks(module: Any, value: int) -> None:
    """Run the blocks in the opposite order from now on."""
    first, second = module.blocks.layers
    module.blocks.layers[0] = second
    module.blocks.layers[1] = first
