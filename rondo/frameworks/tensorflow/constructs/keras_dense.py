"""keras_dense: a Keras layer that is frozen, given other weights and another activation."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rondo.frameworks.tensorflow.constructs._keras import built, policy
from rondo.frameworks.tensorflow.kinds import CAPTURED
from rondo.subjects.target import Construct


class KerasDense(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.dense = built(keras.layers.Dense(features, dtype=policy()), features)

    def __call__(self, hidden: Any) -> Any:
        return tf.cast(self.dense(hidden), hidden.dtype)


CONSTRUCT = Construct("keras_dense", KerasDense, kind=CAPTURED)


@CONSTRUCT.change(values=2)
def set_trainable(module: KerasDense, value: int) -> None:
    """Freeze (0) or unfreeze (1) the layer."""
    module.dense.trainable = bool(value)


@CONSTRUCT.change(values=2)
def set_weights(module: KerasDense, value: int) -> None:
    """Call `set_weights` with scaled (0) or negated (1) values."""
    module.dense.set_weights([each * (0.5, -1.0)[value] for each in module.dense.get_weights()])


@CONSTRUCT.change(values=2)
def set_activation(module: KerasDense, value: int) -> None:
    """Put another activation in the layer: tanh (0) or none (1)."""
    module.dense.activation = keras.activations.get(("tanh", "linear")[value])
