"""densenet: every layer reads all that came before; how far back is settable."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""

    class DenseLayer(nn.Module):
        def __init__(self, channels: int, growth: int) -> None:
            super().__init__()
            self.norm = nn.BatchNorm(channels)
            self.conv = nn.Conv(channels, growth, bias=False)
            self.muted = False

        def forward(self, features: list[Any]) -> Any:
            out = self.conv(nn.activate(self.norm(nn.concat(features, 3)), "relu"))
            return out * 0.0 if self.muted else out

    class DenseNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv(3, 4, bias=False)
            self.block = nn.Sequential(*(DenseLayer(4 + 4 * depth, 4) for depth in range(3)))
            self.norm = nn.BatchNorm(16)
            self.head = nn.Linear(16, 6)

        def forward(self, image: Any) -> Any:
            features = [self.stem(nn.cast(image, self.stem.weight))]
            for layer in self.block.layers:
                features.append(layer(features))
            x = nn.activate(self.norm(nn.concat(features, 3)), "relu")
            return self.head(nn.mean(x, (1, 2)))

    return DenseNet


ARCHITECTURE = Definition("densenet", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=2)
def set_muted(module: Any, value: int) -> None:
    """Let the second layer put out zeros, or what it computes."""
    module.block.layers[1].muted = (True, False)[value]


@ARCHITECTURE.change(values=2)
def set_eps(module: Any, value: int) -> None:
    """Give the last batch norm another epsilon."""
    module.norm.eps = (0.1, 1e-5)[value]
