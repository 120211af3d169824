"""vgg: layers made from a layout, whose outputs are tapped at settable places."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition

LAYOUT: tuple[int | str, ...] = (4, 4, "pool", 8, "pool")


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""

    class Pool(nn.Module):
        def forward(self, x: Any) -> Any:
            return nn.max_pool(x, 2, 2)

    class ConvReLU(nn.Module):
        def __init__(self, inputs: int, outputs: int) -> None:
            super().__init__()
            self.conv = nn.Conv(inputs, outputs)

        def forward(self, x: Any) -> Any:
            return nn.activate(self.conv(x), "relu")

    def make_layers() -> list[Any]:
        """Turn widths and `pool` into layers, as every VGG since the first has done."""
        layers: list[Any] = []
        channels = 3
        for item in LAYOUT:
            if isinstance(item, str):
                layers.append(Pool())
            else:
                layers.append(ConvReLU(channels, item))
                channels = item
        return layers

    class VGG(nn.Module):
        """Adds the mean of what it tapped to its features, as perceptual losses do."""

        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Sequential(*make_layers())
            self.taps = (0, 3)
            self.dropout = nn.Dropout(0.5)
            self.head = nn.Linear(8, 6)

        def forward(self, image: Any) -> Any:
            x = nn.cast(image, self.head.weight)
            tapped = nn.mean(x, (1, 2, 3), keepdims=True) * 0.0
            for position, layer in enumerate(self.features.layers):
                x = layer(x)
                if position in self.taps:
                    tapped = tapped + nn.mean(x, (1, 2, 3), keepdims=True)
            return self.head(self.dropout(nn.mean(x + tapped, (1, 2))))

    return VGG


ARCHITECTURE = Definition("vgg", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=4)
def set_taps(module: Any, value: int) -> None:
    """Tap the outputs of other layers."""
    module.taps = ((), (2,), (1, 3, 4), (0, 3))[value]


@ARCHITECTURE.change(values=2)
def set_dropout(module: Any, value: int) -> None:
    """Give the dropout another rate."""
    module.dropout.rate = (0.0, 0.5)[value]
