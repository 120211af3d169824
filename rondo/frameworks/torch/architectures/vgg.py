"""vgg: layers from a list, whose outputs are kept while ReLU works in place."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES, HEIGHTS, WIDTHS
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture

LAYOUT: tuple[int | str, ...] = (4, 4, "pool", 8, "pool")


def make_layers(layout: tuple[int | str, ...]) -> nn.Sequential:
    """Turn widths and `pool` into layers, as every VGG since the first has done."""
    layers: list[nn.Module] = []
    channels = 3
    for item in layout:
        if isinstance(item, str):
            layers.append(nn.MaxPool2d(2))
        else:
            layers += [nn.Conv2d(channels, item, 3, padding=1), nn.ReLU(inplace=True)]
            channels = item
    return nn.Sequential(*layers)


class VGG(nn.Module):
    """The kept outputs share their memory with what the next layer overwrites.

    So a tap on a convolution shows what ReLU made of it: the classic surprise of in-place
    activations, which a compiler has to keep.
    """

    def __init__(self) -> None:
        super().__init__()
        self.features = make_layers(LAYOUT)
        self.taps = [0, 4]
        self.kept: list[Tensor] = []
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(8, 6)

    def forward(self, image: Tensor) -> Tensor:
        x = image.to(self.head.weight.dtype)
        self.kept = []
        for position, layer in enumerate(self.features):
            x = layer(x)
            if position in self.taps:
                self.kept.append(x.detach())
        return self.head(self.dropout(x.mean((2, 3))))


ARCHITECTURE = Architecture(
    "vgg",
    VGG,
    schema=Schema(
        dimensions=(BATCHES, HEIGHTS, WIDTHS),
        inputs=(InputSpec("image", (BATCHES.name, 3, HEIGHTS.name, WIDTHS.name)),),
    ),
    features=6,
)


@ARCHITECTURE.observe
def observe(module: VGG) -> dict[str, object]:
    """Report the outputs that the last call kept."""
    return {"kept": list(module.kept)}


@ARCHITECTURE.change(values=4)
def set_taps(module: VGG, value: int) -> None:
    """Keep the outputs of other layers."""
    module.taps[:] = ([], [2], [1, 5, 6], [0, 4])[value]


@ARCHITECTURE.change(values=2)
def set_in_place(module: VGG, value: int) -> None:
    """Let ReLU make new tensors, or overwrite again."""
    for layer in module.features:
        if isinstance(layer, nn.ReLU):
            layer.inplace = (False, True)[value]
