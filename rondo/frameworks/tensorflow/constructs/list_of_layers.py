"""list_of_layers: a list of modules: length, order and members."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import CAPTURED
from rondo.frameworks.tensorflow.layers import Linear
from rondo.subjects.target import Construct


class ListOfLayers(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.layers: Any = [Linear(features, features) for _ in range(2)]
        self.spare = Linear(features, features)

    def __call__(self, hidden: Any) -> Any:
        value = tf.cast(hidden, self.spare.weight.dtype)
        for layer in self.layers:
            value = tf.tanh(layer(value))
        return tf.cast(value, hidden.dtype)


CONSTRUCT = Construct("list_of_layers", ListOfLayers, kind=CAPTURED)


@CONSTRUCT.change()
def add_layer(module: ListOfLayers, value: int) -> None:
    """Add the spare layer, unless there are three."""
    if len(module.layers) < 3:
        module.layers.append(module.spare)


@CONSTRUCT.change()
def reverse(module: ListOfLayers, value: int) -> None:
    """Reverse the order."""
    module.layers = list(module.layers)[::-1]


@CONSTRUCT.change()
def drop_layer(module: ListOfLayers, value: int) -> None:
    """Drop the last layer."""
    module.layers = list(module.layers)[:-1]
