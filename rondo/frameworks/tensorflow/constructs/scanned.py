"""scanned: a loop over rows by `tf.scan`, with Python state and a variable in its body."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import CONTROL_FLOW
from rondo.subjects.target import Construct


class Scanned(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.decay = 0.5
        self.shift = tf.Variable(0.0, trainable=False)

    def __call__(self, hidden: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            return carry * self.decay + row + tf.cast(self.shift, row.dtype)

        return tf.scan(step, hidden, tf.zeros_like(hidden[0]))


CONSTRUCT = Construct("scanned", Scanned, kind=CONTROL_FLOW)


@CONSTRUCT.change(values=2)
def set_decay(module: Scanned, value: int) -> None:
    """Give the number that the loop's body reads another value."""
    module.decay = (0.25, 0.5)[value]


@CONSTRUCT.change(values=2)
def assign(module: Scanned, value: int) -> None:
    """Assign the variable that the loop's body reads."""
    module.shift.assign((1.0, 0.0)[value])
