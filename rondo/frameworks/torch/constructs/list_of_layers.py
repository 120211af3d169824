"""list_of_layers: a ModuleList whose length, order and members change."""

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


class ListOfLayers(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Shift(0.25), Shift(-0.5)])

    def forward(self, hidden: Tensor) -> Tensor:
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden


CONSTRUCT = Construct("list_of_layers", ListOfLayers, kind="module guard", guarded=True)


@CONSTRUCT.change(values=2)
def add_layer(module: ListOfLayers, value: int) -> None:
    """Add a layer at the end or at the start, as long as there are fewer than five."""
    if len(module.layers) < 5:
        if value == 0:
            module.layers.append(Shift(0.75))
        else:
            module.layers.insert(0, Shift(1.0))


@CONSTRUCT.change(values=2)
def drop_layer(module: ListOfLayers, value: int) -> None:
    """Drop the last or the first layer, if there is one."""
    if len(module.layers):
        del module.layers[(-1, 0)[value]]


@CONSTRUCT.change()
def reverse(module: ListOfLayers, value: int) -> None:
    """Reverse the order of the layers."""
    module.layers = nn.ModuleList(reversed(list(module.layers)))


@CONSTRUCT.change()
def repeat_first(module: ListOfLayers, value: int) -> None:
    """Put the first layer into the last place too."""
    if len(module.layers) > 1:
        module.layers[-1] = module.layers[0]


@CONSTRUCT.change()
def restore(module: ListOfLayers, value: int) -> None:
    """Put the layers back that it began with."""
    module.layers = nn.ModuleList([Shift(0.25), Shift(-0.5)])
