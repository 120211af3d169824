"""unet: skips scaled by settable factors, upsampled by a settable mode."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import conv_norm_act
from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    conv = conv_norm_act(nn)

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = conv(3, 4)
            self.down1 = conv(4, 8, stride=2)
            self.down2 = conv(8, 8, stride=2)
            self.up1 = conv(16, 8)
            self.up2 = conv(12, 4)
            self.head = nn.Conv(4, 4, 1)
            self.upsampling = "nearest"
            self.inner = 1.0
            self.outer = 1.0

        def join(self, x: Any, skip: Any, scale: float) -> Any:
            """Bring `x` to the size of `skip` and put the two side by side."""
            _, height, width, _ = nn.shape(skip)
            return nn.concat((nn.resize(x, height, width, self.upsampling), skip * scale), 3)

        def forward(self, image: Any) -> Any:
            outer = self.stem(nn.cast(image, self.head.weight))
            inner = self.down1(outer)
            x = self.up1(self.join(self.down2(inner), inner, self.inner))
            return self.head(self.up2(self.join(x, outer, self.outer)))

    return UNet


ARCHITECTURE = Definition("unet", define, schema=IMAGES, features=4)


@ARCHITECTURE.change(values=4)
def set_skip_scale(module: Any, value: int) -> None:
    """Scale one of the skips, as free-lunch sampling does."""
    name, scale = (("outer", 0.5), ("inner", 2.0), ("inner", 0.0), ("outer", 1.0))[value]
    setattr(module, name, scale)


@ARCHITECTURE.change(values=2)
def set_upsampling(module: Any, value: int) -> None:
    """Upsample by another mode."""
    module.upsampling = ("bilinear", "nearest")[value]
