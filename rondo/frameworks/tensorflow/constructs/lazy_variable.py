"""lazy_variable: a variable made during a call that fails after making it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import FAILED
from rondo.sequences.vocabulary import InputSpec
from rondo.subjects.target import Construct


class LazyVariable(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        # Private, so not looked at by itself: a first trace that fails leaves it without a value,
        # and what has to be seen is what the next call makes of that.
        self._gain: Any = None

    def __call__(self, hidden: Any, limit: float) -> Any:
        # Only a call that fails makes the variable. A trace that makes one and succeeds runs twice,
        # and so do side effects of other constructs: as documented, and of no interest here.
        if limit < 0.0:
            if self._gain is None:
                self._gain = tf.Variable(tf.ones([hidden.shape[-1]], tf.float32))
            raise ValueError("the limit is negative")
        return hidden if self._gain is None else hidden * tf.cast(self._gain, hidden.dtype)


CONSTRUCT = Construct(
    "lazy_variable",
    LazyVariable,
    kind=FAILED,
    inputs=(InputSpec("limit", kind="number"),),
)


@CONSTRUCT.change()
def forget(module: LazyVariable, value: int) -> None:
    """Drop the variable: the next call makes another one."""
    module._gain = None


@CONSTRUCT.change(values=2)
def assign(module: LazyVariable, value: int) -> None:
    """Assign the variable, if there is one."""
    if module._gain is not None:
        module._gain.assign(tf.ones_like(module._gain) * (2.0, 1.0)[value])
