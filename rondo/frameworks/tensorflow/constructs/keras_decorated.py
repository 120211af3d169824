"""keras_decorated: a Keras model whose `call` is a tf.function, first called before it is built."""

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

    def __call__(self, hidden: Any) -> Any:
        flat = tf.reshape(hidden, [-1, self.features])
        return tf.reshape(tf.cast(self.model(flat), hidden.dtype), tf.shape(hidden))


CONSTRUCT = Construct("keras_decorated", KerasDecorated, kind=NESTED)


@CONSTRUCT.change(values=2)
def set_weights(module: KerasDecorated, value: int) -> None:
    """Call `set_weights` on the model: 0.5 (0) or 1.0 (1) everywhere."""
    shape = (module.features, module.features)
    if module.model.built:
        module.model.set_weights([np.full(shape, (0.5, 1.0)[value], np.float32)])


@CONSTRUCT.change()
def build(module: KerasDecorated, value: int) -> None:
    """Build the inner layer, if it is not built, before anything calls the model."""
    if not module.model.inner.built:
        module.model.inner.build((None, module.features))
