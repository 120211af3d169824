"""captured_variable: a variable that a trace captures: assigned, and replaced by another one."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import VARIABLE
from rondo.frameworks.tensorflow.layers import parameter
from rondo.subjects.target import Construct


class CapturedVariable(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.gain = parameter((features,), fill=1.0)

    def __call__(self, hidden: Any) -> Any:
        return hidden * tf.cast(self.gain, hidden.dtype)


CONSTRUCT = Construct("captured_variable", CapturedVariable, kind=VARIABLE)


@CONSTRUCT.change(values=2)
def assign(module: CapturedVariable, value: int) -> None:
    """Assign the variable."""
    module.gain.assign(tf.ones_like(module.gain) * (0.5, 1.0)[value])


@CONSTRUCT.change(values=2)
def replace(module: CapturedVariable, value: int) -> None:
    """Put another variable in its place: trainable (0) or not (1)."""
    module.gain = tf.Variable(module.gain * 2.0, trainable=value == 0)
