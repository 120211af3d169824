"""resnet: residual stages with a projected shortcut; fine-tuning can freeze its batch norms."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.frameworks.torch.architectures._layers import ConvNormAct, linear
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture


class BasicBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = ConvNormAct(inputs, outputs, stride=stride)
        self.conv2 = ConvNormAct(outputs, outputs, act=linear)
        self.downsample: nn.Module | None = None
        if stride != 1 or inputs != outputs:
            self.downsample = ConvNormAct(inputs, outputs, kernel=1, stride=stride, act=linear)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        return functional.relu(self.conv2(self.conv1(x)) + shortcut)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.width = 4
        self.frozen = False
        self.stem = ConvNormAct(3, 4)
        self.layer1 = self.make_layer(4, 1, stride=1)
        self.layer2 = self.make_layer(8, 1, stride=2)
        self.head = nn.Linear(8, 6)

    def make_layer(self, width: int, depth: int, *, stride: int) -> nn.Sequential:
        """Stack blocks, of which the first changes the width and the stride."""
        blocks = [BasicBlock(self.width, width, stride)]
        self.width = width
        blocks += [BasicBlock(width, width, 1) for _ in range(1, depth)]
        return nn.Sequential(*blocks)

    def train(self, mode: bool = True) -> ResNet:
        """Set the mode of everything but frozen batch norms, which stay in evaluation."""
        super().train(mode)
        if self.frozen:
            for layer in self.modules():
                if isinstance(layer, nn.BatchNorm2d):
                    layer.eval()
        return self

    def forward(self, image: Tensor) -> Tensor:
        x = image.to(self.head.weight.dtype)
        x = self.layer2(self.layer1(self.stem(x)))
        return self.head(functional.adaptive_avg_pool2d(x, 1).flatten(1))


ARCHITECTURE = Architecture(
    "resnet",
    ResNet,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.change(values=2)
def set_frozen(module: ResNet, value: int) -> None:
    """Freeze the running statistics for good, or thaw them."""
    module.frozen = (True, False)[value]
    module.train(module.training)


@ARCHITECTURE.change()
def tie_convolutions(module: ResNet, value: int) -> None:
    """Let the first block use one convolution twice from now on."""
    block = module.layer1[0]
    if isinstance(block, BasicBlock):
        block.conv2.conv = block.conv1.conv
