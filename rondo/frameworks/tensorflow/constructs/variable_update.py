"""variable_update: variables that the forward reads, writes and reads again."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import VARIABLE
from rondo.subjects.target import Construct


class VariableUpdate(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.count = tf.Variable(0, trainable=False)
        self.average = tf.Variable(0.0, trainable=False)
        self.history = tf.Variable(tf.zeros([4]), trainable=False)

    def __call__(self, hidden: Any) -> Any:
        place = self.count % 4
        self.count.assign_add(1)
        mean = tf.reduce_mean(tf.cast(hidden, tf.float32))
        self.average.assign(self.average * 0.5 + mean)
        self.history.scatter_nd_update([[place]], [mean])
        if self.count % 3 == 0:
            self.average.assign(0.0)
        return hidden + tf.cast(self.average + tf.reduce_sum(self.history), hidden.dtype)


CONSTRUCT = Construct("variable_update", VariableUpdate, kind=VARIABLE)


@CONSTRUCT.change(values=2)
def set_count(module: VariableUpdate, value: int) -> None:
    """Assign the counter."""
    module.count.assign(value * 2)


@CONSTRUCT.change()
def replace_average(module: VariableUpdate, value: int) -> None:
    """Put another variable in the average's place."""
    module.average = tf.Variable(1.0, trainable=False)
