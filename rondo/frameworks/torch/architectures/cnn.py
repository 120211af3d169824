"""cnn: two convolutions with batch norm, whose running statistics every training call moves."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class CNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 8, 3, stride=2, padding=1)
        self.norm2 = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 6)

    def forward(self, image: Tensor) -> Tensor:
        x = image.to(self.conv1.weight.dtype)
        x = functional.relu(self.norm1(self.conv1(x)))
        x = functional.relu(self.norm2(self.conv2(x)))
        return self.head(x.mean((2, 3)))


ARCHITECTURE = Architecture(
    "cnn",
    CNN,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.change(values=4)
def set_momentum(module: CNN, value: int) -> None:
    """Give the first batch norm another momentum; without one it keeps the average of all calls."""
    module.norm1.momentum = (0.5, None, 0.0, 0.1)[value]


@ARCHITECTURE.change(values=2)
def set_eps(module: CNN, value: int) -> None:
    """Give both batch norms another epsilon."""
    module.norm1.eps = module.norm2.eps = (0.1, 1e-5)[value]


@ARCHITECTURE.change()
def reset_statistics(module: CNN, value: int) -> None:
    """Set the running statistics of both batch norms back, in place."""
    module.norm1.reset_running_stats()
    module.norm2.reset_running_stats()
