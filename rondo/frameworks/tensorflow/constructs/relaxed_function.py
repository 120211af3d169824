"""relaxed_function: a tf.function inside that relaxes shapes, over tensors, numbers, variables."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import NESTED
from rondo.sequences.vocabulary import BATCH, InputSpec
from rondo.subjects.target import Construct


class RelaxedFunction(tf.Module):
    passed = ("bias",)

    def __init__(self, features: int) -> None:
        super().__init__()
        self.bias: Any = tf.Variable(0.5)

    @tf.function(reduce_retracing=True)
    def mix(self, hidden: Any, rows: Any, amount: Any, bias: Any) -> Any:
        total = tf.reduce_sum(rows) / tf.cast(tf.size(rows), rows.dtype)
        return hidden * tf.cast(amount, hidden.dtype) + tf.cast(total + bias, hidden.dtype)

    def __call__(self, hidden: Any, rows: Any, amount: int, bias: Any) -> Any:
        rows = tf.cast(rows, tf.float32)
        return self.mix(self.mix(hidden, rows, amount, bias), rows[:1], amount, bias)


CONSTRUCT = Construct(
    "relaxed_function",
    RelaxedFunction,
    kind=NESTED,
    guarded=True,
    inputs=(InputSpec("rows", (BATCH, 3)), InputSpec("amount", kind="integer")),
)


@CONSTRUCT.change(values=3)
def replace_bias(module: RelaxedFunction, value: int) -> None:
    """Pass a new variable, a tensor, or a variable of the first value as the bias."""
    module.bias = (tf.Variable(2.0), tf.constant(0.25), tf.Variable(0.5))[value]
