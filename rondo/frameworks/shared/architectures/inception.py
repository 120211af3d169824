"""inception: four branches joined; an auxiliary classifier takes part in training only."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import conv_norm_act
from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    conv = conv_norm_act(nn)

    class Mixed(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.branch1 = conv(channels, 2, kernel=1)
            self.branch3 = nn.Sequential(conv(channels, 2, kernel=1), conv(2, 4))
            self.branch5 = nn.Sequential(conv(channels, 2, kernel=1), conv(2, 2, kernel=5))
            self.branch_pool = conv(channels, 2, kernel=1)

        def forward(self, x: Any) -> Any:
            pooled = nn.max_pool(x, 3, 1)
            branches = (self.branch1(x), self.branch3(x), self.branch5(x), self.branch_pool(pooled))
            return nn.concat(branches, 3)

    class Inception(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.transform_input = False
            self.auxiliary_weight = 0.3
            self.stem = conv(3, 4)
            self.mixed = Mixed(4)
            self.auxiliary = nn.Linear(4, 6)
            self.dropout = nn.Dropout(0.2)
            self.head = nn.Linear(10, 6)

        def forward(self, image: Any) -> Any:
            x = nn.cast(image, self.head.weight)
            if self.transform_input:
                x = x * 0.5 - 0.1
            x = self.stem(x)
            logits = self.head(self.dropout(nn.mean(self.mixed(x), (1, 2))))
            if self.training and self.auxiliary_weight > 0.0:
                logits = logits + self.auxiliary_weight * self.auxiliary(nn.mean(x, (1, 2)))
            return logits

    return Inception


ARCHITECTURE = Definition("inception", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=2)
def set_transform(module: Any, value: int) -> None:
    """Normalise the image first, or take it as it is."""
    module.transform_input = (True, False)[value]


@ARCHITECTURE.change(values=3)
def set_auxiliary_weight(module: Any, value: int) -> None:
    """Give the auxiliary classifier another say in training."""
    module.auxiliary_weight = (0.0, 1.0, 0.3)[value]
