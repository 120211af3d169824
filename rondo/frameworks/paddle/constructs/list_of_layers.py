"""list_of_layers: a list of layers: length, order and members."""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.kinds import CONTAINER
from rondo.frameworks.paddle.layers import Linear
from rondo.subjects.target import Construct


class ListOfLayers(paddle.nn.Layer):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.layers = paddle.nn.LayerList([Linear(features, features) for _ in range(2)])
        self.spare = Linear(features, features)

    def forward(self, hidden: Any) -> Any:
        value = paddle.cast(hidden, self.spare.weight.dtype)
        for layer in self.layers:
            value = paddle.tanh(layer(value))
        return paddle.cast(value, hidden.dtype)


CONSTRUCT = Construct("list_of_layers", ListOfLayers, kind=CONTAINER, guarded=True)


@CONSTRUCT.change()
def add_layer(module: ListOfLayers, value: int) -> None:
    """Add the spare layer, unless there are three."""
    if len(module.layers) < 3:
        module.layers.append(module.spare)


@CONSTRUCT.change()
def reverse(module: ListOfLayers, value: int) -> None:
    """Reverse the order."""
    module.layers = paddle.nn.LayerList(list(module.layers)[::-1])


@CONSTRUCT.change()
def drop_layer(module: ListOfLayers, value: int) -> None:
    """Drop the last layer, unless it is the only one."""
    if len(module.layers) > 1:
        module.layers = paddle.nn.LayerList(list(module.layers)[:-1])


@CONSTRUCT.change()
def replace_member(module: ListOfLayers, value: int) -> None:
    """Put the spare layer in the first place."""
    module.layers[0] = module.spare
