"""train_step: a gradient tape and a Keras optimizer with momentum inside."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import NESTED
from rondo.frameworks.tensorflow.layers import parameter
from rondo.subjects.target import Construct


def built_optimizer(weight: Any) -> Any:
    """Return an optimizer with its slots.

    Made in the first call instead, they would have it traced twice, and side effects of other
    constructs happen twice: as documented, and for no reason that is of interest here.
    """
    optimizer = keras.optimizers.SGD(0.1, momentum=0.5)
    optimizer.build([weight])
    return optimizer


class TrainStep(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = parameter((features,), fill=1.0)
        self.optimizer = built_optimizer(self.weight)
        self.strength = 1.0

    def __call__(self, hidden: Any) -> Any:
        value = tf.cast(hidden, self.weight.dtype)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(value * self.weight)) * self.strength
        gradient = tape.gradient(loss, self.weight)
        self.optimizer.apply_gradients([(gradient, self.weight)])
        return hidden + tf.cast(loss, hidden.dtype)


CONSTRUCT = Construct("train_step", TrainStep, kind=NESTED)


@CONSTRUCT.change(values=2)
def set_rate(module: TrainStep, value: int) -> None:
    """Assign the learning rate, which Keras keeps in a variable."""
    module.optimizer.learning_rate = (0.5, 0.1)[value]


@CONSTRUCT.change(values=2)
def set_momentum(module: TrainStep, value: int) -> None:
    """Give the momentum, a Python float, another value."""
    module.optimizer.momentum = (0.9, 0.5)[value]


@CONSTRUCT.change()
def replace_optimizer(module: TrainStep, value: int) -> None:
    """Put a new optimizer in place of the old one: its slots are empty."""
    module.optimizer = built_optimizer(module.weight)
