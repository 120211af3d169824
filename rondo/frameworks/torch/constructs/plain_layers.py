"""plain_layers: layers kept in a plain list and a dict, which registration does not see."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Shift(nn.Module):
    """A layer told apart by the amount it shifts by."""

    def __init__(self, amount: float) -> None:
        super().__init__()
        self.amount = amount

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden.sin() + self.amount


class PlainLayers(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.layers = [Shift(0.25), Shift(-0.5)]
        self.heads = {"first": Shift(0.5), "second": Shift(-0.25)}
        self.head = "first"

    def forward(self, hidden: Tensor) -> Tensor:
        for layer in self.layers:
            hidden = layer(hidden)
        return self.heads[self.head](hidden)


CONSTRUCT = Construct("plain_layers", PlainLayers, kind="module guard", guarded=True)


@CONSTRUCT.change(values=2)
def choose_head(module: PlainLayers, value: int) -> None:
    """Choose the head by its key."""
    module.head = ("second", "first")[value]


@CONSTRUCT.change(values=2)
def replace_head(module: PlainLayers, value: int) -> None:
    """Put another layer under a key of the dict."""
    module.heads["first"] = Shift((1.0, 0.5)[value])


@CONSTRUCT.change()
def swap_layers(module: PlainLayers, value: int) -> None:
    """Swap the first and the last layer in place."""
    module.layers[0], module.layers[-1] = module.layers[-1], module.layers[0]


@CONSTRUCT.change(values=2)
def resize(module: PlainLayers, value: int) -> None:
    """Add a layer, or cut back to two."""
    if value == 0 and len(module.layers) < 5:
        module.layers.append(Shift(1.0))
    else:
        del module.layers[2:]


@CONSTRUCT.change(values=2)
def set_amount(module: PlainLayers, value: int) -> None:
    """Set the amount of the first layer."""
    module.layers[0].amount = (-1.0, 0.25)[value]
