"""variable_argument: two variables passed as arguments: replaced, swapped, or one and the same."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import VARIABLE
from rondo.frameworks.tensorflow.layers import own_dtype
from rondo.subjects.target import Construct


class VariableArgument(tf.Module):
    passed = ("first", "second")

    def __init__(self, features: int) -> None:
        super().__init__()
        self.first = tf.Variable(tf.cast(1.0, own_dtype()))
        self.second = tf.Variable(tf.cast(2.0, own_dtype()))

    def __call__(self, hidden: Any, first: Any, second: Any) -> Any:
        first.assign_add(tf.ones_like(first) * 0.125)
        return hidden * tf.cast(tf.reduce_sum(first) + tf.reduce_sum(second), hidden.dtype)


CONSTRUCT = Construct("variable_argument", VariableArgument, kind=VARIABLE)


@CONSTRUCT.change(values=3)
def replace_first(module: VariableArgument, value: int) -> None:
    """Pass a new variable: of another value, of another shape, or of another dtype."""
    values = (4.0, [1.0, 2.0], 3.0)
    dtype = tf.float16 if value == 2 else module.second.dtype
    module.first = tf.Variable(tf.constant(values[value], dtype))
    module.second = tf.Variable(tf.constant(2.0, dtype))


@CONSTRUCT.change()
def swap(module: VariableArgument, value: int) -> None:
    """Pass the two variables in the other order."""
    module.first, module.second = module.second, module.first


@CONSTRUCT.change(values=2)
def join(module: VariableArgument, value: int) -> None:
    """Pass one variable twice (0), or two again (1)."""
    module.second = tf.Variable(module.first) if value else module.first
