"""mobilenet_v2: inverted residuals with ReLU6; batch norm can stop tracking its statistics."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import ConvNormAct, linear
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, *, stride: int, expand: int) -> None:
        super().__init__()
        hidden = inputs * expand
        self.use_residual = stride == 1 and inputs == outputs
        self.layers = nn.Sequential(
            ConvNormAct(inputs, hidden, kernel=1, act=functional.relu6),
            ConvNormAct(hidden, hidden, stride=stride, groups=hidden, act=functional.relu6),
            ConvNormAct(hidden, outputs, kernel=1, act=linear),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x) if self.use_residual else self.layers(x)


class MobileNetV2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvNormAct(3, 4, stride=2, act=functional.relu6)
        self.block1 = InvertedResidual(4, 4, stride=1, expand=2)
        self.block2 = InvertedResidual(4, 6, stride=1, expand=2)
        self.head = nn.Linear(6, 6)

    def forward(self, image: Tensor) -> Tensor:
        x = image.to(self.head.weight.dtype)
        return self.head(self.block2(self.block1(self.stem(x))).mean((2, 3)))


ARCHITECTURE = Architecture(
    "mobilenet_v2",
    MobileNetV2,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.change(values=2)
def set_tracking(module: MobileNetV2, value: int) -> None:
    """Stop the running statistics of the first batch norm, or let them run on."""
    module.stem.norm.track_running_stats = (False, True)[value]


@ARCHITECTURE.change(values=2)
def set_residual(module: MobileNetV2, value: int) -> None:
    """Cut the residual connection, or restore it."""
    module.block1.use_residual = (False, True)[value]
