"""python_call: `tf.numpy_function`, which runs Python at every call and not while tracing."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import RUN_TIME
from rondo.subjects.target import Construct


class PythonCall(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.amount = 1.0
        self.calls: list[float] = []

    def compute(self, value: Any) -> Any:
        self.calls.append(self.amount)
        return np.float32(value * self.amount + len(self.calls))

    def __call__(self, hidden: Any) -> Any:
        total = tf.reduce_mean(tf.cast(hidden, tf.float32))
        drawn = tf.numpy_function(self.compute, [total], tf.float32)
        return hidden + tf.cast(tf.reshape(drawn, []), hidden.dtype)


CONSTRUCT = Construct("python_call", PythonCall, kind=RUN_TIME, guarded=True)


@CONSTRUCT.change(values=2)
def set_amount(module: PythonCall, value: int) -> None:
    """Give the amount that Python reads at run time another value."""
    module.amount = (2.0, 1.0)[value]


@CONSTRUCT.observe
def calls(module: PythonCall) -> dict[str, object]:
    """Return what each call has read."""
    return {"calls": list(module.calls)}
