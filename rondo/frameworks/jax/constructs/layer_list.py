"""layer_list: a list of layers in the model, which grows, shrinks and is reversed."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.jax.kinds import STRUCTURE
from rondo.frameworks.jax.layers import parameter
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Scale(Module):
    """One scale."""

    def __init__(self, factor: float, offset: float) -> None:
        super().__init__()
        self.factor = parameter((), fill=factor)
        self.offset = offset

    def forward(self, x: Any) -> Any:
        return x * self.factor.astype(x.dtype) + self.offset


class LayerList(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.layers = [Scale(0.5, 1.0), Scale(2.0, -0.5)]

    def forward(self, hidden: Any) -> Any:
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden


CONSTRUCT = Construct("layer_list", LayerList, kind=STRUCTURE, guarded=True)


@CONSTRUCT.change()
def reverse(module: LayerList, value: int) -> None:
    """Reverse the list."""
    module.layers.reverse()


@CONSTRUCT.change(values=2)
def add_layer(module: LayerList, value: int) -> None:
    """Add a layer with another static offset (0), or the first one once more (1)."""
    module.layers = [*module.layers[:3], module.layers[0] if value else Scale(1.5, 0.25)]


@CONSTRUCT.change()
def drop_layer(module: LayerList, value: int) -> None:
    """Drop the last layer, if another stays."""
    if len(module.layers) > 1:
        module.layers = module.layers[:-1]
