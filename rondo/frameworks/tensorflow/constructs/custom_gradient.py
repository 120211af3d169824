"""custom_gradient: a gradient of one's own, traced only when a gradient is asked for."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import CAPTURED
from rondo.subjects.target import Construct


class CustomGradient(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 1.0
        self.weight = tf.Variable(1.0)
        self.backward = tf.Variable(1.0, trainable=False)

    def __call__(self, hidden: Any) -> Any:
        @tf.custom_gradient
        def scale(value: Any, weight: Any) -> Any:
            def gradient(upstream: Any) -> Any:
                strength = tf.cast(self.backward, upstream.dtype) * self.factor
                total = tf.cast(tf.reduce_sum(upstream * value), tf.float32)
                return upstream * strength, total * self.factor

            return value * tf.cast(weight, value.dtype), gradient

        return scale(hidden, tf.convert_to_tensor(self.weight))


CONSTRUCT = Construct("custom_gradient", CustomGradient, kind=CAPTURED)


@CONSTRUCT.change(values=2)
def set_factor(module: CustomGradient, value: int) -> None:
    """Give the factor that the gradient reads another value."""
    module.factor = (2.0, 1.0)[value]


@CONSTRUCT.change(values=2)
def assign_backward(module: CustomGradient, value: int) -> None:
    """Assign the variable that the gradient reads."""
    module.backward.assign((0.5, 1.0)[value])
