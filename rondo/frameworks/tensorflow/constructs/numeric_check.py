"""numeric_check: a NaN on the way, which raises while numeric checks are on."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.ambient import set_check_numerics
from rondo.frameworks.tensorflow.kinds import SETTING
from rondo.subjects.target import Construct


class NumericCheck(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def __call__(self, hidden: Any) -> Any:
        undefined = tf.math.log(-1.0 - tf.reduce_sum(tf.cast(hidden, tf.float32) ** 2))
        return hidden + tf.cast(tf.where(undefined > 0.0, 1.0, 0.5), hidden.dtype)


CONSTRUCT = Construct("numeric_check", NumericCheck, kind=SETTING)


@CONSTRUCT.change(values=2)
def set_checks(module: NumericCheck, value: int) -> None:
    """Enable (0) or disable (1) numeric checks."""
    set_check_numerics(value == 0)
