"""resnext: grouped convolutions; batch norm without momentum averages over all calls so far."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import ConvNormAct, linear
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class Block(nn.Module):
    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.reduce = ConvNormAct(channels, channels, kernel=1, momentum=None)
        self.grouped = ConvNormAct(channels, channels, groups=groups, momentum=None)
        self.expand = ConvNormAct(channels, channels, kernel=1, momentum=None, act=linear)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.expand(self.grouped(self.reduce(x))))


class ResNeXt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvNormAct(3, 8, stride=2, momentum=None)
        self.block = Block(8, groups=4)
        self.head = nn.Linear(8, 6)

    def forward(self, image: Tensor) -> Tensor:
        x = image.to(self.head.weight.dtype)
        return self.head(self.block(self.stem(x)).mean((2, 3)))


def norms(module: nn.Module) -> list[nn.BatchNorm2d]:
    """Return the batch norms of `module`."""
    return [layer for layer in module.modules() if isinstance(layer, nn.BatchNorm2d)]


ARCHITECTURE = Architecture(
    "resnext",
    ResNeXt,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.change(values=3)
def set_calls_seen(module: ResNeXt, value: int) -> None:
    """Let the averages weigh the next call as if so many had come before."""
    for norm in norms(module):
        if norm.num_batches_tracked is not None:
            norm.num_batches_tracked.fill_((0, 1, 100)[value])


@ARCHITECTURE.change(values=2)
def set_momentum(module: ResNeXt, value: int) -> None:
    """Forget old calls at a fixed rate, or average over all of them again."""
    for norm in norms(module):
        norm.momentum = (0.1, None)[value]
