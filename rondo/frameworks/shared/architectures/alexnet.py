"""alexnet: response norm between convolutions, dropout around the hidden classifier layer."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""

    class ResponseNorm(nn.Module):
        """Divides by the mean square of neighbouring channels; `size` of them on either side."""

        def __init__(self, size: int) -> None:
            super().__init__()
            self.size = size

        def forward(self, x: Any) -> Any:
            squares = x * x
            total = squares
            for distance in range(1, self.size + 1):
                total = total + nn.roll(squares, (distance,), (3,))
                total = total + nn.roll(squares, (-distance,), (3,))
            return x / (2.0 + 0.1 * total / (2 * self.size + 1)) ** 0.75

    class AlexNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv(3, 8, 5, stride=2)
            self.norm = ResponseNorm(1)
            self.conv2 = nn.Conv(8, 8)
            self.dropout1 = nn.Dropout(0.5)
            self.hidden = nn.Linear(8, 16)
            self.dropout2 = nn.Dropout(0.5)
            self.head = nn.Linear(16, 6)

        def forward(self, image: Any) -> Any:
            x = nn.cast(image, self.head.weight)
            x = nn.max_pool(self.norm(nn.activate(self.conv1(x), "relu")), 3, 2)
            x = nn.mean(nn.activate(self.conv2(x), "relu"), (1, 2))
            x = nn.activate(self.hidden(self.dropout1(x)), "relu")
            return self.head(self.dropout2(x))

    return AlexNet


ARCHITECTURE = Definition("alexnet", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=3)
def set_dropout(module: Any, value: int) -> None:
    """Give both dropouts another rate."""
    module.dropout1.rate = module.dropout2.rate = (0.0, 0.25, 0.5)[value]


@ARCHITECTURE.change(values=2)
def set_response_norm(module: Any, value: int) -> None:
    """Let the response norm look at two channels on either side, or at one again."""
    module.norm.size = (2, 1)[value]
