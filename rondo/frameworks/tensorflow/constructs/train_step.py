"""train_step: a gradient tape and a Keras optimizer inside, whose slots the first call makes."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import NESTED
from rondo.frameworks.tensorflow.layers import parameter
from rondo.subjects.target import Construct


class TrainStep(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = parameter((features,), fill=1.0)
        self.optimizer = keras.optimizers.SGD(0.1, momentum=0.5)
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
    """Put a new optimizer in place of the old one: its slots are made anew."""
    module.optimizer = keras.optimizers.SGD(0.1, momentum=0.5)
