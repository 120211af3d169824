"""resnet: residual stages with a projected shortcut; fine-tuning can freeze its batch norms."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import conv_norm_act
from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    conv = conv_norm_act(nn)

    class BasicBlock(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = conv(inputs, outputs, stride=stride)
            self.conv2 = conv(outputs, outputs, act="linear")
            self.downsample = None
            if stride != 1 or inputs != outputs:
                self.downsample = conv(inputs, outputs, kernel=1, stride=stride, act="linear")

        def forward(self, x: Any) -> Any:
            shortcut = x if self.downsample is None else self.downsample(x)
            return nn.activate(self.conv2(self.conv1(x)) + shortcut, "relu")

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = conv(3, 4)
            self.layer1 = BasicBlock(4, 4, 1)
            self.layer2 = BasicBlock(4, 8, 2)
            self.head = nn.Linear(8, 6)

        def forward(self, image: Any) -> Any:
            x = self.layer2(self.layer1(self.stem(nn.cast(image, self.head.weight))))
            return self.head(nn.mean(x, (1, 2)))

    return ResNet


ARCHITECTURE = Definition("resnet", define, schema=IMAGES, features=6)


@ARCHITECTURE.change(values=2)
def set_frozen(module: Any, value: int) -> None:
    """Freeze the running statistics of the first stage, or thaw them."""
    for layer in (module.stem, module.layer1.conv1, module.layer1.conv2):
        layer.norm.frozen = (True, False)[value]


@ARCHITECTURE.change()
def tie_convolutions(module: Any, value: int) -> None:
    """Let the first block use one convolution twice from now on."""
    module.layer1.conv2.conv = module.layer1.conv1.conv
