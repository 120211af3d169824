"""lenet: fixed image, fixed flatten, no state but the activation module it calls."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 5, padding=2)
        self.conv2 = nn.Conv2d(4, 8, 5)
        self.pool: nn.Module = nn.AvgPool2d(2)
        self.activation: nn.Module = nn.Tanh()
        self.hidden = nn.Linear(8 * 2 * 2, 16)
        self.head = nn.Linear(16, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = image.to(self.conv1.weight.dtype)
        x = self.pool(self.activation(self.conv1(x)))
        x = self.pool(self.activation(self.conv2(x)))
        return self.head(self.activation(self.hidden(x.flatten(1))))


ARCHITECTURE = Architecture(
    "lenet",
    LeNet,
    schema=Schema(dimensions=(BATCHES,), inputs=(InputSpec("image", (BATCHES.name, 1, 16, 16)),)),
    features=10,
)


@ARCHITECTURE.change(values=3)
def set_activation(module: LeNet, value: int) -> None:
    """Put another activation in the place of the old one."""
    module.activation = (nn.ReLU(), nn.Sigmoid(), nn.Tanh())[value]


@ARCHITECTURE.change(values=2)
def set_pool(module: LeNet, value: int) -> None:
    """Pool by the maximum, or by the mean again."""
    module.pool = (nn.MaxPool2d(2), nn.AvgPool2d(2))[value]
