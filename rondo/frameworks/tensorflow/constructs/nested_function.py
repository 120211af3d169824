"""nested_function: a tf.function method called twice inside, with what it reads."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import NESTED
from rondo.frameworks.tensorflow.layers import parameter
from rondo.subjects.target import Construct


class NestedFunction(tf.Module):
    passed = ("amount",)

    def __init__(self, features: int) -> None:
        super().__init__()
        self.gain = parameter((features,), fill=1.0)
        self.amount: Any = 1
        self.shift = 0.0

    @tf.function
    def scale(self, hidden: Any, amount: Any) -> Any:
        return hidden * tf.cast(self.gain, hidden.dtype) * amount + self.shift

    def __call__(self, hidden: Any, amount: Any) -> Any:
        return self.scale(self.scale(hidden, amount), 2)


CONSTRUCT = Construct("nested_function", NestedFunction, kind=NESTED)


@CONSTRUCT.change(values=3)
def set_amount(module: NestedFunction, value: int) -> None:
    """Pass 0.5, 2 or 1 on to the inner function."""
    module.amount = (0.5, 2, 1)[value]


@CONSTRUCT.change(values=2)
def set_shift(module: NestedFunction, value: int) -> None:
    """Give the attribute that the inner trace reads another value."""
    module.shift = (1.0, 0.0)[value]


@CONSTRUCT.change(values=2)
def assign(module: NestedFunction, value: int) -> None:
    """Assign the variable that the inner trace captures."""
    module.gain.assign(tf.ones_like(module.gain) * (0.5, 1.0)[value])
