"""lazy_variable: a variable made during the first call, which may fail after making it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class LazyVariable(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.gain: Any = None

    def __call__(self, hidden: Any, limit: float) -> Any:
        if self.gain is None:
            self.gain = tf.Variable(tf.ones([hidden.shape[-1]], tf.float32))
        if limit < 0.0:
            raise ValueError("the limit is negative")
        return hidden * tf.cast(self.gain, hidden.dtype)


CONSTRUCT = Construct(
    "lazy_variable",
    LazyVariable,
    kind="failed trace",
    inputs=(InputSpec("limit", kind="number"),),
)


@CONSTRUCT.change()
def forget(module: LazyVariable, value: int) -> None:
    """Drop the variable: the next call makes another one."""
    module.gain = None


@CONSTRUCT.change(values=2)
def assign(module: LazyVariable, value: int) -> None:
    """Assign the variable, if there is one."""
    if module.gain is not None:
        module.gain.assign(tf.ones_like(module.gain) * (2.0, 1.0)[value])
