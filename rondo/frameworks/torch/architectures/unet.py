"""unet: skips kept on a stack and scaled by settable factors, upsampled by a settable mode."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import ConvNormAct
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvNormAct(3, 4)
        self.down = nn.ModuleList([ConvNormAct(4, 8, stride=2), ConvNormAct(8, 8, stride=2)])
        self.up = nn.ModuleList([ConvNormAct(16, 8), ConvNormAct(12, 4)])
        self.head = nn.Conv2d(4, 4, 1)
        self.upsampling = "nearest"
        self.skip_scales = {"outer": 1.0, "inner": 1.0}

    def forward(self, image: Tensor) -> Tensor:
        x = self.stem(image.to(self.head.weight.dtype))
        skips = []
        for layer in self.down:
            skips.append(x)
            x = layer(x)
        for layer, name in zip(self.up, ("inner", "outer"), strict=True):
            skip = skips.pop()
            x = functional.interpolate(x, size=skip.shape[-2:], mode=self.upsampling)
            x = layer(torch.cat((x, skip * self.skip_scales[name]), 1))
        return self.head(x).permute(0, 2, 3, 1)


ARCHITECTURE = Architecture(
    "unet",
    UNet,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=4,
)


@ARCHITECTURE.change(values=4)
def set_skip_scale(module: UNet, value: int) -> None:
    """Scale one of the skips, as free-lunch sampling does."""
    name, scale = (("outer", 0.5), ("inner", 2.0), ("inner", 0.0), ("outer", 1.0))[value]
    module.skip_scales[name] = scale


@ARCHITECTURE.change(values=2)
def set_upsampling(module: UNet, value: int) -> None:
    """Upsample by another mode."""
    module.upsampling = ("bilinear", "nearest")[value]
