"""shufflenet: half of the channels pass by, then all are shuffled among settable groups."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import conv_norm_act
from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    conv = conv_norm_act(nn)

    def shuffle(x: Any, groups: int) -> Any:
        """Deal the channels out to `groups` piles and collect them pile by pile."""
        batch, height, width, channels = nn.shape(x)
        x = nn.reshape(x, (batch, height, width, groups, channels // groups))
        return nn.reshape(nn.transpose(x, (0, 1, 2, 4, 3)), (batch, height, width, channels))

    class Unit(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            half = channels // 2
            self.half = half
            self.groups = 2
            self.branch = nn.Sequential(
                conv(half, half, kernel=1),
                conv(half, half, groups=half, act="linear"),
                conv(half, half, kernel=1),
            )

        def forward(self, x: Any) -> Any:
            passing, branch = x[..., : self.half], x[..., self.half :]
            return shuffle(nn.concat((passing, self.branch(branch)), 3), self.groups)

    class ShuffleNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = conv(3, 8, stride=2)
            self.units = nn.Sequential(Unit(8), Unit(8))

        def forward(self, image: Any) -> Any:
            return self.units(self.stem(nn.cast(image, self.stem.conv.weight)))

    return ShuffleNet


ARCHITECTURE = Definition("shufflenet", define, schema=IMAGES, features=8)


@ARCHITECTURE.change(values=3)
def set_groups(module: Any, value: int) -> None:
    """Shuffle the last unit's channels among another number of groups."""
    module.units.layers[-1].groups = (4, 1, 2)[value]


@ARCHITECTURE.change(values=2)
def set_momentum(module: Any, value: int) -> None:
    """Give the stem's batch norm another momentum."""
    module.stem.norm.momentum = (1.0, 0.1)[value]
