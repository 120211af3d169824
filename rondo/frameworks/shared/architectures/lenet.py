"""lenet: fixed image, fixed flatten, no state but the names of the functions it applies."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._dimensions import BATCHES
from rondo.frameworks.shared.definition import Definition
from rondo.sequences.vocabulary import InputSpec, Schema


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""

    class LeNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv(1, 4, 5)
            self.conv2 = nn.Conv(4, 8, 5)
            self.hidden = nn.Linear(8 * 4 * 4, 16)
            self.head = nn.Linear(16, 10)
            self.activation = "tanh"
            self.pool = "mean"

        def shrink(self, x: Any) -> Any:
            """Halve the map by the pool that is set."""
            return nn.avg_pool(x, 2, 2) if self.pool == "mean" else nn.max_pool(x, 2, 2)

        def forward(self, image: Any) -> Any:
            x = nn.cast(image, self.head.weight)
            x = self.shrink(nn.activate(self.conv1(x), self.activation))
            x = self.shrink(nn.activate(self.conv2(x), self.activation))
            x = nn.reshape(x, (nn.shape(x)[0], 8 * 4 * 4))
            return self.head(nn.activate(self.hidden(x), self.activation))

    return LeNet


ARCHITECTURE = Definition(
    "lenet",
    define,
    schema=Schema(dimensions=(BATCHES,), inputs=(InputSpec("image", (BATCHES.name, 16, 16, 1)),)),
    features=10,
)


@ARCHITECTURE.change(values=3)
def set_activation(module: Any, value: int) -> None:
    """Put another activation in the place of the old one."""
    module.activation = ("relu", "sigmoid", "tanh")[value]


@ARCHITECTURE.change(values=2)
def set_pool(module: Any, value: int) -> None:
    """Pool by the maximum, or by the mean again."""
    module.pool = ("max", "mean")[value]
