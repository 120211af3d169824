"""keras_dropout: Keras's dropout, with its rate and its own seed generator."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import RANDOM
from rondo.frameworks.tensorflow.layers import local
from rondo.subjects.target import Construct


class KerasDropout(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.generator = keras.random.SeedGenerator(3)
        self.rate = 4

    def __call__(self, hidden: Any) -> Any:
        if not local.training:
            return hidden
        # Integers, since XLA turns the same bits into other floats.
        drawn = keras.random.randint((hidden.shape[-1],), 0, 16, seed=self.generator)
        return hidden * tf.cast(drawn >= self.rate, hidden.dtype)


CONSTRUCT = Construct("keras_dropout", KerasDropout, kind=RANDOM)


@CONSTRUCT.change(values=2)
def set_rate(module: KerasDropout, value: int) -> None:
    """Drop another share."""
    module.rate = (12, 4)[value]


@CONSTRUCT.change(values=2)
def reseed(module: KerasDropout, value: int) -> None:
    """Assign the seed generator's state (0), or put another generator in its place (1)."""
    if value:
        module.generator = keras.random.SeedGenerator(3)
    else:
        module.generator.state.assign(tf.zeros_like(module.generator.state))
