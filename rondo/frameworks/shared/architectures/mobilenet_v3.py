"""mobilenet_v3: hard swish and squeeze-excite, whose gate is a name held by the module."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import conv_norm_act, squeeze_excite
from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    conv = conv_norm_act(nn)
    excite = squeeze_excite(nn)

    class InvertedResidual(nn.Module):
        def __init__(self, channels: int, hidden: int) -> None:
            super().__init__()
            self.expand = conv(channels, hidden, kernel=1, act="hardswish", momentum=0.01)
            self.depthwise = conv(hidden, hidden, kernel=5, groups=hidden, act="hardswish")
            self.excite = excite(hidden, 2, gate="hardsigmoid")
            self.project = conv(hidden, channels, kernel=1, act="linear")

        def forward(self, x: Any) -> Any:
            return x + self.project(self.excite(self.depthwise(self.expand(x))))

    class MobileNetV3(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = conv(3, 4, stride=2, act="hardswish")
            self.block = InvertedResidual(4, 8)
            self.hidden = nn.Linear(4, 8)
            self.dropout = nn.Dropout(0.2)
            self.head = nn.Linear(8, 6)

        def forward(self, image: Any) -> Any:
            x = self.block(self.stem(nn.cast(image, self.head.weight)))
            x = nn.activate(self.hidden(nn.mean(x, (1, 2))), "hardswish")
            return self.head(self.dropout(x))

    return MobileNetV3


ARCHITECTURE = Definition("mobilenet_v3", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=2)
def set_gate(module: Any, value: int) -> None:
    """Give squeeze-excite another gate function."""
    module.block.excite.gate = ("sigmoid", "hardsigmoid")[value]


@ARCHITECTURE.change(values=2)
def set_eps(module: Any, value: int) -> None:
    """Give the batch norm of the depthwise convolution another epsilon."""
    module.block.depthwise.norm.eps = (0.1, 1e-5)[value]
