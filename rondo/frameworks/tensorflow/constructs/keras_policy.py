"""keras_policy: Keras's global dtype policy, read while tracing."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rondo.frameworks.tensorflow.kinds import SETTING
from rondo.subjects.target import Construct


class KerasPolicy(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()

    def __call__(self, hidden: Any) -> Any:
        dtype = keras.config.dtype_policy().compute_dtype
        return hidden, keras.ops.cast(tf.reduce_sum(hidden), dtype)


CONSTRUCT = Construct("keras_policy", KerasPolicy, kind=SETTING)


@CONSTRUCT.change(values=3)
def set_policy(module: KerasPolicy, value: int) -> None:
    """Set the global policy to mixed_bfloat16, float64 or float32."""
    keras.config.set_dtype_policy(("mixed_bfloat16", "float64", "float32")[value])
