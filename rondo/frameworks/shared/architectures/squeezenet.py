"""squeezenet: fire modules, a convolution as classifier, a pool of a settable size."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""

    class Fire(nn.Module):
        def __init__(self, channels: int, squeezed: int, expanded: int) -> None:
            super().__init__()
            self.squeeze = nn.Conv(channels, squeezed, 1)
            self.expand1 = nn.Conv(squeezed, expanded, 1)
            self.expand3 = nn.Conv(squeezed, expanded)

        def forward(self, x: Any) -> Any:
            x = nn.activate(self.squeeze(x), "relu")
            return nn.activate(nn.concat((self.expand1(x), self.expand3(x)), 3), "relu")

    class SqueezeNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv(3, 4)
            self.pool = 3
            self.fire1 = Fire(4, 2, 4)
            self.fire2 = Fire(8, 4, 4)
            self.dropout = nn.Dropout(0.5)
            self.classifier = nn.Conv(8, 6, 1)

        def forward(self, image: Any) -> Any:
            x = nn.activate(self.stem(nn.cast(image, self.stem.weight)), "relu")
            x = self.fire2(self.fire1(nn.max_pool(x, self.pool, 2)))
            return nn.mean(nn.activate(self.classifier(self.dropout(x)), "relu"), (1, 2))

    return SqueezeNet


ARCHITECTURE = Definition("squeezenet", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=2)
def set_pool(module: Any, value: int) -> None:
    """Pool over windows of two places, or of three again."""
    module.pool = (2, 3)[value]


@ARCHITECTURE.change()
def merge_expansions(module: Any, value: int) -> None:
    """Let the second fire module expand by its larger kernel twice."""
    module.fire2.expand1 = module.fire2.expand3
