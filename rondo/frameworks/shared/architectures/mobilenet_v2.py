"""mobilenet_v2: inverted residuals with linear bottlenecks and ReLU6."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import conv_norm_act
from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    conv = conv_norm_act(nn)

    class InvertedResidual(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            hidden = 2 * inputs
            self.expand = conv(inputs, hidden, kernel=1, act="relu6")
            self.depthwise = conv(hidden, hidden, stride=stride, groups=hidden, act="relu6")
            self.project = conv(hidden, outputs, kernel=1, act="linear")
            self.residual = stride == 1 and inputs == outputs

        def forward(self, x: Any) -> Any:
            out = self.project(self.depthwise(self.expand(x)))
            return x + out if self.residual else out

    class MobileNetV2(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = conv(3, 4, stride=2, act="relu6")
            self.narrow = InvertedResidual(4, 4, 1)
            self.wide = InvertedResidual(4, 8, 2)
            self.dropout = nn.Dropout(0.2)
            self.head = nn.Linear(8, 6)

        def forward(self, image: Any) -> Any:
            x = self.wide(self.narrow(self.stem(nn.cast(image, self.head.weight))))
            return self.head(self.dropout(nn.mean(x, (1, 2))))

    return MobileNetV2


ARCHITECTURE = Definition("mobilenet_v2", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=2)
def set_residual(module: Any, value: int) -> None:
    """Leave the residual connection of the first block out, or use it again."""
    module.narrow.residual = (False, True)[value]


@ARCHITECTURE.change(values=2)
def set_frozen(module: Any, value: int) -> None:
    """Freeze the stem's batch norm, or thaw it."""
    module.stem.norm.frozen = (True, False)[value]
