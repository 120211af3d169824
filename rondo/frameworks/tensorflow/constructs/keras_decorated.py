"""keras_decorated: a Keras model whose `call` is a tf.function, built by calling it."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import NESTED
from rondo.frameworks.tensorflow.layers import own_dtype
from rondo.subjects.target import Construct


class Decorated(keras.Model):
    def __init__(self, features: int) -> None:
        super().__init__(dtype=own_dtype().name)
        self.inner = keras.layers.Dense(
            features, use_bias=False, kernel_initializer="ones", dtype=own_dtype().name
        )

    @tf.function
    def call(self, x: Any) -> Any:
        return self.inner(x)


class KerasDecorated(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features
        self.model = Decorated(features)
        # As users do, to have the weights made: Keras then infers shapes by calling `call`.
        self.model(tf.zeros((2, features), own_dtype()))

    def __call__(self, hidden: Any) -> Any:
        flat = tf.reshape(hidden[:2], [-1, self.features])[:2]
        return hidden + tf.cast(self.model(flat)[:1, :1], hidden.dtype)


CONSTRUCT = Construct("keras_decorated", KerasDecorated, kind=NESTED)


@CONSTRUCT.change(values=2)
def set_weights(module: KerasDecorated, value: int) -> None:
    """Call `set_weights` on the model: 0.5 (0) or 1.0 (1) everywhere."""
    shape = (module.features, module.features)
    module.model.set_weights([np.full(shape, (0.5, 1.0)[value], np.float32)])
