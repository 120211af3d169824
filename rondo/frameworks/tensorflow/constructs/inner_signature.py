"""inner_signature: a tf.function inside with an input signature that leaves every size open."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import NESTED
from rondo.subjects.target import Construct


class InnerSignature(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.power = 2

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def normalise(self, flat: Any) -> Any:
        rows = tf.cast(tf.shape(flat)[0], tf.float32)
        return flat / (1.0 + tf.reduce_mean(tf.abs(flat) ** self.power) * rows)

    def __call__(self, hidden: Any) -> Any:
        flat = tf.reshape(tf.cast(hidden, tf.float32), [-1, hidden.shape[-1]])
        return tf.reshape(tf.cast(self.normalise(flat), hidden.dtype), tf.shape(hidden))


CONSTRUCT = Construct("inner_signature", InnerSignature, kind=NESTED)


@CONSTRUCT.change(values=2)
def set_power(module: InnerSignature, value: int) -> None:
    """Give the power that the inner trace reads another value."""
    module.power = (3, 2)[value]
