"""alexnet: response norm, activations in place, and dropout around the hidden classifier layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class ResponseNorm(nn.LocalResponseNorm):
    """Computes in float32 at least: its pooling has no half-precision kernel on the CPU."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.to(torch.promote_types(x.dtype, torch.float32))).to(x.dtype)


class AlexNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 5, stride=2, padding=2),
            nn.ReLU(inplace=True),
            ResponseNorm(3, alpha=0.1, k=2.0),
            nn.MaxPool2d(3, stride=2, padding=1),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.ReLU(inplace=True),
        )
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.classifier = nn.Sequential(
            nn.Dropout(0.5),
            nn.Linear(8 * 2 * 2, 16),
            nn.ReLU(inplace=True),
            nn.Dropout(0.5),
            nn.Linear(16, 6),
        )

    def forward(self, image: Tensor) -> Tensor:
        x = image.to(next(self.parameters()).dtype)
        return self.classifier(self.pool(self.features(x)).flatten(1))


ARCHITECTURE = Architecture(
    "alexnet",
    AlexNet,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.change(values=3)
def set_dropout(module: AlexNet, value: int) -> None:
    """Give every dropout another rate."""
    for layer in module.classifier:
        if isinstance(layer, nn.Dropout):
            layer.p = (0.0, 0.25, 0.5)[value]


@ARCHITECTURE.change(values=2)
def set_response_norm(module: AlexNet, value: int) -> None:
    """Let the response norm look at more channels, or at three again."""
    for layer in module.features:
        if isinstance(layer, ResponseNorm):
            layer.size = (5, 3)[value]
