"""densenet: every layer reads all earlier ones; recomputing them moves batch norm twice."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class DenseLayer(nn.Module):
    """Reads all earlier features, and may compute itself again in backward to save memory.

    That moves the running statistics twice in eager. Compiled they move once, or the `eager` back
    end raises: mutations inside a checkpoint are where compilers differ, hence a change and not
    the default.
    """

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.conv = nn.Conv2d(channels, growth, 3, padding=1, bias=False)
        self.recompute = False

    def mix(self, *features: Tensor) -> Tensor:
        """Join what came before and convolve it."""
        return self.conv(functional.relu(self.norm(torch.cat(features, 1))))

    def forward(self, features: list[Tensor]) -> Tensor:
        if self.recompute and any(feature.requires_grad for feature in features):
            return checkpoint(self.mix, *features, use_reentrant=False)
        return self.mix(*features)


class DenseNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.block = nn.ModuleList(DenseLayer(4 + 4 * depth, 4) for depth in range(3))
        self.norm = nn.BatchNorm2d(16)
        self.head = nn.Linear(16, 6)

    def forward(self, image: Tensor) -> Tensor:
        features = [self.stem(image.to(self.stem.weight.dtype))]
        for layer in self.block:
            features.append(layer(features))
        x = functional.relu(self.norm(torch.cat(features, 1)))
        return self.head(x.mean((2, 3)))


ARCHITECTURE = Architecture(
    "densenet",
    DenseNet,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
    guarded=False,  # recomputing a batch norm raises in the backward of back end eager
)


@ARCHITECTURE.change(values=2)
def set_recompute(module: DenseNet, value: int) -> None:
    """Save memory by computing the layers again in the backward pass, or stop doing so."""
    for layer in module.block:
        if isinstance(layer, DenseLayer):
            layer.recompute = (True, False)[value]


@ARCHITECTURE.change(values=2)
def set_eps(module: DenseNet, value: int) -> None:
    """Give the last batch norm another epsilon."""
    module.norm.eps = (0.1, 1e-5)[value]
